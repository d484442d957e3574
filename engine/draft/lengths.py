"""How many drafts of each request are worth verifying, from confidences and the cost of a step.

Survival of draft j is the product of the confidences up to it. Drafts are admitted from the likeliest survivor
down as long as expected tokens per second, tau * SPS(B), strictly rise, and not one further: whether a draft is
admitted then hangs on nothing that was drawn after the drafts before it, which keeps the text's law (DSpark
paper, algorithm 1 with its early stop).
"""

from __future__ import annotations

import bisect

import torch
from torch import Tensor

from engine.model.operators import Operators

EPSILON = 1e-6
"""Survival below which a draft is never admitted."""


class LengthScheduler:
    """`table`: (positions of a step, steps per second), positions rising; a count takes the entry at or below it."""

    def __init__(self, ops: Operators, table: tuple[tuple[int, float], ...]) -> None:
        self.ops = ops
        self.places = [positions for positions, _ in table]
        self.rates = [rate for _, rate in table]

    def steps_per_second(self, positions: int) -> float:
        return self.rates[max(0, bisect.bisect_right(self.places, positions) - 1)]

    def budget(self, confidence: Tensor) -> int:
        """Positions of the step, anchors included; confidence [b, γ]."""
        rows, gamma = confidence.shape
        if not self.places:
            return rows * (gamma + 1)
        survival = torch.cumprod(confidence, 1).flatten()
        survival = survival[survival >= EPSILON].sort(descending=True).values.tolist()
        positions, expected = rows, float(rows)
        best = expected * self.steps_per_second(positions)
        for chance in survival:
            rate = (expected + chance) * self.steps_per_second(positions + 1)
            if rate <= best:
                break
            positions, expected, best = positions + 1, expected + chance, rate
        return positions

    def widths(self, confidence: Tensor) -> Tensor:
        """Window of each request, [b] int64 in 1..γ+1."""
        return self.ops.verify_lens(confidence, self.budget(confidence), 1, EPSILON)
