"""Every reef detector finds its reef, and a clean campaign has no blocking one."""

from __future__ import annotations

import json
import math
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from engine.bench.compare import Spread, compare
from tests.data.partial import only_failed
from tests.data.synthetic import write_campaign
from workflow.cli import main
from workflow.derive import reefs
from workflow.derive.__main__ import derive
from workflow.derive.evaluate import Derivation
from workflow.derive.load import load
from workflow.derive.reefs.evidence import Evidence
from workflow.derive.reefs.machine import CONTROLS
from workflow.page.strings import Strings
from workflow.plan import CAMPAIGNS, ROOT

R52 = next(one for one in reefs.REEFS if one.name == "R52-gate")

POINT = {
    "file": "sweep_x.csv", "line": 2, "run_id": "x-0", "stage": "x", "label": "dspark-g3", "lane": "dspark", "dataset": "heldout", "content": "code",
    "status": "ok", "temperature": 0.0, "accept_rule": None, "ignore_eos": "off", "host": "h", "threads": 1.0, "isl": 64.0, "osl": 24.0,
    "num_prompts": 100.0, "max_concurrency": 1.0, "concurrency": 1.0, "request_rate": "inf", "completed": 100.0, "failed": 0.0,
    "total_input_tokens": 6400.0, "total_output_tokens": 2000.0, "duration_s": 10.0, "output_throughput": 200.0, "request_throughput": 10.0,
    "mean_e2e_ms": 100.0, "mean_ttft_ms": 20.0, "mean_tpot_ms": 4.0, "mean_itl_ms": 4.2, "block_size": 3.0, "rounds": 1000.0, "drafted": 3000.0,
    "accepted": 1000.0, "accept_length": 2.0, "decode_throughput": 250.0, "decode_tokens": 1900.0, "steps": 950.0, "step_ms": 7.9, "between_ms": 0.1,
    "emitted_per_round": 2.0,
    "distinct_4gram_share": 0.9, "accept_scope": None,
}  # fmt: skip
PROBES = {"client_lag_ms": None, "client_loop_lag_ms": None, "median_itl_ms": None, "probe_copy_before_ms": None, "probe_copy_after_ms": None}
REQUEST = {"file": "requests_x.csv", "line": 2, "run_id": "x-0", "prompt_id": "p", "status": "ok", "finish_reason": "stop", "osl": 20.0, "ttft_ms": 10.0, "tpot_ms": 4.0, "queued_s": 0.0, "accepted_histogram": None}


class Rows(Evidence):
    """Evidence made of given rows."""

    def __init__(self, points=(), requests=(), noise=(), manifests=None, backend="embedded"):
        object.__setattr__(self, "campaign", None)
        self.__dict__["by"] = backend
        self.__dict__.update(points=[{**POINT, **one} for one in points], requests=[{**REQUEST, **one} for one in requests], noise=list(noise), costs=[], given=manifests or {})

    @property
    def manifests(self):
        return self.given

    @property
    def backend(self):
        return self.by


def many(count: int, **values) -> list[dict]:
    return [{"line": 2 + i, **values} for i in range(count)]


def search_manifest(**section) -> dict:
    return {"search.csv": {"search": section}}


