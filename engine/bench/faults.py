"""Configurations that are broken on purpose: a gate that cannot fail is no gate."""

from __future__ import annotations

from dataclasses import replace

from engine.config import ConfigError


def greedy_verify() -> None:
    """Verify sampled rows against the target's argmax: fast, plausible, and another distribution than the one asked for."""
    import torch

    from engine import engine

    honest = engine.accept

    def accept(ops, logits, draft, batch, *more, **named):
        return honest(ops, logits, draft, replace(batch, greedy=torch.ones_like(batch.greedy), any_sampled=False), *more, **named)

    engine.accept = accept


FAULTS = {"greedy-verify": greedy_verify}


def install(name: str) -> None:
    """Break this process; it must end afterwards."""
    if name not in FAULTS:
        raise ConfigError(f"fault {name!r} does not exist; there are: {', '.join(FAULTS)}")
    FAULTS[name]()
