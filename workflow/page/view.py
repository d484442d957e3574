"""What a template sees of a page: its texts spliced, its links relative."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from functools import cached_property
from html import escape

from markupsafe import Markup

from workflow.page.closes import Equation, closed
from workflow.page.dialect import parse
from workflow.page.document import inline, plain
from workflow.page.parallel import Twins
from workflow.page.provenance import Run
from workflow.page.routes import AUDITED, LANG, LANGUAGES, Routes, relative
from workflow.page.sayings import Sayings
from workflow.page.speaking import lacking
from workflow.page.splice import Context, reason_element, said_element
from workflow.page.strings import Strings

LICENCE = "https://spdx.org/licenses/MIT"
LOCALE = {"en": "en_GB", "zh": "zh_CN"}
"""Languages as Open Graph names them."""


@dataclass(frozen=True)
class PlainText:
    """A text for a place that holds no elements, with the mark of its facts."""

    text: str
    keys: tuple[str, ...]

    @property
    def keyed(self) -> Markup:
        return Markup(f' data-key="{escape(" ".join(self.keys), quote=True)}"') if self.keys else Markup("")


@dataclass(frozen=True)
class PageView:
    """What every page has."""

    context: Context
    strings: Strings
    routes: Routes
    path: str
    """File of the page below the site folder."""
    kind: str
    runs: tuple[Run, ...]
    campaigns: tuple[tuple[str, str, bool], ...]
    """Name, link and whether it is this one, of each campaign of the site."""
    """Other campaigns of the site: name, link."""
    authors: tuple[str, ...] = ()
    """Names in campaign.yaml."""
    site_url: str = ""

    # texts

    def ui(self, path: str) -> Markup:
        """A text of the interface as HTML; `a.b` or `ui.a.b`."""
        if path not in self._said:  # the index of numbers says the same of thousands of rows
            text, file = self._leaf(path)
            self._said[path] = Markup(inline(parse(text, file), self.context, file))
        return self._said[path]

    @cached_property
    def _said(self) -> dict[str, Markup]:
        return {}

    def text(self, path: str) -> PlainText:
        """A text of the interface without elements."""
        text, file = self._leaf(path)
        words, keys = plain(parse(text, file), self.context, file)
        return PlainText(" ".join(words.split()), keys)

    def _leaf(self, path: str) -> tuple[str, str]:
        """A text and the file it stands in; `without` takes its place where the campaign lacks a fact of it."""
        steps, file = path.removeprefix("ui.").split("."), self.strings.files["ui"]
        text = self.strings.leaf("ui", *steps, language=self.context.language)
        if lacking(parse(text, file), self.context.lookup, self.context.campaign) and self.strings.has("ui", *steps, "without"):
            text = self.strings.leaf("ui", *steps, "without", language=self.context.language)
        return text, file

    def reason(self, text: str) -> Markup:
        """Why a fact is missing or a claim undecided."""
        return Markup(reason_element(text, self.context))

    def statement(self, text: str) -> Markup:
        """What a claim says, with its kind; in English, and marked so, where the language has no words for it."""
        return Markup(said_element(text, self._statements.say(text, self.language)))

    @cached_property
    def _statements(self) -> Sayings:
        return Sayings(self.strings.section("statements"))

    title = "ui.title"
    description = "ui.description"

    # places

    @property
    def language(self) -> str:
        return self.context.language

    @property
    def other(self) -> str:
        return next(language for language in LANGUAGES if language != self.language)

    @property
    def lang(self) -> str:
        return LANG[self.language]

    @property
    def other_lang(self) -> str:
        return LANG[self.other]

    @property
    def og_locale(self) -> str:
        return LOCALE[self.language]

    def to(self, target: str) -> str:
        return relative(target, self.path)

    @property
    def root(self) -> str:
        """Way to the folder of the campaign."""
        return self.to(self.routes.prefix or ".").rstrip("/") + "/"

    @property
    def assets(self) -> str:
        return self.to("assets") + "/"

    @property
    def home(self) -> str:
        return self.to(self.routes.report(self.language))

    report = home

    @property
    def numbers(self) -> str:
        return self.to(self.routes.numbers(self.language))

    @property
    def audit(self) -> str:
        """Way to the audit of what a publication claims; empty in a campaign without published claims."""
        return self.to(self.routes.audit(self.language)) if any(run.file == AUDITED for run in self.runs) else ""

    @property
    def parallel(self) -> str:
        return self.to(self.routes.parallel())

    @property
    def feed(self) -> str:
        return self.to("feed.xml")

    @property
    def moved(self) -> str:
        return self.to(self.routes.moved(self.language))

    def splice(self, source: str) -> Markup:
        """A text that a template puts together."""
        return Markup(inline(parse(source, self.strings.files["ui"]), self.context, self.strings.files["ui"]))

    def campaign_title(self, name: str) -> Markup:
        return self.splice(f'{{{{ label("site.campaign.{name}") }}}}')

    def _in(self, language: str) -> str:
        """This page in a language."""
        return getattr(self.routes, self.kind)(language)

    @property
    def twin(self) -> str:
        return self.to(self._in(self.other))

    @property
    def alternates(self) -> list[tuple[str, str]]:
        link = (lambda path: f"{self.site_url}{path.removesuffix('index.html')}") if self.site_url else self.to
        return [*((LANG[language], link(self._in(language))) for language in LANGUAGES), ("x-default", link(self._in("en")))]

    def address(self, path: str) -> str:
        """A file of the site for programs elsewhere: its address where the site's is known, else the way to it."""
        return f"{self.site_url}{path.removesuffix('index.html')}" if self.site_url else self.to(path)

    @property
    def share(self) -> str:
        return self.address(self.routes.share())

    @property
    def og_other(self) -> str:
        return LOCALE[self.other]

    @property
    def published(self) -> str:
        """Day of the campaign's last run; empty where none is known."""
        return max((run.end[:10] for run in self.runs if run.end[10:11] == "T"), default="")

    @property
    def canonical(self) -> str:
        return f"{self.site_url}{self.path.removesuffix('index.html')}" if self.site_url else ""


