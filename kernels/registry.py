"""Which implementation of an operator runs, decided by where its first tensor lives.

A backend of an operator is a file `kernels/<op>/<backend>.py` with a function called `<op>`.
Rules are tried in order; the first whose predicate holds names the backends it accepts.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from kernels.environment import interpret

ROOT = Path(__file__).resolve().parent
BACKENDS = ("triton", "cpu", "reference")


@dataclass(frozen=True)
class Rule:
    """If `holds(tensor)`, take the first existing file of `backends`; none exists: an error, never another rule."""

    predicate: str
    """The test as a reader of the report sees it."""
    holds: Callable[[Any], bool]
    backends: tuple[str, ...]


RULES = (
    # ROCm builds of torch keep the name "cuda" for their devices, so one predicate covers both vendors;
    # `torch.version.cuda` would be None there and send every AMD tensor to the reference.
    Rule("tensor.is_cuda", lambda tensor: bool(tensor.is_cuda), ("triton",)),
    Rule("TRITON_INTERPRET=1", lambda tensor: interpret(), ("triton",)),
    Rule('tensor.device.type == "cpu"', lambda tensor: tensor.device.type == "cpu", ("cpu", "reference")),
    Rule("any other device", lambda tensor: True, ("reference",)),
)


@cache
def operators() -> tuple[str, ...]:
    """Names of all operators: the folders that hold a `reference.py`."""
    return tuple(sorted(path.parent.name for path in ROOT.glob("*/reference.py")))


@cache
def backends(op: str) -> tuple[str, ...]:
    """Backends that exist for `op`, in the order of `BACKENDS`."""
    if op not in operators():
        raise LookupError(f"operator {op!r} does not exist; there are: {', '.join(operators())}")
    return tuple(name for name in BACKENDS if (ROOT / op / f"{name}.py").is_file())


def choose(op: str, tensor: Any) -> tuple[str, Rule]:
    """The backend name that serves `op` on this tensor, and the rule that chose it.

    Raises LookupError when the operator, or a backend the rule accepts, does not exist. A rule never
    falls through to the next one: a slower or different implementation is not a silent substitute.
    """
    existing = backends(op)
    rule = next(rule for rule in RULES if rule.holds(tensor))
    for name in rule.backends:
        if name in existing:
            return name, rule
    raise LookupError(
        f"operator {op!r} has no {' or '.join(rule.backends)} backend, which {rule.predicate} "
        f"(device {tensor.device}) asks for; it has: {', '.join(existing)}"
    )


@cache
def load(op: str, backend: str) -> Callable[..., Any]:
    """Import one implementation; the import is here so that a CPU process never imports Triton."""
    if backend not in backends(op):
        raise LookupError(f"operator {op!r} has no {backend!r} backend; it has: {', '.join(backends(op))}")
    return getattr(importlib.import_module(f"kernels.{op}.{backend}"), op)


def resolve(op: str, tensor: Any) -> Callable[..., Any]:
    """The callable that runs operator `op` for tensors that live where `tensor` lives."""
    return load(op, choose(op, tensor)[0])
