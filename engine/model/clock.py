"""Time by operator class: every call of an operator between two readings of the wall clock, for instrumented runs only."""

from __future__ import annotations

from collections.abc import Callable
from time import perf_counter
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

    __slots__ = ("_book", "_clock", "_project")

    def __init__(self, project: Any, clock: OperatorClock) -> None:
        self._project, self._clock, self._book = project, clock, clock.book("linear")

    def __call__(self, x: Any) -> Any:
        # no wrapper around a wrapper: projections are a third of the calls of a step
        start = perf_counter()
        y = self._project(x)
        spent = perf_counter() - start
        self._book(spent)
        self._clock.inside += spent
        return y

    def __getattr__(self, name: str) -> Any:
        return getattr(self._project, name)


class OperatorClock:
    """Wall times by class since the last `take`, summed there and not between the operators.

    An operator that calls another one (a Markov step projects) is booked without it: the classes of a step add up to no more than the step.
    """

    def __init__(self) -> None:
        self.seconds: dict[str, list[float]] = {}
        self.inside = 0.0
        """Seconds booked since the operator that is open began."""

    def book(self, name: str) -> Callable[[float], None]:
        """What takes the seconds of one call of an operator."""
        return self.seconds.setdefault(CLASS_OF.get(name, OTHER), []).append

    def timed(self, name: str, operator: Callable) -> Callable:
        """The same operator, its time booked under its class."""
        clock, book = perf_counter, self.book(name)

        def call(*args: Any, **kwargs: Any) -> Any:
            before, self.inside = self.inside, 0.0
            start = clock()
            result = operator(*args, **kwargs)
            spent = clock() - start
            book(spent - self.inside)
            self.inside = before + spent
            return result

        return call

    def wrap(self, name: str, operator: Callable) -> Callable:
        """As `timed`; the factory of linears hands out timed projections."""
        if name == "linear":
            return lambda weight: TimedLinear(operator(weight), self)
        return self.timed(name, operator)

    def take(self) -> dict[str, float]:
        """Milliseconds by class, and start again."""
        spent = {kind: 1e3 * sum(times) for kind, times in self.seconds.items()}
        for times in self.seconds.values():
            times.clear()
        return spent
