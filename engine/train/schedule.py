"""Learning-rate scale as a function of the share of the time budget that is used."""

from __future__ import annotations

WARM_UP = 0.01
FLAT_UNTIL = 0.25


def rate(share: float) -> float:
    """Warm-up, flat, then linear to zero at share 1 (shares beyond 1 stay at zero)."""
    if share < WARM_UP:
        return 0.1 + 0.9 * share / WARM_UP
    if share < FLAT_UNTIL:
        return 1.0
    return max(0.0, (1.0 - share) / (1.0 - FLAT_UNTIL))
