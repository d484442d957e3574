"""Time by operator class: every call of an operator between two readings of the wall clock, for instrumented runs only."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

CLASS_OF = {
    "linear": "linear",
    "rms_norm": "elementwise",
    "silu_mul": "elementwise",
    "rms_norm_gated": "kda",
    "l2_norm": "kda",
    "short_conv_prefill": "kda",
    "short_conv_window": "kda",
    "kda_gate": "kda",
    "kda_prefill": "kda",
    "kda_decode": "kda",
    "kda_verify": "kda",
    "state_commit": "commit",
    "kv_write": "attention",
    "decode_attention": "attention",
    "verify_attention": "attention",
    "prefill_attention": "attention",
    "block_attention": "attention",
}
OTHER = "sampling"
"""Class of every operator that is not listed: argmax, Markov steps, acceptance, noise."""


class TimedLinear:
    """A projection that books its time; everything else is asked of the projection itself."""

    def __init__(self, project: Any, clock: OperatorClock) -> None:
        self._project, self._call = project, clock.timed("linear", project)

    def __call__(self, x: Any) -> Any:
        return self._call(x)

    def __getattr__(self, name: str) -> Any:
        return getattr(self._project, name)


class OperatorClock:
    """Sums of wall time by class since the last `take`."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = {}

    def timed(self, name: str, operator: Callable) -> Callable:
        """The same operator, its time booked under its class."""
        clock, seconds, kind = time.perf_counter, self.seconds, CLASS_OF.get(name, OTHER)
        seconds.setdefault(kind, 0.0)

        def call(*args: Any, **kwargs: Any) -> Any:
            start = clock()
            result = operator(*args, **kwargs)
            seconds[kind] += clock() - start
            return result

        return call

    def wrap(self, name: str, operator: Callable) -> Callable:
        """As `timed`; the factory of linears hands out timed projections."""
        if name == "linear":
            return lambda weight: TimedLinear(operator(weight), self)
        return self.timed(name, operator)

    def take(self) -> dict[str, float]:
        """Milliseconds by class, and start again."""
        spent = {kind: 1e3 * value for kind, value in self.seconds.items()}
        for kind in self.seconds:
            self.seconds[kind] = 0.0
        return spent
