"""What a measuring rule runs."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from workflow import measure
from workflow.plan import STAGES

RULES = Path(__file__).resolve().parents[2] / "workflow" / "rules" / "measure.smk"


@pytest.mark.parametrize("stage", STAGES, ids=lambda stage: stage.name)
def test_every_rule_has_a_command(stage):
    words = measure.command(stage.rule, "local", "quick", "a.log")
    assert words[:2] == ["-m", stage.command.split()[0]]
    assert words[words.index("--resume") + 1] == "interrupted"
    assert words[words.index("--campaign") + 1] == "workflow/campaigns/local/campaign.yaml"


def test_the_rule_holds_nothing_that_anyone_would_edit():
    """Snakemake compares the unformatted shell text and the params; a flag in either would measure again when it changes."""
    measuring = RULES.read_text("utf8").split("keep_{stage.name}")[0]
    assert "params:" not in measuring
    flags = set(re.findall(r"--[a-z-]+", measuring.split("shell:")[1]))
    assert flags == {"--campaign", "--preset", "--log"}