SENTINELS = [{"stage": "sentinel", "file": "search.csv", "lane": "plain", "step_ms": 4.0}, {"stage": "sentinel", "file": "search.csv", "lane": "plain", "step_ms": 5.0}]
CASES = {
    "R1-warm-cache": Rows([{"cache_hit_rate": 0.5}]),
    "R2-shared-prefix": Rows([{}], [{}, {}]),
    "R3-client-queue": Rows([{"request_rate": 4.0}]),
    "R4-burst": Rows([{"request_rate": 4.0, "mean_client_queue_ms": 1.0}], [{"queued_s": float(at)} for at in (0, 0, 0, 0, 5, 5, 5, 5, 60)]),
    "R5-queueing": Rows([{}, {"max_concurrency": 8.0, "mean_ttft_ms": 90.0}]),
    "R6-start-burst": Rows([{"max_concurrency": 4.0}], [{"queued_s": float(i), "ttft_ms": 100.0 if i < 4 else 10.0} for i in range(12)]),
    "R7-ramp": Rows([{"max_concurrency": 8.0, "concurrency": 4.0}]),
    "R8-few-prompts": Rows([{"num_prompts": 4.0, "max_concurrency": 8.0}]),
    "R8-few-waves": Rows([{"num_prompts": 16.0, "max_concurrency": 8.0}]),
    "R9-slow-client": Rows([{"client_loop_lag_ms": 0.5, "median_itl_ms": 4.0}]),
    "R9-late-sends": Rows([{"client_lag_ms": 50.0, "mean_client_queue_ms": 1.0}]),
    "R11-chunked-itl": Rows([{"mean_itl_ms": 8.0}]),
    "R12-halved-itl": Rows([{"mean_itl_ms": 2.0}]),
    "R16-constant-acceptance": Rows([{"content": name} for name in ("en", "zh", "code")]),
    "R16-lifetime": Rows([{"accept_scope": "lifetime"}]),
    "R16-one-rank": Rows([{"accept_scope": "one_rank"}]),
    "R21-estimated": Rows([{"accept_scope": "estimated"}]),
    "R33-unknown-failures": Rows([{"failed": None}]),
    "R34-mixed-tools": Rows(manifests={"sweep_x.csv": {"import": {"tools": ["guidellm 0.5.3", "guidellm 0.8.1"]}}}),
    "R41-failed-checksum": Rows(manifests={"sweep_x.csv": {"import": {"checks": {"Little's law": {"run": 2, "passed": 1, "failed": ["a.json: 4, 8"]}}}}}),
    "R17-short-sample": Rows([{"rounds": 48.0, "accepted": 48.0}, {"rounds": 52.0, "accepted": 12.0, "accept_length": 64 / 52}]),
    "R18-counters": Rows([{"accept_length": 2.4}]),
    "R23-random-ids": Rows([{"dataset": "random-ids"}]),
    "R24-loops": Rows([{"distinct_4gram_share": 0.2}]),
    "R25-output-length": Rows([{"ignore_eos": "on"}]),
    "R25-ignored-end": Rows([{"ignore_eos": "on"}]),
    "R26-one-token": Rows([{"total_output_tokens": 100.0}]),
    "R27-input-length": Rows([{"total_input_tokens": 5800.0}]),
    "R29-temperature": Rows([{"temperature": None}]),
    "R29-unlike-temperature": Rows([{"temperature": 0.7}, {"line": 3, "lane": "plain", "label": "plain"}]),
    "R20-rate-by-width": Rows([{}, {"line": 3, "block_size": 7.0, "drafted": 7000.0}]),
    "R22-unequal-positions": Rows([{}], [{"accepted_histogram": "10;80;5;5"}, {"accepted_histogram": "0;100;0"}]),
    "R42-rounded": Rows([{"output_throughput": 201.0}, {"output_throughput": 98.0}, {"line": 3, "output_throughput": 0.75}]),
    "R30-mixed-rules": Rows([{"temperature": 1.0, "accept_rule": rule} for rule in ("chain", "coupled")]),
    "R31-dead-speculation": Rows([{"accepted": 0.0, "accept_length": 1.0}]),
    "R32-not-lossless": Rows(manifests={"sweep_x.csv": {"lossless": {"compared": 4, "equal": 3, "differing": ["a"]}}}),
    "R33-failures": Rows([{"failed": 5.0}]),
    "R34-mixed-code": Rows(manifests={"a.csv": {"code": "1"}, "b.csv": {"code": "2"}}),
    "R34-mixed-machines": Rows([{}, {"threads": 2.0}]),
    "R35-thin-tail": Rows([{"p99_e2e_ms": 200.0, "completed": 12.0}]),
    "R37-cold-start": Rows([{}], [{"ttft_ms": 90.0}, {"ttft_ms": 10.0}, {"ttft_ms": 11.0}]),
    "R37-spread": Rows([{"step_ms": 4.0}, {"step_ms": 6.0}]),
    "R38-drift": Rows(SENTINELS),
    "R39-drift-over-gain": Rows(SENTINELS, manifests=search_manifest(confirm={"verdict": "better", "ratio": 1.1, "lo": 1.05})),
    "R40-boot-is-no-proof": Rows(manifests=search_manifest(memory={"plain": {"fraction": 0.9, "bounded": True}})),
    "R40-open-ceiling": Rows(
        [{"stage": "memory", "lane": "plain", "mem_fraction_static": 0.9}], manifests=search_manifest(memory={"plain": {"fraction": 0.9, "bounded": False}})
    ),
    "R41-recomputed": Rows([{"output_throughput": 250.0}, {"line": 3, "request_throughput": 8.0}]),
    "R43-unlimited": Rows([{"max_concurrency": None}]),
    "R44-little": Rows([{"concurrency": 0.8}]),
    "R45-step-identity": Rows([{"step_ms": 5.0, "decode_throughput": 2000 / 5.1}, {"line": 3, "step_ms": 12.0, "between_ms": None, "decode_throughput": 2000 / 12.0}]),
    "R46-two-rulers": Rows([{"lane": "plain", "step_ms": 4.5, "between_ms": 0.0, "decode_throughput": 1000 / 4.5}]),
    "R48-cut-stream": Rows(requests=[{"finish_reason": None, "osl": 1.0}]),
    "R49-sampling-not-speed": Rows([{}, {"decode_throughput": 300.0, "accept_length": 2.4, "accepted": 1400.0}]),
    "R50-stolen-time": Rows([{"steal_share": 0.1}]),
    "R51-moved-machine": Rows([{"probe_copy_before_ms": 2.0, "probe_copy_after_ms": 3.0}]),
    "R53-scattered-memory": Rows([{"free_huge_share": 0.4}]),
    "R52-gate": Rows(manifests={"gate.csv": {"gate": {"controls": {"broken_fails": False, "off_off_lossless": True}}}}),
}


