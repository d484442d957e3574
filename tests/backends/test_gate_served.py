"""The gate over HTTP: the same questions, texts where a server has no ids, and every check that it cannot give skipped with its reason."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest
import yaml

from engine import csvio, gate
from engine.backends.base import EngineFailure
from engine.backends.launch import free_port
from engine.bench import gate_checks, gate_plan, gate_served
from engine.bench.gate_run import GateRunner
from engine.bench.stages import Gate
from tests.measure.test_gate_parts import STAGE, rows_of
from workflow.derive import load
from workflow.derive.evaluate import Derivation

FAKE = str(Path(__file__).with_name("fake_server.py"))
SIZES = {"problems": 3, "sampled_problems": 2, "repeats": 2, "texts": 2, "text_repeats": 2, "control_problems": 2, "max_tokens": 6, "text_tokens": 5, "max_concurrency": 2}
TOKENIZER = {"tokenizer": "engine/weights/tokenizer.json", "bos_token_id": 1}


@pytest.fixture
def held(alone: Path):
    """Run the gate of a campaign; returns (exit code, rows, manifest, folder)."""

    def run(backend: str, server: dict, stage: dict, engine: dict | None = None, *more: str, name: str = "out") -> tuple[int, list[dict], dict, Path]:
        about = {"preset": "quick", "threads": 1, "seed": 5, **({"engine": engine} if engine else {}), **({"server": server} if server else {}), "stages": {"gate": stage}}
        path, out = alone / f"{name}.yaml", alone / name
        path.write_text(yaml.safe_dump({"name": "foreign", "backend": backend, "measure": about}), "utf8")
        code = gate.main(["--campaign", str(path), "--out", str(out), "--quiet", *more])
        return code, csvio.read("gate", out / "gate.csv"), json.loads((out / "gate.manifest.json").read_text("utf8")), out

    return run


@pytest.fixture
def running() -> Iterator[str]:
    """Address of a server that speaks OpenAI's protocol without token ids."""
    port = free_port()
    process = subprocess.Popen([sys.executable, FAKE, "--port", str(port)], stdout=subprocess.PIPE, text=True)
    try:
        while "Uvicorn" not in process.stdout.readline():
            assert process.poll() is None
        yield f"http://127.0.0.1:{port}"
    finally:
        process.kill()
        process.wait()
        process.stdout.close()


def by_config(rows: list[dict]) -> dict[str, list[dict]]:
    return {name: [row for row in rows if row["config"] == name] for name in dict.fromkeys(row["config"] for row in rows)}


def loaded(out: Path, backend: str) -> Derivation:
    """The files as the page reads them."""
    (out / "campaign.yaml").write_text(yaml.safe_dump({"name": "foreign", "backend": backend, "title": {"en": "f", "zh": "f"}}), "utf8")
    return Derivation(load.load(out))


