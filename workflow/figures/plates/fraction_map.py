"""The settings of a few knobs on one plane: step latency across, tokens a step up, equal throughput along the diagonals; one run ringed."""

from __future__ import annotations

import math
from dataclasses import dataclass

from workflow.derive.values import Values
from workflow.figures.paths import Box
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.plate import label as name
from workflow.figures.read import series, value, word
from workflow.figures.scale import log_over, round_log_ticks
from workflow.figures.sheet import Panel, Point, Sheet, gutter, label
from workflow.figures.spots import box, clearest, crosses
from workflow.figures.style import DEN, INK, INK2, NUM, RULE, Cue, Layout

ROOM = "x" * 12
"""A text as long as a path's name may be."""
SAYS = "x" * 8
"""A text as long as what the ring says may be."""


@dataclass(frozen=True)
class Path:
    """What one knob does: (number in the key, step fact, tokens fact) in the order in which the knob is turned."""

    name: str
    axis: str
    cue: Cue
    stops: tuple[tuple[int, str, str], ...]


def paths(values: Values) -> list[Path]:
    """The knobs that the campaign turned: block size on one text, concurrency in both lanes, input length."""
    content = word(values, "window.best_content") or "all"
    wanted = (
        ("window", "gamma", Cue("D", (1.5, 2.5)), f"window.{content}.g#.step_ms", f"window.{content}.g#.emitted_per_round"),
        ("dspark", "concurrency", Cue("o"), "scale.dspark.c#.step_ms", "scale.dspark.c#.tokens_per_step"),
        ("plain", "concurrency", Cue("o", (5, 3), filled=False), "scale.plain.c#.step_ms", "scale.plain.c#.tokens_per_step"),
        ("isl", "length", Cue("s", (7, 2.5)), "isl.i#.dspark.step_ms", "isl.i#.dspark.emitted_per_round"),
    )
    found = []
    for text, axis, cue, steps, tokens in wanted:
        costs = {m.at: m for m in series(values, steps) if m.value > 0}
        stops = tuple((m.at, costs[m.at].key, m.key) for m in series(values, tokens) if m.at in costs and m.value > 0)
        if stops:
            found.append(Path(text, axis, cue, stops))
    return found