@pytest.mark.parametrize("reef", reefs.REEFS, ids=lambda reef: reef.name)
def test_each_detector_finds_its_reef(reef):
    found = list(reef.findings(CASES[reef.name]))
    assert found, "the detector overlooks its own case"
    one = found[0]
    assert one.severity == reef.severity and one.where and one.evidence and one.advice.endswith(".") and one.count >= 1


@pytest.mark.parametrize("reef", reefs.REEFS, ids=lambda reef: reef.name)
def test_pairs_are_what_a_row_says_and_what_was_true(reef):
    pairs = [pair for one in reef.findings(CASES[reef.name]) for pair in one.pairs]
    assert bool(pairs) == bool(reef.pair)
    for pair in pairs:
        assert pair.apart > 0 and pair.cells and all(cell.file in ("sweep_x.csv", "search.csv") and cell.column in POINT | PROBES for cell in pair.cells)
    label = f"pair_{reef.name}"
    labels = Strings.load().section("plates")["reefs"]["labels"]
    assert (label in labels) == bool(reef.pair), "the plate names the quantity of a pair, and no other"


@pytest.mark.parametrize(("name", "said", "true"), [
    ("R5-queueing", 90, 20), ("R7-ramp", 8, 4), ("R8-few-prompts", 8, 4), ("R9-slow-client", 4, 4.5), ("R9-late-sends", 100, 150),
    ("R11-chunked-itl", 8, 4), ("R12-halved-itl", 2, 4),
    ("R17-short-sample", 2, 1.6), ("R18-counters", 2.4, 2), ("R25-output-length", 24, 20), ("R26-one-token", 24, 1), ("R27-input-length", 64, 58),
    ("R33-failures", 105, 100), ("R38-drift", 4, 5), ("R41-recomputed", 250, 200), ("R44-little", 0.8, 1), ("R46-two-rulers", 4.5, 4), ("R51-moved-machine", 2, 3),
])  # fmt: skip
def test_numbers_of_each_pair(name, said, true):
    (reef,) = [one for one in reefs.REEFS if one.name == name]
    pair = next(iter(reef.findings(CASES[name]))).pairs[0]
    assert (pair.said, pair.true) == (pytest.approx(said), pytest.approx(true))


