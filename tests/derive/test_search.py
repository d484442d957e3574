"""The search: pairs of one boot, and labels that need no confirmation."""

import math

import pytest

from engine.bench.compare import Spread, compare
from engine.bench.verdicts import pair_values
from engine.serve import __main__ as serve
from tests.data.synthetic import Physics, Plan, write_campaign
from tests.derive.edit import drop, remove, rewrite
from tests.derive.edit import scale as scale_cells
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.flags import engine_flags


def test_the_confirmed_ratio_is_the_mean_of_paired_logarithms(derivation, measured):
    table = measured.find("points", "search")
    times = table.numbers("mean_tpot_ms")
    logs: dict[tuple[str, str], list[float]] = {}
    for i in table.select({"stage": "confirm", "status": "ok"}):
        logs.setdefault((table.columns["boot"][i], table.columns["label"][i]), []).append(math.log(times[i]))
    means = {key: sum(values) / len(values) for key, values in logs.items()}
    boots = sorted({boot for boot, _ in means})
    expected = math.exp(sum(means[boot, "base"] - means[boot, "candidate"] for boot in boots) / len(boots))
    assert derivation.result("search.confirm_ratio").fact.value == pytest.approx(expected)


def test_without_a_confirmation_base_and_winner_still_have_names(scratch):
    drop(scratch, "search", lambda row: row["stage"] == "confirm")
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.result("search.base_label").fact.kind == "label"
    assert not derivation.result("search.base_label").fact.missing and not derivation.result("search.winner_label").fact.missing
    assert derivation.result("search.confirm_ratio").fact.missing


@pytest.mark.parametrize("arm", ["winner", "base"])
def test_the_shipped_flags_are_the_servers_and_name_the_confirmed_arm(derivation, measured, arm):
    table = measured.find("points", "search")
    confirmed = table.select({"stage": "confirm", "label": "candidate" if arm == "winner" else "base", "status": "ok"})[0]
    lane, size, mode = (table.columns[name][confirmed] for name in ("lane", "block_size", "mode"))
    args = serve.parser().parse_args(derivation.result(f"search.{arm}_flags").fact.value.split())
    assert (args.lane, str(args.block_size), args.mode) == (lane, size, mode)
    assert engine_flags("fused", "plain") == "--mode fused --lane plain"


def test_an_arm_of_several_modes_has_no_flags(scratch):
    rewrite(scratch, "search.csv", lambda rows: [row | ({"mode": "graph"} if (row["stage"], row["label"]) == ("confirm", "base") else {}) for row in rows])
    fact = Derivation(load.load(scratch), resamples=0).result("search.base_flags").fact
    assert fact.missing and fact.reason == "the search ran in several modes: eager, graph"

SAYS = {"holds": "better", "fails": "worse", "unresolved": "not resolved"}


@pytest.mark.parametrize("scale", [0.5, 0.9, 0.97, 1.0, 1.03, 1.1, 2.0])
@pytest.mark.parametrize("boot_noise", [0.002, 0.05])
def test_the_page_confirms_a_candidate_exactly_when_the_search_does(tmp_path, scale, boot_noise):
    """One rule for both: an interval over the pairs of fresh boots, no narrower than the A/A pairs allow."""
    folder = write_campaign(tmp_path, Physics(boot_noise=boot_noise), Plan(repeats=2, prompts=2, osl=24, isls=(64,), concurrencies=(1,)))
    scale_cells(folder, "search.csv", "mean_tpot_ms", scale, stage="confirm", label="candidate")
    campaign = load.load(folder)
    columns = campaign.find("points", "search").columns
    points = [dict(zip(columns, cells)) for cells in zip(*columns.values())]
    for row in points:
        row["mean_tpot_ms"] = float(row["mean_tpot_ms"] or 0)
    pairs = pair_values(points, "confirm", ("base", "candidate"), "mean_tpot_ms").values()
    aa = pair_values(points, "aa", ("base-a", "base-b"), "mean_tpot_ms").values()
    logs = [math.log(base / fast) for _, _, base, fast in pairs]
    search = compare(logs, Spread.floored([logs], [math.log(b / a) for _, _, a, b in aa]))
    derivation = Derivation(campaign)
    claim = derivation.claim("search.winner_confirmed")
    alone = "unresolved" if abs(claim.margin) <= claim.noise else "holds" if claim.margin > 0 else "fails"
    assert SAYS[alone] == search.verdict
    # a headline claim has to pass beside the others as well
    among = derivation.result("headline.search.winner_confirmed.adjusted").fact.value
    assert claim.verdict == ("unresolved" if among >= 0.05 else alone)
    assert math.exp(claim.margin) == pytest.approx(search.ratio, rel=1e-4)


def test_without_pairs_to_scatter_nothing_is_confirmed(scratch):
    keep_one(scratch)
    claim = Derivation(load.load(scratch)).claim("search.winner_confirmed")
    assert claim.verdict == "unresolved" and "nothing says" in claim.reason


def keep_one(folder):
    """One pair of fresh boots, and no A/A pairs."""
    drop(folder, "search", lambda row: row["stage"] == "confirm" and row["boot"] != "0")
    remove(folder, "noise.csv")
