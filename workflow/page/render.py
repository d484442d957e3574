"""One campaign to the files of its pages, checked: sections, report, index of numbers, data and figures."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from pathlib import Path

from jinja2 import Environment, FileSystemLoader, StrictUndefined
from markupsafe import Markup

from workflow.derive.moved import Move
from workflow.derive.values import Values
from workflow.page import beside, directions, dom, guarantees, ledger, left_open, lint_chinese, moved, parallel, parity, trends, unmeasured
from workflow.page.apart import apart, compared
from workflow.page.authors import author_facts
from workflow.page.closes import ClosesError, Equation, holds, widen
from workflow.page.content import Content, Section
from workflow.page.coverage import EMPTY, Coverage
from workflow.page.document import DocBlock, document, inline
from workflow.page.errors import PageError, Problem
from workflow.page.feed import NEVER, dated
from workflow.page.first_use import first_uses
from workflow.page.format import Formatter
from workflow.page.lint_numbers import Finding, NumbersLint
from workflow.page.literals import Literals
from workflow.page.lookup import Lookup, count_fact, title_fact
from workflow.page.parallel import Twins
from workflow.page.places import places, shown
from workflow.page.plates import Drawing, Plates
from workflow.page.previous import Published
from workflow.page.provenance import card, raw, run_card, runs
from workflow.page.routes import IMPORTED, LANGUAGES, SERVED, Routes, relative
from workflow.page.speaking import absent, lacking
from workflow.page.splice import Choice, Context, data_element
from workflow.page.strings import Strings
from workflow.page.tree import uses
from workflow.page.unlink import declared, ids, unlink
from workflow.page.view import (
    FRACTIONS,
    AuditRow,
    AuditView,
    MovedView,
    NumbersView,
    PageView,
    ParallelView,
    ReportView,
    SectionView,
    as_script,
    fraction_equation,
)
from workflow.page.words import TEMPLATES, Words

OWN_COUNT = re.compile(r'<data [^>]*data-key="(page\.\w+)"[^>]*>[^<]*</data>')
"""Counts of a page that stand on the page itself: filled in when everything else is there to be counted."""


AUDIT_WRONG = ("contradicts", "identity", "inconsistent")
AUDIT_ORDER = (*AUDIT_WRONG, "unverifiable", "edge", "consistent")
"""Verdicts of an audit in the order in which its page lists them."""

MASTHEAD = tuple(fraction_equation(name) for name in FRACTIONS)
"""What the fractions of the masthead show; digits are added where the data satisfy the equation and the default digits would not."""


@dataclass(frozen=True)
class Sources:
    """Everything below templates/, read once for all campaigns."""

    templates: Path
    content: Content
    strings: Strings
    literals: Literals
    words: Words

    @classmethod
    def load(cls, templates: Path = TEMPLATES) -> Sources:
        return cls(
            templates, Content.load(templates), Strings.load(templates), Literals.load(templates), Words.load(templates / "words.yaml")
        )

    @property
    def jinja(self) -> Environment:
        return _environment(self.templates)


@lru_cache(maxsize=4)
def _environment(templates: Path) -> Environment:
    """Compiled templates, kept between builds of one process; Jinja reads a file again when it has changed."""
    loader = FileSystemLoader(templates)
    return Environment(loader=loader, autoescape=True, undefined=StrictUndefined, trim_blocks=False, keep_trailing_newline=True)


@dataclass(frozen=True)
class Campaign:
    """The inputs of one campaign's pages."""

    name: str
    routes: Routes
    values: Values
    figures: Path
    """Folder that `python -m workflow.figures` wrote."""
    others: tuple[tuple[str, Routes], ...] = ()
    """The campaigns of the site, this one among them."""
    titles: dict[str, dict[str, str]] = field(default_factory=dict)
    """Campaign -> language -> title; a campaign without one goes by its name."""
    authors: tuple[str, ...] = ()
    previous: Published | None = None
    """The publication that `moved` compares with."""
    site_url: str = ""


