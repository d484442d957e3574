"""What a measuring rule runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workflow import measure
from workflow.plan import STAGES

LOG = "workflow/build/logs/local/a.log"
RULES = Path(__file__).resolve().parents[2] / "workflow" / "rules" / "measure.smk"


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_rule_has_a_command(stage):
    words = measure.command(stage.rule, "local", "quick", LOG)
    assert words[:2] == ["-m", stage.command.split()[0]]
    assert words[words.index("--resume") + 1] == "interrupted"
    assert words[words.index("--campaign") + 1] == "workflow/campaigns/local/campaign.yaml"


def test_the_rule_holds_nothing_that_anyone_would_edit():
    """Snakemake compares the unformatted shell text and the params; a flag in either would measure again when it changes."""
    measuring = RULES.read_text("utf8").split("keep_{stage.name}")[0]
    assert "params:" not in measuring
    assert set(re.findall(r"shell:\s+(.*)", measuring)) == {"MEASURE", "MEASURE_PART"}
    texts = dict(re.findall(r"^(MEASURE\w*) = (.*)", RULES.with_name("common.smk").read_text("utf8"), re.MULTILINE))
    flags = {"--campaign", "--preset", "--log"}
    assert set(re.findall(r"--[a-z-]+", texts["MEASURE"])) == flags
    assert set(re.findall(r"--[a-z-]+", texts["MEASURE_PART"])) == flags | {"--part"}


@pytest.mark.parametrize("stage", [stage for stage in STAGES if stage.has_parts], ids=lambda stage: stage.name)
def test_parts_are_measured_apart_and_gathered_without_measuring(stage):
    part = measure.command(stage.rule, "local", "quick", LOG, "2/4")
    assert part[part.index("--part") + 1] == "2/4" and part[part.index("--out") + 1] == "workflow/build/parts/local"
    gathered = measure.command(stage.gather, "local", "quick", LOG, parts=["a", "b"])
    assert gathered[-3:] == ["--gather", "a", "b"] and gathered[gathered.index("--out") + 1] == "workflow/build/measured/local"
    assert "--resume" not in gathered and "--part" not in gathered


def test_a_log_from_elsewhere_is_one_line(monkeypatch, capsys):
    monkeypatch.setattr(measure.os, "execv", lambda *words: pytest.fail("something was run"))
    assert measure.main([STAGES[0].rule, "--campaign", "local", "--preset", "quick", "--log", "a.log"]) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "--log a.log: not a log of this workflow" in said
