"""Text sources of the training set and the split into training and held-out documents.

All text is on the machine already: the standard library of the running Python (PSF
licence), the documentation sources of Debian's ``python3.11-doc`` (PSF licence) and the
Simplified Chinese help pages of ``libreoffice-help-zh-cn`` (MPL-2.0).
"""

from __future__ import annotations

import hashlib
import html
import re
import sysconfig
from dataclasses import dataclass
from pathlib import Path

PYTHON_DOC = Path("/usr/share/doc/python3.11/html/_sources")
OFFICE_HELP = Path("/usr/share/libreoffice/help/zh-CN/text")
CLASSES = ("arith", "code", "en", "zh")
# One long document a class is always held out, so that prompts of 8192 tokens exist.
LONG_HELD_OUT = {"code": "zipfile.py", "en": "library/sqlite3.rst.txt"}
HELD_OUT_BYTES = 150_000
DOCUMENT_BYTES = 64_000
_SKIPPED_DIRS = {
    "test", "tests", "idle_test", "site-packages", "__pycache__", "pydoc_data", "turtledemo",
}
_LICENCE_WORDS = re.compile(r"General Public License|Free Documentation License|\bGFDL\b")


@dataclass(frozen=True)
class Document:
    """One text with its name inside the source and the licence it stands under."""

    source: str
    licence: str
    text: str


class MissingSource(FileNotFoundError):
    """A text source is not installed; the message names the package."""


def _kept(documents: list[Document]) -> list[Document]:
    """Drop exact repetitions, near-empty texts and texts that speak of copyleft terms."""
    seen: set[bytes] = set()
    kept = []
    for document in documents:
        digest = hashlib.sha256(document.text.encode()).digest()
        if digest in seen or len(document.text) < 200 or _LICENCE_WORDS.search(document.text):
            continue
        seen.add(digest)
        kept.append(document)
    return kept


def code_documents() -> list[Document]:
    """Modules of the standard library, without tests and character tables."""
    root = Path(sysconfig.get_paths()["stdlib"])
    found = []
    for path in sorted(root.rglob("*.py")):
        name = path.relative_to(root)
        if _SKIPPED_DIRS & set(name.parts) or path.name.startswith("_sysconfigdata"):
            continue
        if name.parts[0] == "encodings" and re.match(r"(cp|iso|mac_|koi|big5)", name.name):
            continue
        found.append(Document(name.as_posix(), "PSF-2.0", path.read_text("utf-8", "replace")))
    return _kept(found)


def english_documents() -> list[Document]:
    """reStructuredText sources of the Python documentation."""
    if not PYTHON_DOC.is_dir():
        raise MissingSource(f"{PYTHON_DOC} not found: install the Debian package python3.11-doc")
    found = []
    for path in sorted(PYTHON_DOC.rglob("*.rst.txt")):
        name = path.relative_to(PYTHON_DOC).as_posix()
        if name in ("license.rst.txt", "copyright.rst.txt"):
            continue
        found.append(Document(name, "PSF-2.0", path.read_text("utf-8", "replace")))
    return _kept(found)


def help_text(page: str) -> str:
    """Running text of one help page: body only, one paragraph a line, tags removed."""
    body = page.split('<div id="DisplayArea"', 1)[-1].split('<div id="SearchFrame"', 1)[0]
    body = body.split(">", 1)[-1]
    body = re.sub(r"(?s)<(script|style).*?</\1>", "", body)
    body = re.sub(r"</(p|h\d|li|tr|pre|div)>|<br ?/?>", "\n", body)
    body = html.unescape(re.sub(r"<[^>]*>", "", body)).replace("\xa0", " ")
    lines = [re.sub(r"[ \t]+", " ", line).strip() for line in body.splitlines()]
    return "\n".join(line for line in lines if line) + "\n"


def chinese_documents() -> list[Document]:
    """Simplified Chinese help pages as text."""
    if not OFFICE_HELP.is_dir():
        raise MissingSource(
            f"{OFFICE_HELP} not found: install the Debian package libreoffice-help-zh-cn"
        )
    found = []
    for path in sorted(OFFICE_HELP.rglob("*.html")):
        text = help_text(path.read_text("utf-8", "replace"))
        if len(re.findall(r"[\u4e00-\u9fff]", text)) > 0.15 * len(text):
            found.append(Document(path.relative_to(OFFICE_HELP).as_posix(), "MPL-2.0", text))
    return _kept(found)


def split(content: str, documents: list[Document]) -> tuple[list[Document], list[Document]]:
    """(training, held-out) documents: the named long one first, then by hash of the name."""
    train: list[Document] = []
    held: list[Document] = []
    size = 0
    long_name = LONG_HELD_OUT.get(content)
    ordered = sorted(documents, key=lambda d: (d.source != long_name, d.source))
    for document in ordered:
        chosen = hashlib.sha256(document.source.encode()).digest()[0] % 24 == 0
        fits = size < HELD_OUT_BYTES and len(document.text) < 40_000
        if document.source == long_name or (chosen and fits):
            held.append(
                Document(document.source, document.licence, document.text[:DOCUMENT_BYTES])
            )
            size += len(held[-1].text.encode())
        else:
            train.append(document)
    return train, held


def all_documents() -> dict[str, list[Document]]:
    """Documents of the three text classes."""
    return {"code": code_documents(), "en": english_documents(), "zh": chinese_documents()}