@dataclass(frozen=True)
class Page:
    """One finished page and where its text came from."""

    path: str
    language: str
    html: str
    root: dom.Element
    """The page parsed, for checks."""
    marks: dom.Marks
    coverage: Coverage
    sections: dict[str, Section]
    """Slug -> section, to name file and line of what a check finds."""
    template: str
    campaign: str = ""
    updated: str = NEVER
    """End of the last run."""

    def problem(self, finding: Finding) -> Problem:
        slug, block = self._place(finding.anchor)
        if section := self.sections.get(slug):
            return Problem(section.file, section.line_with(finding.text.strip(), block), finding.check, finding.message)
        return Problem(
            f"templates/{self.template}",
            0,
            finding.check,
            f"{finding.message} ({self.path}{'#' + finding.anchor if finding.anchor else ''})",
        )

    def _place(self, anchor: str | None) -> tuple[str, str | None]:
        """The section and the block of an id."""
        for slug in sorted(self.sections, key=len, reverse=True):
            if anchor == slug:
                return slug, None
            if anchor and anchor.startswith(slug + "-"):
                return slug, anchor.removeprefix(slug + "-").removesuffix("-caption")
        return "", None


def kind_of(manifests: Iterable[dict]) -> str | None:
    """IMPORTED or SERVED where any file of the campaign is, by the manifests; None for the embedded engine's and for transcribed rows."""
    found = list(manifests)
    if any(manifest.get("status") == IMPORTED for manifest in found):
        return IMPORTED
    return SERVED if any("server" in ((manifest.get("config") or {}).get("engine") or {}) for manifest in found) else None


