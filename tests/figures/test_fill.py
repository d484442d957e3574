"""Slots of a drawing, one kind at a time."""

from __future__ import annotations

import pytest
from lxml import etree

from tests.figures.plain import PlainNumbers
from workflow.derive.fact import Claim, Fact
from workflow.derive.values import Values
from workflow.figures.fill import StringsError, fill, visible

STRINGS = {
    "p": {
        "claim": "c",
        "title": {v: {"en": f"{v} " + ('{{ n("a.b") }}' if v != "missing" else "")} for v in ("holds", "fails", "unresolved", "missing")},
        "alt": {v: {"en": "alt"} for v in ("holds", "fails", "unresolved", "missing")},
        "labels": {"plain": {"en": "just words"}, "mixed": {"en": 'of {{ n("a.b") }} in {{ n("a.c", "bare") }} all'}, "logic": {"en": "{{ word('x') }}"}},
    }
}
FACTS = {"a.b": Fact("a.b", 1.5), "a.c": Fact("a.c", 7, kind="count"), "t": Fact("t", " <if\n", kind="label"), "gone": Fact("gone", None, reason="oom")}


def filled(slot: str, verdict: str = "holds", facts=None):
    svg = f'<svg xmlns="http://www.w3.org/2000/svg" data-plate="p"><title>@@title@@</title><desc>@@alt@@</desc><text>{slot}</text></svg>'
    values = Values("x", FACTS if facts is None else facts, {"c": Claim("c", verdict, "bound")})
    return etree.fromstring(fill(svg, "en", STRINGS, values, PlainNumbers("en")).encode())


def test_a_label():
    assert filled("@@plain@@")[2].text == "just words"


def test_a_number_carries_its_key():
    node = filled("@@n:a.b@@")[2]
    assert (node.text, node.get("data-key")) == ("1.50×", "a.b")


def test_numbers_inside_a_label_each_carry_their_key():
    node = filled("@@mixed@@")[2]
    assert "".join(node.itertext()) == "of 1.50× in 7 all"
    assert [child.get("data-key") for child in node] == ["a.b", "a.c"] and node.get("data-key") is None


def test_a_label_beside_a_number():
    node = filled("@@plain@@ @@n:a.c@@")[2]
    assert "".join(node.itertext()) == "just words 7" and [c.get("data-key") for c in node] == ["a.c"]


def test_a_token_shows_its_white_space_and_is_escaped():
    node = filled("@@t:t@@")[2]
    assert node.text == "␣<if⏎" and node.get("data-key") == "t"


@pytest.mark.parametrize("text, shown", [("", "∅"), ("\x00", "�"), ("abcdefghijkl", "abcdefgh…"), ("代码", "代码"), ("\t", "⇥"), ("\ud800", "�")])
def test_visible(text, shown):
    assert visible(text) == shown


def test_title_follows_the_verdict_and_names_its_keys():
    assert filled("@@plain@@", "fails")[0].text == "fails 1.50×"
    assert filled("@@plain@@", "fails")[0].get("data-key") == "a.b"


def test_a_title_without_its_number_falls_back_to_missing():
    assert filled("@@plain@@", "holds", {"a.c": FACTS["a.c"]})[0].text == "missing "


@pytest.mark.parametrize("slot, says", [("@@nothing@@", "plates.p.labels.nothing"), ("@@n:gone@@", "gone"), ("@@logic@@", "only n")])
def test_what_cannot_be_filled_is_named(slot, says):
    with pytest.raises(StringsError, match=says):
        filled(slot)
