"""From matplotlib's SVG to the file that the page inlines: small, themable, without styles, ids unique on a page.

A strict Content-Security-Policy forbids `style` attributes and elements, so every style becomes a presentation attribute.
"""

from __future__ import annotations

import io
import re
from itertools import groupby

import matplotlib
from lxml import etree

from workflow.figures.paths import PATH, mark, merge, path, short, steps, whole
from workflow.figures.sheet import BELONGS, Sheet
from workflow.figures.style import SVG, TOKENS

XLINK = "{http://www.w3.org/1999/xlink}href"

_AUTOMATIC = re.compile(r"(figure|axes|patch|line2d|text|PathCollection|LineCollection)_\d+")
_DEFAULTS = {("stroke-linejoin", "miter"), ("stroke-linecap", "butt"), ("stroke-dashoffset", "0"), ("stroke-width", "0"), ("stroke", "none")}
_SHARED = ("data-lit", "fill", "text-anchor", "stroke", "stroke-width", "paint-order")
"""What neighbouring coordinates must have in common to be declared once."""
MANY = 5
_COLOURS = {token.sentinel: token.css for token in TOKENS}


def render(sheet: Sheet, plate: str, stops: str = "") -> str:
    """The finished, language-neutral SVG of a sheet: the same bytes for the same sheet. `stops`: where it can be read off, for the page's script."""
    raw = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": plate, "path.simplify": False}):
        sheet.figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}, transparent=True)
    return finish(raw.getvalue(), plate, sheet.layout.name, sheet.layout.text, stops, bool(sheet.frames))


def finish(raw: str, plate: str, layout: str, size: float, stops: str = "", played: bool = False) -> str:
    """Strip, flatten, recolour and name. `raw` is matplotlib's output; the result has slots `@@title@@` and `@@alt@@`.

    `played`: the drawing is shown in phases, so that its groups keep their names and their own order.
    """
    root = etree.fromstring(raw.encode(), etree.XMLParser(remove_blank_text=True, remove_comments=True))
    prefix = plate if layout == "wide" else f"{plate}-{layout}"
    for node in [n for n in root if etree.QName(n).localname in ("metadata", "defs")]:
        root.remove(node)
    shapes = _shapes(root)
    _flatten(root)
    for node in root.iter():
        _plain_attributes(node, size)
    for use in list(root.iter(f"{{{SVG}}}use")):
        use.tag = PATH
        use.set("d", mark(shapes[use.attrib.pop(XLINK).lstrip("#")], float(use.attrib.pop("x")), float(use.attrib.pop("y"))))
    _group(root, prefix if played else "")
    merge(root)
    for node in root.iter(PATH):
        node.set("d", steps(node.get("d")))
    _gather(root)
    box = root.get("viewBox")
    root.attrib.clear()
    root.set("viewBox", box)
    root.set("data-plate", plate)
    if stops:
        root.set("data-stops", stops)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    root.set("font-size", short(str(size)))
    root.set("stroke-linejoin", "round")
    for position, (tag, slot) in enumerate((("title", "@@title@@"), ("desc", "@@alt@@"))):
        node = etree.Element(f"{{{SVG}}}{tag}", id=f"{prefix}-{tag}")
        node.text = slot
        root.insert(position, node)
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _shapes(root) -> dict[str, str]:
    """Take the outlines of the marks out of the drawing: id -> path around the origin."""
    shapes = {node.get("id"): node.get("d") for node in root.iter(PATH) if node.get("id")}
    for defs in list(root.iter(f"{{{SVG}}}defs")):
        defs.getparent().remove(defs)
    return shapes


def _flatten(node) -> None:
    """Remove groups that only say how matplotlib is built, and the empty boxes of figure and axes."""
    for child in list(node):
        _flatten(child)
        name = child.get("id", "")
        if etree.QName(child).localname == "path" and child.get("style") == "fill: none" and _AUTOMATIC.fullmatch(node.get("id", "")):
            node.remove(child)
        elif etree.QName(child).localname == "g" and (not child.attrib or _AUTOMATIC.fullmatch(name)):
            place = node.index(child)
            for offset, inner in enumerate(list(child)):
                node.insert(place + offset, inner)
            node.remove(child)


def _plain_attributes(node, size: float) -> None:
    for item in node.attrib.pop("style", "").split(";"):
        name, _, value = (part.strip() for part in item.partition(":"))
        if not name or name == "font-family" or (name, value) in _DEFAULTS:
            continue
        if name == "font-size":
            value = value.removesuffix("px")
            if float(value) == size:
                continue
        if name == "text-anchor" and value == "start":
            continue
        node.set(name, _COLOURS.get(value, short(value)))
    if re.match(r"rotate\(-?0 ", node.get("transform", "")):
        del node.attrib["transform"]
    for name, told in () if node.tag == f"{{{SVG}}}use" else (("x", whole), ("y", whole), ("d", path), ("transform", short)):
        if node.get(name):
            node.set(name, told(node.get(name)))


def _group(root, prefix: str) -> None:
    """Turn the gids `group/role,...` into attributes of the element and, with a prefix, into `<g id>` around neighbours of one group."""
    open_group, open_name = None, None
    for node in list(root):
        name, _, roles = node.get("id", "").partition("/")
        if etree.QName(node).localname == "g" and "/" in node.get("id", ""):
            del node.attrib["id"]
            inner = list(node)
            for child in inner:
                _apply(child, roles.split(","))
            place = root.index(node)
            root.remove(node)
            if name != open_name:
                open_group, open_name = None, name
                if name and prefix:
                    open_group = etree.Element(f"{{{SVG}}}g", id=f"{prefix}-{name}")
                    root.insert(place, open_group)
            for offset, child in enumerate(inner):
                if open_group is not None:
                    open_group.append(child)
                else:
                    root.insert(place + offset, child)


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


def _apply(node, roles: list[str]) -> None:
    if roles[-1].startswith(BELONGS):
        node.set("data-series", roles[-1].removeprefix(BELONGS))
    if "axis" in roles:
        node.set("data-lit", "axis")
    if "mono" in roles:
        node.set("font-family", "var(--mono,ui-monospace,monospace)")
    if "bold" in roles:
        node.set("font-weight", "600")
    if "halo" in roles:
        paper = next(token.css for token in TOKENS if token.name == "paper")
        for name, value in (("stroke", paper), ("stroke-width", "4"), ("paint-order", "stroke")):
            node.set(name, value)
