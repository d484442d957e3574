"""Bad and partial campaigns: a plate draws what there is or says what is missing; it never raises."""

from __future__ import annotations

import math
from dataclasses import replace

import pytest

from tests.figures import synthetic
from tests.figures.plain import PlainNumbers, strings
from workflow.derive.fact import Fact
from workflow.derive.values import Values
from workflow.figures.build import build
from workflow.figures.fill import Words, fill, plain
from workflow.figures.plate import Missing
from workflow.figures.registry import plate, plates
from workflow.figures.style import LAYOUTS
from workflow.figures.svg import render

FAMILIES = ("window.", "division.", "lanes.", "scale.", "isl.", "loss.", "accept.", "dspark.", "noise.", "search.", "prologue.", "memory.")


def keep(values: Values, wanted) -> Values:
    return replace(values, facts={key: fact for key, fact in values.facts.items() if wanted(key)})


def change(values: Values, value) -> Values:
    """Every number of the campaign replaced."""
    facts = {k: f if isinstance(f.value, str) else replace(f, value=value(f.value), lo=None, hi=None) for k, f in values.facts.items()}
    return replace(values, facts=facts)


CAMPAIGNS = {
    "nothing": lambda v: keep(v, lambda key: False),
    "one block size": lambda v: keep(v, lambda key: not any(f".g{g}" in key for g in range(2, 8)) and ".w3" not in key),
    "one content": lambda v: keep(v, lambda key: not any(f".{c}." in key for c in ("code", "en", "zh", "all"))),
    "one concurrency": lambda v: keep(v, lambda key: not any(f".c{c}." in key or key.endswith(f".c{c}") for c in (2, 4, 8, 16, 32))),
    "one input length": lambda v: keep(v, lambda key: not any(f".i{i}." in key for i in (128, 256, 512, 1024, 2048, 4096))),
    "no mtp": lambda v: keep(v, lambda key: ".mtp." not in key),
    "plain only": lambda v: keep(v, lambda key: "dspark" not in key and "window" not in key),
    "no intervals": lambda v: replace(v, facts={k: replace(f, lo=None, hi=None, repeats=()) for k, f in v.facts.items()}),
    "reversed intervals": lambda v: replace(v, facts={k: replace(f, lo=9e9, hi=-9e9) for k, f in v.facts.items()}),
    "zeros": lambda v: change(v, lambda x: 0.0),
    "equal": lambda v: change(v, lambda x: 1.0),
    "negative": lambda v: change(v, lambda x: -x),
    "huge": lambda v: change(v, lambda x: x * 1e12),
    "tiny": lambda v: change(v, lambda x: x * 1e-12),
    "not finite": lambda v: change(v, lambda x: math.nan),
    "infinite": lambda v: change(v, lambda x: math.inf),
    "missing values": lambda v: replace(v, facts={k: Fact(k, None, f.unit, f.kind, reason="cell failed: oom") for k, f in v.facts.items()}),
    "no claims": lambda v: replace(v, claims={}),
    "hostile labels": lambda v: replace(v, facts={k: replace(f, value="<b>&\x00\ud800") if isinstance(f.value, str) else f for k, f in v.facts.items()}),
} | {f"without {family}": lambda v, family=family: keep(v, lambda key: not key.startswith(family)) for family in FAMILIES}


@pytest.mark.parametrize("name", CAMPAIGNS)
def test_never_raises(name, values):
    partial = CAMPAIGNS[name](values)
    for one in plates():
        one.table(partial)
        for layout in LAYOUTS:
            sheet = one.draw(partial, layout)
            if isinstance(sheet, Missing):
                assert sheet.keys
                continue
            if name.startswith("without") or layout.name != LAYOUTS[len(name) % 2].name:
                continue  # drawn; writing it out as well is for the other campaigns, one paper each
            svg = render(sheet, one.id)
            assert "nan" not in svg and "inf" not in svg.replace("infer", ""), f"{one.id} draws a number that is none"
            if not one.absent(partial):
                for language in ("en", "zh"):
                    filled = fill(svg, language, strings(), partial, PlainNumbers(language))
                    assert "@@" not in filled and "\x00" not in filled


def test_nothing_measured_draws_nothing_and_says_why(tmp_path, values):
    index = build(CAMPAIGNS["missing values"](values), tmp_path / "figures")
    assert index.pop("share.png")["sha256"], "the picture has the name alone"
    assert all(record["file"] is None and "oom" in record["reason"] for record in index.values())
    assert not list((tmp_path / "figures").glob("*.svg"))


def test_an_unknown_content_is_left_out_of_break_even(values):
    strange = replace(values, facts=values.facts | {"window.best_content": Fact("window.best_content", "poetry", kind="label")})
    assert not isinstance(plate("verify-cost").draw(strange, LAYOUTS[0]), Missing)


@pytest.mark.parametrize("verdict", ("holds", "fails", "unresolved", "missing"))
def test_each_verdict_has_its_words(verdict, language):
    campaign = synthetic.values(verdict)
    for name in strings():
        words = Words(name, language, strings(), campaign, PlainNumbers(language))
        title, alt = plain(words.finding("title")), plain(words.finding("alt"))
        assert title and alt and "{{" not in title + alt
        assert words.chosen("title") == words.chosen("alt") == verdict, f"{name} states a fact that the made-up campaign lacks"
