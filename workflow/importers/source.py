"""One foreign file: its bytes' checksum, its lines in any of the encodings that shells write, the JSON values in it one at a time.

A file of lines is never loaded whole. Bytes that are not UTF-8 are replaced and reported: they stand in texts, and the numbers beside them are good.
"""

from __future__ import annotations

import codecs
import hashlib
import json
import os
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from workflow.importers.report import FAULT, NOTE, Report
from workflow.importers.salvage import salvage

BLOCK = 1 << 20
LONGEST_LINE = 1 << 28
"""Characters of one line; a longer one is cut there."""
LARGEST_DOCUMENT = 1 << 29
"""Bytes of a JSON document that is not one object a line."""
MARKS = ((codecs.BOM_UTF8, "utf-8"), (codecs.BOM_UTF16_LE, "utf-16-le"), (codecs.BOM_UTF16_BE, "utf-16-be"))


class Unreadable(ValueError):
    """A file of which nothing can be read; the message says why."""


class Source:
    """A file that is read in one pass, as text lines or as JSON values."""

    def __init__(self, path: Path, report: Report):
        self.path, self.report, self.name = path, report, path.name
        try:
            with open(path, "rb") as file:
                head = file.read(4096)
                self.size = os.fstat(file.fileno()).st_size
        except OSError as error:
            raise Unreadable(f"{path}: {error.strerror or error}; expected a result file") from None
        if not head.strip():
            raise Unreadable(f"{path}: nothing stands in it")
        self.skip, self.encoding = next(((len(mark), name) for mark, name in MARKS if head.startswith(mark)), (0, "utf-8"))
        if self.encoding != "utf-8":
            report.say(NOTE, self.name, "", f"{self.encoding.upper()}, as some shells write it; read as such")
        elif b"\0" in head:
            raise Unreadable(f"{path}: NUL bytes; expected text (JSON, CSV or the printed block of a tool)")

    @cached_property
    def sha256(self) -> str:
        return sha256_of(self.path)

    def lines(self) -> Iterator[tuple[int, str]]:
        """(number from 1, text without its end) of each line."""
        with open(self.path, "rb") as raw:
            raw.seek(self.skip)
            if self.encoding != "utf-8":
                with open(self.path, encoding=self.encoding, errors="replace") as file:
                    for number, line in enumerate(file, 1):
                        yield number, line.lstrip("\ufeff").rstrip("\r\n")
                return
            number = 0
            while line := raw.readline(LONGEST_LINE):
                number += 1
                if len(line) == LONGEST_LINE and not line.endswith(b"\n"):
                    self.report.say(FAULT, self.name, f"line {number}", f"longer than {LONGEST_LINE} bytes; cut there")
                    while (rest := raw.readline(BLOCK)) and not rest.endswith(b"\n"):
                        pass
                yield number, self.decode(line, number).rstrip("\r\n")

    def decode(self, line: bytes, number: int) -> str:
        try:
            return line.decode("utf-8")
        except UnicodeDecodeError as error:
            self.report.say(FAULT, self.name, f"line {number}", f"not UTF-8 at byte {error.start} of the line; those bytes were replaced, the rest was read")
            return line.decode("utf-8", "replace")

    def text(self) -> str:
        """All of it, for files that are one document."""
        if self.size > LARGEST_DOCUMENT:
            raise Unreadable(f"{self.path}: {self.size} bytes in one JSON document; expected at most {LARGEST_DOCUMENT}, or one object a line")
        return "\n".join(line for _, line in self.lines())

    @cached_property
    def look(self) -> tuple[list[str], bool]:
        """The beginnings of the first lines that are not blank, and whether each line is a JSON object of its own: one of them is, or two begin like one."""
        found: list[str] = []
        by_lines, seen = False, 0
        for number, line in self.lines():
            seen += len(line)
            if line.strip():
                by_lines = by_lines or complete(line)
                found.append(line[:BLOCK])
            if len(found) == 20 or number > 200 or seen > 8 * BLOCK:
                break
        if found and found[0].startswith("["):
            return found, False
        return found, by_lines or sum(line.startswith('{"') for line in found) > 1

    @property
    def head(self) -> list[str]:
        return self.look[0]

    @property
    def by_lines(self) -> bool:
        return self.look[1]

    @property
    def is_json(self) -> bool:
        return self.head[0].lstrip()[:1] in ("{", "[") or self.by_lines

    def values(self) -> Iterator[tuple[str, object]]:
        """(place, value) of every JSON value; of one that is cut off, what is complete in it. Lists at the top are given element by element."""
        if not self.by_lines:
            yield from spread("", self.document())
            return
        for number, line in self.lines():
            if line.strip() and (found := self.line_value(number, line)) is not None:
                yield from spread(f"line {number}", found)

    def line_value(self, number: int, line: str):
        text = line.strip().removeprefix("data: ")
        if text == "[DONE]":  # the end of a recorded event stream
            return None
        try:
            return json.loads(text)
        except RecursionError:
            self.report.say(FAULT, self.name, f"line {number}", "nested too deep; skipped")
        except ValueError:
            found = salvage(text) if text[:1] in ("{", "[") else None
            self.report.say(FAULT, self.name, f"line {number}", "not a whole JSON value" + ("; its complete members were read" if found else "; skipped"))
            return found or None
        return None

    def document(self):
        text = self.text()
        try:
            return json.loads(text)
        except RecursionError:
            raise Unreadable(f"{self.path}: nested too deep to be a result file") from None
        except ValueError as error:
            found = salvage(text)
            if not found:
                raise Unreadable(f"{self.path}: not JSON: {error}") from None
            self.report.say(FAULT, self.name, "", f"cut off or broken ({error}); its complete members were read")
            return found


def complete(line: str) -> bool:
    """Whether a line is a whole JSON object by itself, not one inside a document of several lines."""
    text = line.rstrip().removeprefix("data: ")
    if not text.startswith('{"'):
        return False
    try:
        return isinstance(json.loads(text), dict)
    except (ValueError, RecursionError):
        return False


def spread(place: str, value) -> Iterator[tuple[str, object]]:
    if isinstance(value, list):
        for i, one in enumerate(value):
            yield f"{place}[{i}]" if place else f"element {i + 1}", one
    else:
        yield place, value


def sha256_of(path: Path) -> str:
    """Of the bytes as they are; read in blocks."""
    with open(path, "rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
