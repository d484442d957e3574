"""One logged round, start to end: tokens drafted one after the other, checked in one pass, committed; times to scale.

What appears at one moment is a group of its own (`draft`, `draft-1` …, `verify`, `accept-1` …, `commit`, `time-draft` …): the page plays them on the
round's own clock, and shows the frames, one a phase, where nothing may move.
"""

from __future__ import annotations

from dataclasses import dataclass

from workflow.derive.values import Values
from workflow.figures.plate import Missing, Plate, Table, key, lit
from workflow.figures.plate import label as name
from workflow.figures.read import absent, series, value
from workflow.figures.scale import Scale
from workflow.figures.sheet import Frame, Sheet, label, number
from workflow.figures.style import AXIS, DEN, INK, INK2, NUM, PAPER, RULE, Layout

ROUND = "dspark.round"
PHASES = ("draft", "verify", "commit")


@dataclass(frozen=True)
class Slot:
    """One drafted token of the round."""

    at: int
    accepted: bool

    def fact(self, part: str) -> str:
        return f"{ROUND}.{self.at}.{part}"


def _slots(values: Values) -> list[Slot]:
    return [Slot(m.at, m.value > 0.5) for m in series(values, f"{ROUND}.#.accepted")]


def draw(values: Values, layout: Layout) -> Sheet | Missing:
    slots = _slots(values)
    if not slots:
        return Missing((f"{ROUND}.*.accepted",))
    if gone := absent(values, (f"{ROUND}.{phase}_ms" for phase in (*PHASES, "total"))):
        return Missing(gone)
    return _tall(values, slots, layout) if layout.narrow else _across(values, slots, layout)


def _kept(slots: list[Slot]) -> int:
    """Accepted drafts before the first refusal: the index of the recurrent state that is kept."""
    return next((place for place, slot in enumerate(slots) if not slot.accepted), len(slots))


def _across(values: Values, slots: list[Slot], layout: Layout) -> Sheet:
    """Wide paper: time runs down, one column a position."""
    sheet = Sheet(layout, 432)
    left, size = 138, layout.text
    kept = _kept(slots)
    pitch = (layout.width - left) / max(len(slots) + 1, kept + 2)
    box = min(pitch - 14, 96)
    cut = max(3, int(box / 9.2))

    def center(place: int) -> float:
        return left + pitch * (place + 0.5)

    with sheet.group("draft"):
        _lane(sheet, 44, "draft", "draft_note", NUM)
        _token(sheet, center(0), 30, box, _end(values, "anchor", cut), INK2)
        sheet.text(center(0), 30 + 26 + size + 4, label("anchor"), "middle", INK2)
    for place, slot in enumerate(slots, 1):
        with sheet.group(f"draft-{place}"):
            _arrow(sheet, center(place - 1) + box / 2, center(place) - box / 2, 30 + 13)
            _token(sheet, center(place), 30, box, f"@@t:{slot.fact('token')}|{cut}@@", NUM)
            _chance(sheet, values, center(place), 64, box, slot.fact("q"), NUM)
    with sheet.group("verify"):
        _lane(sheet, 150, "verify", "verify_note", DEN)
        x = center(0) - box / 2 - 6
        sheet.rect(x, 126, center(len(slots)) + box / 2 + 6 - x, 84, None, DEN, 1.8)
        sheet.line([(center(0) - 8, 196 - 6), (center(0) + 8, 196 - 6)], AXIS, 2.0)
        for place, slot in enumerate(slots, 1):
            _chance(sheet, values, center(place), 136, box, slot.fact("p"), DEN)
    for place in range(1, len(slots) + 1):
        with sheet.group(f"accept-{place}"):
            _verdict(sheet, center(place), 196, place - 1 < kept, place - 1 == kept)
    with sheet.group("commit"):
        _lane(sheet, 262, "commit", "commit_note", INK)
        for place, slot in enumerate(slots[:kept], 1):
            _token(sheet, center(place), 244, box, f"@@t:{slot.fact('token')}|{cut}@@", INK, solid=True)
        _token(sheet, center(kept + 1), 244, box, _end(values, "bonus", cut), INK, solid=True)
        sheet.text(center(kept + 1), 244 + 26 + size + 4, label("bonus"), "middle", INK2)
        _lane(sheet, 326, "states", None, INK2)
        for place in range(len(slots) + 1):
            chosen = place == kept
            sheet.rect(center(place) - 9, 312, 18, 18, INK if chosen else None, INK if chosen else AXIS, 1.4, () if chosen else (3, 2))
            if chosen:
                sheet.text(center(place), 312 + 18 + size + 2, label("kept"), "middle", INK2)
    _times(sheet, values, left, 378, layout.width - left - 2, 26)
    with sheet.group("time"):
        _lane(sheet, 396, "time", None, INK2)
        _named(sheet, values, left, 378 + 26 + size + 4, layout.width - left - 2)
    sheet.frames = _frames(len(slots), (0, 118), (118, 104), (222, sheet.height - 222))
    return sheet


