"""Units of foreign files and ours: the only place where a factor stands.

Ours: milliseconds, seconds, bytes, tokens or requests a second, shares from 0 to 1. `percent` is the unit of figures, which are written times 100.
"""

from __future__ import annotations

TO = {
    "ms": {"ms": 1.0, "milliseconds": 1.0, "s": 1e3, "sec": 1e3, "seconds": 1e3, "us": 1e-3, "µs": 1e-3, "ns": 1e-6, "min": 6e4},
    "s": {"s": 1.0, "sec": 1.0, "seconds": 1.0, "ms": 1e-3, "milliseconds": 1e-3, "us": 1e-6, "µs": 1e-6, "ns": 1e-9, "min": 60.0},
    "byte": {"byte": 1.0, "bytes": 1.0, "B": 1.0, "kB": 1e3, "MB": 1e6, "GB": 1e9, "KiB": 2.0**10, "MiB": 2.0**20, "GiB": 2.0**30},
    "token/s": {
        "token/s": 1.0, "tok/s": 1.0, "t/s": 1.0, "tokens/s": 1.0, "tokens/sec": 1.0, "tokens/second": 1.0, "token/ms": 1e3, "tok/min": 1 / 60,
    },
    "1/s": {"1/s": 1.0, "req/s": 1.0, "requests/sec": 1.0, "requests/s": 1.0, "requests/second": 1.0, "per sec": 1.0, "1/min": 1 / 60},
    "share": {"share": 1.0, "ratio": 1.0, "fraction": 1.0, "%": 1e-2, "percent": 1e-2, "pct": 1e-2},
    "percent": {"percent": 1.0, "%": 1.0, "pct": 1.0, "share": 100.0, "ratio": 100.0, "fraction": 100.0},
    "token": {"token": 1.0, "tokens": 1.0, "ktokens": 1e3},
    "": {"": 1.0, "ratio": 1.0, "count": 1.0, "requests": 1.0, "tokens": 1.0, "concurrency": 1.0},
}  # fmt: skip
"""Our unit -> unit of a file -> factor."""


class UnknownUnit(ValueError):
    """A unit of a file that has no factor to ours."""


def factor(unit: str, ours: str) -> float:
    """How many of `ours` one `unit` is. Raises UnknownUnit naming what is known."""
    known = TO[ours]
    found = known.get(unit, known.get(unit.lower()))
    if found is None:
        raise UnknownUnit(f"unit {unit!r}; expected one of {', '.join(filter(None, known))}")
    return found


def convert(value: float, unit: str, ours: str) -> float:
    """A value in `unit`, written in `ours`. Division where the factor is below one, so that 330 ms are 0.33 s and not 0.33000000000000002."""
    scale = factor(unit, ours)
    return value * scale if scale >= 1 else value / (1 / scale)


def of_column(name: str, rule: dict) -> str:
    """Our unit of a column of the schemas: its annotation, or a share for what is bounded by 0 and 1."""
    if (unit := rule.get("unit")) in TO:
        return unit
    return "share" if rule.get("maximum") in (1, 1.000001) else ""


def written(value: float) -> str:
    """A number as a cell: twelve significant digits, whole numbers without a point."""
    if isinstance(value, int) or float(value).is_integer() and abs(value) < 1e15:
        return str(int(value))
    return f"{value:.12g}"
