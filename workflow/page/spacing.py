"""Spaces between Han and everything else, where a splice decides which side it is on.

A writer cannot know whether `n("x")` ends in a digit or in 倍, so at the edges of a splice the space is computed: one between Han and Latin letters
or digits, none between Han and Han, none beside full-width marks.
"""

from __future__ import annotations

import re

from workflow.page.placeholders import MARK, Vault

HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
FULL = "，。：；？！（）「」『』、《》〈〉【】…—～"
LATIN = "A-Za-z0-9%°µγτΔ×+\u2212"
IS_HAN, IS_FULL, IS_LATIN = (re.compile(f"[{re.escape(c) if c is FULL else c}]") for c in (HAN, FULL, LATIN))
EDGED = ("number", "word", "plural", "ref", "lit", "term")


def gap(left: str, right: str, given: str) -> str:
    """The space between two neighbouring characters of Chinese text; what was given where no rule speaks."""
    if not left or not right or "\n" in (left, right):
        return given
    if IS_FULL.match(left) or IS_FULL.match(right):
        return ""
    if IS_HAN.match(left) and IS_HAN.match(right):
        return ""
    if (IS_HAN.match(left) and IS_LATIN.match(right)) or (IS_LATIN.match(left) and IS_HAN.match(right)):
        return " "
    return given


def space_splices(text: str, vault: Vault) -> str:
    """Chinese source text with its placeholders, spaced."""
    parts, at = [], 0
    for match in MARK.finditer(text):
        splice = vault.get(match)
        if splice.kind not in EDGED or not splice.text:
            continue
        start, end = match.span()
        before = " " if start > at and text[start - 1] == " " else ""
        left = text[start - len(before) - 1 : start - len(before)]
        after = " " if text[end : end + 1] == " " else ""
        right = text[end + len(after) : end + len(after) + 1]
        parts.append(
            text[at : start - len(before)] + gap(left, splice.text[0], before) + match.group() + gap(splice.text[-1], right, after)
        )
        at = end + len(after)
    return "".join(parts) + text[at:]
