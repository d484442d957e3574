"""The search's optional stages: their plans, what their rows decide, and one run of all of them on the stand-in engine."""

from __future__ import annotations

import json
import math
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest

from engine import csvio, search, sweep
from engine.bench import plans_capacity, plans_search, search_parts
from engine.bench.binding import could_bind
from engine.bench.campaign import load
from engine.bench.cells import dspark
from engine.bench.compare import Comparison
from engine.bench.cost import Cost
from engine.bench.ledger import grid, ledger
from engine.bench.session import Session
from engine.bench.stages import FULL, Cache, Capacity, Curve, Factorial, Heads, Knobs, Lanes, Memory, Search
from tests.measure.conftest import ROOT, SIZES

STAGE: Search = FULL["search"]


def test_arms_of_a_block_differ_and_numbers_never_meet() -> None:
    blocks = [block for name in search.planned(STAGE).values() for block in name]
    numbers = [block.number for block in blocks]
    assert len(set(numbers)) == len(numbers)
    for block in blocks:
        labels = [arm.label for arm in block.arms]
        assert len(set(labels)) == len(labels)
        assert {cell.arm.label for cell in block.cells} == set(labels)


def test_every_knob_has_its_base_beside_it_in_both_regimes() -> None:
    for block in plans_search.knobs(Knobs(), STAGE):
        labels = [cell.arm.label for cell in block.cells]
        base = labels[0]
        assert base in ("base", "base@bind")
        assert all(base in labels[max(0, i - 1) : i + 2] for i, label in enumerate(labels) if label != base)
        settings = [{**dict(arm.knobs)} for arm in block.arms]
        for one in settings[1:]:
            different = {name for name in one if one.get(name) != settings[0].get(name)}
            assert len(different) == 1, "one knob at a time"


def test_the_cache_bet_is_measured_on_both_workloads_in_one_boot() -> None:
    for block in plans_search.cache(Cache()):
        assert {(cell.arm.label, cell.workload.dataset) for cell in block.cells} == {
            (label, dataset) for label in ("radix-off", "radix-on") for dataset in ("random-ids", "shared-prefix")
        }


CALM = {"retracted": 0, "blocked_by_new_token_reserve": 0}


def row(**values: object) -> dict:
    base = {"status": "ok", "stage": "knobs", "max_concurrency": 4, "total_input_tokens": 400, "completed": 4, "concurrency": 3.9}
    return {**base, **values}


@pytest.mark.parametrize(
    ("knob", "base", "changed", "bind"),
    [
        ("chunked_prefill_size", {"chunked_prefill_size": 2048}, {"chunked_prefill_size": 4096}, False),
        ("chunked_prefill_size", {"chunked_prefill_size": 2048}, {"chunked_prefill_size": 64}, True),
        ("cuda_graph_max_bs", {"mode": "eager"}, {"mode": "eager", "cuda_graph_max_bs": 2}, False),
        ("cuda_graph_max_bs", {"mode": "graph"}, {"mode": "graph", "cuda_graph_max_bs": 2}, True),
        ("schedule_conservativeness", CALM, CALM, False),
        ("schedule_conservativeness", CALM, {**CALM, "retracted": 3}, True),
        ("max_running_requests", {"blocked_by_cap": 0}, {"blocked_by_cap": 0}, False),
        ("max_running_requests", {"blocked_by_cap": 0}, {"blocked_by_cap": 2}, True),
        ("radix_cache", {}, {"cache_hit_rate": 0.0}, False),
        ("radix_cache", {}, {"cache_hit_rate": 0.6}, True),
        ("page_size", {}, {}, None),
        ("mamba_ssm_dtype", {"mamba_ssm_dtype": "float32"}, {"mamba_ssm_dtype": "bfloat16"}, True),
        ("mamba_ssm_dtype", {"mamba_ssm_dtype": "float32"}, {"mamba_ssm_dtype": "float32"}, False),
    ],
)
def test_whether_a_knob_could_have_done_anything(knob: str, base: dict, changed: dict, bind: bool | None) -> None:
    assert could_bind(knob, row(**base), row(**changed))[0] is bind


