"""How fast is the machine right now: a fixed amount of copying and of multiplying, about 25 ms each, in the pinned process.

The numbers mean nothing by themselves. A cell between two probes that disagree was measured on a machine that changed.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import median
from time import perf_counter

PIECES = 5
COPY_DOUBLES = 1 << 20  # 8 MiB there, 8 MiB back: larger than a core's own caches
COPIES = 8
SIDE = 192
PRODUCTS = 48


def measure() -> dict[str, float]:
    """{"copy_ms", "compute_ms"}: median over the pieces of the wall time of one piece."""
    import numpy as np

    source, target = np.ones(COPY_DOUBLES), np.empty(COPY_DOUBLES)
    matrix = np.ones((SIDE, SIDE), np.float32)

    def copy() -> None:
        for _ in range(COPIES):
            np.copyto(target, source)

    def compute() -> None:
        for _ in range(PRODUCTS):
            matrix @ matrix

    def timed(piece) -> float:
        begin = perf_counter()
        piece()
        return 1000.0 * (perf_counter() - begin)

    copy()
    compute()
    return {"copy_ms": median(timed(copy) for _ in range(PIECES)), "compute_ms": median(timed(compute) for _ in range(PIECES))}


KINDS = ("copy_ms", "compute_ms")


def moved(before: dict[str, float], after: dict[str, float], usual: Sequence[dict[str, float]] = ()) -> float:
    """Largest relative move of a probe over a cell: after against before, and both against the usual probe of this command.

    `usual` are earlier probes; their median counts once there are five. The result is blind to what the cell measured.
    """
    shifts = []
    for kind in KINDS:
        if not (kind in before and kind in after):
            continue
        shifts.append(abs(math.log(after[kind] / before[kind])))
        known = [probe[kind] for probe in usual if kind in probe]
        if len(known) >= 5:
            normal = median(known)
            shifts += [math.log(before[kind] / normal), math.log(after[kind] / normal)]
    return math.expm1(max(shifts, default=0.0))