@dataclass(frozen=True)
class SectionView:
    slug: str
    number: int
    title: Markup
    html: Markup
    absent: bool = False
    reasons: tuple[tuple[str, tuple[str, ...]], ...] = ()
    """Why it is absent: each reason once, with the facts that it takes away."""


def as_script(data) -> Markup:
    """JSON that can stand inside a script element."""
    text = json.dumps(data, ensure_ascii=False, sort_keys=True, separators=(",", ":"))
    return Markup(text.replace("<", "\\u003c").replace("\u2028", "\\u2028").replace("\u2029", "\\u2029"))


@dataclass(frozen=True)
class FractionView:
    """One run of the masthead as numerator, denominator and result."""

    id: str
    name: Markup
    what: Markup
    numerator: Markup
    """Digits and, apart, the unit."""
    numerator_label: Markup
    denominator: Markup
    denominator_label: Markup
    result: Markup
    result_label: Markup
    sign: str
    """Between the fraction and its result: = where the digits shown give it."""


FRACTIONS = ("best", "win", "loss")
"""The runs that the masthead shows as fractions."""


def terms_of(name: str) -> tuple[str, str, str]:
    """Numerator, denominator and result of a fraction of the masthead, as last parts of their keys."""
    return ("accepted_per_step", "step_ms", "throughput") if name == "best" else ("accept_factor", "step_growth", "ratio")


def fraction_equation(name: str) -> str:
    """What a fraction of the masthead says. The rate is counted by the client, so it may miss its terms by a residual."""
    top, bottom, whole = (f"prologue.{name}.{part}" for part in terms_of(name))
    return f"{whole} = {top} / {bottom}{' * 1000' if name == 'best' else ''}"