def _frames(drafts: int, draft: tuple[float, float], verify: tuple[float, float], commit: tuple[float, float]) -> list[Frame]:
    """One a phase; each shows the band of its phase (top, height), acceptance the verified block again with the verdicts on it.

    A bar of the clock belongs to its phase too, though only the last frame shows the clock.
    """
    drafted = ("draft", *(f"draft-{place}" for place in range(1, drafts + 1)))
    judged = tuple(f"accept-{place}" for place in range(1, drafts + 1))
    behind = drafted if verify[0] == draft[0] else ()
    return [
        Frame("draft", (*drafted, "time", "time-draft"), *draft),
        Frame("verify", (*behind, "verify", "time-verify"), *verify),
        Frame("accept", (*behind, "verify", *judged), *verify),
        Frame("commit", ("commit", "time", "time-draft", "time-verify", "time-commit"), *commit),
    ]


def _lane(sheet: Sheet, y: float, text: str, note: str | None, color) -> None:
    sheet.text(0, y, label(text), color=color, bold=True)
    if note:
        sheet.text(0, y + sheet.layout.text + 5, label(note), color=INK2)


def _end(values: Values, role: str, cut: int) -> str:
    """The token that the round starts from or that the target adds; its role in words when the text was not logged."""
    fact = f"{ROUND}.{role}.token"
    return f"@@t:{fact}|{cut}@@" if values.get(fact) is not None else label(role)


def _token(sheet: Sheet, x: float, y: float, width: float, slot: str, color, solid: bool = False) -> None:
    sheet.rect(x - width / 2, y, width, 26, color if solid else PAPER, color, 1.6)
    sheet.text(x, y + 18, slot, "middle", PAPER if solid else INK, mono="t:" in slot)


def _arrow(sheet: Sheet, start: float, end: float, y: float) -> None:
    sheet.line([(start + 1, y), (end - 5, y)], NUM, 1.4)
    sheet.polygon([(end - 1, y), (end - 7, y - 4), (end - 7, y + 4)], NUM)


def _chance(sheet: Sheet, values: Values, x: float, y: float, width: float, fact: str, color) -> None:
    """A probability as a bar from zero to one, its number below."""
    chance = value(values, fact)
    sheet.rect(x - width / 2, y, width, 9, RULE)
    if chance is None:
        sheet.text(x, y + 9 + sheet.layout.text + 3, label("absent"), "middle", INK2)
        return
    sheet.rect(x - width / 2, y, max(width * min(max(chance, 0.0), 1.0), 1.5), 9, color)
    sheet.text(x, y + 9 + sheet.layout.text + 3, number(fact), "middle", color)


def _verdict(sheet: Sheet, x: float, y: float, accepted: bool, first_refused: bool) -> None:
    """A tick, a cross, or a dash for what was drafted behind the first refusal and no longer counts."""
    if accepted:
        sheet.line([(x - 8, y - 6), (x - 2, y), (x + 9, y - 13)], NUM, 2.8)
    elif first_refused:
        sheet.line([(x - 7, y - 13), (x + 7, y + 1)], DEN, 2.8)
        sheet.line([(x - 7, y + 1), (x + 7, y - 13)], DEN, 2.8)
    else:
        sheet.line([(x - 8, y - 6), (x + 8, y - 6)], AXIS, 2.0, (3, 2))


def _clock(values: Values) -> Scale:
    """The whole round as one: its total, or its phases where they add up to more."""
    total = value(values, f"{ROUND}.total_ms")
    return Scale(0.0, max(total, sum(value(values, f"{ROUND}.{p}_ms") for p in PHASES)) or 1.0)


def _times(sheet: Sheet, values: Values, x: float, y: float, width: float, height: float) -> None:
    """Draft, verify and commit end to end on one clock, each bar a group of its own."""
    scale = _clock(values)
    for phase, color in zip(PHASES, (NUM, DEN, INK)):
        long = width * scale(value(values, f"{ROUND}.{phase}_ms"))
        with sheet.group(f"time-{phase}"):
            sheet.rect(x, y, max(long, 1.5), height, color)
        x += long


