"""Chinese typography, checked in the source and again on the rendered page, after splicing.

Full-width marks beside Han, one space between Han and Latin letters or digits, none beside full-width marks or between Han and Han, 「」 for quotes,
no italics, no stray asterisks.
"""

from __future__ import annotations

import re

from workflow.page import dom
from workflow.page.lint_numbers import Finding, near
from workflow.page.spacing import FULL, HAN

H, L = f"[{HAN}]", "[A-Za-z0-9]"
MARKS = re.escape(FULL)
RULES = (
    ("half-width mark", re.compile(rf"(?<={H})[,;:!?]|(?<={H})\.(?!\w)|[,;:!?](?={H})"), "write a full-width mark beside Han"),
    ("half-width parenthesis", re.compile(rf"(?<={H})\s?\(|\)\s?(?={H})|\((?={H})|(?<={H})\)"), "write （）"),
    ("quotes", re.compile(rf"[“”‘’]|(?<={H})\"|\"(?={H})"), "write 「」"),
    (
        "space at a full-width mark",
        re.compile(rf"(?<=[{MARKS}])[ \u00a0](?=\S)|(?<=\S)[ \u00a0](?=[{MARKS}])"),
        "no space beside a full-width mark",
    ),
    ("space between Han", re.compile(rf"(?<={H})[ \u00a0](?={H})"), "no space between Han and Han"),
    ("no space between Han and Latin", re.compile(rf"(?<={H})(?={L})|(?<={L})(?={H})"), "one space between Han and Latin or digits"),
    ("double space", re.compile(rf"(?<={H}) {{2,}}|  +(?={H})"), "one space"),
)
ANY = re.compile(rf"[{HAN}{MARKS}“”‘’]")
"""What every rule needs to find anything: most cells of the index of numbers hold none."""
STRAY = re.compile(r"\*\*")
ITALIC = re.compile(r"(?<![*\w\\])\*(?![*\s])[^*\n]+(?<![*\s])\*(?!\*)|(?<!\w)_(?!_)[^_\n]+_(?!\w)")
APART = {"label", "legend", "button", "option"}
"""Elements that stand apart from the text around them, as blocks do; so does any span with a class."""
ASIDE = ("anchor", "back")
CODE = re.compile(r"(`+).*?\1|\$\$.*?\$\$|\$[^$\n]+\$", re.DOTALL)
SPLICES = re.compile(r"\{\{.*?\}\}|\{%.*?%\}|<!--#.*?#-->|\]\([^)]*\)", re.DOTALL)


def source_findings(source: str) -> list[tuple[int, str, str]]:
    """Line, check and message for a Chinese source; what splices become is judged on the rendered page."""
    blank = SPLICES.sub(lambda m: re.sub(r"[^\n]", "\x00", m.group()), CODE.sub(lambda m: re.sub(r"[^\n]", "\x00", m.group()), source))
    found = []
    for number, line in enumerate(blank.splitlines(), start=1):
        if line.startswith(("{#", "```", "    ")):
            continue
        for check, pattern, cure in RULES:
            if match := pattern.search(line.strip()):
                found.append((number, check, f"“{near(line.strip(), match.start(), 12)}”: {cure}".replace("\x00", "…")))
        if match := ITALIC.search(line):
            found.append((number, "italics", f"“{match.group()}”: Chinese has no italics; use **bold**".replace("\x00", "…")))
    return found


def page_findings(root: dom.Element, prose: dom.Prose | None = None) -> list[Finding]:
    """Findings on a rendered page, in the parts that speak Chinese; stray asterisks in any language."""
    prose, findings = prose or dom.Prose(root), []
    italics = {dom.block_of(node): node for node in root.iter("em", "i")}
    for block, language, text in _lines(prose, italics):
        anchor = dom.anchor_of(block)
        if match := STRAY.search(text):
            findings.append(
                Finding(
                    "stray asterisks", f"“{near(text, match.start(), 12)}”: emphasis that did not become emphasis", match.group(), anchor
                )
            )
        if language != "zh":
            continue
        for check, pattern, cure in RULES if ANY.search(text) else ():
            if match := pattern.search(text):
                findings.append(
                    Finding(check, f"“{near(text, match.start(), 12)}”: {cure}", text[max(0, match.start() - 4) : match.start()], anchor)
                )
        if (node := italics.get(block)) is not None:
            findings.append(Finding("italics", f"“{dom.text_of(node)}”: Chinese has no italics", dom.text_of(node), anchor))
    return findings


def _lines(prose: dom.Prose, italics: dict):
    """Blocks with text of their own in which a rule may find something, with that text.

    Code and formulas stand in as one Latin letter, other languages as nothing.
    """
    blocks = {}
    for piece in prose.pieces:
        if STRAY.search(piece.text) or ANY.search(piece.text):
            blocks[_apart(piece.node)] = None
    for block in (*blocks, *(block for block in italics if block not in blocks)):
        if block is None:
            continue
        language = prose.around(block).language
        for line in "".join(_own(block, language)).split("\v"):
            if line.strip():
                yield block, language, re.sub(r"[ \t\r\n]+", " ", line).strip()


def _apart(node: dom.Element) -> dom.Element | None:
    """The nearest element around a text, itself included, whose text stands apart from what is around it."""
    return next((element for element in dom.ancestors(node) if _stands_apart(element)), None)


def _stands_apart(node: dom.Element) -> bool:
    name = dom.tag(node)
    return name in dom.BLOCKS or name in APART or (name in ("span", "strong", "sup") and bool(node.get("class")))


def _own(node, language: str):
    if node.text:
        yield "x" if node.text == dom.for_programs(node) else node.text  # shown as it was measured: a name of a machine, not our prose
    for child in node:
        name = dom.tag(child)
        if name in ("script", "style", "svg") or not name or (name == "a" and child.get("class") in ASIDE):
            pass
        elif child.get("class") == "no" or _stands_apart(child):
            yield "\v"
        elif child.text and child.text == dom.for_programs(child):
            yield "x"
        elif name in dom.EXEMPT or name == "math" or child.get("lang") and dom.language(child) != language:
            yield "x"
        elif name == "br":
            yield "\v"
        else:
            yield from _own(child, language)
        if child.tail:
            yield child.tail
