"""From matplotlib's SVG to the file that the page inlines: small, themable, without styles, ids unique on a page.

A strict Content-Security-Policy forbids `style` attributes and elements, so every style becomes a presentation attribute.
"""

from __future__ import annotations

import io
import re

import matplotlib
from lxml import etree

from workflow.figures.sheet import Sheet
from workflow.figures.style import SVG, TOKENS

XLINK = "{http://www.w3.org/1999/xlink}href"

_AUTOMATIC = re.compile(r"(figure|axes|patch|line2d|text|PathCollection|LineCollection)_\d+")
_NUMBER = re.compile(r"-?\d+\.\d+(?:e-?\d+)?")
_DEFAULTS = {("stroke-linejoin", "miter"), ("stroke-linecap", "butt"), ("stroke-dashoffset", "0"), ("stroke-width", "0"), ("stroke", "none")}
_SHARED = {
    "text": ("data-lit", "fill", "text-anchor", "stroke", "stroke-width", "paint-order"),
    "use": ("fill", "stroke", "stroke-width"),
    "path": ("fill", "stroke", "stroke-width", "stroke-dasharray"),
}
"""What neighbours of one kind must have in common to be written once."""
_COLOURS = {token.sentinel: token.css for token in TOKENS}


def render(sheet: Sheet, plate: str, stops: str = "") -> str:
    """The finished, language-neutral SVG of a sheet: the same bytes for the same sheet. `stops`: where it can be read off, for the page's script."""
    raw = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": plate, "path.simplify": False}):
        sheet.figure.savefig(raw, format="svg", metadata={"Date": None, "Creator": None, "Format": None, "Type": None}, transparent=True)
    return finish(raw.getvalue(), plate, sheet.layout.name, sheet.layout.text, stops)


def finish(raw: str, plate: str, layout: str, size: float, stops: str = "") -> str:
    """Strip, flatten, recolour and name. `raw` is matplotlib's output; the result has slots `@@title@@` and `@@alt@@`."""
    root = etree.fromstring(raw.encode(), etree.XMLParser(remove_blank_text=True, remove_comments=True))
    prefix = plate if layout == "wide" else f"{plate}-{layout}"
    for node in [n for n in root if etree.QName(n).localname in ("metadata", "defs")]:
        root.remove(node)
    _markers(root, plate if layout == "wide" else f"{plate}{layout[0]}")
    _flatten(root)
    for node in root.iter():
        _plain_attributes(node, size)
    _group(root, prefix)
    _gather(root)
    box = root.get("viewBox")
    root.attrib.clear()
    root.set("viewBox", box)
    root.set("data-plate", plate)
    if stops:
        root.set("data-stops", stops)
    root.set("role", "img")
    root.set("aria-labelledby", f"{prefix}-title {prefix}-desc")
    root.set("font-size", _short(str(size)))
    root.set("stroke-linejoin", "round")
    for position, (tag, slot) in enumerate((("title", "@@title@@"), ("desc", "@@alt@@"))):
        node = etree.Element(f"{{{SVG}}}{tag}", id=f"{prefix}-{tag}")
        node.text = slot
        root.insert(position, node)
    etree.cleanup_namespaces(root)
    return etree.tostring(root, encoding="unicode") + "\n"