def _named(sheet: Sheet, values: Values, x: float, y: float, width: float) -> None:
    """What the bars are called, and the whole; the commit is too short to be named."""
    scale = _clock(values)
    at = written = x
    for phase, color in (("draft", NUM), ("verify", DEN)):
        written = max(written, at)
        sheet.text(written, y, f"{label(phase)} {number(f'{ROUND}.{phase}_ms')}", "start", color)
        written += sheet.layout.text * 8.4
        at += width * scale(value(values, f"{ROUND}.{phase}_ms"))
    sheet.text(x + width, y, number(f"{ROUND}.total_ms"), "end", INK, bold=True)


def _tall(values: Values, slots: list[Slot], layout: Layout) -> Sheet:
    """Narrow paper: one row a position, draft and check side by side."""
    size, pitch, box = layout.text, 48, 82
    kept = _kept(slots)
    head = size + 40
    rows = head + pitch * (len(slots) + 1)
    sheet = Sheet(layout, rows + 216)
    columns = {"token": box / 2 + 1, "q": 150, "p": 236, "verdict": 304}
    bar = 62
    with sheet.group("draft"):
        sheet.text(0, size, label("draft"), color=NUM, bold=True)
        sheet.text(columns["q"], size + 20, label("q"), "middle", NUM)
        _token(sheet, columns["token"], head, box, _end(values, "anchor", 8), INK2)
    for place, slot in enumerate(slots, 1):
        y = head + pitch * place
        with sheet.group(f"draft-{place}"):
            sheet.line([(columns["token"], y - pitch + 27), (columns["token"], y - 6)], NUM, 1.4)
            sheet.polygon([(columns["token"], y - 1), (columns["token"] - 4, y - 7), (columns["token"] + 4, y - 7)], NUM)
            _token(sheet, columns["token"], y, box, f"@@t:{slot.fact('token')}|8@@", NUM)
            _chance(sheet, values, columns["q"], y, bar, slot.fact("q"), NUM)
    with sheet.group("verify"):
        sheet.text(layout.width, size, label("verify"), "end", DEN, bold=True)
        sheet.text(columns["p"], size + 20, label("p"), "middle", DEN)
        sheet.rect(columns["p"] - bar / 2 - 8, head - 8, layout.width - columns["p"] + bar / 2 + 6, pitch * (len(slots) + 1) - 2, None, DEN, 1.8)
        sheet.text(columns["p"] + 20, head + 20, label("anchor"), "middle", INK2)
        for place, slot in enumerate(slots, 1):
            _chance(sheet, values, columns["p"], head + pitch * place, bar, slot.fact("p"), DEN)
    for place in range(1, len(slots) + 1):
        with sheet.group(f"accept-{place}"):
            _verdict(sheet, columns["verdict"] - 8, head + pitch * place + 22, place - 1 < kept, place - 1 == kept)
    with sheet.group("commit"):
        top = rows + 12
        sheet.text(0, top + 4, label("commit"), bold=True)
        _committed(sheet, values, slots[:kept], top + 14)
        sheet.text(0, top + 86, label("states"), color=INK2, bold=True)
        for place in range(len(slots) + 1):
            chosen = place == kept
            sheet.rect(2 + place * 24, top + 96, 16, 16, INK if chosen else None, INK if chosen else AXIS, 1.4, () if chosen else (3, 2))
        sheet.text(2 + (len(slots) + 1) * 24 + 4, top + 96 + 13, label("kept"), color=INK2)
    _times(sheet, values, 1, top + 154, layout.width - 2, 20)
    with sheet.group("time"):
        sheet.text(0, top + 144, label("time"), color=INK2, bold=True)
        _named(sheet, values, 1, top + 154 + 20 + size + 4, layout.width - 2)
    sheet.frames = _frames(len(slots), (0, top - 12), (0, top - 12), (top - 12, sheet.height - top + 12))
    return sheet


def _committed(sheet: Sheet, values: Values, accepted: list[Slot], top: float) -> None:
    """Accepted tokens and the bonus in as many lines of four as it takes."""
    slots = [f"@@t:{slot.fact('token')}|7@@" for slot in accepted] + [_end(values, "bonus", 7)]
    width = 74
    for place, slot in enumerate(slots):
        row, column = place // 4, place % 4
        _token(sheet, column * (width + 7) + width / 2 + 1, top + row * 30, width, slot, INK, solid=True)


def table(values: Values) -> Table:
    rows = [(lit(slot.at), *(key(values, slot.fact(part)) for part in ("token", "q", "p", "accepted"))) for slot in _slots(values)]
    blank = key(values, "-")
    rows += [(name(phase), key(values, f"{ROUND}.{phase}_ms"), blank, blank, blank) for phase in (*PHASES, "total")]
    return Table(("slot", "token", "q", "p", "accepted"), tuple(rows))


PLATE = Plate("dspark-step", "dspark.serial_draft_cheap", draw, table, needs=(f"{ROUND}.drafted", f"{ROUND}.accepted"))
