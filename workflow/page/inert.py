"""Text from outside made harmless before it meets a page: notes, labels, commands and tokens may hold anything."""

from __future__ import annotations

import json
import re

UNSAFE = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f"  # controls that HTML and XML forbid
    "\u061c\u200e\u200f\u202a-\u202e\u2066-\u2069"  # directions that reorder the words around them
    "\ud800-\udfff\ue000-\uf8ff\ufdd0-\ufdef\ufffe\uffff"  # halves of characters, private use (our placeholders), no characters
    "\U000f0000-\U0010ffff]"
)


def inert(text: str) -> str:
    """The text with what no page may hold replaced by a sign that says so. Markup is escaped where it is written, not here."""
    return UNSAFE.sub("\ufffd", text) if UNSAFE.search(text) else text


def inert_json(data):
    """The same for every text of a JSON document, keys included."""
    match data:
        case str():
            return inert(data)
        case list():
            return [inert_json(item) for item in data]
        case dict():
            return {inert(key): inert_json(value) for key, value in data.items()}
    return data


def inert_document(text: str):
    """A JSON document with every text of it made harmless. Raises ValueError on one that is none."""
    data = json.loads(text)
    # JSON writes most of what is unsafe as an escape; a document without it is as harmless as its text
    return inert_json(data) if "\\u" in text or UNSAFE.search(text) else data