def test_a_launched_server_is_asked_what_the_engine_is_asked(held, tmp_path: Path) -> None:
    server = TOKENIZER | {"command": [sys.executable, FAKE, "--port", "{port}", "--node-rank", "{rank}"], "warmup_batches": 1, "weights_revision": "r1", "image_digest": "sha256:1"}
    stage = SIZES | {"silent": [["chunked_prefill_size", 16], ["schedule_conservativeness", 0.6]]}
    code, rows, about, out = held("sglang", server, stage)
    found, configs = about["gate"], by_config(rows)
    assert code == 1 and found["verdict"] == "not resolved", "so few problems tell nothing"
    answered = {name: len(own) for name, own in configs.items() if own[0]["status"] is None}
    assert answered == {"base": 3 + 4 + 4, "base-again": 2, "dspark-g3": 11, "chunked_prefill_size=16": 2}
    reasons = {name: own[0]["note"] for name, own in configs.items() if own[0]["status"] == "skipped"}
    assert reasons["broken"] == gate_served.NO_BREAKING and "--mamba-ssm-dtype" in reasons["state-bf16"]
    assert "--schedule-conservativeness" in reasons["schedule_conservativeness=0.6"] and len(reasons) == 3
    greedy = next(row for row in configs["dspark-g3"] if row["task"] == "greedy")
    assert (greedy["output_ids"], greedy["output"], greedy["osl"], greedy["finish_reason"]) == ("7 8 9 10 11 12", "xxxxxx", 6, "length")
    assert (greedy["rounds"], greedy["drafted"], greedy["accepted"], greedy["logprob_sha"]) == (3, 9, 3, None)
    verdicts = {(one["config"], one["name"]): one["verdict"] for one in found["checks"]}
    assert verdicts["dspark-g3", "lossless"] == "pass" and verdicts["chunked_prefill_size=16", "bit-equal"] == "skipped"
    assert found["controls"] == {"off_off_lossless": True, "broken_fails": None, "state_moves": None}
    assert {(one["config"], one["check"]) for one in found["skipped"]} == {*((name, None) for name in reasons), ("chunked_prefill_size=16", "bit-equal")}
    derivation = loaded(out, "sglang")
    assert derivation.result("measured.gate").fact.value == sum(answered.values())
    assert derivation.result("gate.skipped.configs").fact.value == 3 and derivation.claim("skipped.gate").verdict == "fails"
    assert derivation.claim("gate.lossless").verdict == derivation.claim("gate.same_text").verdict == "holds"
    assert derivation.claim("gate.broken_caught").verdict == "missing"

    again = tmp_path / "again"
    words = ["--campaign", str(tmp_path / "out.yaml"), "--out", str(again), "--rescore", str(out / "gate.csv"), "--report-only"]
    assert gate.main(words) == 0 and (again / "gate.csv").read_bytes() == (out / "gate.csv").read_bytes()
    assert json.loads((again / "gate.manifest.json").read_text("utf8"))["gate"] == {**found, "rescored": True}


def test_a_running_server_without_ids_and_without_drafts_is_not_resolved(held, running: str) -> None:
    code, rows, about, out = held("openai", TOKENIZER | {"url": running, "model": "m", "warmup_batches": 1}, SIZES | {"silent": []})
    found, configs = about["gate"], by_config(rows)
    assert code == 1 and found["verdict"] == "not resolved"
    assert {name for name, own in configs.items() if own[0]["status"] is None} == {"base", "base-again"}
    assert "openai has no lane 'dspark'" in configs["dspark-g3"][0]["note"] and "no flag for mamba_ssm_dtype" in configs["state-bf16"][0]["note"]
    assert {(row["output_ids"], row["rounds"]) for row in configs["base"]} == {(None, None)}
    (check,) = found["checks"]
    assert (check["name"], check["verdict"]) == ("same text", "pass") and "no token ids" in check["detail"]
    assert loaded(out, "openai").claim("gate.same_text").verdict == "missing"


def test_a_running_server_that_drafts_has_nothing_to_be_compared_with(held, running: str) -> None:
    server = TOKENIZER | {"url": running, "model": "m", "warmup_batches": 1, "lanes": {"dspark": []}}
    code, rows, about, out = held("openai", server, SIZES | {"silent": []}, None, "--report-only")
    assert code == 0 and "gate" not in about
    (row,) = rows
    assert (row["status"], row["config"]) == ("skipped", None) and row["note"].endswith("not plain, so there is nothing to compare with")
    assert loaded(out, "openai").claim("skipped.gate").verdict == "holds"


@pytest.mark.parametrize(("change", "name", "verdict"), [("", "same text", "pass"), ("!", "same text", "fail")])
def test_without_ids_texts_are_compared_and_called_so(change: str, name: str, verdict: str) -> None:
    rows = [row | {"output_ids": None, "logprob_sha": None, "output": row["output"] + (change if row["config"] == "dspark-g3" else "")} for row in rows_of()]
    rows = [row | {"output": f"{row['output']} {row['repeat']}"} if row["task"] == "text" else row for row in rows]
    checks = gate_checks.verdicts(rows, STAGE, gate_plan.configs(STAGE), served=True)
    own = {check.name: check for check in checks if check.config == "dspark-g3"}
    assert own[name].verdict == verdict and "lossless" not in own
    assert own["variety"].verdict == "pass" and own["accept length floor"].verdict == "pass"
    without = [row | {"rounds": None, "accepted": None} for row in rows]
    (floor,) = [one for one in gate_checks.verdicts(without, STAGE, gate_plan.configs(STAGE), served=True) if one.name == "accept length floor"]
    assert (floor.verdict, floor.detail) == ("skipped", gate_served.NO_ROUNDS)


