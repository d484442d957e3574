"""What the verify-cost sweep hands to its measuring process."""

from __future__ import annotations

from engine.bench import campaign as campaigns
from engine.bench import cost_sweep
from engine.bench.stages import VerifyCost
from tests.measure.conftest import ROOT


def test_the_live_campaign_replays_an_archived_one() -> None:
    stage = campaigns.load(ROOT / "workflow/campaigns/local/campaign.yaml", "quick").stage("verify_cost")
    words = cost_sweep.command(stage, 1, None)
    folder = words[words.index("--acceptance") + 1]
    assert stage.acceptance == "xeon-2core" and (ROOT / folder / "sweep_window.csv").is_file()
    smoke = campaigns.load(ROOT / "workflow/campaigns/local/campaign.yaml", "smoke").stage("verify_cost")
    assert "--acceptance" not in cost_sweep.command(smoke, 1, None)


def test_without_a_named_campaign_nothing_is_replayed() -> None:
    assert "--acceptance" not in cost_sweep.command(VerifyCost(), 1, 0)