@pytest.mark.parametrize("knob", ["chunked_prefill_size", "cuda_graph_max_bs", "schedule_conservativeness", "radix_cache", "max_running_requests", "mamba_ssm_dtype"])
def test_what_the_rows_of_a_server_do_not_count_makes_no_knob_inert(knob: str) -> None:
    """A server that says nothing of its queue, cache or graphs: nobody can say that the knob had nothing to do."""
    bind, why = could_bind(knob, row(), row())
    assert bind is None and why


@pytest.mark.parametrize("factor", [0.5, 1.0, 2.0])
def test_a_knob_that_could_do_nothing_has_no_verdict_of_its_own(factor: float) -> None:
    """However far its ratio lies from one, resolved or not: base and candidate were one configuration. Unless it costs something."""
    rows, order = [], 0
    knobs = {"schedule_conservativeness=0.6": factor, "radix_cache=True": factor, "max_running_requests=2": factor}
    for boot in range(4):
        for label, rate in (("base", 1.0), *(one for pair in knobs.items() for one in (pair, ("base", 1.0)))):
            own = {"cache_hit_rate": 0.0, "blocked_by_cap": 5 if label.startswith("max") else 0, **CALM}
            rows.append(row(label=label, boot=boot, order=order, output_throughput=100.0 * rate * (1 + 0.001 * (order % 3)), **own))
            order += 1
    found = {one["knob"]: one for one in search_parts.knobs(rows, Knobs(), [0.001, -0.001, 0.002])}
    free = {0.5: "worse", 1.0: "not resolved", 2.0: "better"}[factor]
    assert {name: one["verdict"] for name, one in found.items()} == {
        "schedule_conservativeness": "inert by construction", "radix_cache": free, "max_running_requests": free
    }
    assert found["radix_cache"]["could_bind"] is False and "keeps a tree" in found["radix_cache"]["why"]
    beside = search_parts.inert_pairs(list(found.values()))
    assert beside["comparisons"] == 1 and beside["pairs_each"] == 4 and beside["largest"] == pytest.approx(max(factor, 1 / factor), rel=0.01)
    assert search_parts.inert_pairs([found["radix_cache"]]) is None


def test_a_hit_rate_that_nobody_counted_is_unknown() -> None:
    def cell(label: str, boot: int, rate: float | None) -> dict:
        return row(stage="cache", dataset="shared-prefix", label=label, boot=boot, output_throughput=100.0 + boot, cache_hit_rate=rate)

    def told(*rates: float | None) -> float | None:
        points = [cell(label, boot, rate) for boot, rate in enumerate(rates) for label in ("radix-off", "radix-on")]
        (found,) = search_parts.cache(points, Cache(), [])
        return found["cache_hit_rate"]

    assert told(0.5, 0.7) == pytest.approx(0.6) and told(0.0, 0.0) == 0.0
    assert told(None, None) is None and told(0.5, None) is None


def test_the_factorial_has_values_below_and_above_the_defaults_and_its_caps_bind() -> None:
    stage, own = Factorial(), load(ROOT / "workflow/campaigns/local/campaign.yaml")
    assert min(stage.caps) < own.engine.max_running_requests < max(stage.caps) and own.engine.max_running_requests in stage.caps
    assert min(stage.block_sizes) < own.stage("search").block_size < max(stage.block_sizes)
    assert max(stage.caps) <= stage.max_concurrency <= stage.num_prompts


def test_interaction_is_zero_where_the_knobs_do_not_meet() -> None:
    additive = {(cap, gamma): math.exp(0.1 * cap + 0.3 * gamma) for cap in (4, 8, 16) for gamma in (2, 3, 5)}
    assert search_parts.interaction(additive) == pytest.approx(0.0, abs=1e-9)
    assert search_parts.interaction({**additive, (4, 2): 99.0}) > 0.1
    assert search_parts.interaction({(4, 2): 1.0}) is None


def scattered(stage: str, values: dict[str, tuple[float, float, float]], noise: float, boots: int = 4) -> list[dict]:
    """Rows of throughput, TPOT and TTFT by label, a boot block each repeat; `noise`: log half-width of what the boots differ by, in turn."""
    return [
        row(
            stage=stage, label=label, boot=boot, output_throughput=rate * math.exp(noise * (-1) ** (boot + place)),
            mean_tpot_ms=tpot * math.exp(noise * (-1) ** (boot + place)), mean_ttft_ms=ttft * math.exp(noise * (-1) ** (boot + place))
        )
        for boot in range(boots)
        for place, (label, (rate, tpot, ttft)) in enumerate(values.items())
    ]  # fmt: skip


