"""Chinese typography, checked in the source and again on the rendered page, after splicing.

Full-width marks beside Han, one space between Han and Latin letters or digits, none beside full-width marks or between Han and Han, 「」 for quotes,
no italics, no stray asterisks.
"""

from __future__ import annotations

import re
from collections.abc import Iterable

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


def page_findings(root: dom.Element, walked: Iterable[tuple[dom.Element, dom.Around]] | None = None) -> list[Finding]:
    """Findings on a rendered page, in the parts that speak Chinese; stray asterisks in any language."""
    findings = []
    suspicious = root.xpath("//text()[contains(., '**')][not(ancestor::code or ancestor::pre or ancestor::script)]")
    languages = ("en", "zh") if suspicious else ("zh",)
    italics = {dom.block_of(node): node for node in root.iter("em", "i")}
    for block, language, text in _lines(dom.walk(root) if walked is None else walked, languages):
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


def _lines(walked, languages):
    """Blocks in some languages that hold text of their own, with that text; code and formulas stand in as one Latin letter, other languages as nothing."""
    for block, around in walked:
        name = block.tag
        if (
            around.language in languages
            and (name in dom.BLOCKS or name in APART or (name in ("span", "strong", "sup") and block.get("class")))
        ):
            for line in "".join(_own(block, around.language)).split("\v"):
                if line.strip():
                    yield block, around.language, re.sub(r"[ \t\r\n]+", " ", line).strip()


def _own(node, language: str):
    if node.text:
        yield node.text
    for child in node:
        name = dom.tag(child)
        if name in ("script", "style", "svg") or not name or (name == "a" and child.get("class") in ASIDE):
            pass
        elif name in APART or child.get("class") == "no" or (name in ("span", "strong", "sup") and child.get("class")) or name in dom.BLOCKS:
            yield "\v"
        elif name == "data" and child.text == child.get("value"):
            yield "x"  # shown as it was measured: a name of a machine, not our prose
        elif name in dom.EXEMPT or name == "math" or child.get("lang") and dom.language(child) != language:
            yield "x"
        elif name == "br":
            yield "\v"
        else:
            yield from _own(child, language)
        if child.tail:
            yield child.tail
