"""What a program composed is said in the reader's language, with what it filled in."""

import ast
import json
import re
from pathlib import Path

import pytest

from tests.derive.test_reefs import CASES
from workflow.derive import reefs
from workflow.derive.evaluate import Derivation
from workflow.derive.load import Campaign
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


@pytest.mark.parametrize("section", ("values", "reasons"))
def test_holes_are_the_same_in_both_languages(section):
    for name, said in Strings.load().section(section).items():
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


def composed(node: ast.expr) -> list[str]:
    """The texts that an expression can be, with the name of a file where it is filled in; none where all of it is."""
    if isinstance(node, ast.IfExp):
        return [*composed(node.body), *composed(node.orelse)]
    if isinstance(node, ast.JoinedStr):
        return ["".join(part.value if isinstance(part, ast.Constant) else "x.manifest.json" for part in node.values)]
    return [node.value] if isinstance(node, ast.Constant) and isinstance(node.value, str) and node.value else []


def reasons_in(file: Path) -> list[str]:
    """Why facts are missing and claims undecided, as one file of the derivation says it."""
    found = []
    for node in ast.walk(ast.parse(file.read_text("utf8"))):
        if isinstance(node, ast.Call):
            name = node.func.id if isinstance(node.func, ast.Name) else getattr(node.func, "attr", "")
            if name in ("Missing", "Unresolved", "unresolved") or name == "told" and len(node.args) > 1:
                found += [text for part in node.args[-1:] for text in composed(part)]
    return found


def test_why_something_is_missing_is_said_in_chinese():
    sayings = Sayings(Strings.load().section("reasons"))
    found = {text for file in (CAMPAIGNS.parent / "derive").rglob("*.py") for text in reasons_in(file)}
    assert len(found) > 90
    assert sorted(text for text in found if not re.search(r"[一-鿿]", sayings.say(text, "zh"))) == [], "templates/strings/reasons.yaml"


def test_what_a_claim_says_is_said_in_chinese(tmp_path):
    strings, claims = Strings.load().section("statements"), Derivation(Campaign("nothing", tmp_path, {}, {}, {}), resamples=0).claim_definitions
    wanted = {definition.formula for definition, *_ in claims.values()} | {definition.kind for definition, *_ in claims.values()}
    assert sorted(text for text in wanted if not re.search(r"[一-鿿]", strings.get(text, {}).get("zh", ""))) == [], "templates/strings/statements.yaml"
    assert [text for text, said in strings.items() if said["en"] != text] == []
    assert set(strings) - wanted == {"[{kind}] {statement}"}, "no claim says that"
    assert Sayings(strings).say("[count] No compiled kernel keeps registers in memory, on any target.", "zh").startswith("[计数] 在任何目标上")


@pytest.mark.parametrize(
    ("reason", "said"),
    (
        ("sweep_isl.csv has no column boot_id", "sweep_isl.csv 没有 boot_id 这一列"),
        ("search.csv has no row with stage=cache label=radix-on", "search.csv 没有 stage=cache label=radix-on 的行"),
        ("steps_isl.csv has no good row with isl=64", "steps_isl.csv 有 isl=64 的行，但没有一行可用"),
        ("search.csv line 28: status oom", "search.csv 第 28 行：状态 oom"),
        ("search.csv line 28: status oom (asked for more: twice)", "search.csv 第 28 行：状态 oom（asked for more: twice）"),
        ("search.manifest.json has no cost.total_s", "search.manifest.json 没有 cost.total_s"),
        ("the output-length sweep is not part of this campaign", "本次测量没有输出长度扫描"),
        ("compiled nothing: no Triton", "compiled nothing: no Triton"),
    ),
)
def test_a_reason_keeps_what_it_is_about(reason, said):
    assert Sayings(Strings.load().section("reasons")).say(reason, "zh") == said