class Builder:
    """Builds the pages of one campaign. `problems` collects everything that is wrong; nothing is published unless it stays empty."""

    def __init__(self, sources: Sources, campaign: Campaign):
        kind = kind_of(campaign.values.runs.values())
        self.sources, self.campaign = replace(sources, content=sources.content.of(campaign.name, kind)), campaign
        self.problems: list[Problem] = []
        self._twins: dict[tuple[str, str], tuple[Markup, list[DocBlock]]] = {}
        """Title and blocks of each section as its report shows them, by slug and language."""
        self.data: dict[str, str] = {}
        """Scripts of data that the pages load when asked to: path, content. Filled by `pages`."""
        every = self.sources.content.plates
        if kind:
            # files of other tools and foreign servers support a few sections each; the rest is left out, not announced as absent
            self.sources = replace(sources, content=self.sources.content.keeping(self._supported).closed())
        content = self.sources.content
        numbers = {slug: at for at, slug in enumerate(content.slugs, start=1)}
        self.lookup = Lookup(campaign.values, EMPTY.facts())
        # plates are numbered as the page shows them; those of sections without data come after: which files there are is known before anything is derived
        there = (plate for section in content.sections["en"] if not self._missing(section) for plate in section.plates)
        plates = {plate: at for at, plate in enumerate(dict.fromkeys((*there, *content.plates, *every)), start=1)}
        own = {
            f"section.{slug}": count_fact(f"section.{slug}", number, "place among the sections of the page")
            for slug, number in numbers.items()
        }
        own |= {
            f"plate.{plate}": count_fact(f"plate.{plate}", number, "place among the plates of the page") for plate, number in plates.items()
        }
        own |= {key: title_fact(key, title["en"]) for key, title in self._titles.items()}
        own |= author_facts(campaign.authors)
        self.lookup = Lookup(campaign.values, own | EMPTY.facts())
        self.drawings = Drawing.load_all(campaign.figures, plates)
        names = sources.strings.section("values") | {title["en"]: title for title in self._titles.values()}
        formatter = Formatter(sources.words, names=names, reasons=sources.strings.section("reasons"))
        boxes = sources.strings.section("ui").get("box", {})
        self.contexts = {
            language: Context(
                language, campaign.name, self.lookup, formatter, sources.literals, sources.strings.section("terms"), numbers, plates,
                boxes={name: text[language] for name, text in boxes.items()},
            )
            for language in LANGUAGES
        }  # fmt: skip

    @cached_property
    def _titles(self) -> dict[str, dict[str, str]]:
        """Titles by the keys under which pages splice them: that of this campaign, and of each campaign of the site."""
        told = {f"site.campaign.{name}": self.campaign.titles.get(name) for name, _ in self.campaign.others}
        told["site.title"] = self.campaign.titles.get(self.campaign.name)
        return {key: title or dict.fromkeys(LANGUAGES, key.rpartition(".")[2] if key != "site.title" else self.campaign.name) for key, title in told.items()}

    def _supported(self, section: Section) -> bool:
        """Whether every fact that the section needs, or would state, is there."""
        return not lacking((*section.title_tree, *section.tree), lookup := Lookup(self.campaign.values), self.campaign.name) and not absent(section.needs, lookup)

    # before anything is rendered

    def check_sources(self) -> None:
        """Keys, variants, parity of the two languages, Chinese typography of the source."""
        content, strings = self.sources.content, self.sources.strings
        for path in strings.untranslated():
            self.problems.append(Problem(strings.files[path.split(".")[0]], 0, "parity", f"{path} speaks one language only"))
        for english, chinese in zip(content.sections["en"], content.sections["zh"]):
            for section in (english, chinese):
                with self._collecting():
                    self.problems += guarantees.check(section, self.lookup)
                    language = "zh" if section is chinese else "en"
                    self.problems += directions.check(section, language, self.lookup, self.sources.words)
                    self.problems += unmeasured.check(section, language, self.sources.words)
                    self.problems += left_open.check(section, language, self.sources.words)
                    self.problems += trends.check(section, language, self.sources.words)
                    self.problems += beside.check(section)
            with self._collecting():
                self.problems += parity.compare(english, chinese, self.contexts, self.sources.words)
            for line, check, message in lint_chinese.source_findings(chinese.source):
                self.problems.append(Problem(chinese.file, line + chinese.offset, check, message))
        with self._collecting():
            self.problems += parity.compare_strings(strings, self.contexts, self.sources.words)
            self.problems += directions.check_plates(strings, self.lookup, self.sources.words)
            self.problems += beside.check_plates(strings)
            self.problems += left_open.check_strings(strings, self.sources.words)
            self.problems += trends.check_strings(strings, self.sources.words)

    def widen(self) -> None:
        """Digits that comparisons and the declared equations need, the same on the whole page."""
        equations = [equation for text in MASTHEAD if self._present(equation := Equation.parse(text)) and holds(equation, self.lookup.fact)]
        for section in self.sources.content.sections["en"]:
            for equation in section.equations:
                if not all(self.lookup.known(key) for key in (equation.result, *equation.terms)):
                    self.problems.append(Problem(section.file, 1, "closes", f"{equation.text!r} uses a key that no fact has"))
                elif self._present(equation):
                    equations.append(equation)
        try:
            formatter = widen(apart(self.contexts["en"].formatter, compared(self.campaign.values)), equations, self.lookup.fact)
        except ClosesError as error:
            self.problems.append(Problem("templates/content", 0, "closes", str(error)))
            return
        self.contexts = {language: replace(context, formatter=formatter) for language, context in self.contexts.items()}

    def _present(self, equation: Equation) -> bool:
        return not any(not self.lookup.known(key) or self.lookup.fact(key).missing for key in (equation.result, *equation.terms))

    # pages

    def pages(self) -> Iterator[Page]:
        """Reports first, then the indexes of numbers, which link back to them."""
        found = {}
        keys: set[str] = set()
        for language in LANGUAGES:
            with self._collecting():
                page = self._report(language)
                found[language] = places(page.marks)
                keys |= shown(page.marks)
                yield page
        keys = self._indexed(keys)
        for language in LANGUAGES:
            if language in found:
                with self._collecting():
                    yield self._numbers(language, found[language], keys)
        if self.campaign.values.get("audit.claims") is not None:
            for language in LANGUAGES:
                with self._collecting():
                    yield self._audit(language)
        for language in LANGUAGES:
            with self._collecting():
                yield self._moved(language, keys)
        with self._collecting():
            yield self._parallel()

    @cached_property
    def _lacks(self) -> dict[str, list[str]]:
        """Slug -> missing facts that keep a section from being shown: of `needs`, and of what either language would state."""
        found: dict[str, dict[str, None]] = {}
        for section in (section for sections in self.sources.content.sections.values() for section in sections):
            keys = found.setdefault(section.slug, dict.fromkeys(absent(section.needs, self.lookup)))
            with self._collecting():
                keys |= dict.fromkeys(lacking((*section.title_tree, *section.tree), self.lookup, self.campaign.name))
        return {slug: list(keys) for slug, keys in found.items()}

    def _missing(self, section: Section) -> list[str]:
        return self._lacks[section.slug]

    def _plates(self, language: str) -> Plates:
        context = self.contexts[language]
        hidden = {plate for section in self.sources.content.sections[language] if self._missing(section) for plate in section.plates}
        shown = {plate for section in self.sources.content.sections[language] if not self._missing(section) for plate in section.plates}
        context = replace(context, unlinked=frozenset(hidden - shown))
        to_root = "" if language == "en" else "../"
        index = relative(self.campaign.routes.numbers(language), self.campaign.routes.report(language))
        plates = Plates(context, self.sources.strings, self.drawings, to_root, self._tabled, index)
        plates.context = replace(context, figure=plates.figure, data_table=plates.data_table)
        return plates

    @cached_property
    def _tabled(self) -> frozenset[str]:
        """Plates whose data table some shown section writes out, whatever its claims say."""
        shown = [section for section in self.sources.content.sections["en"] if not self._missing(section)]
        found = [use for section in shown for use in uses(section.tree) if use.call.function == "table" and use.claim is None and not use.absent]
        return frozenset(use.call.args[0] for use in found)

    def _section(self, section: Section, context: Context) -> SectionView:
        missing = self._missing(section)
        title = Markup(inline(section.absent_title_tree if missing else section.title_tree, context, section.file))
        blocks = document(section, context, Choice(absent=bool(missing)))
        reasons: dict[str, list[str]] = {}
        for key in missing:
            reasons.setdefault(self.lookup.fact(key).reason, []).append(key)
        if missing and not blocks:
            raise PageError.at(
                section.file, 1, f"{missing[0]} is missing in {self.campaign.name} and the section has no absent block", "absent"
            )
        html = Markup("\n".join(block.html for block in blocks))
        self._twins[section.slug, context.language] = title, blocks
        return SectionView(section.slug, context.sections[section.slug], title, html, bool(missing), tuple((reason, tuple(keys)) for reason, keys in reasons.items()))

    def _view(self, language: str, kind: str) -> dict:
        campaign, path = self.campaign, getattr(self.campaign.routes, kind)(language)
        return {
            "strings": self.sources.strings,
            "routes": campaign.routes,
            "path": path,
            "kind": kind,
            "runs": tuple(runs(campaign.values).values()),
            "campaigns": tuple((name, relative(other.report(language), path), name == campaign.name) for name, other in campaign.others),
            "authors": campaign.authors,
            "site_url": campaign.site_url,
        }

    def _report(self, language: str) -> Page:
        context = self._plates(language).context
        sections = []
        for section in self.sources.content.sections[language]:
            with self._collecting():
                sections.append(self._section(section, context))
                continue
            # a section that cannot be written keeps its place, so that links to it are not called dead as well
            sections.append(SectionView(section.slug, context.sections[section.slug], Markup(""), Markup("")))
        sections = self._unlinked(sections, language)
        view = ReportView(context, **self._view(language, "report"), sections=tuple(sections))
        return self._finish("report.html.j2", view, language, self._with_english if language == "zh" else str)

    def _with_english(self, html: str) -> str:
        return first_uses(html, {term["zh"]: term["en"] for term in self.sources.strings.section("vocabulary").values()})

    def _unlinked(self, sections: list[SectionView], language: str) -> list[SectionView]:
        shown = {section.slug for section in sections}.union(*(ids(section.html) for section in sections))
        gone = declared(self.sources.content.sections[language]) - shown
        return [replace(section, html=Markup(unlink(section.html, gone))) for section in sections]

    def _cards(self, keys: set[str], language: str) -> Markup:
        """What the script shows beyond the page: a card for each fact, and the tables apart that drawings are read off with."""
        context, plates = self.contexts[language], self._plates(language)
        tables = {plate: rows for plate in self._apart if (rows := plates.read_off(self.drawings[plate]))}
        keys = keys | {key for plate in tables for key in self.drawings[plate].keys}
        facts = [self.lookup.fact(key) for key in sorted(keys) if key in self.campaign.values.facts]
        used = {cell.file for key in self.lookup.ancestors(fact.key for fact in facts) for cell in self.lookup.fact(key).source}
        known = runs(self.campaign.values)
        ui = self.sources.strings.section("ui")
        words = {name: texts[context.language] for name, texts in {**ui["card"], **ui["status"]}.items()}
        return as_script(
            {
                "facts": {fact.key: card(fact, context.formatter, context.language, self.lookup) for fact in facts},
                "runs": {file: run_card(run) for file, run in known.items() if file in used},
                "words": words,
                "tables": tables,
            }
        )

    @cached_property
    def _apart(self) -> tuple[str, ...]:
        """Plates of shown sections whose data tables stand in the index of numbers, in page order."""
        plates = self._plates("en")
        shown = {plate for section in self.sources.content.sections["en"] if not self._missing(section) for plate in section.plates}
        return tuple(plate for plate in self.contexts["en"].plates if plate in shown and plates.apart(self.drawings[plate]))

    def _numbers(self, language: str, found: tuple[dict, dict], keys: set[str]) -> Page:
        context, routes = self.contexts[language], self.campaign.routes
        here, claims_here = found
        base = self._view(language, "numbers")
        report = relative(routes.report(language), base["path"])
        plates = self._plates(language)
        for plate in self._apart:  # what a drawing shows without its digits stands there all the same
            for key in self.drawings[plate].keys:
                here.setdefault(key, [f"plate-{plate}"])
        view = NumbersView(
            context,
            **base,
            groups=ledger.groups(context, self.sources.strings, keys, here, report),
            tables=tuple(Markup(plates.table_apart(plate, report)) for plate in self._apart),
            claims=ledger.claim_rows(self.lookup, keys, claims_here, report),
            literals=ledger.literal_rows(self.sources.literals, language),
        )
        return self._finish("numbers.html.j2", view, language)

    @cached_property
    def moves(self) -> list[Move]:
        return moved.moves(self.campaign.previous, self.campaign.values)

    def _parallel(self) -> Page:
        both = [slug for slug in self.sources.content.slugs if all((slug, language) in self._twins for language in LANGUAGES)]
        sections = []
        for slug in both:
            (english, blocks), (chinese, twins) = (self._twins[slug, language] for language in LANGUAGES)
            sections.append(Twins(slug, self.contexts["en"].sections[slug], english, chinese, parallel.rows(blocks, twins)))
        gone = set().union(*(declared(sections) for sections in self.sources.content.sections.values()))
        view = ParallelView(self.contexts["en"], **self._view("en", "parallel"), sections=tuple(sections))
        shown_here = ids(self._render("parallel.html.j2", view))
        return self._finish("parallel.html.j2", view, "en", lambda html: unlink(html, gone - shown_here))

    def _moved(self, language: str, keys: set[str]) -> Page:
        tally = moved.counts(self.moves)
        self.lookup = replace(self.lookup, own=self.lookup.own | tally)
        context = replace(self.contexts[language], lookup=self.lookup)
        base = self._view(language, "moved")
        index = relative(self.campaign.routes.numbers(language), base["path"])
        view = MovedView(
            context,
            **base,
            source=self.campaign.previous.source if self.campaign.previous else "",
            rows=tuple(moved.rows(self.moves, self.campaign.values, context.formatter, language, index, keys)),
            verdicts=tuple(name.partition(".")[2] for name in tally),
        )
        return self._finish("moved.html.j2", view, language)

    def _indexed(self, used: set[str]) -> set[str]:
        """What the index lists: every fact that either report shows, rests on or misses, and the evidence of every claim. values.json has the rest."""
        used = used | {key for keys in self._lacks.values() for key in keys} | {key for plate in self._apart for key in self.drawings[plate].keys}
        used |= {key for claim in self.campaign.values.claims.values() for key in claim.evidence}
        return {key for key in self.lookup.ancestors(used) | set(self.lookup.own) if not key.startswith("page.")}

    def _audit(self, language: str) -> Page:
        """What the publication claims, wrong claims first."""
        values = self.campaign.values
        ids = [fact.key.split(".")[1] for fact in values.match("audit.*.verdict")]
        texts = {name: [str(values.fact(f"audit.{name}.{part}").value) for part in ("said", "verdict", "why")] for name in ids}
        rows = [AuditRow(name, said, verdict, why, verdict in AUDIT_WRONG) for name, (said, verdict, why) in texts.items()]
        rows.sort(key=lambda row: (not row.wrong, AUDIT_ORDER.index(row.verdict), row.id))
        return self._finish("audit.html.j2", AuditView(self.contexts[language], **self._view(language, "audit"), rows=tuple(rows)), language)

    def _render(self, template: str, view: PageView) -> str:
        return self.sources.jinja.get_template(template).render(page=view)

    def _finish(self, template: str, view: PageView, language: str, change: Callable[[str], str] = str) -> Page:
        """Render, fill in what can only be known of the rendered page (its counts, the facts it shows), check."""
        html = change(self._render(template, view))
        root = dom.parse(html)
        marks = dom.Marks(root)
        coverage = Coverage.of(marks)
        lookup = Lookup(self.campaign.values, self.lookup.own | coverage.facts())
        html = OWN_COUNT.sub(lambda m: data_element(fact := lookup.fact(m[1]), view.context.formatter(fact, language)), html)
        for node in (node for node in marks.keyed if node.tag == "data" and node.get("data-key").startswith("page.")):
            fact = lookup.fact(node.get("data-key"))
            node.text = view.context.formatter(fact, language)
            node.set("value", raw(fact))
        if view.kind == "report":
            self.data[self.campaign.routes.cards(language)] = f"window.soundings={self._cards(shown(marks), language)}\n"
        sections = {section.slug: section for section in self.sources.content.sections[language]} if view.kind == "report" else {}
        updated = dated(run.end for run in view.runs)
        page = Page(view.path, language, html, root, marks, coverage, sections, template, self.campaign.name, updated)
        lint = NumbersLint(lookup, view.context.formatter, self.sources.literals, self.sources.words)
        prose = dom.Prose(root, marks)
        self.problems += [page.problem(finding) for finding in (*lint.check(root, prose), *lint_chinese.page_findings(root, prose))]
        return page

    def figures(self) -> Iterator[tuple[str, str]]:
        """Plate files for download: path, SVG."""
        for language in LANGUAGES:
            plates = self._plates(language)
            for plate in self.drawings:
                yield self.campaign.routes.figure(plate, language), plates.file_svg(plate)

    def _collecting(self):
        return _Collecting(self.problems)


class _Collecting:
    """Collects the problems of a PageError and goes on."""

    def __init__(self, problems: list[Problem]):
        self._problems = problems

    def __enter__(self):
        return self

    def __exit__(self, kind, error, trace) -> bool:
        if isinstance(error, PageError):
            self._problems += error.problems
            return True
        return False
