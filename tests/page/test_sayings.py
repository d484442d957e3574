"""What a program composed is said in the reader's language, with what it filled in."""

import json
import re
from pathlib import Path

import pytest

from tests.derive.test_reefs import CASES
from workflow.derive import reefs
from workflow.page.sayings import Sayings
from workflow.page.strings import Strings

NAMES = {
    "up to {share} % of {what}": {"en": "up to {share} % of {what}", "zh": "{what}最多占 {share}%"},
    "{place}: {what}": {"en": "{place}: {what}", "zh": "{place}：{what}"},
    "code": {"en": "code", "zh": "代码"},
}
DATA_ALONE = {"R34-mixed-code", "R34-mixed-tools"}
"""Detectors that say no word of their own: fingerprints, versions and names."""
CAMPAIGNS = Path(__file__).resolve().parents[2] / "workflow/campaigns"


def test_what_is_filled_in_stays_and_has_its_own_name():
    sayings = Sayings(NAMES)
    assert sayings.say("up to 3.5 % of code", "zh") == "代码最多占 3.5%"
    assert sayings.say("up to 3.5 % of code", "en") == "up to 3.5 % of code"
    assert sayings.say("a: up to 1 % of b", "zh") == "a：up to 1 % of b"


def test_the_more_particular_sentence_goes_first():
    assert Sayings(NAMES).say("up to 2 % of x: y", "zh") == "x: y最多占 2%"


def test_an_unknown_text_is_left_alone():
    assert Sayings(NAMES).say("nobody knows", "zh") == "nobody knows" and not Sayings(NAMES).knows("nobody knows")


def test_holes_are_the_same_in_both_languages():
    for name, said in Strings.load().section("values").items():
        holes = sorted(re.findall(r"\{(\w+)\}", str(name)))
        assert all(sorted(re.findall(r"\{(\w+)\}", said[language])) == holes for language in ("en", "zh")), name
        assert not holes or said["en"] == name


@pytest.mark.parametrize("reef", reefs.REEFS, ids=lambda reef: reef.name)
def test_every_detector_speaks_chinese(reef):
    sayings = Sayings(Strings.load().section("values"))
    assert reef.name in sayings.names and reef.severity in sayings.names
    for one in reef.findings(CASES[reef.name]):
        if reef.name not in DATA_ALONE:
            said = sayings.say(one.evidence, "zh")
            assert said != one.evidence and re.search(r"[一-鿿]", said), f"no Chinese for {one.evidence!r} in templates/strings/values.yaml"
            assert set(re.findall(r"\d+\.\d+", one.evidence)) <= set(re.findall(r"\d+\.\d+", said))


def test_where_transcribed_rows_come_from_is_said_in_chinese():
    sayings = Sayings(Strings.load().section("values"))
    for manifest in sorted(CAMPAIGNS.glob("*/*.manifest.json")):
        about = json.loads(manifest.read_text("utf8"))
        for field in ("hardware", "measured"):
            if "origin" in about and (text := about.get(field) or about["origin"].get(field)):
                assert sayings.knows(text), f"{manifest.name}: no Chinese for {text!r} in templates/strings/values.yaml"
