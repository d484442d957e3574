"""Splits of a change into parts that sum to it exactly.

At one request at a time, E = P + R S with R = T / τ: time to the first token, rounds, wall time of a round, tokens after the
first, tokens a round. The logarithmic mean L(a, b) = (b - a) / ln(b / a) turns products into sums without a remainder: L(x)
Δln x = Δx, so what each factor did in milliseconds and its share of Δln E are the same split.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from workflow.derive.sample import Sample


def log_mean(a: Sample, b: Sample) -> Sample:
    """L(a, b), and a where the two are equal."""
    b = b.to(a.unit)
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = np.log(b.values / a.values)
        value = np.where(np.abs(ratio) < 1e-12, a.values, (b.values - a.values) / ratio)
    return Sample(value, a.unit)


@dataclass(frozen=True)
class Term:
    """Means over the requests of one load, one request at a time."""

    e2e: Sample
    """Queued to end, time a request."""
    prefill: Sample
    """Queued to first token, time a request."""
    tokens: Sample
    """Tokens after the first, a request."""
    tau: Sample
    """Tokens a round."""
    step: Sample
    """Wall time of a round."""

    @property
    def rounds_time(self) -> Sample:
        return self.tokens / self.tau * self.step

    @property
    def rest(self) -> Sample:
        """What the blocks do not cover: the client, and the gaps between steps."""
        return self.e2e - self.prefill - self.rounds_time


@dataclass(frozen=True)
class Split:
    """What each part contributed to `total` = E(after) - E(before); the four sum to it."""

    prefill: Sample
    step: Sample
    accept: Sample
    rest: Sample
    total: Sample


def split(before: Term, after: Term) -> Split:
    """Contributions of prefill, step cost, acceptance, and the rest (client, gaps, unequal output lengths)."""
    weight = log_mean(before.rounds_time, after.rounds_time)
    prefill = after.prefill - before.prefill
    step = weight * (after.step / before.step).log()
    accept = -(weight * (after.tau / before.tau).log())
    length = weight * (after.tokens / before.tokens).log()
    rest = (after.rest - before.rest) + length
    return Split(prefill, step, accept, rest, after.e2e - before.e2e)


def what_if(before: Term, after: Term, hold: str) -> Sample:
    """E of `after` had one factor (`prefill`, `step` or `accept`) stayed as it was in `before`."""
    prefill = before.prefill if hold == "prefill" else after.prefill
    step = before.step if hold == "step" else after.step
    tau = before.tau if hold == "accept" else after.tau
    return prefill + after.tokens / tau * step + after.rest