def test_a_gate_without_a_candidate_is_not_resolved() -> None:
    configs = [config for config in gate_plan.configs(STAGE) if config.role in ("base", "control")]
    rows = [row for row in rows_of() if row["role"] in ("base", "control")]
    assert gate_checks.overall(gate_checks.verdicts(rows, STAGE, configs), configs) == "not resolved"


def test_the_lane_that_drafts_is_the_campaigns() -> None:
    labels = {config.arm.label: config.arm.lane for config in gate_plan.configs(Gate(lane="lookup", block_sizes=(4,)))}
    assert labels["lookup-g4"] == labels["broken"] == labels["chunked_prefill_size=32"] == "lookup" and labels["base"] == "plain"


@pytest.mark.slow
@pytest.mark.timeout(900)
def test_our_own_server_answers_as_the_engine_in_this_process_does(held) -> None:
    """The same questions, embedded and over HTTP: greedy and sampled outputs are the same texts, so are scores and rounds."""
    stage = {**SIZES, "problems": 4, "max_tokens": 40, "text_tokens": 8, "max_concurrency": 4, "silent": [["chunked_prefill_size", 32]]}
    limits = {"max_running_requests": 8, "max_total_num_tokens": 4096}
    server = {**TOKENIZER, "warmup_batches": 1, "weights_revision": "shipped"}
    _, theirs, about, _ = held("soundings", server, stage, limits, name="served")
    _, ours, _, _ = held("embedded", {}, stage, limits, name="embedded")
    columns = ("config", "task", "problem", "repeat", "seed", "expected", "answer", "correct", "finish_reason", "isl", "osl", "output")
    asked = [row for row in theirs if row["status"] is None]
    assert {row["config"] for row in asked} == {"base", "base-again", "dspark-g3", "state-bf16", "chunked_prefill_size=32"}
    assert any(row["correct"] for row in asked)
    kept = [row for row in ours if row["config"] != "broken"]
    assert [[row[name] for name in columns] for row in asked] == [[row[name] for name in columns] for row in kept]
    drafting = [(row["rounds"], row["accepted"]) for row in asked if row["config"] == "dspark-g3" and row["task"] == "greedy"]
    assert drafting == [(row["rounds"], row["accepted"]) for row in kept if row["config"] == "dspark-g3" and row["task"] == "greedy"]
    verdicts = {(one["config"], one["name"]): one["verdict"] for one in about["gate"]["checks"]}
    assert verdicts["dspark-g3", "same text"] == verdicts["base-again", "same text"] == "pass"
    assert verdicts["state-bf16", "positive control"] == "skipped"


@pytest.mark.parametrize("server", [None, object()])
@pytest.mark.parametrize("reason", ["error: HTTP 500", "aborted", "no usage", None])
def test_a_question_that_was_lost_is_no_wrong_answer(reason: str | None, server: object) -> None:
    """It ends the configuration: as a row with an empty answer it would lower a score, and the bar with it where it is the base's."""
    question = SimpleNamespace(seeds=(1, 2))
    session = SimpleNamespace(campaign=SimpleNamespace(server=server))
    runner = SimpleNamespace(order=lambda name, *_: {"request_id": name}, session=session, stage=SimpleNamespace(max_concurrency=2), row=lambda *_: {})
    ends = {"r0": "stop", "r1": reason}
    engine = SimpleNamespace(run=lambda orders, *_: {"requests": [{"request_id": one["request_id"], "finish_reason": ends[one["request_id"]]} for one in orders], "steps": []})
    config = SimpleNamespace(arm=SimpleNamespace(label="base", knobs=()), role="base")
    with pytest.raises(EngineFailure, match="base: a question was not answered"):
        GateRunner.task(runner, engine, config, "boot", [question])
    ends["r1"] = "length"
    assert len(GateRunner.task(runner, engine, config, "boot", [question])) == 2
