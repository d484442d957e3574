"""What the verify-cost sweep hands to its measuring process."""

from __future__ import annotations

import json
import sys
from dataclasses import fields, replace
from types import SimpleNamespace

import pytest

from engine.backends.worker_pool import WorkerPool
from engine.backends.worker_process import WORKER
from engine.bench import campaign as campaigns
from engine.bench import cost_sweep
from engine.bench.stages import VerifyCost
from engine.config import ConfigError
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


def test_larger_models_have_a_process_of_their_own_and_fewer_sizes() -> None:
    full = campaigns.load(ROOT / "workflow/campaigns/local/campaign.yaml", "full").stage("verify_cost")
    first, second = (cost_sweep.command(one, 1, None) for one in full.processes())
    value = lambda words, flag: words[words.index(flag) + 1]
    assert value(first, "--models") == "trained,random-25m" and value(second, "--models") == "random-60m,random-moe"
    assert len(value(second, "--widths")) < len(value(first, "--widths")) and value(second, "--acceptance") == value(first, "--acceptance")
    assert full.variants == 8 and full.cells == 4 * 16 * 3 + 4 * 4 * 2
    assert cost_sweep.estimate_s(full) > cost_sweep.estimate_s(replace(full, larger=()))
    assert len(VerifyCost().processes()) == 1


def test_the_estimate_is_near_what_the_archived_sweep_took() -> None:
    about = json.loads((ROOT / "workflow/campaigns/xeon-2core/sweep_verify_cost.manifest.json").read_text("utf8"))
    ran = {key: tuple(value) if isinstance(value, list) else value for key, value in about["config"].items() if key in {one.name for one in fields(VerifyCost)}}
    assert 0.7 < cost_sweep.estimate_s(VerifyCost(**ran)) / about["seconds"] < 1.4


def test_boots_of_a_command_are_numbered_on_over_its_processes(monkeypatch) -> None:
    stage = replace(VerifyCost(), larger=("random-25m",))
    printed = {model: [{"model": model, "block_ms": None, "instrument": False, "boot": boot} for boot in (0, 0, 1)] for model in ("trained", "random-25m")}
    monkeypatch.setattr(cost_sweep, "_run", lambda _, one: printed[one.models[0]])
    journal = SimpleNamespace(closed=lambda key: None, append=lambda record: None)
    constant = dict.fromkeys(("campaign", "host", "device", "threads", "code"), "x")
    session = SimpleNamespace(identity="", campaign=SimpleNamespace(identity=lambda: ""), journal=journal, begin=lambda key: None, open={}, boots=1, constant=constant)
    session.cost = SimpleNamespace(cells=0, cell_s=0.0)
    rows = cost_sweep.measure(session, stage)
    assert [row["boot_id"] for row in rows] == [f"verify_cost-b{n:03d}" for n in (1, 1, 2, 3, 3, 4)] and session.boots == 5
    assert all("boot" not in row and row["host"] == row["threads"] == "x" for row in rows)


def session(*command: str) -> SimpleNamespace:
    return SimpleNamespace(campaign=SimpleNamespace(threads=1), cpu=None, pool=WorkerPool(1, None, command or WORKER))


@pytest.mark.parametrize(
    ("command", "said"),
    [
        (("-m", "tests.measure.fake_worker"), "^--modes odd: unknown mode"),
        (("-c", "import os; os.abort()"), "^verify_cost: engine process killed by SIGABRT$"),
        (("-c", "import sys; sys.exit('no such thing')"), "^verify_cost: engine process ended with code 1: no such thing$"),
    ],
)
def test_a_process_that_gives_no_rows_says_why_in_one_line_and_ends(command, said, monkeypatch) -> None:
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    asked, taken = session(sys.executable, *command), []
    take = asked.pool.take
    asked.pool.take = lambda: taken.append(take()) or taken[-1]
    with pytest.raises(ConfigError, match=said):
        cost_sweep._run(asked, VerifyCost(modes=("odd",)))
    assert [process.alive for process in taken] == [False]
    asked.pool.close()


@pytest.mark.slow
def test_rows_of_both_processes_are_published(tmp_path) -> None:
    """The smallest such sweep: the same file holds the trained model's rows and, simulated where replayed, the larger one's."""
    stage = replace(VerifyCost(widths=(1, 4), batches=(1,), repeats=1, inner=1), acceptance="xeon-2core", larger=("random-25m",), larger_widths=(1, 4), larger_batches=(1,))
    asked = session()
    rows = [row for one in stage.processes() for row in cost_sweep._run(asked, one)]
    simulated = [row for row in rows if row["status"] == "simulated"]
    assert {row["model"] for row in rows} == {"trained", "random-25m"}
    assert simulated and {(row["model"], row["quantity"], row["lane"]) for row in simulated} == {("random-25m", "token", "dspark")}