def spots(known: list[Path], values: Values) -> dict[str, list[Point]]:
    """Path -> (ms a step, tokens a step) of its stops."""
    return {path.name: [(value(values, step), value(values, tokens)) for _, step, tokens in path.stops] for path in known}


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    known = paths(values)
    if not known:
        return Missing(("scale.*.c*.step_ms", "scale.*.c*.tokens_per_step", "window.*.g*.step_ms"))
    placed = spots(known, values)
    every = [spot for line in placed.values() for spot in line]
    across, up = log_over([s for s, _ in every], 1.35), log_over([t for _, t in every], 1.5)
    margin = gutter(layout, round_log_ticks(up))
    right, height = (52, 300) if layout.narrow else (66, 360)
    head = layout.text + 14
    sheet = Sheet(layout, head + height + layout.text * 2 + 22)
    panel = Panel(sheet, margin, head, layout.width - margin - right, height, across, up)
    sheet.text(0, layout.text + 1, label("tokens"), color=NUM, bold=True)
    sheet.text(layout.width, layout.text + 1, label("rate"), "end", INK2)
    with sheet.group("equal"):
        diagonals(panel)
    xticks = round_log_ticks(across)
    panel.frame(xticks if not layout.narrow else xticks[:: max(1, len(xticks) // 4)], [])
    for tick in round_log_ticks(up):
        sheet.axis_text(panel.left - 7, panel.y(tick) + layout.text * 0.35, f"{tick:g}", "end")
    for path in known:
        with sheet.group(f"path-{path.name}"), sheet.series(path.name):
            panel.curve(placed[path.name], INK, path.cue, 1.8, 7)
    loaded = [path.name for path in known if path.axis == "concurrency"]
    ahead = max(loaded, key=lambda name: placed[name][-1][1] / placed[name][-1][0], default="")
    names: list[Box] = []
    for path in known:
        with sheet.series(path.name):
            names += _name(panel, path, placed[path.name], path.name == ahead)
    best(panel, values)
    if ring := winner(panel, values):
        _ringed(panel, ring, [[panel.at(spot) for spot in line] for line in placed.values()], names)
    sheet.text(panel.right, panel.bottom + layout.text * 2 + 13, label("step"), "end", DEN, bold=True)
    return sheet


def diagonals(panel: Panel) -> None:
    """Lines of equal tokens a second: tokens = rate x ms / 1000, straight at one angle on two logarithmic axes."""
    low, high = (up / across * 1000 for up, across in ((panel.yscale.lo, panel.xscale.hi), (panel.yscale.hi, panel.xscale.lo)))
    exponents = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    rates = [m * 10.0**p for p in exponents for m in ((1, 2, 5) if high / low < 3000 else (1, 3))]
    for rate in rates:
        ends = _inside(panel, rate)
        if ends is None:
            continue
        panel.sheet.line([panel.at(p) for p in ends], RULE, 1.2)
        if ends[1][0] >= panel.xscale.hi * 0.999:
            panel.sheet.axis_text(panel.right + 6, panel.y(ends[1][1]) + panel.sheet.layout.text * 0.35, f"{rate:,.0f}", "start")


def _inside(panel: Panel, rate: float) -> tuple[Point, Point] | None:
    """The part of one diagonal that lies on the panel, lower end first."""
    start = max(panel.xscale.lo, panel.yscale.lo * 1000 / rate)
    end = min(panel.xscale.hi, panel.yscale.hi * 1000 / rate)
    return ((start, start * rate / 1000), (end, end * rate / 1000)) if start < end * 0.98 else None


def _name(panel: Panel, path: Path, spots: list[Point], ahead: bool) -> list[Box]:
    """A path's name at its end: a loaded lane on the side away from the other lane, the rest to the right. Returns the room that it takes."""
    x, y = panel.at(spots[-1])
    sheet, size = panel.sheet, panel.sheet.layout.text
    if path.axis != "concurrency":
        # a path may turn back: its name stands clear of the point that reaches farthest
        farthest = max(panel.at(spot)[0] for spot in spots)
        sheet.text(farthest + 10, y + size * 0.35, label(path.name), halo=True)
        return [box(farthest + 10, y + size * 0.35, ROOM, size, "start")]
    edge, line = (x - 10, y - size - 5) if ahead else (min(x + size * 4, panel.right), y + size * (2 if sheet.layout.narrow else 1) + 8)
    sheet.text(edge, line, label(path.name), "end", bold=path.name == "dspark", halo=True)
    if ahead or not sheet.layout.narrow:  # on narrow paper the line itself runs below its name, and the other lane's says what load does
        sheet.text(edge, line + size + 3, label("loaded"), "end", INK2, halo=True)
    return [box(edge, baseline, ROOM, size, "end") for baseline in (line, line + size + 3)]


def winner(panel: Panel, values: Values) -> Point | None:
    """Where the run that the page begins with stands on the sheet; nowhere when it lies off the panel."""
    step, tokens = value(values, "prologue.best.step_ms"), value(values, "prologue.best.accepted_per_step")
    if step and tokens and panel.xscale.lo <= step <= panel.xscale.hi and panel.yscale.lo <= tokens <= panel.yscale.hi:
        return panel.at((step, tokens))
    return None


def best(panel: Panel, values: Values, size: float = 16.0) -> None:
    """A ring around that run."""
    if spot := winner(panel, values):
        panel.sheet.ring(spot, size=size)


def _ringed(panel: Panel, ring: Point, lines: list[list[Point]], names: list[Box]) -> None:
    """What the ring says of its run, in the nearest place where no path and no name stands, and a stroke to it past all names."""
    sheet, size, (x, y) = panel.sheet, panel.sheet.layout.text, ring
    room = box(0, 0, SAYS, size, "start")[2]
    middle = min(max(x, panel.left + room / 2), panel.right - room / 2)
    heights = [panel.top + size * (1 + 0.75 * place) for place in range(int(panel.height / (0.75 * size)) - 2)]
    places = [(middle, height, "middle") for height in heights if abs(height - y) > 2 * size]
    for away in (14 + size * step for step in range(12)):
        places += [(x - away, height, "end") for height in heights if x - away - room > panel.left]
        places += [(x + away, height, "start") for height in heights if x + away + room < panel.right]
    places.sort(key=lambda place: math.dist((place[0], place[1] - 0.35 * size), ring))
    places = [place for place in places if not any(crosses(name, ring, (place[0], place[1] - 0.35 * size)) for name in names)] or places
    at, height, anchor = clearest(places, SAYS, size, lines, [*names, (x - 10, y - 10, x + 10, y + 10)])
    level = height - 0.35 * size
    if anchor == "middle":  # from the side of the text that faces the ring, well inside it in every language
        end = min(max(x, at - room / 4), at + room / 4), level + math.copysign(0.7 * size, y - level)
    else:
        end = at + math.copysign(3, x - at), level
    if (reach := math.dist(ring, end)) > 1.5 * size:  # a text beside its ring needs none
        sheet.line([end, (x + (end[0] - x) * 8 / reach, y + (end[1] - y) * 8 / reach)], INK2, 1.0)
    sheet.text(at, height, label("ringed"), anchor, INK, halo=True)


def table(values: Values) -> Table:
    rows = [(name(f"{path.name}_row"), lit(at), key(values, tokens), key(values, step)) for path in paths(values) for at, step, tokens in path.stops]
    return Table(("path", "level", "tokens", "step"), tuple(rows))


PLATE = Plate("fraction-map", "prologue.fraction_closes", draw, table)