FRONTIER = {"a": (10.0, 5.0, 5.0), "b": (9.0, 6.0, 6.0), "c": (8.0, 4.0, 9.0)}


@pytest.mark.parametrize(("noise", "dominated"), [(0.001, {"b": ["a"]}), (0.3, {})])
def test_a_lane_is_dominated_where_another_is_better_beyond_the_noise(noise: float, dominated: dict) -> None:
    found = search_parts.frontier(scattered("frontier", FRONTIER, noise))
    assert {one["label"]: one["dominated_by"] for one in found} == {label: dominated.get(label, []) for label in FRONTIER}
    assert all(one["dominated"] == bool(one["dominated_by"]) for one in found)


@pytest.mark.parametrize("wide", ["output_throughput", "mean_tpot_ms", "mean_ttft_ms", None])
def test_nothing_is_dominated_below_what_base_against_base_differs_by(wide: str | None) -> None:
    """In any of the three quantities: boots of one configuration lie further apart than the arms do."""
    apart = {column: 0.5 if column == wide else 0.001 for column in ("output_throughput", "mean_tpot_ms", "mean_ttft_ms")}
    aa = [
        row(stage="aa", label=label, boot=100 + boot, **{column: 10.0 * math.exp(turn * (-1) ** boot * log) for column, log in apart.items()})
        for boot in range(4)
        for turn, label in enumerate(("base-a", "base-b"))
    ]
    found = {one["label"]: one["dominated"] for one in search_parts.frontier([*aa, *scattered("frontier", FRONTIER, 0.001)])}
    assert found == {"a": False, "b": wide is None, "c": False}


def test_one_repeat_dominates_nothing() -> None:
    assert not any(one["dominated"] for one in search_parts.frontier(scattered("frontier", FRONTIER, 0.0, boots=1)))


@pytest.mark.parametrize("stage", ["lanes", "curve"])
def test_every_arm_is_held_against_plain_decoding(stage: str) -> None:
    values = {"plain": (10.0, 5.0, 5.0), "fast": (15.0, 4.0, 4.0), "slow": (8.0, 6.0, 6.0), "same": (10.0, 5.0, 5.0)}
    found = {one["label"]: one for one in search_parts.against_plain(scattered(stage, values, 0.002), stage, [0.001, -0.002, 0.001])}
    assert {label: one["verdict"] for label, one in found.items()} == {"fast": "better", "slow": "worse", "same": "not resolved"}
    assert found["fast"]["ratio"] == pytest.approx(1.5, rel=0.01) and all(one["minimum_detectable"] > 1 for one in found.values())


def test_every_cell_of_the_factorial_is_held_against_the_best() -> None:
    values = {f"cap-{cap}/g{gamma}": (10.0 * cap + gamma, 1.0, 1.0) for cap in (4, 8) for gamma in (1, 3)}
    rows = [one | {"max_running_requests": int(one["label"][4]), "block_size": int(one["label"][-1])} for one in scattered("factorial", values, 0.001)]
    found = search_parts.factorial(rows, Factorial(), [0.001, -0.001])
    assert found["best"] == {"cap": 8, "block_size": 3}
    assert [one.get("against_best", {}).get("verdict") for one in found["cells"]] == ["worse", "worse", "worse", None]


@pytest.mark.parametrize("lane", ["dspark", "lookup"])
def test_a_ceiling_stands_under_the_lane_that_its_rows_have(lane: str) -> None:
    """A server without dspark searches with the lane that drafts there: its rows, and what is held against them, must speak of one lane."""
    points: list[dict] = []

    def run(blocks: list) -> None:
        for cell in blocks[0].cells:
            points.append({"boot": blocks[0].number, "run_id": "r", "status": "ok", "failed": 0, "lane": cell.arm.lane, "label": cell.arm.label})

    session = SimpleNamespace(run=run, rows=SimpleNamespace(points=points, requests=[]), progress=SimpleNamespace(say=lambda text: None))
    found = search_parts.memory(session, Memory(boots=1), replace(STAGE, lane=lane))
    assert list(found) == ["plain", lane] == [row["lane"] for row in points]
    assert [row["label"] for row in points] == ["plain-anchor", f"{lane}-anchor"]
    planned = search.part_blocks("memory", replace(STAGE, lane=lane, memory=Memory(boots=1)))
    assert [block.arms[0].lane for block in planned] == ["plain", lane]


