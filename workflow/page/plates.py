"""Plates on the page: a figure with its finding as caption, the drawing in two widths, the data table, sources and downloads."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from html import escape
from pathlib import Path

from workflow.figures.fill import StringsError, fill, standalone
from workflow.figures.style import SVG
from workflow.page.dialect import parse
from workflow.page.document import inline, plain
from workflow.page.errors import PageError
from workflow.page.format import LIST
from workflow.page.speaking import lacking
from workflow.page.splice import PLATE_WORDS, Context, data_cell, reason_element
from workflow.page.strings import Strings

WORDS = re.compile(r"<(title|desc)\b.*?</\1>", re.DOTALL)
WORDS_OF_DRAWING = re.compile(r"<(?:text|g)\b[^>]*>")
UNFILLED = re.compile(r'(<path [^>]*?) fill="none"')
HALO = 'stroke="var(--paper)" stroke-width="4" paint-order="stroke"'
FALLBACK = re.compile(r"var\((--[a-z0-9-]+),[^)]*\)")
INDEX, SHARE = "index.json", "share.png"
"""What is known of each drawing, and the one of no plate; it has a record there too, of its file alone."""
RECORD = {"claim", "wide", "code", "keys", "sources", "table"}
"""What the record of a plate has, drawn or not."""
AGAIN = "build it again with `python -m workflow.figures`"
LONG, MANY = 8, 54
"""Rows, or cells, from which on a data table stands in the index of numbers: its plate leads there."""


@dataclass(frozen=True)
class Drawing:
    """What `python -m workflow.figures` left for one plate."""

    id: str
    claim: str
    wide: bool
    code: str
    keys: tuple[str, ...]
    sources: tuple[str, ...]
    table: dict | None
    svg: str | None
    narrow: str | None
    frames: dict[str, list[dict]] = field(default_factory=dict)
    """Layout -> stills of a drawing that can be played: caption, groups in sight, part of the paper."""
    missing: tuple[str, ...] = ()
    reason: str = ""
    """Why it was not drawn, in the words of the derivation."""

    @classmethod
    def load_all(cls, folder: Path, plates: Iterable[str]) -> dict[str, Drawing]:
        """The drawings of `index.json`. Raises PageError when the figures were not built or a plate is not among them."""
        file = folder / INDEX
        if not file.exists():
            raise PageError.at(str(file), 0, "not there; build it with `python -m workflow.figures`", "plates")
        index = _index(file)
        index.pop(SHARE, None)
        if unknown := [plate for plate in plates if plate not in index]:
            raise PageError.at(str(file), 0, f"no plate {unknown[0]!r}; there are: {', '.join(index)}", "plates")
        try:
            return {plate: cls._of(folder, plate, index[plate]) for plate in plates}
        except FileNotFoundError as error:
            raise PageError.at(str(error.filename), 0, f"not there, though {file} names it; {AGAIN}", "plates") from None

    @classmethod
    def _of(cls, folder: Path, plate: str, record: dict) -> Drawing:
        missing = tuple((record.get("missing") or {}).get("keys", ()))
        drawn = {name: (folder / record[name]).read_bytes() for name in ("file", "narrow") if record.get(name)}
        if drawn and record["sha256"] != hashlib.sha256(b"".join(drawn.values())).hexdigest():
            told = ", ".join(str(folder / record[name]) for name in drawn)
            raise PageError.at(told, 0, f"not what was drawn: the checksum is not that of {folder / INDEX}; {AGAIN}", "plates")
        svg, narrow = (drawn[name].decode("utf8") if name in drawn else None for name in ("file", "narrow"))
        return cls(
            plate,
            record["claim"],
            bool(record["wide"]),
            record["code"],
            tuple(record["keys"]),
            tuple(record["sources"]),
            record["table"],
            svg,
            narrow,
            record.get("frames") or {},
            missing,
            str(record.get("reason") or ""),
        )


def _index(file: Path) -> dict:
    """The records of `index.json`, as far as pages read them. Raises PageError where it is no such file."""
    try:
        index = json.loads(file.read_text("utf8"))
    except ValueError as error:
        raise PageError.at(str(file), 0, f"no JSON ({error}); {AGAIN}", "plates") from None
    if not isinstance(index, dict) or not index:
        raise PageError.at(str(file), 0, f"expected an object with a record for each plate; {AGAIN}", "plates")
    for plate, record in index.items():
        if plate == SHARE and isinstance(record, dict):
            continue
        lacks = sorted(RECORD - set(record)) if isinstance(record, dict) else sorted(RECORD)
        lacks += ["sha256"] if not lacks and record.get("file") and "sha256" not in record else []
        if lacks:
            raise PageError.at(str(file), 0, f"the record of plate {plate!r} lacks {', '.join(lacks)}; {AGAIN}", "plates")
    return index


def picture(folder: Path) -> bytes:
    """The picture for links. Raises PageError when it is not the one that the index names."""
    file = folder / SHARE
    try:
        content, drawn = file.read_bytes(), _index(folder / INDEX).get(SHARE, {}).get("sha256")
    except FileNotFoundError:
        raise PageError.at(str(file), 0, "not there; build it with `python -m workflow.figures`", "plates") from None
    if drawn != hashlib.sha256(content).hexdigest():
        raise PageError.at(str(file), 0, f"not what was drawn: the checksum is not that of {folder / INDEX}; {AGAIN}", "plates")
    return content


@dataclass
class Plates:
    """The plates of one campaign in one language."""

    context: Context
    strings: Strings
    drawings: dict[str, Drawing]
    to_root: str
    """Path from the page to the campaign's root: `` or `../`."""
    tabled: frozenset[str] = frozenset()
    """Plates whose data table stands in the open on the page: it is not folded under them once more."""
    index: str = ""
    """Path from the page to the index of numbers."""
    _filled: dict[tuple[str, str], str] = field(default_factory=dict)

    @cached_property
    def file(self) -> str:
        return self.strings.files["plates"]

    def ui(self, name: str) -> str:
        return inline(
            parse(self.strings.leaf("ui", "plate", name, language=self.context.language), self.strings.files["ui"]),
            self.context,
            self.strings.files["ui"],
        )

    def verdict(self, drawing: Drawing, part: str = "title") -> str:
        """The variant that a title or alt speaks in: the claim's verdict; `missing` where the drawing is, or a fact that the variant states."""
        claim = self.context.lookup.values.claims.get(drawing.claim)
        if drawing.missing or claim is None:
            return "missing"
        text = self.strings.leaf("plates", drawing.id, part, claim.verdict, language=self.context.language)
        return "missing" if self._lacks(text) else claim.verdict

    def text(self, drawing: Drawing, part: str) -> str:
        """The title or alt that the verdict allows."""
        return self.strings.leaf("plates", drawing.id, part, self.verdict(drawing, part), language=self.context.language)

    def subtitle(self, plate: str) -> str:
        """What is plotted; empty where the campaign lacks a fact that it states."""
        text = self.strings.leaf("plates", plate, "subtitle", language=self.context.language)
        return "" if self._lacks(text) else self.inline(text)

    def _lacks(self, text: str) -> bool:
        return bool(lacking(parse(text, self.file), self.context.lookup, self.context.campaign))

    def inline(self, text: str) -> str:
        return inline(parse(text, self.file), self.context, self.file)

    def plain(self, text: str) -> tuple[str, tuple[str, ...]]:
        return plain(parse(text, self.file), self.context, self.file)

    def svg(self, plate: str, width: str = "svg") -> str:
        """The drawing in this language, for inlining."""
        drawing = self.drawings[plate]
        if (plate, width) not in self._filled:
            source = getattr(drawing, width)
            values = self.context.lookup.values
            (title, title_keys), (alt, alt_keys) = (self.plain(self.text(drawing, part)) for part in ("title", "alt"))
            try:
                svg = fill(
                    source,
                    self.context.language,
                    self.strings.section("plates"),
                    values,
                    self.context.formatter.bound(self.context.language),
                    title,
                    alt,
                )
            except StringsError as error:
                raise PageError.at(self.file, 0, str(error), "plates") from None
            self._filled[plate, width] = _keyed(_keyed(svg, "title", title_keys), "desc", alt_keys)
        return self._filled[plate, width]

    def file_svg(self, plate: str) -> str:
        """The drawing as a file of its own; a plate that was not drawn says so."""
        drawing = self.drawings[plate]
        if drawing.svg is not None:
            return standalone(self.svg(plate))
        says = escape(self.plain(self.text(drawing, "title"))[0])
        return (
            '<?xml version="1.0" encoding="UTF-8"?>\n<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 80" width="720" height="80">'
            f'<rect width="720" height="80" fill="#fbfaf7"/><text x="24" y="46" font-family="sans-serif" font-size="16" fill="#56524b">{says}</text></svg>\n'
        )

    def figure(self, plate: str) -> str:
        """The figure element. The first sentence of its caption is the finding."""
        drawing = self.drawings[plate]
        caption = (
            f'<figcaption>{self._number(plate)} <strong class="plate-title">{self.inline(self.text(drawing, "title"))}</strong> '
            f"{self.subtitle(plate)}</figcaption>"
        )
        size = f"plate{' wide' if drawing.wide else ''}{' moving' if drawing.frames else ''}"
        opening = f'<figure id="plate-{plate}" class="{size}" data-claim="{escape(drawing.claim)}" data-verdict="{self.verdict(drawing)}">'
        if drawing.missing:
            known = [key for key in drawing.missing if self.context.lookup.known(key)][:3]
            reasons = "".join(map(self._reason, known)) or f"<li>{reason_element(drawing.reason, self.context)}</li>"
            return f'{opening}{caption}<div class="plate-missing"><p>{self.ui("missing")}</p><ul>{reasons}</ul></div></figure>\n'
        narrow = self._inlined(plate, "narrow") if drawing.narrow else ""
        stills, buttons = (self._stills(drawing), self._buttons()) if drawing.frames else ("", "")
        art = f'<div class="plate-art{"" if narrow else " single"}">{self._inlined(plate, "svg")}{narrow}{buttons}{stills}</div>'
        return f"{opening}{caption}{art}{self._numbers(drawing)}{self._footer(drawing)}</figure>\n"

    def _number(self, plate: str) -> str:
        (before, after), number = PLATE_WORDS[self.context.language], self.context.plates[plate]
        return f'{before}<data value="{number}" data-key="plate.{plate}">{number}</data>{after}'

    def apart(self, drawing: Drawing) -> bool:
        """Whether the data table stands in the index of numbers: a long one, which the page does not write out."""
        if not (drawing.svg and drawing.table) or drawing.id in self.tabled:
            return False
        rows = drawing.table["rows"]
        return len(rows) >= LONG or sum(map(len, rows)) >= MANY

    def read_off(self, drawing: Drawing) -> list[str]:
        """Head and rows of a data table that stands apart, for the page's script, where the drawing can be read off; else nothing."""
        return self._rows(drawing) if self.apart(drawing) and "data-stops" in drawing.svg else []

    def table_apart(self, plate: str, report: str) -> str:
        """The data table for the index of numbers, under the plate's finding. `report`: link to the page that shows the plate."""
        drawing = self.drawings[plate]
        title = self.inline(self.text(drawing, "title"))
        opening = f'<div data-claim="{escape(drawing.claim)}" data-verdict="{self.verdict(drawing)}">'
        return f'{opening}<h3><a href="{report}#plate-{plate}">{self._number(plate)}</a> {title}</h3>{self.data_table(plate)}</div>'

    def _in_the_open(self, drawing: Drawing) -> bool:
        return drawing.id in self.tabled and "data-stops" not in (drawing.svg or "")

    def _numbers(self, drawing: Drawing) -> str:
        """The data table, folded. (The footer leads to one that the page shows in the open; what a drawing can be read off needs its rows in the figure, or with the cards.)"""
        if not drawing.table or self._in_the_open(drawing) or self.apart(drawing):
            return ""
        return f'<details class="plate-data"><summary>{self.ui("table")}</summary>{self.data_table(drawing.id, False)}</details>'

    def _stills(self, drawing: Drawing) -> str:
        """A caption for each phase, and the phase itself for where nothing moves: clones of the drawing's own groups, cut to their part of the paper."""
        size = re.search(r'font-size="[^"]*"', self.svg(drawing.id))[0]
        items = []
        for at, frame in enumerate(drawing.frames["wide"]):
            cut = "".join(self._still(drawing.id, layout, frames[at], size) for layout, frames in drawing.frames.items())
            text = self.strings.leaf("plates", drawing.id, "frames", frame["caption"], language=self.context.language)
            items.append(f"<li><p>{self.inline(text)}</p>{cut}</li>")
        return f'<ol class="frames">{"".join(items)}</ol>'

    @staticmethod
    def _still(plate: str, layout: str, frame: dict, size: str) -> str:
        prefix = plate if layout == "wide" else f"{plate}-{layout}"
        uses = "".join(f'<use href="#{prefix}-{group}"/>' for group in frame["groups"])
        return f'<svg class="plate-{layout}" viewBox="{frame["box"]}" {size} stroke-linejoin="round" aria-hidden="true">{uses}</svg>'

    def _buttons(self) -> str:
        """Back, play or pause, on; of no use without the script, which shows them."""
        back, play, pause, on = (self.ui(name) for name in ("back", "play", "pause", "on"))
        buttons = (f"◀ {back}", f'<span class="play">▶ {play}</span><span class="pause">{pause}</span>', f"{on} ▶")
        return f'<div class="motion needs-js" hidden>{"".join(f"<button type=button>{text}</button>" for text in buttons)}</div>'

    def _inlined(self, plate: str, width: str) -> str:
        """The drawing for its place in the page, whose style sheet has every colour: the literal ones that a file needs are left out."""
        svg = FALLBACK.sub(r"var(\1)", self.svg(plate, width)).replace(HALO, 'class="halo"').replace(f' xmlns="{SVG}"', "", 1)
        svg = WORDS_OF_DRAWING.sub(_as_inherited, svg).replace(' stroke-linejoin="round"', "", 1)
        if not self.drawings[plate].frames:  # the style sheet does not reach into clones
            svg = UNFILLED.sub(r"\1", svg)
        if width == "narrow":  # one of the two is shown; both are called what the wide one says
            svg = WORDS.sub("", svg).replace(f"{plate}-narrow-title {plate}-narrow-desc", f"{plate}-title {plate}-desc")
        return svg.replace("<svg ", f'<svg class="plate-{"wide" if width == "svg" else width}" ', 1)

    def _reason(self, key: str) -> str:
        fact = self.context.lookup.fact(key)
        return f"<li><code>{escape(key)}</code> {reason_element(fact.reason, self.context)}</li>"

    def _footer(self, drawing: Drawing) -> str:
        files = [file for file in drawing.sources if file.endswith((".csv", ".csv.gz"))]
        data = LIST[self.context.language].join(f'<a href="{self.to_root}data/{escape(file)}" data-lit="file">{escape(file)}</a>' for file in files)
        svg = f'<a href="{self.to_root}figures/{drawing.id}.{self.context.language}.svg" download>SVG</a>'
        place = self.index if self.apart(drawing) else "" if self._in_the_open(drawing) else None
        table = f'<a href="{place}#table-{drawing.id}">{self.ui("table")}</a>' if place is not None else ""
        parts = [table, f"{self.ui('data')}{data}" if data else "", f"{self.ui('code')}{escape(drawing.code)}", svg]
        return f'<p class="plate-source">{" · ".join(part for part in parts if part)}</p>'

    def data_table(self, plate: str, framed: bool = True) -> str:
        """The numbers of a plate as a table."""
        table = self.drawings[plate].table
        if not table:
            return ""
        head, *rows = self._rows(self.drawings[plate])
        body = "".join(f"{row}\n" for row in rows)
        name = f"{'table' if framed else 'data'}-{plate}"
        if plate in self.tabled:  # the plate stands on the same page, and says under its title what it shows
            says = f"{self._number(plate)} {self.ui('table')}"
        else:
            says = self.subtitle(plate) or self.inline(self.text(self.drawings[plate], "title"))
        caption = f'<caption id="{name}-caption">{says}</caption>'
        return (
            f'<div class="table-scroll figures" id="{name}" role="region" aria-labelledby="{name}-caption" tabindex="0"><table>{caption}'
            f"{head}<tbody>\n{body}</tbody></table></div>"
        )

    def _rows(self, drawing: Drawing) -> list[str]:
        """The head of a data table, then its rows, as elements."""
        head = "".join(self._td(drawing.id, column, 'th scope="col"') for column in drawing.table["columns"])
        rows = ("".join(self._td(drawing.id, cell, 'td' if at else 'th scope="row"') for at, cell in enumerate(row)) for row in drawing.table["rows"])
        return [f"<thead><tr>{head}</tr></thead>", *(f"<tr>{row}</tr>" for row in rows)]

    def _td(self, plate: str, cell: dict | None, opening: str) -> str:
        """A cell as an element: no element inside it where its own can carry the mark (a folded table is a third of a page's elements otherwise)."""
        closing = f"</{opening.partition(' ')[0]}>"
        if cell is None:
            return f"<{opening}>–{closing}"
        if "key" in cell:
            fact = self.context.lookup.fact(cell["key"])
            return data_cell(fact, self.context.formatter(fact, self.context.language), opening)
        if "label" in cell:
            return f"<{opening}>{self.inline(self.strings.leaf('plates', plate, 'labels', cell['label'], language=self.context.language))}{closing}"
        return f'<{opening} data-lit="axis">{escape(cell["lit"], quote=False)}{closing}'


def _as_inherited(tag: re.Match) -> str:
    """The tag of a text, or of a group of coordinates, without the colour that the style sheet gives it: ink, and secondary ink to coordinates."""
    return tag[0].replace(f' fill="var(--ink{"-2" if "data-lit=" in tag[0] else ""})"', "", 1)


def _keyed(svg: str, element: str, keys: tuple[str, ...]) -> str:
    """Name the facts of a text-only element of a drawing."""
    return re.sub(rf"<{element}\b", f'\\g<0> data-key="{escape(" ".join(keys), quote=True)}"', svg, count=1) if keys else svg