def test_rows_of_a_campaign_stand_beside_one_another_with_their_cells(folder: Path):
    values = derive(folder)
    found = [fact.key.split(".")[2] for fact in values.match("reefs.pair.*.r1.said")]
    assert found, "a made-up campaign is short enough to show some hazard in a pair"
    for reef in found:
        sides = {side: [fact.value for fact in values.match(f"reefs.pair.{reef}.r*.{side}")] for side in ("said", "true")}
        assert len(sides["said"]) == len(sides["true"]) <= 8
        said, true = (values.fact(f"reefs.pair.{reef}.{side}") for side in ("said", "true"))
        worst = max(zip(sides["said"], sides["true"]), key=lambda pair: abs(math.log(pair[1] / pair[0])))
        assert (said.value, true.value) == worst and said.unit == true.unit
        for cell in said.source:
            rows = load(folder).tables[cell.file]
            assert cell.column in rows.columns and {int(line) for line in cell.row.split(",")} <= set(rows.lines)


@pytest.mark.parametrize("reef", reefs.REEFS, ids=lambda reef: reef.name)
def test_no_detector_cries_at_a_sound_row(reef):
    sound = [{"line": 2}, {"line": 3, "lane": "plain", "label": "plain", "step_ms": 3.9, "decode_throughput": 250.0, "rounds": None, "accept_length": None}]
    requests = [{"prompt_id": f"p{i}", "ttft_ms": 10.0, "queued_s": float(i)} for i in range(5)]
    assert list(reef.findings(Rows(sound, requests))) == []


@pytest.mark.parametrize("config", ["base-again", "broken", "state-bf16"])
def test_a_control_of_the_gate_that_shows_nothing_needs_a_recorded_reason(config):
    name = next(name for name, label in CONTROLS.items() if label == config)
    about = {"controls": {**dict.fromkeys(CONTROLS, True), name: None}}
    found = [list(R52.findings(Rows(manifests={"gate.csv": {"gate": about | more}}))) for more in ({}, {"skipped": [{"config": config, "check": None, "reason": "r"}]})]
    assert [one.evidence for one in found[0]] == [f"without an answer: {name}"] and found[1] == []


def test_a_candidate_of_the_gate_without_an_answer_blocks():
    lost = [{"config": name, "role": role, "status": "crash", "reason": "r"} for name, role in (("mtp", "candidate"), ("x=1", "silent"))]
    (one,) = R52.findings(Rows(manifests={"gate.csv": {"gate": {"controls": dict.fromkeys(CONTROLS, True), "unanswered": lost}}}))
    assert one.severity == "blocking" and one.evidence == "candidates without an answer: mtp"


@pytest.mark.parametrize(
    ("backend", "module", "found"),
    [("embedded", "engine/engine.py", 1), ("embedded", "engine/backends/vllm.py", 0), ("vllm", "engine/backends/vllm.py", 1), ("", "engine/backends/vllm.py", 1)],
)
def test_code_is_mixed_where_a_module_that_measured_differs(backend, module, found):
    """The `code` of a manifest is a digest over every module, a driver of another server too; what counts are those that the backend loads."""
    manifests = {f"{i}.csv": {"code": str(i), "fingerprint": {"engine/step.py": "same", module: str(i)}} for i in range(2)}
    (reef,) = [one for one in reefs.REEFS if one.name == "R34-mixed-code"]
    assert len(list(reef.findings(Rows(manifests=manifests, backend=backend)))) == found


def drift_over_gain(points, manifests=None) -> list:
    (reef,) = [one for one in reefs.REEFS if one.name == "R39-drift-over-gain"]
    return list(reef.findings(Rows(points, manifests=manifests)))


