"""The last word of a build on the terminal: what moved beyond noise and which claims flipped, when new rows changed the page.

The page writes it to `workflow/build/moved.txt`; Snakemake, which prints a great deal after that, has it said when everything is done.
"""

from __future__ import annotations

from pathlib import Path

from workflow.derive.moved import Move

FILE = "moved.txt"
TOLD = ("claim flipped", "moved")
LINES = 20
"""Moved numbers listed per campaign; flipped claims are listed all."""


def told(name: str, found: list[Move], old: str, new: str) -> str:
    """Lines about one campaign. `old`, `new`: the values.json that were compared, for the command that lists everything."""
    flipped, shifted = ([move for move in found if move.verdict == verdict] for verdict in TOLD)
    within = sum(move.verdict == "within noise" for move in found)
    lines = [f"{name}, since the last publication: {len(flipped)} claims flipped, {len(shifted)} numbers moved beyond noise, {within} within it"]
    lines += [f"  flipped  {move.key}: {move.old} -> {move.new}" for move in flipped]
    shifted.sort(key=_size, reverse=True)
    lines += [f"  moved    {move.key}: {_number(move.old)} -> {_number(move.new)} {move.unit}".rstrip() + _beyond(move) for move in shifted[:LINES]]
    if len(shifted) > LINES or within:
        lines.append(f"  everything: soundings moved --all {old} {new}")
    return "\n".join(lines) + "\n"


def say(build: Path) -> None:
    """Print what the page left to be said, once."""
    file = build / FILE
    try:
        text = file.read_text("utf8")
        file.unlink()
    except OSError:
        return  # nothing was published by this run
    print(text, end="")


def _size(move: Move) -> float:
    return 0.0 if move.delta is None else abs(move.delta) / (move.noise or abs(move.old) or 1.0)


def _beyond(move: Move) -> str:
    return "" if move.delta is None else f" ({move.delta:+.4g}, noise {move.noise or 0:.4g})"


def _number(value: float | str | None) -> str:
    return f"{value:.5g}" if isinstance(value, (int, float)) else str(value)
