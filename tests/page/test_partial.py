"""Real content over campaigns that lack something: the page builds, says what is missing and why, and shows no number that is not there."""

import json
import shutil

import pytest
from lxml import html

from tests.data.partial import HOSTILE, KINDS, SMALL, write
from tests.data.synthetic import Physics, write_campaign
from workflow.derive.__main__ import derive
from workflow.derive.__main__ import write as write_values
from workflow.figures.build import build as draw
from workflow.page.errors import PageError
from workflow.page.inert import UNSAFE, inert, inert_json
from workflow.page.site import build
from workflow.plan import Plan

REPORTS = ("index.html", "zh/index.html")


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """Kind of campaign -> its built site, each built once."""
    root = tmp_path_factory.mktemp("partial")
    whole = write_campaign(root / "whole", Physics(), SMALL)
    done = {}

    def make(kind: str):
        if kind not in done:
            folder = write(kind, whole, root / "workflow/campaigns" / kind)
            values = derive(folder)
            write_values(values, root / "build" / kind)
            draw(values, root / "build" / kind / "figures")
            done[kind] = build(Plan((kind,), kind, root), root / "build")
        return done[kind]

    yield make
    shutil.rmtree(root)


def page(result, path):
    return html.document_fromstring(result.files[path].decode())


@pytest.mark.parametrize("kind", KINDS)
def test_builds(made, kind):
    assert [str(problem) for problem in made(kind).problems] == []


@pytest.mark.parametrize("kind", ("nothing", "only-failed", "one-row"))
def test_what_is_absent_says_why(made, kind):
    for path in REPORTS:
        root = page(made(kind), path)
        absent = root.xpath("//section[contains(@class, 'absent')]")
        assert len(absent) >= 8
        english = root.xpath("//*[contains(@class, 'absent-reason')]//code[@lang='en']")
        assert bool(english) != path.startswith("zh/"), "a reason is said in the language of the page"
        for section in absent:
            assert section.xpath("./h2[@id]") and section.xpath(".//*[contains(@class, 'absent-reason')]//li/code[normalize-space()]")
            assert not section.xpath(".//data[not(starts-with(@data-key, 'section.') or starts-with(@data-key, 'plate.'))]")


@pytest.mark.parametrize("kind", ("nothing", "no-isl"))
def test_plates_are_numbered_as_they_are_shown(made, kind):
    for path in REPORTS:
        numbers = page(made(kind), path).xpath("//*[@class='plate-no']/data/@value")
        assert numbers == [str(at) for at in range(1, len(numbers) + 1)]


def test_a_section_that_lacks_nothing_stays(made):
    root = page(made("no-isl"), "index.html")
    absent = {section.find("h2").get("id") for section in root.xpath("//section[contains(@class, 'absent')]")}
    assert "decomposition" in absent and "block-size" not in absent and "concurrency" not in absent


def test_links_into_absent_sections_keep_their_text(made):
    for path in REPORTS:
        root = page(made("no-isl"), path)
        anchors = {node.get("id") for node in root.xpath("//*[@id]")}
        inner = [link.get("href")[1:] for link in root.xpath("//main//a[starts-with(@href, '#')]")]
        assert set(inner) <= anchors
        assert all(node.text_content().strip() for node in root.xpath("//*[@class='unlinked']"))


def test_failures_are_shown_as_failures(made):
    result = made("only-failed")
    values = json.loads(result.files["values.json"])
    told = {name: values["facts"][f"run.{name}"]["value"] for name in ("requests", "failed", "cells", "cells_again", "cells_oom", "cells_broken")}
    assert 0 <= told["failed"] <= told["requests"], "a cell is no request"
    ended = [told[name] for name in ("cells_again", "cells_oom", "cells_broken")]
    assert all(ended) and sum(ended) < told["cells"], "the others were skipped"
    of_speed = [claim for key, claim in values["claims"].items() if key.startswith(("window.", "lanes.", "run.", "prologue.", "accept.", "division."))
                and key != "run.outputs_equal"]  # fmt: skip
    assert of_speed and all(claim["verdict"] == "missing" for claim in of_speed)
    assert result.files["data/sweep_window.csv"].count(b"asked for more than there was") > 10


def test_hostile_notes_reach_no_page_as_markup(made):
    result = made("hostile")
    assert HOSTILE.split("\ue000")[0].encode() in result.files["data/sweep_isl.csv"].replace(b'""', b'"'), "the data are published as measured"
    for path in (name for name in result.files if name.endswith(".html")):
        root = page(result, path)
        assert not root.xpath("//img") and not root.xpath("//*[@onerror]")
        assert not [node for node in root.xpath("//script") if "alert" in (node.text or "") and node.get("type") is None]
        assert not UNSAFE.search(result.files[path].decode())


def test_hostile_labels_reasons_and_commands_are_escaped(workspace):
    file = workspace.root / "build/local/values.json"
    raw = json.loads(file.read_text())
    raw["facts"]["machine.cpu"]["value"] = raw["facts"]["w.unmeasured"]["reason"] = HOSTILE
    raw["runs"]["sweep_window.csv"] |= {"command": HOSTILE, "machine": {"cpu": HOSTILE}, "versions": {HOSTILE: HOSTILE}}
    raw["claims"]["prologue.largest_loss"]["reason"] = HOSTILE
    file.write_text(json.dumps(raw))
    result = workspace.build()
    assert {problem.check for problem in result.problems} <= {"typed digit"}  # 42 in a label: a number nobody accounts for
    for path in (name for name in result.files if name.endswith(".html")):
        text = result.files[path].decode()
        assert "<script>alert" not in text and "<img src=x" not in text and not UNSAFE.search(text)
        assert not page(result, path).xpath("//img | //b | //a[starts-with(@href, 'javascript:')]")


@pytest.mark.parametrize("text", ["\x00", "a\u202eb", "\ue0005\ue001", "\ud800", "\U0010fffd", "\ufffe"])
def test_what_no_page_may_hold_is_replaced(text):
    assert not UNSAFE.search(inert(text)) and "\ufffd" in inert(text)
    assert inert_json({text: [text, 1, None]}) == {inert(text): [inert(text), 1, None]}


def test_ordinary_text_is_left_alone():
    text = "naïve 推理\n\t“γ = 3” 🌊 a\u00a0b"
    assert inert(text) == text


def test_a_broken_file_is_one_error(workspace):
    (workspace.root / "build/local/values.json").write_text("{")
    with pytest.raises((PageError, ValueError), match="not a values.json"):
        workspace.build()