@pytest.mark.parametrize(
    ("logs", "found"),
    [((0.1, 0.11, 0.09), 1), ((0.5, 0.51, 0.49), 0), ((-0.1, -0.11, -0.09), 0), ((0.1, -0.2, 0.1), 0)],
    ids=["small-gain", "large-gain", "loss", "unresolved"],
)
def test_a_confirmed_gain_below_the_drift_is_found_as_the_search_writes_it(logs, found):
    """The search calls a candidate better exactly when its interval lies above one; the sentinels differ by a quarter."""
    fresh = compare(logs, Spread.pooled([logs])).as_dict()
    assert (fresh["verdict"] == "better") == (min(logs) > 0)
    assert len(drift_over_gain(SENTINELS, search_manifest(confirm=fresh))) == found


@pytest.mark.parametrize(("plain", "found"), [(4.5, 1), (6.0, 0), (3.0, 0), (4.01, 0)], ids=["small-gain", "large-gain", "loss", "no-gain"])
def test_a_gain_over_plain_below_the_drift_of_its_sweep_is_found(plain, found):
    arms = [{"lane": "plain", "label": "plain", "mean_tpot_ms": plain}, {"line": 3, "mean_tpot_ms": 4.0}]
    sentinels = [row | {"file": "sweep_x.csv"} for row in SENTINELS]
    assert len(drift_over_gain([*arms, *sentinels])) == found
    assert drift_over_gain([*arms, *SENTINELS]) == [], "the sentinels of another command"
    assert drift_over_gain([arms[0] | {"boot": 1.0}, arms[1] | {"boot": 2.0}, *sentinels]) == [], "a plain cell of another boot block"


def test_positions_of_one_probability_are_no_finding_and_few_rounds_are_not_looked_at():
    (reef,) = [one for one in reefs.REEFS if one.name == "R22-unequal-positions"]
    powers = {"accepted_histogram": "500;250;125;125"}  # each draft accepted with probability one half
    assert list(reef.findings(Rows([{}], [powers]))) == []
    assert list(reef.findings(Rows([{}], [{"accepted_histogram": "1;8;0;0"}]))) == []


def test_the_sign_of_the_step_identity_is_told_and_requests_of_unlike_acceptance_do_not_break_it():
    (reef,) = [one for one in reefs.REEFS if one.name == "R45-step-identity"]
    above, below = [one.evidence for one in reef.findings(CASES[reef.name])]
    assert above.startswith("1 cells above the step, up to 1.57 times it") and below.startswith("1 cells below the step, down to 0.67 of it")
    unlike = [{"osl": 31.0, "tpot_ms": 2.0}, {"osl": 11.0, "tpot_ms": 10.0}]  # a mean of 6 ms a token over requests, 4 over tokens
    assert list(reef.findings(Rows([{"mean_tpot_ms": 6.0}], unlike))) == []
    assert list(reef.findings(Rows([{"mean_tpot_ms": 6.0}]))), "no requests were kept"
    assert list(reef.findings(Rows([{"max_concurrency": 4.0, "step_ms": 5.0}]))) == [], "prefill of other requests lies between"


@pytest.mark.parametrize(("step", "found"), [(4.1, 0), (4.2, 1), (3.8, 1), (None, 0)])
def test_two_rulers_are_that_of_the_steps_and_that_of_the_requests(step, found):
    """The throughput of decoding is computed from the steps themselves, and agrees with them whatever they say; a server has no gaps."""
    (reef,) = [one for one in reefs.REEFS if one.name == "R46-two-rulers"]
    row = {"lane": "plain", "step_ms": step, "between_ms": None, "decode_throughput": 1000 / step if step else None}
    assert len(list(reef.findings(Rows([row])))) == found
    # requests of unlike lengths: 6 ms a token over requests, 4.1 over tokens
    unlike = Rows([row | {"mean_tpot_ms": 6.0}], [{"osl": 20.0, "tpot_ms": 4.0}, {"osl": 2.0, "tpot_ms": 6.0}])
    pairs = [pair for one in reef.findings(unlike) for pair in one.pairs]
    assert len(pairs) == (step == 3.8) and {cell.file for pair in pairs for cell in pair.cells} <= {"sweep_x.csv", "requests_x.csv"}