@dataclass(frozen=True)
class ReportView(PageView):
    sections: tuple[SectionView, ...] = ()

    SPEC = ("authors", "source", "hardware", "serves", "model", "machine", "software", "load", "noise", "when")

    @property
    def spec(self) -> list[tuple[Markup, Markup]]:
        """The cells of the masthead; one whose facts are missing is left out."""
        cells = []
        for name in self.SPEC:
            if name == "when":
                if not (value := self._when()):
                    continue
            elif name == "authors" and not self.authors:
                continue
            elif self._has(self.strings.leaf("ui", "spec_value", name, language=self.language)):
                value = self.ui(f"spec_value.{name}")
            else:
                continue
            cells.append((self.ui(f"spec.{name}"), value))
        return cells

    def _when(self) -> Markup:
        starts, commits = sorted(run.start for run in self.runs if run.start), sorted({run.commit[:7] for run in self.runs if run.commit})
        day = f'<time datetime="{escape(starts[0])}">{escape(starts[0][:10])}</time>' if starts else ""
        named = [f"{self.ui('commit')} " + ", ".join(f"<code>{escape(commit)}</code>" for commit in commits[:2])] if commits else []
        return Markup(" · ".join(filter(None, [day, *named])))

    def _has(self, *texts: str) -> bool:
        return not any(lacking(parse(text, ""), self.context.lookup, self.context.campaign) for text in texts)

    @property
    def fractions(self) -> list[FractionView]:
        """The runs that the masthead shows: one in absolute terms, the largest win and the largest loss as factors."""
        runs = []
        for name in FRACTIONS:
            keys = [f"prologue.{name}.{part}" for part in terms_of(name)]
            parts = [f'{{{{ n("{key}", "bare") }}}}' for key in keys]
            what = self.strings.leaf("ui", "fraction", f"what_{name}", language=self.language)
            if not self._has(*parts, what):
                continue
            suffix = "" if name == "best" else "_factor"
            labels = [self.ui(f"fraction.{part}{suffix}") for part in ("numerator", "denominator", "result")]
            closes = closed(Equation.parse(fraction_equation(name)), self.context.formatter, self.context.lookup.fact)
            if not closes and self._has(self.strings.leaf("ui", "fraction", "misses", language=self.language)):
                labels[2] += Markup(" " if self.language == "en" else "") + self.ui("fraction.misses")
            top, bottom, whole = (self.splice(part) + self._unit(key) for part, key in zip(parts, keys))
            runs.append(
                FractionView(
                    name, self.ui(f"fraction.{name}"), self.splice(what), top, labels[0], bottom, labels[1], whole, labels[2], "=" if closes else "≈"
                )
            )
        return runs

    def _unit(self, key: str) -> Markup:
        suffix = self.context.formatter.suffix(self.context.lookup.fact(key), self.language)
        return Markup('<span class="unit">{}</span>').format(suffix) if suffix else Markup("")

    @property
    def json_ld(self) -> Markup:
        """What the page is, for machines."""
        return as_script(
            {
                "@context": "https://schema.org",
                "@type": "ScholarlyArticle",
                "headline": self.text("ui.heading").text,
                "description": self.text("ui.description").text,
                "inLanguage": self.lang,
                "url": self.address(self.path),
                "image": self.share,
                "license": LICENCE,
                "author": [{"@type": "Person", "name": name} for name in self.authors] or {"@type": "Organization", "name": "Soundings"},
                **({"dateModified": self.published} if self.published else {}),
                "workTranslation" if self.language == "en" else "translationOfWork": {
                    "@type": "ScholarlyArticle",
                    "@id": self.address(self._in(self.other)),
                },
                "isBasedOn": {"@type": "Dataset", "name": self.context.campaign, "url": self.address(self.routes.numbers(self.language))},
                "mentions": {
                    "@type": "SoftwareSourceCode",
                    "name": "Soundings",
                    "programmingLanguage": "Python",
                    "license": LICENCE,
                    "version": sorted({run.commit for run in self.runs if run.commit}),
                },
            }
        )


@dataclass(frozen=True)
class Group:
    """Facts of one family, the first part of their keys."""

    name: str
    rows: tuple


@dataclass(frozen=True)
class NumbersView(PageView):
    groups: tuple[Group, ...] = ()
    tables: tuple[Markup, ...] = ()
    """Long data tables of plates, each under its plate's finding."""
    claims: tuple[dict, ...] = ()
    literals: tuple[tuple[str, Markup, str], ...] = field(default=())

    title = "ui.ledger.title"

    @property
    def json_ld(self) -> Markup:
        """The rows behind the report, for machines."""
        return as_script(
            {
                "@context": "https://schema.org",
                "@type": "Dataset",
                "name": self.context.campaign,
                "description": self.text("ui.description").text,
                "inLanguage": self.lang,
                "url": self.address(self.path),
                "license": LICENCE,
                "creator": {"@type": "Organization", "name": "Soundings"},
                "distribution": [
                    {
                        "@type": "DataDownload",
                        "name": run.file,
                        "contentUrl": self.address(self.routes.data(run.file)),
                        "encodingFormat": "text/csv",
                        "sha256": run.sha256,
                    }
                    for run in self.runs
                ],
                "variableMeasured": self._measured,
            }
        )

    @property
    def _measured(self) -> list[str]:
        """The columns that facts rest on."""
        return sorted({cell.column for fact in self.context.lookup.values.facts.values() for cell in fact.source})


@dataclass(frozen=True)
class ParallelView(PageView):
    sections: tuple[Twins, ...] = ()

    title = "ui.parallel.title"

    @property
    def twin(self) -> str:
        """The other language alone: this page has both."""
        return self.to(self.routes.report(self.other))


@dataclass(frozen=True)
class MovedView(PageView):
    source: str = ""
    """What the values were compared with; empty: there is no previous publication."""
    rows: tuple[dict, ...] = ()
    verdicts: tuple[str, ...] = ()

    title = "ui.moved.title"


@dataclass(frozen=True)
class AuditRow:
    """One published claim with the verdict on it."""

    id: str
    said: str
    verdict: str
    why: str
    wrong: bool


@dataclass(frozen=True)
class AuditView(PageView):
    rows: tuple[AuditRow, ...] = ()

    title = "ui.audit.title"