@pytest.mark.parametrize(("reasons", "status"), [(["length", "error: out of memory"], "oom"), (["length", "error: too long"], "failed"), ([None], "failed")])
def test_a_wave_that_failed_in_part_is_out_of_memory_where_a_request_says_so(reasons: list, status: str) -> None:
    requests = [{"run_id": "a", "finish_reason": one} for one in reasons]
    assert search_parts.partial([*requests, {"run_id": "b", "finish_reason": "error: out of memory"}], "a") == status


def test_a_knob_that_no_boot_can_serve_is_listed_with_the_reason() -> None:
    rows = [row(label="base", boot=0, order=0, output_throughput=9.0), row(label="page_size=3@bind", boot=0, order=1, status="rejected", note="no such page")]
    (found,) = search_parts.knobs(rows, Knobs(), [])
    assert found["label"] == "page_size=3@bind" and found["verdict"] == "not measured" and found["why"] == "rejected: no such page"
    assert "no such page" in search.knob_line(found)


def test_heads_are_judged_by_content_and_a_missing_one_is_left_out() -> None:
    speed = {("head-vanilla", "code"): 4.0, ("head-gated", "code"): 3.0, ("head-vanilla", "en"): 4.0, ("head-gated", "en"): 4.02}
    points = [
        row(stage="heads", label=label, content=content, boot=boot, mean_tpot_ms=tpot * (1 + 0.1 * boot), accept_length=12 / tpot)
        for (label, content), tpot in speed.items()
        for boot in range(3)
    ]
    found = search_parts.heads(points, Heads(contents=("code", "en")), [0.01, -0.012, 0.008])
    assert [(one["label"], one["content"], one["verdict"]) for one in found] == [("head-gated", "code", "better"), ("head-gated", "en", "not resolved")]
    assert found[0]["ratio"] == pytest.approx(4 / 3) and found[0]["accept_length"] > found[0]["base_accept_length"]


def test_what_lost_is_booked_as_rejected_in_every_stage() -> None:
    """And nothing else: not the base, not what was not resolved, not a cell that the machine spoiled."""
    lost, even = (Comparison(3, 0.8, 0.8, 0.8, None, None, 1.1, verdict, 0.5) for verdict in ("worse", "not resolved"))
    verdicts = [search.Verdict(dspark(size), one, 1.0) for size, one in ((1, lost), (2, even))]
    points = [
        row(stage="memory", label="plain-try", status="oom"),
        row(stage="cache", label="radix-on", status="rejected", note="this server has none"),
        row(stage="cache", label="radix-off", status="rejected", note="a probe moved by 30 %"),
        *(row(stage="lanes", label=label) for label in ("plain", "mtp", "dspark-g1", "dspark-g2")),
    ]
    section = {
        "knobs": [{"label": "a=1", "verdict": "worse"}, {"label": "b=1", "verdict": "inert by construction"}],
        "heads": [{"label": "head-rnn", "verdict": "worse"}, {"label": "head-gated", "verdict": "better"}],
        "lanes": [{"label": "plain"}, {"label": "dspark-g1"}],
        "lanes_tied_no_room": ["dspark-g2"],
    }
    searching = SimpleNamespace(verdicts=verdicts, points=points, section=section, candidate=verdicts[1], winner=dspark(3))
    found = search.Searching.rejected(searching)
    assert found == ["window/dspark-g1", "memory/plain-try", "cache/radix-on", "knobs/a=1", "heads/head-rnn", "lanes/mtp", "confirm/candidate"]
    searching.winner = verdicts[1].arm
    assert search.Searching.rejected(searching) == found[:-1]


def test_the_grid_costs_more_than_the_search() -> None:
    cost = Cost()
    for label in ("base", "slow"):
        cost.add({"kind": "boot", "stage": "window", "label": label, "seconds": 2.0})
        point = {"status": "ok", "duration_s": 1.0, "completed": 4, "failed": 0}
        cost.add({"kind": "cell", "stage": "window", "label": label, "seconds": 1.5, "warmup_s": 0.5, "point": point})
    found = ledger(cost, STAGE, ["window/slow"])
    configurations, loads = grid(STAGE)
    assert configurations > 1000 and loads == len(STAGE.curve.levels)
    assert found["rejected_s"] == pytest.approx(3.5) and found["boot_s"] == 4.0
    assert found["grid_means_s"] == pytest.approx(configurations * (2.0 + loads * 1.5), rel=0.01)


