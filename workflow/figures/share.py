"""The picture that a link to the page is shown with elsewhere: the map of all runs, 1200 by 630 pixels, as PNG.

It has no words of a language: the fonts that come with matplotlib have no Han characters, and no other font is asked for, so that the same
values give the same bytes wherever the page is built.
"""

from __future__ import annotations

import io

import matplotlib

from workflow.derive.values import Values
from workflow.figures.plates.fraction_map import best, diagonals, paths, spots
from workflow.figures.scale import log_over, round_log_ticks
from workflow.figures.sheet import Panel, Sheet
from workflow.figures.style import DEN, INK, INK2, NUM, PAPER, Layout, Token

BUDGET = 120_000
"""Bytes of the picture."""
PAPERSIZE = Layout("share", 1200, 25.0, 50.0)
HEIGHT = 630


def picture(values: Values) -> bytes:
    """The PNG; only the name where the campaign has no run to place on the map."""
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        sheet = Sheet(PAPERSIZE, HEIGHT, ink=_light)
        sheet.rect(0, 0, sheet.width, HEIGHT, PAPER)
        sheet.text(60, 88, "Soundings", size=PAPERSIZE.big, bold=True)
        sheet.text(sheet.width - 60, 88, values.campaign, "end", INK2)
        if paths(values):
            _map(sheet, values)
        file = io.BytesIO()
        sheet.figure.savefig(file, format="png", dpi=72, metadata={"Software": None})
    return file.getvalue()


def _light(token: Token) -> str:
    return token.light


def _map(sheet: Sheet, values: Values) -> None:
    known = paths(values)
    placed = spots(known, values)
    every = [spot for line in placed.values() for spot in line]
    across, up = log_over([step for step, _ in every], 1.25), log_over([tokens for _, tokens in every], 1.4)
    panel = Panel(sheet, 130, 190, sheet.width - 290, HEIGHT - 300, across, up)
    diagonals(panel)
    panel.frame(round_log_ticks(across), [])
    for tick in round_log_ticks(up):
        sheet.axis_text(panel.left - 14, panel.y(tick) + 9, f"{tick:g}", "end")
    for path in known:
        panel.curve(placed[path.name], INK, path.cue, 3.0, 13)
    best(panel, values, 34)
    sheet.text(60, 158, "tokens / step", color=NUM, bold=True)
    sheet.text(panel.right, panel.bottom + 80, "ms / step", "end", DEN, bold=True)
    sheet.text(sheet.width - 60, 158, "tokens / s", "end", INK2)
