"""Links into what this campaign does not show: a block of an absent section, a block of a variant that does not speak. The text stays, the link goes."""

from __future__ import annotations

import re
from collections.abc import Iterable

from workflow.page.content import Section

LINK = re.compile(r'<a href="#([^"]+)"[^>]*>(.*?)</a>', re.DOTALL)
ID = re.compile(r'\bid="([^"]+)"')
DECLARED = re.compile(r"^\{#([\w-]+)", re.MULTILINE)


def ids(html: str) -> set[str]:
    """Anchors of a piece of HTML."""
    return set(ID.findall(html))


def declared(sections: Iterable[Section]) -> set[str]:
    """Anchors that some campaign shows: blocks of all variants, and plates."""
    found: set[str] = set()
    for section in sections:
        found |= {f"{section.slug}-{name}" for name in DECLARED.findall(section.source)}
        found |= {f"plate-{plate}" for plate in section.plates}
    return found


def unlink(html: str, gone: set[str]) -> str:
    """Links to the anchors `gone` replaced by their text. Others are left, so that a link to nowhere is still found."""
    return LINK.sub(lambda match: f'<span class="unlinked">{match[2]}</span>' if match[1] in gone else match[0], html)
