"""`feed.xml` (Atom, an entry a campaign and language) and `sitemap.xml`: what changed and where, for machines.

Without a site_url the feed's links are relative and its names are of the kind that needs no address; a sitemap needs addresses, so its links are then
relative too, and no crawler will take them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime

from lxml import etree

from workflow.page.routes import LANG, LANGUAGES, Routes

ATOM, XHTML, MAP = "http://www.w3.org/2005/Atom", "http://www.w3.org/1999/xhtml", "http://www.sitemaps.org/schemas/sitemap/0.9"
LANG_ATTRIBUTE = "{http://www.w3.org/XML/1998/namespace}lang"
NEVER = "1970-01-01T00:00:00Z"
"""Of what has no date: nothing was measured, or a publication tells no day."""
DATE = re.compile(r"\d{4}-\d\d-\d\d(?:T[0-9:.]+(?:Z|[+-]\d\d:\d\d)?)?")


@dataclass(frozen=True)
class Entry:
    """One campaign's report in one language, as the feed tells of it."""

    campaign: str
    language: str
    path: str
    title: str
    summary: str
    updated: str
    """End of its last run."""


def dated(told: Iterable[str]) -> str:
    """The latest date in what manifests tell of their end, as Atom wants it. A publication tells it in words (`2026-07-29 to 2026-07-30`)."""
    found = []
    for text in (text for end in told for text in DATE.findall(end)):
        try:
            at = datetime.fromisoformat(text)
        except ValueError:  # shaped like a date, on no calendar
            continue
        found.append(at.astimezone(UTC) if at.tzinfo else at.replace(tzinfo=UTC))
    return max(found).strftime("%Y-%m-%dT%H:%M:%SZ") if found else NEVER


def address(path: str, site_url: str) -> str:
    return f"{site_url}{path.removesuffix('index.html')}" if site_url else path


def feed(entries: Iterable[Entry], site_url: str) -> bytes:
    """The Atom document; the newest entry first."""
    entries = sorted(entries, key=lambda entry: (entry.updated, entry.campaign, entry.language), reverse=True)
    root = etree.Element(f"{{{ATOM}}}feed", nsmap={None: ATOM})
    _add(root, "title", "Soundings")
    _add(root, "id", _name("feed", site_url))
    _add(root, "updated", max((entry.updated for entry in entries), default=NEVER))
    author = etree.SubElement(root, f"{{{ATOM}}}author")
    _add(author, "name", "Soundings")
    etree.SubElement(root, f"{{{ATOM}}}link", rel="self", type="application/atom+xml", href=address("feed.xml", site_url))
    for entry in entries:
        node = etree.SubElement(root, f"{{{ATOM}}}entry", {LANG_ATTRIBUTE: LANG[entry.language]})
        _add(node, "title", entry.title)
        _add(node, "id", _name(f"{entry.campaign}/{entry.language}", site_url))
        _add(node, "updated", entry.updated)
        etree.SubElement(node, f"{{{ATOM}}}link", rel="alternate", type="text/html", hreflang=LANG[entry.language], href=address(entry.path, site_url))
        _add(node, "summary", entry.summary)
    return _bytes(root)


def sitemap(campaigns: Iterable[Routes], site_url: str) -> bytes:
    """Reports and indexes of all campaigns, each with its twin."""
    root = etree.Element(f"{{{MAP}}}urlset", nsmap={None: MAP, "xhtml": XHTML})
    for routes in campaigns:
        for of in (routes.report, routes.numbers):
            for language in LANGUAGES:
                node = etree.SubElement(root, f"{{{MAP}}}url")
                _add(node, "loc", address(of(language), site_url), MAP)
                for other in LANGUAGES:
                    etree.SubElement(node, f"{{{XHTML}}}link", rel="alternate", hreflang=LANG[other], href=address(of(other), site_url))
    return _bytes(root)


def _name(what: str, site_url: str) -> str:
    return f"{site_url}#{what}" if site_url else f"urn:soundings:{what.replace('/', ':')}"


def _add(parent: etree._Element, name: str, text: str, space: str = ATOM) -> None:
    etree.SubElement(parent, f"{{{space}}}{name}").text = text


def _bytes(root: etree._Element) -> bytes:
    etree.indent(root)
    return etree.tostring(root, encoding="utf-8", xml_declaration=True) + b"\n"
