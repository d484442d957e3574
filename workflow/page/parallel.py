"""Both languages side by side, block by block: the twins that parity compares, for a reader to compare. Plates give their captions; the drawings stay
with the reports."""

from __future__ import annotations

import re
from dataclasses import dataclass

from markupsafe import Markup

from workflow.page.document import DocBlock

CAPTION = re.compile(r"<figcaption[^>]*>(.*?)</figcaption>", re.DOTALL)
NAMES = re.compile(r'\b(id|for|aria-labelledby)="([^"]+)"')
RESTS = re.compile(r"<details.*?</details>", re.DOTALL)


@dataclass(frozen=True)
class Row:
    """One block in both languages."""

    id: str
    en: Markup
    zh: Markup


@dataclass(frozen=True)
class Twins:
    """One section in both languages."""

    slug: str
    number: int
    en: Markup
    zh: Markup
    rows: tuple[Row, ...]


def rows(english: list[DocBlock], chinese: list[DocBlock]) -> tuple[Row, ...]:
    """Twins by block id; the ids of the Chinese cells get a prefix, so that each stands once on the page."""
    twins = {block.id: block for block in chinese}
    return tuple(
        Row(block.id, Markup(_flat(block)), Markup(NAMES.sub(r'\1="zh-\2"', _flat(twins[block.id])))) for block in english if block.id in twins
    )


def _flat(block: DocBlock) -> str:
    if block.kind != "plate":
        return block.html
    found = CAPTION.search(RESTS.sub("", block.html))
    claim = re.search(r' data-claim="[^"]*" data-verdict="[^"]*"', block.html)
    return f'<p class="caption" id="{block.id}"{claim[0] if claim else ""}>{found[1]}</p>' if found else ""
