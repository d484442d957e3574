"""Block size: what a wider draft buys (blue), what it costs (red), what is left (ink), over one shared γ axis."""

from __future__ import annotations

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.plate import label as name
from workflow.figures.read import CONTENT, Mark, series, value, word
from workflow.figures.scale import Scale, from_zero, nice_ticks
from workflow.figures.sheet import Panel, Sheet, Stop, gutter, label, number, spread
from workflow.figures.style import CONTENT as CUES
from workflow.figures.style import DEN, INK, INK2, NUM, Cue, Layout, Token

PANELS = (("tokens", "emitted_per_round", NUM), ("step", "step_ms", DEN), ("speedup", "speedup", INK))


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    curves = {part: _curves(values, part) for _, part, _ in PANELS}
    if not curves["emitted_per_round"] and not curves["speedup"]:
        return Missing(("window.*.g*.emitted_per_round", "window.*.g*.speedup"))
    widest = max(mark.at for part in curves.values() for marks in part.values() for mark in marks)
    scales = {part: _scale(curves[part], part) for _, part, _ in PANELS}
    margin, room = gutter(layout, *(nice_ticks(scale, 3) for scale in scales.values())), 88 if layout.narrow else 110
    tall = (120, 110, 140) if layout.narrow else (150, 110, 170)
    head, gap = layout.text + 12, layout.text + 22
    sheet = Sheet(layout, (head + 8) * 3 + sum(tall) + gap + 8)
    gammas = Scale(0.7, widest + 0.3)
    top = 0.0
    for (caption, part, color), height in zip(PANELS, tall):
        scale = scales[part]
        panel = Panel(sheet, margin, top + head, layout.width - margin - room, height, gammas, scale)
        with sheet.group(caption):
            sheet.text(0, top + layout.text + 1, label(caption), color=color, bold=True)
            last = part == PANELS[-1][1]
            panel.frame(range(1, widest + 1), nice_ticks(scale, 3), xlabels=last)
            if part == "speedup":
                _plain_line(panel)
            _lines(panel, curves[part], color)
            if part == "step_ms":
                _verify(panel, values)
            if part == "speedup":
                _best(panel, values, curves[part])
        top += head + height + 8
    sheet.stops = [Stop(panel.x(gamma), gamma) for gamma in range(1, widest + 1)]
    edge = layout.width - 2 if layout.narrow else panel.right
    sheet.text(edge, panel.bottom + layout.text * 2 + 12, label("gamma"), "end", INK2)
    return sheet


def _curves(values: Values, part: str) -> dict[str, list[Mark]]:
    """A line a content class; the step costs the same whatever is read, so that panel shows all of them as one."""
    if part == "step_ms":
        pooled = series(values, "window.all.g#.step_ms")
        if pooled:
            return {"all": pooled}
    return {c: marks for c in CONTENT if (marks := series(values, f"window.{c}.g#.{part}"))}


def _scale(curves: dict[str, list[Mark]], part: str) -> Scale:
    """Zero-based; plain decoding, at one, is always in sight, and the speedup leaves room for a number above its best."""
    known = [mark.value for marks in curves.values() for mark in marks]
    return from_zero(known + ([] if part == "step_ms" else [1.0]), 1.28 if part == "speedup" else 1.12)


def _lines(panel: Panel, curves: dict[str, list[Mark]], color: Token) -> None:
    size = panel.sheet.layout.text
    ends = [panel.y(marks[-1].value) for marks in curves.values()]
    places = spread(ends, size + 1.5, panel.top, panel.bottom - 2)
    series = {content: content if content in CUES else "" for content in curves}
    for content, marks in curves.items():
        with panel.sheet.series(series[content]):
            panel.evidence(marks, color, whiskers=False)
    panel.curves({series[content]: ([(m.at, m.value) for m in marks], CUES.get(content, Cue("o"))) for content, marks in curves.items()}, color, size=7)
    for content, place in zip(curves, places):
        with panel.sheet.series(series[content]):
            if content in CUES:
                panel.sheet.text(panel.right + 8, place + size * 0.35, label(content), color=color)
            else:
                panel.sheet.text(panel.right + 8, place - 1, label("whole"), color=color)


def _verify(panel: Panel, values: Values) -> None:
    """The part of a step that the verify pass takes."""
    marks = series(values, "window.all.g#.verify_ms")
    if marks:
        size = panel.sheet.layout.text
        panel.curve([(m.at, m.value) for m in marks], DEN, Cue("s", (4, 2.5), filled=False), 1.6, 6)
        panel.sheet.text(panel.right + 8, max(panel.y(marks[-1].value) + size * 0.6, panel.top + size * 1.6), label("verifying"), color=DEN)


def _plain_line(panel: Panel) -> None:
    panel.sheet.line([(panel.left, panel.y(1)), (panel.right, panel.y(1))], INK2, 1.2, (5, 3))


def _best(panel: Panel, values: Values, curves: dict[str, list[Mark]]) -> None:
    """A ring around the γ that wins, content by content."""
    for content, marks in curves.items():
        gamma = value(values, f"window.{content}.best_gamma")
        for mark in marks:
            if mark.at == gamma:
                x, y = panel.at((mark.at, mark.value))
                with panel.sheet.series(content):
                    panel.sheet.ring((x, y), INK)
                    if content == word(values, "window.best_content"):
                        panel.sheet.text(x, y - 13, number(mark.key), "middle", bold=True, halo=True)


def table(values: Values) -> Table:
    rows = []
    for content in CONTENT:
        gammas = sorted({m.at for _, part, _ in PANELS for m in series(values, f"window.{content}.g#.{part}")})
        text = (key(values, f"window.{content}.plain.tpot_ms"), key(values, f"window.{content}.distinct_4gram_share"))
        for gamma in gammas:
            row = f"window.{content}.g{gamma}"
            parts = ("emitted_per_round", "draft_ms", "verify_ms", "commit_ms", "step_ms", "tpot_ms", "speedup")
            rows.append((name(content), lit(gamma), *(key(values, f"{row}.{part}") for part in parts), *text))
    return Table(("content", "gamma", "tokens", "draft", "verify", "commit", "step", "tpot", "speedup", "plain_tpot", "distinct"), tuple(rows))


PLATE = Plate("window", "window.interior_optimum", draw, table, needs=("window.all.plain.tpot_ms", "window.all.distinct_4gram_share"))
