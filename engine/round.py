"""Parts of a speculative round: which rows share a window, and what came of each."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import torch
from torch import Tensor

from engine.batch import Batch
from engine.draft.base import Draft


@dataclass(frozen=True)
class Outcome:
    """What one forward of the target decided for `rows` [n] of the batch.

    logits [n, W', V]; correct [n] accepted drafts c and bonus [n]; `draft` has W' - 1 guesses a row, None when
    nothing was drafted; trimmed [n] drafts given up by a length cap, or None.
    """

    batch: Batch
    rows: list[int]
    draft: Draft | None
    logits: Tensor
    correct: Tensor | None
    bonus: Tensor
    trimmed: Tensor | None = None


def proposed(draft: Draft) -> Tensor:
    """Guesses of each row [b], before the first -1."""
    return (draft.ids >= 0).sum(1)


def groups(batch: Batch, draft: Draft, widths: Tensor | None) -> Iterator[tuple[Batch, list[int], Draft, int]]:
    """(rows' batch, rows, their draft, window width) for each width that occurs, from the widest down.

    Rows of one width share a forward of the target, so no position is verified that nobody proposed. `widths` [b]
    None: every row has the whole window, and nothing is copied.
    """
    whole = draft.ids.shape[1] + 1
    if widths is None:
        yield batch, list(range(batch.rows)), draft, whole
        return
    for width in sorted(set(widths.tolist()), reverse=True):
        rows = torch.nonzero(widths == width).flatten()
        if len(rows) == batch.rows and width == whole:
            yield batch, rows.tolist(), draft, whole
        else:
            yield batch.take(rows, width), rows.tolist(), draft.take(rows, width - 1), width