@pytest.mark.parametrize(
    ("reason", "osl", "asked", "found"),
    [("length", 1.0, 24.0, 1), ("length", 1.0, 1.0, 0), ("length", 24.0, 24.0, 0), ("stop", 1.0, 24.0, 0), (None, 1.0, 1.0, 1), (None, None, 24.0, 1)],
)
def test_a_request_cut_after_one_token_is_no_answer(reason, osl, asked, found):
    (reef,) = [one for one in reefs.REEFS if one.name == "R48-cut-stream"]
    assert len(list(reef.findings(Rows([{"osl": asked}], [{"finish_reason": reason, "osl": osl}])))) == found


@pytest.mark.parametrize(
    ("row", "found"),
    [
        ({"client_loop_lag_ms": 0.3}, 1), ({"client_loop_lag_ms": 0.1}, 0), ({"client_loop_lag_ms": 0.3, "mean_client_queue_ms": 0.0}, 1), ({"median_itl_ms": None}, 0),
        ({"client_lag_ms": 0.3}, 1), ({"client_lag_ms": 0.3, "mean_client_queue_ms": 0.0}, 0), ({"client_lag_ms": 0.3, "client_loop_lag_ms": 0.1}, 0),
    ],
)  # fmt: skip
def test_a_slow_client_is_one_whose_event_loop_lags_whatever_the_loop(row, found):
    """Older files have the lag of a closed loop where that of sending stands in an open one."""
    (reef,) = [one for one in reefs.REEFS if one.name == "R9-slow-client"]
    assert len(list(reef.findings(Rows([{"median_itl_ms": 4.0, **row}])))) == found


def test_both_throughputs_are_computed_anew():
    (reef,) = [one for one in reefs.REEFS if one.name == "R41-recomputed"]
    found = list(reef.findings(CASES[reef.name]))
    assert [one.evidence for one in found] == ["250.00 token/s written, 200.00 recomputed", "8.00 requests/s written, 10.00 recomputed"]
    assert [(pair.said, pair.true) for one in found for pair in one.pairs] == [(250, 200), (8, 10)]


@pytest.mark.parametrize("name", ["R8-few-waves", "R17-short-sample", "R23-random-ids"])
@pytest.mark.parametrize(("stage", "found"), [("memory", 0), ("capacity", 0), ("concurrency", 1)])
def test_a_wave_that_asks_for_room_alone_is_no_short_measurement(name, stage, found):
    (reef,) = [one for one in reefs.REEFS if one.name == name]
    wave = {"stage": stage, "dataset": "random-ids", "num_prompts": 8.0, "max_concurrency": 8.0, "rounds": 40.0}
    assert len(list(reef.findings(Rows([wave])))) == found


def test_a_machine_that_moved_while_forwards_were_timed_is_found_once_a_process(folder: Path):
    (reef,) = [one for one in reefs.REEFS if one.name == "R51-moved-machine"]
    campaign = load(folder)
    table = campaign.tables["sweep_verify_cost.csv"]
    quiet, moved = len(table) // 2, len(table) - len(table) // 2
    probes = {"probe_copy_before_ms": ("2",) * len(table), "probe_copy_after_ms": ("2.1",) * quiet + ("3",) * moved}
    (found,) = reef.findings(Evidence(campaign.with_table(replace(table, columns=table.columns | probes, _cache={}))))
    assert found.where.startswith("sweep_verify_cost.csv line") and found.count == 1
    assert [(pair.said, pair.true) for pair in found.pairs] == [(2, 3)]
    assert list(reef.findings(Evidence(campaign))) == [], "files of before have no such columns"


