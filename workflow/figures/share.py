"""The picture that a link to the page is shown with elsewhere: the map of runs, 1200 by 630 pixels, as PNG.

It has no words of a language: the fonts that come with matplotlib have no Han characters, and no other font is asked for, so that the same
values give the same bytes wherever the page is built.
"""

from __future__ import annotations

import io

import matplotlib
from matplotlib.figure import Figure
from matplotlib.lines import Line2D
from matplotlib.patches import Polygon
from matplotlib.text import Text
from matplotlib.transforms import Affine2D

from workflow.derive.values import Values
from workflow.figures.plates.fraction_map import best, diagonals, paths, spots
from workflow.figures.scale import log_over, round_log_ticks
from workflow.figures.sheet import Area, Line, Marks, Panel, Sheet, Words
from workflow.figures.style import DEN, INK, INK2, NUM, PAPER, Layout

BUDGET = 120_000
"""Bytes of the picture."""
PAPERSIZE = Layout("share", 1200, 25.0, 50.0)
HEIGHT = 630


def picture(values: Values) -> bytes:
    """The PNG; only the name where the campaign has no run to place on the map."""
    sheet = Sheet(PAPERSIZE, HEIGHT)
    sheet.rect(0, 0, sheet.width, HEIGHT, PAPER)
    sheet.text(60, 88, "Soundings", size=PAPERSIZE.big, bold=True)
    sheet.text(sheet.width - 60, 88, values.campaign, "end", INK2)
    if paths(values):
        _map(sheet, values)
    file = io.BytesIO()
    with matplotlib.rc_context({"font.family": "DejaVu Sans"}):
        painted(sheet).savefig(file, format="png", dpi=72, metadata={"Software": None})
    return file.getvalue()


def painted(sheet: Sheet) -> Figure:
    """What is on a sheet as matplotlib's artists, in the light theme; no looks of words but their colour and size."""
    figure = Figure(figsize=(sheet.width / 72, sheet.height / 72), dpi=72)
    units = Affine2D().scale(1, -1).translate(0, sheet.height)  # at 72 dpi a pixel is a unit; matplotlib counts y upwards
    for order, item in enumerate(sheet.items, 1):
        artist = _artist(item.what)
        artist.set(zorder=order, clip_on=False, transform=units)
        figure.add_artist(artist)  # no axes: they cost more than what is drawn
    return figure


def _artist(what: Line | Marks | Area | Words):
    match what:
        case Line(points, color, width, dash):
            return Line2D(*zip(*points), color=color.light, linewidth=width, linestyle=_dashed(dash, width), solid_capstyle="butt", dash_capstyle="butt")
        case Marks(points, shape, size, color, face):
            look = {"markeredgecolor": color.light, "markeredgewidth": 1.8, "markerfacecolor": face.light if face else "none"}
            return Line2D(*zip(*points), linestyle="none", marker=shape, markersize=size, **look)
        case Area(points, face, edge, width, dash):
            colors = {"facecolor": face.light if face else "none", "edgecolor": edge.light if edge else "none"}
            return Polygon(points, closed=True, linewidth=width if edge else 0, linestyle=_dashed(dash, width), **colors)
        case Words((x, y), content, anchor, color, size):
            side = {"start": "left", "middle": "center", "end": "right"}[anchor]
            return Text(x, y, content, color=color.light, fontsize=size, ha=side, va="baseline")


def _dashed(dash: tuple[float, ...], width: float):
    """matplotlib multiplies dashes by the line width; a sheet's are in its units."""
    return (0, tuple(length / width for length in dash)) if dash else "-"


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
