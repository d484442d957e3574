"""Where every file of the site lies, and how pages reach one another by relative paths."""

from __future__ import annotations

import posixpath
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache

LANGUAGES = ("en", "zh")
LANG = {"en": "en", "zh": "zh-Hans"}
ASSETS = ("page.css", "page.js", "ledger.css", "ledger.js")
IMPORTED = "imported"
"""Backend of a campaign, and in `only` and `except` of a section: any campaign whose rows come from result files of other tools."""
SERVED = "served"
"""In `only` and `except` of a section: any campaign that measured a server other than the embedded engine."""
RESERVED = {"zh", "numbers", "parallel", "moved", "data", "figures", "assets", "audit"}
"""Names of routes, which no campaign may have."""
MACHINES = ("feed.xml", "sitemap.xml")
"""Files about the whole site, for programs."""
AUDITED = "claims.csv"
"""What a publication claims; a campaign that has it has an audit page."""


@lru_cache(maxsize=4096)
def relative(target: str, source: str) -> str:
    """The link from one file of the site to another."""
    return posixpath.relpath(target, posixpath.dirname(source) or ".")


@dataclass(frozen=True)
class Routes:
    """The files of one campaign. `prefix` is empty for the lead, `NAME/` for the others."""

    prefix: str

    def report(self, language: str) -> str:
        return f"{self.prefix}{'' if language == 'en' else language + '/'}index.html"

    def cards(self, language: str) -> str:
        """The data of the cards, beside the report of a language."""
        return f"{self.prefix}{'' if language == 'en' else language + '/'}cards.js"

    def numbers(self, language: str) -> str:
        return f"{self.prefix}{'' if language == 'en' else language + '/'}numbers/index.html"

    def audit(self, language: str) -> str:
        return f"{self.prefix}{'' if language == 'en' else language + '/'}audit/index.html"

    def moved(self, language: str) -> str:
        return f"{self.prefix}{'' if language == 'en' else language + '/'}moved/index.html"

    def parallel(self, language: str = "en") -> str:
        """Both languages on one page."""
        return f"{self.prefix}parallel/index.html"

    def data(self, file: str) -> str:
        return f"{self.prefix}data/{file}"

    def figure(self, plate: str, language: str) -> str:
        return f"{self.prefix}figures/{plate}.{language}.svg"

    def share(self) -> str:
        """The picture that links to the campaign's pages are shown with elsewhere."""
        return f"{self.prefix}figures/share.png"

    def files(self, measured: Iterable[str], plates: Iterable[str]) -> list[str]:
        """Every file of the campaign. `measured`: names of its CSVs and manifests; published claims among them have an audit."""
        measured = list(measured)
        return [
            *(self.report(language) for language in LANGUAGES),
            *(self.numbers(language) for language in LANGUAGES),
            *(self.moved(language) for language in LANGUAGES),
            self.parallel(),
            *(self.cards(language) for language in LANGUAGES),
            *(self.audit(language) for language in LANGUAGES if AUDITED in measured),
            *(f"{self.prefix}{name}" for name in ("values.json", "claims.json")),
            self.share(),
            *(self.data(name) for name in measured),
            *(self.figure(plate, language) for plate in plates for language in LANGUAGES),
        ]


def routes(name: str, lead: str) -> Routes:
    return Routes("" if name == lead else f"{name}/")