def _markers(root, prefix: str) -> None:
    """Give the shared mark shapes ids of this plate, one place and plain `href`s."""
    names: dict[str, str] = {}
    by_shape: dict[str, str] = {}
    for path in [node for node in root.iter(f"{{{SVG}}}path") if node.get("id")]:
        own, shape = path.get("id"), _path(path.get("d"))
        if shape in by_shape:  # drawn before, in another colour
            path.getparent().remove(path)
        else:
            by_shape[shape] = f"{prefix}{len(by_shape)}"
            path.set("id", by_shape[shape])
            path.attrib.pop("style", None)  # a mark takes its look from where it is used
        names[own] = by_shape[shape]
    for use in root.iter(f"{{{SVG}}}use"):
        use.set("href", "#" + names[use.attrib.pop(XLINK).lstrip("#")])
    shapes = etree.Element(f"{{{SVG}}}defs")
    for defs in list(root.iter(f"{{{SVG}}}defs")):
        shapes.extend(list(defs))
        defs.getparent().remove(defs)
    if len(shapes):
        root.insert(0, shapes)


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
        node.set(name, _COLOURS.get(value, _short(value)))
    if re.match(r"rotate\(-?0 ", node.get("transform", "")):
        del node.attrib["transform"]
    for name in ("x", "y", "d", "transform"):
        if node.get(name):
            node.set(name, _path(node.get(name)) if name == "d" else _short(node.get(name)))


def _path(data: str) -> str:
    """The shortest way to say the same path: level and upright strokes by one coordinate, repeated letters left out, no spaces around letters."""
    steps = re.findall(r"([MLCQz])([^MLCQz]*)", _short(data))
    numbers = [points.split() for _, points in steps]
    if CIRCLE == [letter for letter, _ in steps] and numbers[0] == numbers[-2][-2:]:
        return _circle(numbers[0][1])
    said, repeats, at = "", "", ()
    for (letter, _), points in zip(steps, numbers):
        to = points[-2:] or at
        if letter == "L" and to[1] == at[1]:
            letter, points = "H", points[:1]
        elif letter == "L" and to[0] == at[0]:
            letter, points = "V", points[1:]
        said += (" " if letter == repeats else letter) + " ".join(points)
        repeats, at = {"M": "L", "z": ""}.get(letter, letter), to
    return said


CIRCLE = [*"MCCCCCCCCz"]
"""How matplotlib writes a round mark: eight curves from its lowest point."""


def _circle(radius: str) -> str:
    return f"M-{radius} 0a{radius} {radius} 0 1 1 {2 * float(radius):g} 0 {radius} {radius} 0 1 1-{2 * float(radius):g} 0z"


def _short(text: str) -> str:
    """Numbers to a tenth of a unit, which is below what a screen shows."""
    return _NUMBER.sub(lambda found: f"{round(float(found[0]), 1) + 0.0:g}", text)


def _group(root, prefix: str) -> None:
    """Turn the gids `group/role,...` into `<g id>` around neighbours of one group and into attributes of the element."""
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
                if name:
                    open_group = etree.Element(f"{{{SVG}}}g", id=f"{prefix}-{name}")
                    root.insert(place, open_group)
            for offset, child in enumerate(inner):
                if open_group is not None:
                    open_group.append(child)
                else:
                    root.insert(place + offset, child)


def _gather(parent) -> None:
    """Neighbours that look alike share what they share: coordinates one declared group, marks one coloured group, hairlines one path."""
    for child in list(parent):
        if etree.QName(child).localname == "g":
            _gather(child)
    shared, group, last = None, None, None
    for child in list(parent):
        tag = etree.QName(child).localname
        names = _SHARED.get(tag if tag != "text" or child.get("data-lit") else "")
        look = names and (tag, tuple(child.get(name) for name in names))
        if look is None or child.get("id") or child.get("fill", "none") != "none" and tag == "path":
            shared = None
            continue
        if look == shared:
            if tag == "path":
                last.set("d", f"{last.get('d')}{child.get('d')}")
                parent.remove(child)
                continue
            if group is None:
                group = etree.Element(f"{{{SVG}}}g")
                parent.insert(parent.index(last), group)
                for name in names:
                    if last.get(name):
                        group.set(name, last.get(name))
                _share(group, last, names)
            _share(group, child, names)
        else:
            shared, group, last = look, None, child


def _share(group, child, names: tuple[str, ...]) -> None:
    for name in names:
        child.attrib.pop(name, None)
    group.append(child)


def _apply(node, roles: list[str]) -> None:
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
