"""Links of the finished site: every target exists, every id is unique, nothing is fetched from elsewhere."""

from __future__ import annotations

import posixpath
import re
from urllib.parse import unquote, urlsplit

from workflow.page import dom
from workflow.page.lint_numbers import Finding

FETCHING = {
    "script": "src",
    "img": "src",
    "link": "href",
    "iframe": "src",
    "source": "src",
    "video": "src",
    "audio": "src",
    "object": "data",
    "embed": "src",
}
PASSIVE_RELATIONS = {"canonical", "alternate", "license", "author", "next", "prev"}
"""Relations of <link> that a browser does not fetch."""


class Links:
    """Ids and targets of all pages, collected first, checked afterwards."""

    def __init__(self, files: set[str]):
        self._files = files
        self._ids: dict[str, set[str]] = {}
        self._roots: dict[str, object] = {}

    def add(self, path: str, root: dom.Element, marks: dom.Marks) -> list[Finding]:
        """Read one page (`zh/index.html`). Returns ids that stand twice."""
        self._roots[path] = root
        seen, twice = set(), []
        for node in marks.named:
            name = node.get("id")
            if name in seen:
                twice.append(Finding("id", f"the id {name!r} stands twice on the page", name, name))
            seen.add(name)
        self._ids[path] = seen
        return twice

    def check(self) -> list[tuple[str, Finding]]:
        """Dead links and third-party fetches, with the page they stand on."""
        found = []
        for path, root in self._roots.items():
            alive: set[str] = set()  # the index of numbers links to one place many times
            for node in root.iter("a", *FETCHING):
                name = node.tag
                if name == "a" and (href := node.get("href")) is not None and href not in alive:
                    if not (message := self._dead(path, href)):
                        alive.add(href)
                        continue
                    found.append((path, Finding("dead link", message, href, dom.anchor_of(node))))
                if name in FETCHING and (url := node.get(FETCHING[name])):
                    passive = name == "link" and set((node.get("rel") or "").split()) & PASSIVE_RELATIONS
                    if re.match(r"(?:[a-z]+:)?//", url) and not passive:
                        found.append((path, Finding("third party", f"{url} would be fetched from elsewhere", url, dom.anchor_of(node))))
                    elif not url.startswith("data:") and (message := self._dead(path, url)):
                        found.append((path, Finding("dead link", message, url, dom.anchor_of(node))))
        return found

    def _dead(self, path: str, href: str) -> str | None:
        parts = urlsplit(href)
        if parts.scheme or parts.netloc:
            return None
        if parts.path.startswith("/"):
            return f"{href} is absolute; links are relative, so that the page works from a file"
        target = posixpath.normpath(posixpath.join(posixpath.dirname(path), unquote(parts.path))) if parts.path else path
        if parts.path.endswith("/") or target in (".", ""):
            return f"{href} names a folder; write index.html, so that the page works from a file"
        if target not in self._files:
            return f"{href} leads to {target}, which is not written"
        fragment = unquote(parts.fragment)
        if fragment and not fragment.startswith("k=") and target in self._ids and fragment not in self._ids[target]:
            return f"{href}: no #{fragment} on {target}"
        return None
