"""The sections of the page: one Markdown file a language, front matter first."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import yaml

from workflow.page.closes import ClosesError, Equation
from workflow.page.dialect import parse
from workflow.page.errors import PageError, Problem
from workflow.page.tree import Node, uses
from workflow.page.words import TEMPLATES
from workflow.yaml_file import Strict

FIELDS = {"slug", "title", "absent_title", "only", "except", "needs", "plates", "closes"}
NAME = re.compile(r"(\d+)-([a-z0-9-]+)\.md")
FRONT = re.compile(r"---\n(.*?\n)---\n", re.DOTALL)
ID_LINE = re.compile(r"^\{#([\w-]+)")


@dataclass(frozen=True)
class Section:
    """One section in one language, parsed but not spliced."""

    path: Path
    root: Path
    slug: str
    title: str
    absent_title: str
    """Heading where the section cannot be shown; empty: the title serves, because it states no fact."""
    needs: tuple[str, ...]
    plates: tuple[str, ...]
    equations: tuple[Equation, ...]
    front: str
    """Front matter as it stands in the file."""
    source: str
    only: tuple[str, ...] = ()
    """Campaigns that have the section at all; empty: every campaign."""
    but: tuple[str, ...] = ()
    """Campaigns that do not have it (`except` in the front matter)."""

    @property
    def offset(self) -> int:
        """Lines of the file above the source."""
        return self.front.count("\n")

    @cached_property
    def file(self) -> str:
        """Path for messages, relative to the repository."""
        return str(self.path.relative_to(self.root))

    @cached_property
    def tree(self) -> tuple[Node, ...]:
        return parse(self.source, self.file, self.offset)

    @cached_property
    def title_tree(self) -> tuple[Node, ...]:
        return parse(self.title, self.file, 2)

    @cached_property
    def absent_title_tree(self) -> tuple[Node, ...]:
        return parse(self.absent_title or self.title, self.file, 2)

    def line_of(self, block: str | None) -> int:
        """Line of the file where a block's id, or a footnote, stands; 1 when unknown."""
        for number, line in enumerate(self.source.splitlines(), start=self.offset + 1):
            match = ID_LINE.match(line)
            if (match and match.group(1) == block) or (str(block).startswith("fn-") and line.startswith("[^")):
                return number
        return 1

    def line_with(self, text: str, block: str | None) -> int:
        """First line from the block's id on that holds a text, else the block's line; without a block, from the top."""
        start = self.line_of(block)
        for number, line in enumerate((self.front + self.source).splitlines(), start=1):
            if number >= start and text in line:
                return number
        return start


def load_section(path: Path, root: Path) -> Section:
    """Raises PageError on a bad name or front matter."""
    file = str(path.relative_to(root))
    text = path.read_text("utf8")
    name, front = NAME.fullmatch(path.name), FRONT.match(text)
    if not name:
        raise PageError.at(file, 0, "a content file is named NN-slug.md", "front matter")
    if not front:
        raise PageError.at(file, 1, "starts with front matter between two lines `---`", "front matter")
    try:
        data = yaml.load(front.group(1), Loader=Strict) or {}
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise PageError.at(
            file, (mark.line if mark else 0) + 2, f"not valid YAML: {getattr(error, 'problem', error)}", "front matter"
        ) from None
    if unknown := set(data) - FIELDS:
        raise PageError.at(file, 1, f"unknown field {', '.join(sorted(unknown))}; there are: {', '.join(sorted(FIELDS))}", "front matter")
    if data.get("slug") != name.group(2):
        raise PageError.at(file, 1, f"slug is {data.get('slug')!r}, the file name says {name.group(2)!r}", "front matter")
    if not str(data.get("title", "")).strip():
        raise PageError.at(file, 1, "title is missing", "front matter")
    try:
        equations = tuple(Equation.parse(line) for line in data.get("closes") or ())
    except ClosesError as error:
        raise PageError.at(file, 1, str(error), "closes") from None
    return Section(path, root, data["slug"], str(data["title"]), str(data.get("absent_title") or ""), tuple(data.get("needs") or ()), tuple(data.get("plates") or ()), equations,
                   text[: front.end()], text[front.end() :], tuple(data.get("only") or ()), tuple(data.get("except") or ()))  # fmt: skip


@dataclass(frozen=True)
class Content:
    """All sections of a language pair, in the order of their numbers."""

    sections: dict[str, list[Section]]
    """Language -> sections."""

    @classmethod
    def load(cls, templates: Path = TEMPLATES) -> Content:
        root = templates.parent
        sections, problems = {}, []
        for language in ("en", "zh"):
            folder = templates / "content" / language
            sections[language] = [load_section(path, root) for path in sorted(folder.glob("*.md"))]
        names = {language: {section.path.name: section for section in found} for language, found in sections.items()}
        for language, other in (("en", "zh"), ("zh", "en")):
            for name, section in names[language].items():
                if name not in names[other]:
                    problems.append(Problem(section.file, 0, "parity", f"has no twin content/{other}/{name}"))
        if problems:
            raise PageError(*problems)
        return cls(sections)

    def of(self, campaign: str, kind: str | None = None) -> Content:
        """The sections that a campaign has: those of every campaign, those that name it or its kind (IMPORTED, SERVED), and none that excepts it."""
        names = {campaign, kind} if kind else {campaign}
        return self.keeping(lambda s: bool(names & set(s.only or (campaign,))) and not names & set(s.but))

    def keeping(self, wanted: Callable[[Section], bool]) -> Content:
        """The sections of both languages that are wanted in each."""
        slugs = set.intersection(*({section.slug for section in found if wanted(section)} for found in self.sections.values()))
        return Content({language: [section for section in found if section.slug in slugs] for language, found in self.sections.items()})

    def closed(self) -> Content:
        """Without sections that send the reader to a section or a plate that is not here, and without those that lead to such a one."""
        found = self
        while lost := {section.slug for each in found.sections.values() for section in each if not found.holds(section)}:
            found = found.keeping(lambda section, lost=lost: section.slug not in lost)
        return found

    def holds(self, section: Section) -> bool:
        """Whether everything that a section refers to is part of this content."""
        places = {"sec": self.slugs, "ref": self.plates}
        return all(use.call.args[0] in places[use.call.function] for use in uses(section.tree) if use.call.function in places)

    @property
    def slugs(self) -> list[str]:
        return [section.slug for section in self.sections["en"]]

    @property
    def plates(self) -> list[str]:
        """Plate ids in the order of the page."""
        return list(dict.fromkeys(plate for section in self.sections["en"] for plate in section.plates))