def test_requests_of_another_command_are_not_those_of_a_run_of_the_same_name():
    (reef,) = [one for one in reefs.REEFS if one.name == "R46-two-rulers"]
    plain = {"lane": "plain", "step_ms": 4.0, "between_ms": 0.0}
    for file, found in (("requests_x.csv", 1), ("requests_search.csv", 0)):
        assert len(list(reef.findings(Rows([plain], [{"file": file, "tpot_ms": 5.0}])))) == found


def test_a_throughput_with_all_its_digits_is_not_called_rounded():
    (reef,) = [one for one in reefs.REEFS if one.name == "R42-rounded"]
    assert list(reef.findings(Rows([{"output_throughput": 201.0}, {"output_throughput": 98.0}, {"output_throughput": 201.25}]))) == []


def verdicts(campaign, findings=None) -> dict[str, str]:
    """Detector -> verdict of its claim, on the findings of the campaign or on given ones."""
    derivation = Derivation(campaign, resamples=0)
    if findings is not None:
        derivation.shared["reefs"] = findings
    return {one.name: derivation.claim(f"reefs.{one.name}.fired").verdict for one in reefs.REEFS}


def test_each_detector_has_a_claim_that_holds_where_it_fired_and_fails_where_it_did_not(folder: Path):
    campaign = load(folder)
    every = [finding for one in reefs.REEFS for finding in one.findings(CASES[one.name])]
    assert set(verdicts(campaign, every).values()) == {"holds"}
    assert set(verdicts(campaign, []).values()) == {"fails"}


def test_where_nothing_ended_well_a_silent_detector_says_nothing(folder: Path, tmp_path: Path):
    spoiled = shutil.copytree(folder, tmp_path / "synthetic")
    only_failed(spoiled)
    assert set(verdicts(load(spoiled), []).values()) == {"unresolved"}


def test_without_points_the_claims_of_the_detectors_are_missing():
    assert set(verdicts(load(ROOT / CAMPAIGNS / "m1max-mtp")).values()) == {"missing"}


def test_the_list_on_the_page_is_that_of_the_claims_that_hold(folder: Path):
    campaign = load(folder)
    derivation = Derivation(campaign, resamples=0)
    places = [derivation.result(f"reefs.f{place}.name").fact for place in range(1, len(reefs.REEFS) + 1)]
    listed = {fact.value for fact in places if not fact.missing}
    assert listed and listed == {name for name, verdict in verdicts(campaign).items() if verdict == "holds"}


def test_names_are_documented_and_severities_known():
    assert len({reef.name for reef in reefs.REEFS}) == len(reefs.REEFS) == len(CASES)
    assert all(reef.title.endswith(".") and reef.advice for reef in reefs.REEFS)


@pytest.fixture(scope="module")
def folder(tmp_path_factory) -> Path:
    return write_campaign(tmp_path_factory.mktemp("campaign") / "synthetic")


def test_the_command_reports_and_exits(folder: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["reefs", str(folder), "--json"]) == 0
    found = json.loads(capsys.readouterr().out)
    assert found["counts"].get("blocking", 0) == 0 and found["findings"] and found["detectors"] == len(reefs.REEFS)
    assert main(["reefs", str(folder), "--strict"]) == 1
    assert main(["reefs", "--list"]) == 0
    assert main(["reefs", "no-such-campaign"]) == 2
    assert main(["reefs"]) == 2


def test_a_blocking_finding_ends_in_one(folder: Path, capsys: pytest.CaptureFixture[str]):
    path = folder / "sweep_isl.manifest.json"
    before = path.read_text("utf8")
    about = json.loads(before)
    about["lossless"] = {"compared": 10, "equal": 9, "differing": ["code-1@96 dspark-g3 x1"]}
    path.write_text(json.dumps(about), "utf8")
    try:
        assert main(["reefs", str(folder)]) == 1
    finally:
        path.write_text(before, "utf8")
    assert "R32-not-lossless" in capsys.readouterr().out


def test_findings_come_from_the_gravest_down(folder: Path):
    found = reefs.findings(load(folder))
    order = [reefs.SEVERITIES.index(one.severity) for one in found]
    assert order == sorted(order)
