"""Times that were taken with different rulers: blocks added up against a whole step, GPU time against wall time.

A ratio of two rulers is off by what one of them leaves out, and nothing in it shows.
"""

from __future__ import annotations

from dataclasses import dataclass

from workflow.derive import division

TOLERANCE = 0.03
"""Relative difference below which two readings count as one ruler."""


@dataclass(frozen=True)
class Mismatch:
    """Two readings of one time, and what mixing them would have said."""

    what: str
    short_ms: float
    whole_ms: float
    mixed: float | None = None
    """Speedup with the short reading on one side of the division only."""
    same: float | None = None
    """Speedup with the whole reading on both sides."""

    @property
    def left_out(self) -> float:
        """What the short reading leaves out, over the reading itself."""
        return self.whole_ms / self.short_ms - 1

    @property
    def matters(self) -> bool:
        return abs(self.left_out) > TOLERANCE

    @property
    def flips(self) -> bool:
        """Whether the mixed division stands on the other side of one."""
        return self.mixed is not None and self.same is not None and (self.mixed > 1) != (self.same > 1)

    def as_dict(self) -> dict:
        return {
            "what": self.what, "short_ms": self.short_ms, "whole_ms": self.whole_ms, "left_out_percent": self.left_out * 100,
            "mixed_speedup": self.mixed, "same_ruler_speedup": self.same, "flips": self.flips,
        }  # fmt: skip


def block_sum(sum_ms: float, decode_ms: float, tau: float, draft_ms: float, passes: float) -> Mismatch:
    """Blocks of a plain step added up against the step itself, with verification counted as `passes` of them."""
    mixed = tau * decode_ms / (passes * sum_ms + draft_ms)
    same = division.speedup(tau, decode_ms, 0.0, draft_ms, passes * decode_ms, 0.0)
    return Mismatch("blocks of a step added up, against the whole step", sum_ms, decode_ms, mixed, same)


def gpu_time(gpu_ms: float, wall_ms: float, decode_ms: float, tau: float, draft_ms: float) -> Mismatch:
    """Verification by GPU time against verification by wall time, over a decode step by wall time."""
    mixed, same = (division.speedup(tau, decode_ms, 0.0, draft_ms, ms, 0.0) for ms in (gpu_ms, wall_ms))
    return Mismatch("GPU time of a verification, against its wall time", gpu_ms, wall_ms, mixed, same)


def two_decodes(decode_ms: float, tok_s: float) -> Mismatch:
    """A decode time against the one that the throughput of one request gives."""
    return Mismatch("decode time, against one over the throughput of one request", decode_ms, 1000 / tok_s)
