"""A quantity with its resamples: what facts are computed with.

`values[0]` is the estimate, `values[1:1 + BOOTS_SHOWN]` the same from one boot alone, the rest bootstrap resamples. Arithmetic goes element
by element, so every resample of a derived quantity uses the same draw of boots and requests for all of its inputs (joint resampling).
"""

from __future__ import annotations

import numpy as np

from workflow.derive import units


class Sample:
    """Array `values` [1 + boots shown + resamples] in one `unit`."""

    __slots__ = ("values", "unit")

    def __init__(self, values, unit: str = ""):
        self.values = np.asarray(values, dtype=float)
        self.unit = unit

    @property
    def value(self) -> float:
        """The estimate."""
        return float(self.values[0]) if self.values.ndim else float(self.values)

    def to(self, unit: str) -> Sample:
        """The same quantity in another unit; UnitError when it is not one."""
        if unit == self.unit:
            return self
        return Sample(self.values * units.factor(self.unit, unit), unit)

    def number(self) -> np.ndarray:
        """Plain numbers; UnitError unless dimensionless."""
        return self.to("").values

    def _other(self, other) -> Sample:
        return other if isinstance(other, Sample) else Sample(other)

    def __add__(self, other) -> Sample:
        return Sample(self.values + self._other(other).to(self.unit).values, self.unit)

    def __sub__(self, other) -> Sample:
        return Sample(self.values - self._other(other).to(self.unit).values, self.unit)

    def __mul__(self, other) -> Sample:
        other = self._other(other)
        return Sample(self.values * other.values, units.multiply(self.unit, other.unit))

    def __truediv__(self, other) -> Sample:
        other = self._other(other)
        with np.errstate(divide="ignore", invalid="ignore"):
            return Sample(self.values / other.values, units.divide(self.unit, other.unit))

    __radd__ = __add__
    __rmul__ = __mul__

    def __rsub__(self, other) -> Sample:
        return self._other(other) - self

    def __rtruediv__(self, other) -> Sample:
        return self._other(other) / self

    def __neg__(self) -> Sample:
        return Sample(-self.values, self.unit)

    def __abs__(self) -> Sample:
        return Sample(np.abs(self.values), self.unit)

    def log(self) -> Sample:
        """Natural logarithm of a dimensionless quantity."""
        with np.errstate(divide="ignore", invalid="ignore"):
            return Sample(np.log(self.number()))

    def exp(self) -> Sample:
        return Sample(np.exp(self.number()))

    def __repr__(self) -> str:
        return f"Sample({self.value!r}, {self.unit!r})"


def least(samples: list[Sample]) -> Sample:
    """Smallest of some quantities, resample by resample, in the unit of the first."""
    return Sample(np.min([s.to(samples[0].unit).values for s in samples], axis=0), samples[0].unit)


def greatest(samples: list[Sample]) -> Sample:
    """Largest of some quantities, resample by resample, in the unit of the first."""
    return Sample(np.max([s.to(samples[0].unit).values for s in samples], axis=0), samples[0].unit)
