"""Interval arithmetic on floats, rounded outwards: the true result of an operation always lies inside."""

from __future__ import annotations

import math
from dataclasses import dataclass


@dataclass(frozen=True)
class Interval:
    """All numbers from `lo` to `hi`; an end may be infinite."""

    lo: float
    hi: float

    @classmethod
    def point(cls, value: float) -> Interval:
        return cls(float(value), float(value))

    @property
    def middle(self) -> float:
        return self.lo if self.lo == self.hi else (self.lo + self.hi) / 2

    @property
    def bounded(self) -> bool:
        return math.isfinite(self.lo) and math.isfinite(self.hi)

    def meets(self, other: Interval) -> bool:
        return self.lo <= other.hi and other.lo <= self.hi

    def contains(self, value: float) -> bool:
        return self.lo <= value <= self.hi

    def hull(self, other: Interval) -> Interval:
        return Interval(min(self.lo, other.lo), max(self.hi, other.hi))

    def __add__(self, other: Interval) -> Interval:
        return outward([self.lo + other.lo, self.hi + other.hi])

    def __neg__(self) -> Interval:
        return Interval(-self.hi, -self.lo)

    def __sub__(self, other: Interval) -> Interval:
        return self + -other

    def __mul__(self, other: Interval) -> Interval:
        if EVERYTHING in (self, other):
            return EVERYTHING
        return outward([a * b for a in (self.lo, self.hi) for b in (other.lo, other.hi)])

    def __truediv__(self, other: Interval) -> Interval:
        """Everything when the divisor may be zero."""
        if other.contains(0.0) or EVERYTHING in (self, other):
            return EVERYTHING
        return outward([a / b for a in (self.lo, self.hi) for b in (other.lo, other.hi)])

    def power(self, exponent: int) -> Interval:
        result = Interval.point(1.0)
        for _ in range(abs(exponent)):
            result = result * self
        if exponent % 2 == 0 and exponent and self.contains(0.0):
            result = Interval(0.0, result.hi)
        return result if exponent >= 0 else Interval.point(1.0) / result

    def magnitude(self) -> Interval:
        """|x|"""
        if self.lo >= 0:
            return self
        return -self if self.hi <= 0 else Interval(0.0, max(-self.lo, self.hi))

    def ln(self) -> Interval:
        """Everything when the argument may be zero or below."""
        return EVERYTHING if self.lo <= 0 else outward([math.log(self.lo), math.log(self.hi)])

    def sqrt(self) -> Interval:
        """Everything when the argument may be below zero."""
        return EVERYTHING if self.lo < 0 else outward([math.sqrt(self.lo), math.sqrt(self.hi)])


EVERYTHING = Interval(-math.inf, math.inf)


def outward(ends: list[float]) -> Interval:
    """The interval of the ends, each moved to the next float; everything when one is undefined."""
    if any(math.isnan(end) for end in ends):
        return EVERYTHING
    return Interval(math.nextafter(min(ends), -math.inf), math.nextafter(max(ends), math.inf))


def greatest(values: list[Interval]) -> Interval:
    return Interval(max(v.lo for v in values), max(v.hi for v in values))


def least(values: list[Interval]) -> Interval:
    return Interval(min(v.lo for v in values), min(v.hi for v in values))
