"""What every drafter offers the step loop."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from torch import Tensor

from engine.batch import Batch
from engine.config import DraftConfig, EngineConfig, ModelConfig
from engine.model.layers import PrefillSpan

DRAFT_STREAM, TARGET_STREAM = 0, 3
"""Streams of `kernels.philox_uniform`: drafts have their own, unless the coupled rule makes them share the target's."""

WIDEST_BLOCK = 15
"""γ that the kernels accept at most."""


@dataclass(frozen=True)
class DraftOptions:
    """What a boot asks of its drafter."""

    gamma: int
    stream: int = DRAFT_STREAM
    markov_head_type: str = "vanilla"
    prompt_kv: bool = True
    confidence: bool = False
    """Give the confidence of every guess, for a length scheduler."""

    @classmethod
    def of(cls, config: EngineConfig) -> DraftOptions:
        return cls(
            gamma=config.block_size,
            stream=TARGET_STREAM if config.accept_rule == "coupled" else DRAFT_STREAM,
            markov_head_type=config.markov_head_type,
            prompt_kv=config.draft_prompt_kv,
            confidence=config.verify_mode != "static",
        )


@dataclass(frozen=True)
class Draft:
    """One block of guesses for each row."""

    ids: Tensor
    """[b, γ] int64; -1 after a row's last guess."""
    logits: Tensor | None
    """[b, γ, V] float32, the law the ids were drawn from before the temperature; None when nobody will read it."""
    confidence: Tensor | None = None
    """[b, γ] float32, P(guess accepted | those before it were); None without a confidence head."""
    one_hot: bool = False
    """The guesses were not drawn but found: their law q puts all mass on them."""

    def take(self, rows: Tensor, count: int) -> Draft:
        """The first `count` guesses of some rows."""
        logits = None if self.logits is None else self.logits[rows, :count]
        return Draft(self.ids[rows, :count], logits, None, self.one_hot)


class Drafter(Protocol):
    """Guesses γ tokens a row after its anchor.

    The engine calls `prefill` for each stretch of a prompt, then in every round `propose` before the target's
    window and `observe` after acceptance. State of a request lives under its state slot and in the KV
    pool's extra layers at the request's own token slots; nothing is kept by batch row.
    """

    kv_layers: int
    """Layers of the KV pool that it needs beside the target's, 0 or 1."""
    lookahead: int
    """Prompt tokens after position t that the keys and values at t depend on."""
    gamma: int
    gamma_trained: int
    keys: Tensor | None
    values: Tensor | None
    parameters: int
    bytes: int
    linears: Sequence

    @property
    def slot_tensors(self) -> tuple[Tensor, ...]:
        """What a request leaves under its state slot: tensors [slots, ...], copied wherever its state is copied."""

    @staticmethod
    def load_config(weights: Path, gamma: int, allow_untrained: bool = False) -> DraftConfig:
        """The drafter's config; `ConfigError` when γ is not one it can draft."""

    @staticmethod
    def taps(config: DraftConfig, model: ModelConfig) -> tuple[int, ...]:
        """Target layers whose residual output it reads, 0-based."""

    def prefill(self, ids: Tensor, taps: Tensor, next_ids: Tensor, span: PrefillSpan) -> None:
        """ids [T] with taps [T, m d]; next_ids [T'] are the tokens that follow, T' = T or T - 1 at the prompt's end."""

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        """At most γ guesses a row for positions lengths + 1 .. lengths + γ."""

    def observe(self, batch: Batch, window: Tensor, taps: Tensor | None, correct: Tensor, bonus: Tensor) -> None:
        """After a round: window [b, W'] ids, W' <= γ + 1, taps [b, W', m d], accepted count c [b] and bonus id [b]."""

    def reset(self) -> None:
        """Forget every request."""