PARTS = {
    "memory": {"lanes": ["plain"], "isl": 16, "max_concurrency": 2, "boots": 3},
    "cache": {"gsp_prompts_per_group": 2, "gsp_system_prompt_len": 16, "gsp_question_len": 8, "gsp_output_len": 4, "max_concurrency": 2, "repeats": 2},
    "knobs": {"values": [["chunked_prefill_size", 32], ["schedule_conservativeness", 0.6]], "binding": [["chunked_prefill_size", [["load_isl", 64], ["load_osl", 4]]]]},
    "factorial": {"caps": [2, 4], "block_sizes": [1, 3], "max_concurrency": 4, "num_prompts": 4, "repeats": 1},
    "heads": {"types": ["vanilla"], "contents": ["code"], "isl": 16, "osl": 6, "num_prompts": 2, "repeats": 1},
    "lanes": {"block_sizes": [["dspark", [1, 3]], ["mtp", [1]]], "levels": [1, 2], "num_prompts": 4, "repeats": 1},
    "curve": {"levels": [1, 2], "repeats": 1},
}


@pytest.mark.usefixtures("fake_engine")
def test_all_stages_run_and_are_decided(campaign, tmp_path: Path) -> None:
    out = tmp_path / "out"
    path = campaign(stages={"search": {**SIZES["search"], **PARTS}})
    assert search.main(["--campaign", str(path), "--out", str(out), "--quiet"]) == 0
    rows = csvio.read("points", out / "search.csv")
    stages = {one["stage"] for one in rows}
    assert stages >= {"sentinel", "aa", "memory", "cache", "knobs", "factorial", "lanes", "frontier", "curve", "window", "confirm"}
    about = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    assert about["memory"]["plain"]["fraction"] is not None and about["memory"]["plain"]["floor_prediction"] is not None
    assert {one["dataset"] for one in about["cache"]} == {"random-ids", "shared-prefix"}
    knobs = {one["label"]: one for one in about["knobs"]}
    assert knobs["schedule_conservativeness=0.6"]["could_bind"] is False
    assert knobs["chunked_prefill_size=32@bind"]["regime"] == "binding"
    assert about["false_alarm"]["comparisons"] > 0 and about["not_measured"] == []
    assert {one["label"] for one in about["lanes"]} | {*about["lanes_tied_no_room"]} >= {"plain", "mtp"}
    assert set(about["planned_detectable"]) == {"window", "confirm", "cache", "knobs", "factorial", "heads", "lanes", "curve"}
    # heads has one variant here, and so nothing to compare
    assert set(about["achieved_detectable"]) == set(about["planned_detectable"]) - {"heads"}, "what is declared is achieved"
    assert about["detectable_metric"]["cache"] == "output_throughput" and about["detectable_metric"]["window"] == "mean_tpot_ms"
    assert about["planned_detectable"]["curve"] > about["planned_detectable"]["cache"], "one boot resolves less than two"
    assert all(candidate["p_holm"] >= candidate["p"] for candidate in about["candidates"])
    assert about["ledger"]["grid_means_s"] > about["ledger"]["bench_s"] > 0
    assert len({one["run_id"] for one in rows}) == len(rows)
    for one in rows:
        # boots with a memory budget too, whose processes must not be asked
        assert one["status"] != "ok" or (one["probe_copy_before_ms"] and one["probe_copy_after_ms"]), one["stage"]


