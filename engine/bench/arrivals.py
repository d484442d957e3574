"""When the requests of an open loop are due: Poisson, from a hash, so that every arm sees the same timetable."""

from __future__ import annotations

import hashlib
import math


def poisson(rate: float, count: int, key: int) -> list[float]:
    """`count` due times in seconds, exponential gaps of mean 1 / rate. `rate` is infinite or in requests a second."""
    if math.isinf(rate):
        return [0.0] * count
    if rate <= 0:
        raise ValueError(f"request_rate must be above 0, not {rate}")
    due, at = [], 0.0
    for number in range(count):
        draw = (1 + int.from_bytes(hashlib.sha256(f"{key}|{number}".encode()).digest()[:8], "big")) / (2**64 + 1)
        at -= math.log(draw) / rate
        due.append(at)
    return due
