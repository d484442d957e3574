"""How many of the tokens still to come admission reserves KV pages for."""

from __future__ import annotations

from engine.sequence import Sequence

INITIAL_RATIO, FLOOR, DECAY_STEPS, RETRACT_STEPS = 0.7, 0.14, 600, 20
"""New-token ratio as in SGLang 0.5.23: where it starts, how low and how fast it falls, and tokens granted on retraction."""


class NewTokenRatio:
    """Share of the tokens still to come that admission reserves KV pages for.

    Falls while nothing goes wrong, jumps up on a retraction. Requests that ignore EOS will use all of their
    max_tokens, so they count in full and the knob does nothing for them.
    """

    def __init__(self, conservativeness: float) -> None:
        self.initial = min(INITIAL_RATIO * conservativeness, 1.0)
        self.floor = self.initial * FLOOR
        self.value = self.initial

    def reset(self) -> None:
        self.value = self.initial

    def decay(self) -> None:
        self.value = max(self.floor, self.value - (self.initial - self.floor) / DECAY_STEPS)

    def raise_after(self, running: list[Sequence]) -> None:
        done = sum(len(s.record.token_ids) for s in running)
        self.value = min(1.0, (done + RETRACT_STEPS * len(running)) / (sum(s.max_tokens for s in running) + 1))

    def of(self, sequence: Sequence) -> float:
        return 1.0 if sequence.request.sampling.ignore_eos else self.value
