"""The kinds of claims: each turns facts into a margin, above 0 on the side that holds.

Margins of ratios are logarithms, so that twice as fast and twice as slow stand equally far from even. What a margin may be
off by is found by the caller: the A/A noise of every clocked fact, and the resampled interval of the margin.
"""

from __future__ import annotations

from workflow.derive.sample import Sample, greatest, least


def above(a: Sample, b: Sample | float = 1.0) -> Sample:
    """Direction: a is larger than b. ln(a / b)."""
    return (a / b).log()


def below(a: Sample, b: Sample | float = 1.0) -> Sample:
    """Direction or bound: a is smaller than b. ln(b / a)."""
    return -above(a, b)


def largest(named: Sample, others: list[Sample]) -> Sample:
    """Superlative: the named one is the largest of its set. ln(named / best other)."""
    return above(named, greatest(others))


def rising(values: list[Sample]) -> Sample:
    """Monotone: every value is larger than the one before. Smallest ln(next / previous)."""
    return least([above(b, a) for a, b in zip(values, values[1:])])


def flat(values: list[Sample], bound: Sample) -> Sample:
    """Equivalence: largest / smallest - 1 stays within the bound. ln(1 + bound) - ln(largest / smallest)."""
    return (bound.to("") + 1).log() - above(greatest(values), least(values))


def sums_to(total: Sample, whole: Sample, tolerance: float = 1e-9) -> Sample:
    """Sum to one: |total / whole - 1| stays within rounding."""
    return tolerance - abs(total / whole - 1)


def counted(count: Sample, expected: int) -> Sample:
    """Count of a list: it has exactly so many entries. One off stands as far on the failing side as a right one on the holding."""
    return 0.5 - abs(count - expected)


def within(gap: Sample, bound: Sample) -> Sample:
    """Bound on the size of a relative gap: bound - |gap|, in plain numbers."""
    return bound.to("") - abs(gap).to("")


def product(result: Sample, factors: list[Sample], bound: Sample) -> Sample:
    """Product of factors: |ln(product / result)| within ln(1 + bound)."""
    value = factors[0]
    for factor in factors[1:]:
        value = value * factor
    return (bound.to("") + 1).log() - abs((value / result).log())
