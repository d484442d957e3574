"""A sheet as the file that the page inlines: small, themable, without styles, ids unique on a page.

A strict Content-Security-Policy forbids `style` attributes and elements, so every style is a presentation attribute.
"""

from __future__ import annotations

from itertools import groupby

from lxml import etree

from workflow.figures.outline import clipped, outline
from workflow.figures.paths import PATH, dot, mark, merge, path, short, steps, whole
from workflow.figures.sheet import Area, Item, Line, Marks, Sheet, Words
from workflow.figures.style import PAPER, SVG

_SHARED = ("data-lit", "fill", "text-anchor", "stroke", "stroke-width", "paint-order")
"""What neighbouring coordinates must have in common to be declared once."""
MANY = 5


def render(sheet: Sheet, plate: str, stops: str = "") -> str:
    """The finished, language-neutral SVG of a sheet, with slots `@@title@@` and `@@alt@@`. `stops`: where it can be read off, for the page's script."""
    prefix = plate if sheet.layout.name == "wide" else f"{plate}-{sheet.layout.name}"
    # a drawing that is shown in phases keeps the names of its groups and their order
    root = _grouped(sheet, prefix if sheet.frames else "")
    merge(root)
    for node in root.iter(PATH):
        node.set("d", steps(node.get("d")))
    _gather(root)
    root.set("viewBox", f"0 0 {_number(sheet.width)} {_number(sheet.height)}")
    root.set("data-plate", plate)
    if stops:
        root.set("data-stops", stops)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    root.set("font-size", short(str(sheet.layout.text)))
    root.set("stroke-linejoin", "round")
    for position, (tag, slot) in enumerate((("title", "@@title@@"), ("desc", "@@alt@@"))):
        node = etree.Element(f"{{{SVG}}}{tag}", id=f"{prefix}-{tag}")
        node.text = slot
        root.insert(position, node)
    return etree.tostring(root, encoding="unicode") + "\n"


def _grouped(sheet: Sheet, prefix: str):
    """What is on a sheet as elements; with a prefix, neighbours of one group in a `<g id>`."""
    root = etree.Element(f"{{{SVG}}}svg", nsmap={None: SVG})
    for group, items in groupby(sheet.items, lambda item: item.group):
        place = etree.SubElement(root, f"{{{SVG}}}g", id=f"{prefix}-{group}") if group and prefix else root
        for item in items:
            for tag, attributes in _elements(item, sheet):
                node = etree.SubElement(place, f"{{{SVG}}}{tag}", attributes | ({"data-series": item.series} if item.series else {}))
                if isinstance(item.what, Words):
                    _look_of(node, item.what)
    return root


def _elements(item: Item, sheet: Sheet) -> list[tuple[str, dict[str, str]]]:
    """Tag and attributes of an item's elements."""
    match item.what:
        case Line() as line:
            drawn = path(_told(clipped(line.points, sheet.width, sheet.height)))
            return [("path", {"d": drawn, "fill": "none"} | _stroke(line.color, line.width, line.dash))]
        case Area() as area:
            drawn = path(_told([("ML"[at > 0], *point) for at, point in enumerate(area.points)]) + "z")
            face = {"fill": area.face.css if area.face else "none"}
            return [("path", {"d": drawn} | face | (_stroke(area.edge, area.width, area.dash) if area.edge else {}))]
        case Marks() as marks:
            face = {"fill": marks.face.css} if marks.face else {"fill-opacity": "0"}
            look = face | _stroke(marks.color, 1.8, ())
            # as far as the ends of lines are told, so that a mark stands on its line
            places = [(round(x, 6), round(y, 6)) for x, y in marks.points]
            shape = None if marks.shape == "o" else outline(marks.shape, marks.size)
            return [("path", look | {"d": dot(marks.size / 2, x, y) if shape is None else mark(shape, x, y)}) for x, y in places]
        case Words() as words:
            (x, y), size = words.at, {} if words.size == sheet.layout.text else {"font-size": short(_number(words.size))}
            anchor = {} if words.anchor == "start" else {"text-anchor": words.anchor}
            return [("text", {"x": whole(f"{x:f}"), "y": whole(f"{y:f}")} | size | anchor | {"fill": words.color.css})]


def _told(points) -> str:
    return "".join(f"{letter}{x:f} {y:f}" for letter, x, y in points)


def _stroke(color, width: float, dash: tuple[float, ...]) -> dict[str, str]:
    dashes = {"stroke-dasharray": ",".join(short(_number(length)) for length in dash)} if dash else {}
    return dashes | {"stroke": color.css} | ({"stroke-width": short(_number(width))} if width != 1 else {})


def _number(value: float) -> str:
    return f"{value:f}".rstrip("0").rstrip(".")


def _gather(parent) -> None:
    """Many neighbouring coordinates of one look are one declared group; of a few, each says it itself: an element costs a page more than its attributes."""
    for child in list(parent):
        if etree.QName(child).localname == "g":
            _gather(child)
    for look, run in [(look, list(found)) for look, found in groupby(parent, _look)]:
        if look is None or len(run) < MANY:
            continue
        group = etree.Element(f"{{{SVG}}}g", {name: value for name, value in zip(_SHARED, look) if value})
        parent.insert(parent.index(run[0]), group)
        for child in run:
            for name in _SHARED:
                child.attrib.pop(name, None)
            group.append(child)


def _look(node) -> tuple | None:
    return tuple(node.get(name) for name in _SHARED) if node.get("data-lit") else None


def _look_of(node, words: Words) -> None:
    node.text = words.content
    if "axis" in words.looks:
        node.set("data-lit", "axis")
    if "mono" in words.looks:
        node.set("font-family", "var(--mono,ui-monospace,monospace)")
    if "bold" in words.looks:
        node.set("font-weight", "600")
    if "halo" in words.looks:
        for name, value in (("stroke", PAPER.css), ("stroke-width", "4"), ("paint-order", "stroke")):
            node.set(name, value)
