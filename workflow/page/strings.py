"""Texts outside the sections: the interface, titles and labels of plates, names of facts, values and terms, reasons, statements of claims, the vocabulary; each in both languages."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workflow.page.errors import PageError
from workflow.page.literals import LANGUAGES, load_yaml
from workflow.page.words import TEMPLATES

SECTIONS = ("ui", "plates", "facts", "values", "reasons", "statements", "terms", "vocabulary")


@dataclass(frozen=True)
class Strings:
    """`strings.yaml` with `strings/NAME.yaml` merged in under NAME."""

    data: dict
    files: dict[str, str]
    """Section -> file that holds it, for messages."""

    @classmethod
    def load(cls, templates: Path = TEMPLATES) -> Strings:
        root = templates.parent
        file = templates / "strings.yaml"
        data = load_yaml(file, root) or {}
        files = {name: str(file.relative_to(root)) for name in SECTIONS}
        for part in sorted((templates / "strings").glob("*.yaml")):
            name, content = part.stem, load_yaml(part, root) or {}
            if name not in SECTIONS:
                raise PageError.at(str(part.relative_to(root)), 0, f"not a section of strings; there are: {', '.join(SECTIONS)}", "strings")
            # a file may repeat its own name as the top key
            content = content[name] if set(content) == {name} else content
            if doubled := set(content) & set(data.get(name) or {}):
                raise PageError.at(str(part.relative_to(root)), 0, f"also in strings.yaml: {', '.join(sorted(doubled))}", "strings")
            data[name] = {**(data.get(name) or {}), **content}
            files[name] = str(part.relative_to(root))
        return cls(data, files)

    def section(self, name: str) -> dict:
        return self.data.get(name) or {}

    def leaf(self, section: str, *path: str, language: str) -> str:
        """The text of one language. Raises PageError naming the file and the path."""
        node = self.section(section)
        for step in (*path, language):
            if not isinstance(node, dict) or step not in node:
                raise PageError.at(self.files[section], 0, f"no text {section}.{'.'.join((*path, language))}", "strings")
            node = node[step]
        return str(node)

    def has(self, section: str, *path: str) -> bool:
        node = self.section(section)
        for step in path:
            if not isinstance(node, dict) or step not in node:
                return False
            node = node[step]
        return True

    def texts(self, section: str) -> Iterator[tuple[str, str, str]]:
        """(path, language, text) of every text of a section."""
        return _texts(self.section(section), "")

    def untranslated(self) -> list[str]:
        """Leaves that speak only one language."""
        return sorted(path for name in SECTIONS for path in _halves(self.section(name), name))


def _texts(node: object, path: str) -> Iterator[tuple[str, str, str]]:
    for name, child in node.items() if isinstance(node, dict) else ():
        if name in LANGUAGES and isinstance(child, str):
            yield path, name, child
        else:
            yield from _texts(child, f"{path}.{name}" if path else name)


def _halves(node, path: str):
    if not isinstance(node, dict):
        return
    spoken = [language for language in LANGUAGES if language in node]
    if spoken and len(spoken) < len(LANGUAGES):
        yield path
    for name, child in node.items():
        yield from _halves(child, f"{path}.{name}")
