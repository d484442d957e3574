"""Scores of one answer: correctness from the structured row, and whether the text degenerates."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Hashable, Sequence

from engine.csvio import Row
from engine.train.arithmetic import read_answer

GRAM = 8
# Legitimate text repeats itself, and a table has runs; text that does both, or one of them far out, has stopped to say anything.
REPETITION, RUN = 0.25, 8
REPETITION_FAR, RUN_FAR = 0.6, 24
WORDS = re.compile(r"\w+|[^\w\s]")
"""What stands for tokens in a text whose ids a server does not hand out."""


def repetition(ids: Sequence[Hashable], size: int = GRAM) -> float | None:
    """Share of n-grams that stood in the output before; None where there are none."""
    grams = Counter(tuple(ids[i : i + size]) for i in range(len(ids) - size + 1))
    total = sum(grams.values())
    return (total - len(grams)) / total if total else None


def longest_run(ids: Sequence[Hashable]) -> int:
    """Most times one token follows itself, plus one."""
    best = length = 0
    last = None
    for token in ids:
        length = length + 1 if token == last else 1
        best, last = max(best, length), token
    return best


def degenerate(repeated: float | None, run: int) -> bool:
    """Both signals beyond their bound, or one of them far beyond."""
    share = repeated or 0.0
    return (share >= REPETITION and run >= RUN) or share >= REPETITION_FAR or run >= RUN_FAR


def scored(row: Row) -> Row:
    """The row with every score filled from its raw columns (`output`, `output_ids`, `expected`, `finish_reason`)."""
    # an empty cell is no output or no ids: of an empty text both give nothing
    ids = str(row["output_ids"]).split() if row["output_ids"] else WORDS.findall(str(row["output"] or ""))
    repeated, run = repetition(ids), longest_run(ids)
    checkable = row.get("expected") is not None
    answer = read_answer(str(row["output"] or "")) if checkable else None
    return {
        **row,
        "answer": answer,
        "answered": int(answer is not None) if checkable else None,
        "correct": int(answer == row["expected"]) if checkable else None,
        "truncated": int(row["finish_reason"] == "length"),
        "repetition_8gram": repeated,
        "longest_run": run,
        "degenerate": int(degenerate(repeated, run)),
    }
