"""How many prompts give the rounds that a cell aims at: text that ends early gives fewer than the plan assumed."""

from __future__ import annotations

from engine.bench.cells import Cell

MOST_TIMES = 8
"""Prompts of a cell at most, in multiples of what its plan assumed: a text of a few rounds a prompt is not followed for ever."""
ROOM_PERCENT = 110
"""Prompts differ in their rounds: so much of the proportional number is asked."""


def rounds_of(answer: dict) -> int | None:
    """Rounds of all requests; None where the backend does not count them by request."""
    counts = [record.get("rounds") for record in answer["requests"]]
    return None if None in counts else sum(counts)


def more_prompts(cell: Cell, rounds: int | None, planned: int, places: int) -> int | None:
    """Prompts that a cell needs instead; None where its rounds are there, not known, or no further prompt is to be had."""
    have = cell.workload.num_prompts
    if not cell.rounds or not rounds or rounds >= cell.rounds:
        return None
    wanted = min(-(-ROOM_PERCENT * have * cell.rounds // (100 * rounds)), MOST_TIMES * planned, places)
    return wanted if wanted > have else None


def short_of(cell: Cell, rounds: int | None) -> str | None:
    """What a row says that did not get its rounds."""
    return f"{rounds} of {cell.rounds} rounds with {cell.workload.num_prompts} prompts" if cell.rounds and rounds is not None and rounds < cell.rounds else None
