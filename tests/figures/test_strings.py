"""The plates' words: complete, the same numbers in both languages, no number where nothing was measured."""

from __future__ import annotations

import re

from tests.figures.plain import strings
from workflow.figures.registry import plates

VERDICTS = ("holds", "fails", "unresolved", "missing")
CALL = re.compile(r"""\{\{\s*(?:n|label)\(\s*"([^"]+)"(?:\s*,\s*"[a-z]+")?\s*\)\s*\}\}""")
LITERAL = re.compile(r"""\{\{ lit\("[a-z-]+"\) \}\}""")


def texts(node, path=()):
    """(path, {en, zh}) of every leaf."""
    if isinstance(node, dict) and {"en", "zh"} & node.keys() and not isinstance(next(iter(node.values())), dict):
        yield path, node
    elif isinstance(node, dict):
        for name, child in node.items():
            yield from texts(child, (*path, name))


def test_a_plate_for_every_entry_and_an_entry_for_every_plate():
    assert sorted(strings()) == sorted(plate.id for plate in plates())


def test_the_claim_is_the_plates(plate):
    assert strings()[plate.id]["claim"] == plate.claim


def test_four_verdicts_in_both_languages(plate):
    entry = strings()[plate.id]
    for part in ("title", "alt"):
        assert tuple(entry[part]) == VERDICTS
        assert all(entry[part][verdict].keys() == {"en", "zh"} for verdict in VERDICTS)
        assert not any(CALL.search(text) for text in entry[part]["missing"].values())
    assert entry["subtitle"].keys() == {"en", "zh"}


def test_both_languages_state_the_same_numbers():
    for path, leaf in texts(strings()):
        assert leaf.keys() == {"en", "zh"}, path
        keys = {language: sorted(CALL.findall(text)) for language, text in leaf.items()}
        assert keys["en"] == keys["zh"], path


def test_no_typed_digit_and_nothing_but_numbers_in_braces():
    for path, leaf in texts(strings()):
        for text in leaf.values():
            # Heads of the data table are text of the page, as a subtitle is; a drawing would show the braces.
            page = path[-1] == "subtitle" or "labels" in path
            rest = LITERAL.sub("", CALL.sub("", text)) if page else CALL.sub("", text)
            assert not re.search(r"\d|\{\{", rest), (path, text)


def test_what_a_subtitle_states_the_plate_needs(plate):
    """A plate without its subtitle's facts is not drawn, so its caption cannot fail the page."""
    keys = {key for text in strings()[plate.id]["subtitle"].values() for key in CALL.findall(text)}
    assert keys <= set(plate.needs)


def test_labels_in_drawings_exist(drawings):
    for drawing in drawings:
        slots = set(re.findall(r"@@([a-z_]+)@@", drawing.svg)) - {"title", "alt"}
        labels = strings()[drawing.plate]["labels"]
        assert slots <= set(labels), drawing.name


def test_labels_are_short():
    for path, leaf in texts(strings()):
        if "labels" in path:
            assert len(CALL.sub("12345", leaf["en"])) <= 42 and len(CALL.sub("12345", leaf["zh"])) <= 26, path