@pytest.mark.usefixtures("fake_engine")
def test_cells_under_a_memory_budget_are_repeated_like_any_other(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each probe is half as slow again as the one before it. The process beside the boots ends with the command."""
    monkeypatch.setenv("FAKE_FAULT", "moves")
    stopped = []
    monkeypatch.setattr(Session, "close", lambda self, close=Session.close: (stopped.append(self.prober.process), close(self)))
    path = campaign(stages={"search": {**SIZES["search"], "cache": PARTS["cache"]}}, probe_tolerance=0.2)
    assert search.main(["--campaign", str(path), "--out", str(tmp_path), "--quiet"]) == 0
    again = {one["stage"] for one in csvio.read("points", tmp_path / "search.csv") if (one["note"] or "").startswith("a probe moved")}
    assert "cache" in again
    assert [process.poll() is not None for process in stopped] == [True]


@pytest.mark.usefixtures("fake_engine")
def test_a_budget_gives_stages_up_in_the_printed_order(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = campaign(stages={"search": {**SIZES["search"], "curve": PARTS["curve"], "cache": PARTS["cache"]}})
    assert search.main(["--campaign", str(path), "--dry-run", "--budget", "10s"]) == 0
    text = capsys.readouterr().out
    assert text.index("lack of time: curve") < text.index("lack of time: cache") and "drop order: heads, lanes, curve" in text
    out = tmp_path / "out"
    assert search.main(["--campaign", str(path), "--out", str(out), "--quiet", "--budget", "10s"]) == 0
    about = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    assert about["not_measured"] == ["curve", "cache", "memory", "knobs", "factorial", "heads", "lanes"] and about["confirm"] is not None, "stopping early still gives verdicts"
    assert search.main(["--campaign", str(path), "--dry-run", "--budget", "soon"]) == 2
    assert "--budget soon" in capsys.readouterr().err


@pytest.mark.usefixtures("fake_engine")
def test_a_candidate_that_no_boot_can_serve_is_a_rejected_row(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FAKE_FAULT", "no-cache")
    path = campaign(stages={"search": {**SIZES["search"], "cache": PARTS["cache"]}})
    assert search.main(["--campaign", str(path), "--out", str(tmp_path), "--quiet"]) == 0
    rows = [one for one in csvio.read("points", tmp_path / "search.csv") if one["stage"] == "cache"]
    assert {one["status"] for one in rows if one["label"] == "radix-on"} == {"rejected"}
    assert {one["status"] for one in rows if one["label"] == "radix-off"} == {"ok"}


SWEEPS = {
    "osl": {"isl": 16, "ladder": [4, 8], "num_prompts": 1, "repeats": 1},
    "content": {"contents": ["arith", "code"], "isl": 16, "osl": 8, "num_prompts": 1, "histories": 4, "repeats": 1},
    "acceptance": {"temperatures": [0.0, 1.0], "contents": ["code"], "rounds": [8, 16], "isl": 16, "osl": 8, "max_concurrency": 2, "repeats": 1},
    "batch": {"block_sizes": [1, 3], "levels": [1, 2], "isl": 16, "osl": 6, "num_prompts": 4},
    "capacity": {"isl": 64, "osl": 4, "max_concurrency": 2, "repeats": 1},
}


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize("name", SWEEPS)
def test_the_other_sweeps(campaign, tmp_path: Path, name: str) -> None:
    assert sweep.main(["--sweep", name, "--campaign", str(campaign(stages={name: SWEEPS[name]})), "--out", str(tmp_path), "--quiet"]) == 0
    rows = [one for one in csvio.read("points", tmp_path / f"sweep_{name}.csv") if one["stage"] != "sentinel"]
    assert rows and all(one["status"] == "ok" for one in rows)
    if name == "osl":
        assert all(one["total_output_tokens"] == one["osl"] * one["completed"] and one["ignore_eos"] == "on" for one in rows)
    if name == "content":
        forced = [one for one in rows if one["stage"] == "teacher_forced"]
        assert [one["rounds"] for one in forced] == [4], "one round after each history"
        assert {one["dataset"] for one in rows if one["stage"] == "content"} == {"heldout", "random-ids"}
    if name == "acceptance":
        assert {one["temperature"] for one in rows} == {0.0, 1.0}
        assert all(one["rounds"] >= 8 for one in rows) and sum(one["rounds"] >= 16 for one in rows) >= 2
    about = json.loads((tmp_path / f"sweep_{name}.manifest.json").read_text("utf8"))["detectable"]
    assert set(about) == {"probe_tolerance"} if name == "capacity" else set(about) > {"planned", "achieved"}, "a sweep that compares no times declares no difference of times"


MATCHED = [arm.label for _, arm, regime in plans_search.knob_arms(Knobs(), STAGE) if regime == "matched"]
EAGER = [label for label in MATCHED if not label.startswith("cuda_graph_max_bs")]


@pytest.mark.parametrize(
    ("stage", "labels"),
    [
        (Capacity(), ["base", *EAGER, "base/graph", "cuda_graph_max_bs=2/graph"]),
        (Capacity(values=(("radix_cache", True),)), ["base", "radix_cache=True"]),
        (Capacity(graphed=()), ["base", *MATCHED]),
        (Capacity(graphed=("radix_cache",)), ["base", *(one for one in MATCHED if one != "radix_cache=True"), "base/graph", "radix_cache=True/graph"]),
    ],
)
def test_a_setting_of_the_sweep_capacity_stands_beside_the_base_of_its_mode(stage: Capacity, labels: list[str]) -> None:
    """Under the names that the search has them by, and one setting away from it; the chunk is that of the prompts."""
    arms = plans_capacity.arms(stage)
    assert [arm.label for arm in arms] == labels
    bases = {arm.mode: dict(arm.knobs) for arm in arms if arm.label.startswith("base")}
    assert all(base["chunked_prefill_size"] == stage.isl for base in bases.values())
    for arm in arms:
        changed = {f"{name}={value}" for name, value in arm.knobs if bases[arm.mode].get(name) != value}
        assert changed == ({arm.label.partition("/")[0]} if not arm.label.startswith("base") else set())


@pytest.mark.parametrize(
    ("noise", "kept", "tied"),
    [(0.001, ["plain", "dspark-g3", "mtp"], []), (0.15, ["plain", "dspark-g2", "dspark-g3", "dspark-g4", "mtp"], ["dspark-g1"])],
)
def test_lanes_keep_their_own_best_and_the_closest_that_are_not_told_from_it(noise: float, kept: list[str], tied: list[str]) -> None:
    """A further one that is not told from it either is named, for it was not beaten."""
    stage = Lanes(block_sizes=(("dspark", (1, 2, 3, 4)), ("mtp", (1,))))
    rates = {"plain": 100.0, "dspark-g1": 135.0, "dspark-g2": 140.0, "dspark-g3": 150.0, "dspark-g4": 145.0, "mtp": 130.0}
    points = scattered("lanes", {label: (rate, 1.0, 1.0) for label, rate in rates.items()}, noise)
    best, no_room = search_parts.best_of_lanes(points, stage)
    assert [arm.label for arm in best] == kept and no_room == tied
    assert Curve().levels and Factorial().caps and dspark(3).label == "dspark-g3"


@pytest.mark.usefixtures("fake_engine")
def test_a_search_that_runs_out_of_time_ends_early_with_verdicts_and_is_gone_on_with(campaign, tmp_path: Path) -> None:
    """What cannot be dropped is cut at a block: a spread, every candidate once, the winner once on fresh boots; later the rest is added."""
    sizes = {**SIZES["search"], "aa_pairs": 3, "window_repeats": 3, "confirm_pairs": 2, "passes": 1}
    path, out = campaign(stages={"search": sizes}), tmp_path / "out"
    words = ["--campaign", str(path), "--out", str(out), "--quiet"]
    assert search.main([*words, "--budget", "0.01s", "--log", str(tmp_path / "log")]) == 0
    assert "relabelled comparisons from 2 pairs of boots, 40 are asked" in (tmp_path / "log").read_text("utf8")
    about = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    assert about["cut_short"] == {"aa": {"measured": 2, "planned": 3}, "window": {"measured": 1, "planned": 3}, "confirm": {"measured": 1, "planned": 2}}
    for one in (*about["candidates"], about["confirm"]):
        assert one["n"] == 1 and one["minimum_detectable"] > 1 and one["verdict"] in ("better", "worse", "not resolved")
    rows = csvio.read("points", out / "search.csv")
    assert {row["stage"] for row in rows} == {"sentinel", "aa", "window", "confirm"}
    assert search.main([*words, "--resume"]) == 0
    whole = json.loads((out / "search.manifest.json").read_text("utf8"))["search"]
    assert "cut_short" not in whole and {one["n"] for one in whole["candidates"]} == {3}
    again = csvio.read("points", out / "search.csv")
    kept = {row["run_id"] for row in rows if row["stage"] in ("aa", "window")}
    assert kept <= {row["run_id"] for row in again} and len({row["run_id"] for row in again}) == len(again)
