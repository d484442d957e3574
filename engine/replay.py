"""Rebuild what a retracted request lost: known tokens go through the decode path again, as rounds that are forced.

State, keys and drafter context of a generated token were made by a verify window, whose last bits differ
from a prefill's. So they are made again by windows: a round's own calls, with the known tokens as drafts and
their acceptance given. Bits of a position depend on its tokens alone, hence the text and the accepted
counts that follow are those of a request that was never retracted.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch

from engine.batch import int64

if TYPE_CHECKING:
    from engine.engine import Engine
    from engine.sequence import Sequence


def replay(engine: Engine, sequence: Sequence, count: int) -> None:
    """Advance a request whose prompt is through by `count` of its generated tokens."""
    tokens, goal = sequence.record.token_ids, sequence.length + count
    width = engine.gamma + 1
    while sequence.length < goal:
        at = sequence.length - sequence.isl
        steps = min(width, goal - sequence.length)
        sequence.anchor = tokens[at]
        batch = engine.batches.build([sequence])
        ahead = tokens[at : at + steps]
        window = int64([ahead + [0] * (width - steps)])
        if engine.drafter:
            # a drafter may write keys while it proposes; what it proposes is known already
            engine.drafter.propose(batch, keep_logits=False)
        _, taps = engine.target.window(window, batch)
        if engine.drafter:
            correct = torch.tensor([steps - 1])
            engine.target.commit(batch, correct)
            engine.drafter.observe(batch, window, taps, correct, int64([tokens[at + steps]]))
        sequence.length += steps
