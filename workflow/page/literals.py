"""Digits and rank words that are not measured: names, flags, protocol constants, definitions; each declared once, with its reason."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from html import escape
from pathlib import Path

import yaml

from workflow.page.errors import PageError, Problem
from workflow.page.words import TEMPLATES
from workflow.yaml_file import Strict

LANGUAGES = ("en", "zh")
BUILT_IN = {"axis": "ticks of an axis", "formula": "constants of a formula", "footnote": "number of a footnote", "file": "name, row count, digest and commit of a data file"}
"""Marks that the page engine and the figures set themselves."""


@dataclass(frozen=True)
class Literal:
    id: str
    text: dict[str, str]
    reason: str
    code: bool = False

    def html(self, language: str) -> str:
        text = escape(self.text[language], quote=False)
        return f'<code data-lit="{self.id}">{text}</code>' if self.code else f'<span data-lit="{self.id}">{text}</span>'


@dataclass(frozen=True)
class Literals:
    literals: dict[str, Literal]
    definitions: dict[str, str]
    """Definition id -> why a word of rank states a definition there."""

    @classmethod
    def load(cls, templates: Path = TEMPLATES) -> Literals:
        """`literals.yaml` and `literals/*.yaml`. Raises PageError on an entry without text or reason, or an id given twice."""
        literals, definitions, problems = {}, {}, []
        for file, section, name, entry in _entries(templates):
            where = f"{file.relative_to(templates.parent)}"
            table = literals if section == "literals" else definitions
            if name in literals or name in definitions:
                problems.append(Problem(where, 0, "literals", f"`{name}` is declared twice"))
            if not isinstance(entry, dict) or not str(entry.get("reason", "")).strip():
                problems.append(Problem(where, 0, "literals", f"`{name}` needs a reason"))
                continue
            if section == "definitions":
                definitions[name] = entry["reason"]
                continue
            texts = {language: str(entry.get(language, entry.get("text", ""))) for language in LANGUAGES}
            if not all(texts.values()):
                problems.append(Problem(where, 0, "literals", f"`{name}` needs text:, or en: and zh:"))
                continue
            table[name] = Literal(name, texts, entry["reason"], bool(entry.get("code")))
        if problems:
            raise PageError(*problems)
        return cls(literals, definitions)


def _entries(templates: Path) -> Iterator[tuple[Path, str, str, object]]:
    for file in [templates / "literals.yaml", *sorted((templates / "literals").glob("*.yaml"))]:
        if not file.exists():
            continue
        data = load_yaml(file, templates.parent) or {}
        for section in data:
            if section not in ("literals", "definitions"):
                raise PageError.at(
                    str(file.relative_to(templates.parent)), 0, f"unknown section `{section}`; there are: literals, definitions", "literals"
                )
            for name, entry in (data[section] or {}).items():
                yield file, section, str(name), entry


def load_yaml(path: Path, root: Path):
    """A YAML file; an error names its line."""
    try:
        return yaml.load(path.read_text("utf8"), Loader=Strict)
    except yaml.YAMLError as error:
        mark = getattr(error, "problem_mark", None)
        raise PageError.at(
            str(path.relative_to(root)), mark.line + 1 if mark else 0, f"not valid YAML: {getattr(error, 'problem', error)}", "yaml"
        ) from None
