"""The same stages on a server: arms become flags, what it cannot do is a skipped row with the reason, what fails has its class."""

from __future__ import annotations

import json
import sys
from collections import Counter
from pathlib import Path

import pytest
import yaml

from engine import csvio, gate, kernel_facts, search, sweep
from engine.bench import campaign as campaigns
from engine.bench import plans
from engine.bench.journal import digest
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.plan import STAGES, Stage

FAKE = str(Path(__file__).with_name("fake_server.py"))
WINDOW = {
    "contents": ["code"],
    "block_sizes": [3],
    "mtp": True,
    "lanes": ["dflash"],
    "isl": 16,
    "osl": 9,
    "num_prompts": 2,
    "repeats": 1,
    "modes": ["graph", "fused"],
    "mode_contents": ["code"],
    "mode_block_sizes": [3],
    "mode_repeats": 1,
}


@pytest.fixture
def measure(alone: Path, monkeypatch: pytest.MonkeyPatch):
    """Run sweep `window` of a campaign on the fake server; returns (exit code, points by label)."""
    monkeypatch.setattr(plans, "framed", lambda blocks: blocks)

    def campaign(fault: str, stages: dict, preset: str) -> Path:
        section = {
            "tokenizer": "engine/weights/tokenizer.json",
            "bos_token_id": 1,
            "command": [sys.executable, FAKE, "--port", "{port}", "--node-rank", "{rank}", "--fault", fault],
            "warmup_batches": 1,
            "weights_revision": "r1",
            "image_digest": "sha256:1",
        }
        about = {"preset": preset, "threads": 1, "seed": 5, "engine": {"radix_cache": False}, "server": section, "stages": stages}
        path = alone / "campaign.yaml"
        path.write_text(yaml.safe_dump({"name": "foreign", "backend": "sglang", "measure": about}), "utf8")
        return path

    def run(fault: str = "none", stage: dict = WINDOW) -> tuple[int, dict[str, dict]]:
        path, out = campaign(fault, {"window": stage}, "quick"), alone / "out"
        code = sweep.main(["--sweep", "window", "--campaign", str(path), "--out", str(out), "--quiet"])
        points = csvio.read("points", out / "sweep_window.csv") if (out / "sweep_window.csv").exists() else []
        return code, {row["label"]: row for row in points}

    run.campaign = campaign
    return run


def test_the_stages_of_a_server(measure, tmp_path: Path) -> None:
    code, points = measure()
    assert code == 0
    assert Counter(row["status"] for row in points.values()) == {"ok": 4, "skipped": 2, "rejected": 2}
    drafting = points["dspark-g3"]
    assert (drafting["accept_length"], drafting["rounds"], drafting["drafted"]) == (2.0, 8, 24)
    assert drafting["step_source"] == "chunks" and drafting["step_ms"] > 0.0
    assert (drafting["radix_cache"], drafting["mode"], points["dspark-g3/graph"]["mode"]) == ("off", None, "graph")
    assert (drafting["server_version"], drafting["image_digest"], drafting["weights_revision"]) == ("0.5.23", "sha256:1", "r1")
    assert points["plain"]["accept_length"] is None and points["plain"]["step_ms"] == pytest.approx(points["plain"]["mean_tpot_ms"])
    # the loopback knows neither lane, and says so as a parser of flags does
    assert "unrecognized arguments: --speculative-dflash-block-size 4" in points["dflash"]["note"]
    assert "mode = 'fused' has no flag; known: graph, eager" in points["plain/fused"]["note"]
    manifest = json.loads((tmp_path / "out" / "sweep_window.manifest.json").read_text("utf8"))
    assert manifest["config"]["engine"]["radix_cache"] is False and manifest["config"]["engine"]["server"]["missing"] == []


def test_a_failing_arm_is_a_row_and_the_others_are_measured(measure) -> None:
    code, points = measure("drafting-oom", {**WINDOW, "mtp": False, "lanes": [], "modes": []})
    assert code == 0
    assert (points["dspark-g3"]["status"], points["dspark-g3"]["failure"]) == ("oom", "oom_boot")
    assert "Please try to increase --mem-fraction-static" in points["dspark-g3"]["note"]
    assert points["plain"]["status"] == "ok" and points["plain"]["failure"] is None


def test_another_server_is_another_measurement(tmp_path: Path) -> None:
    """Image, weights and flags are part of what a block in the journal is; where one waited how long is not."""
    tokenizer, another = tmp_path / "tokenizer.json", tmp_path / "another.json"
    tokenizer.write_text("{}", "utf8")
    another.write_text('{"version": "1.0"}', "utf8")

    def identity(**server: object) -> str:
        about = {"preset": "quick", "threads": 1, "seed": 5, "server": {"tokenizer": str(tokenizer), **server}, "stages": {"window": WINDOW}}
        path = tmp_path / "campaign.yaml"
        path.write_text(yaml.safe_dump({"name": "foreign", "backend": "sglang", "measure": about}), "utf8")
        return digest([campaigns.load(path).identity()])

    other = [{"weights_revision": "r2"}, {"image_digest": "sha256:2"}, {"flags": ["--tp", "2"]}, {"lanes": {"mtp": ["--x"]}}, {"model": "m"}]
    other.append({"tokenizer": str(another)})
    assert len({identity(), *(identity(**one) for one in other)}) == 1 + len(other)
    assert identity(silence_s=9.0, first_boot_s=9.0) == identity()


INSIDE = {"verify_cost": (sweep, "--sweep", "verify_cost"), "kernels": (kernel_facts,)}


@pytest.mark.parametrize("backend", ["sglang", "openai"])
def test_a_stage_inside_the_engine_is_skipped_with_the_reason(backend: str, tmp_path: Path) -> None:
    """Files as the page reads them, whose one row gives the reason and is no measurement; no server is booted for it."""
    section = {"tokenizer": "engine/weights/tokenizer.json", "bos_token_id": 1}
    section |= {"url": "http://127.0.0.1:9", "model": "m"} if backend == "openai" else {"command": ["false"]}
    stages = {name: None for name in INSIDE}
    path, out = tmp_path / "campaign.yaml", tmp_path / "out"
    about = {"preset": "smoke", "threads": 1, "seed": 5, "server": section, "stages": stages}
    path.write_text(yaml.safe_dump({"name": "foreign", "backend": backend, "measure": about}), "utf8")
    for program, *more in INSIDE.values():
        assert program.main([*more, "--campaign", str(path), "--out", str(out), "--quiet"]) == 0
    (out / "campaign.yaml").write_text(yaml.safe_dump({"name": "foreign", "backend": backend, "title": {"en": "f", "zh": "f"}}), "utf8")
    read = load.load(out)
    assert {stage.name: sorted(set(stage.csvs) & set(read.tables)) for stage in STAGES if stage.name in INSIDE} == {
        stage.name: sorted(stage.csvs) for stage in STAGES if stage.name in INSIDE
    }
    for file, table in read.tables.items():
        (why,) = read.skipped[file].columns["note"]
        assert len(table) == 0 and why.startswith(f"skipped: backend {backend} cannot do ")
        assert read.manifests[file]["rows"] == 1 and "notes" not in read.manifests[file]
    derivation = Derivation(read)
    assert {derivation.result(key).fact.value for key in ("measured.verify_cost", "measured.kernels", "measured.predicates")} == {None}
    assert {name: derivation.claim(f"skipped.{name}").verdict for name in (*INSIDE, "trace")} == {**dict.fromkeys(INSIDE, "holds"), "trace": "missing"}


def run_stage(stage: Stage, path: Path, out: Path) -> int:
    """A stage by the words that its rule runs."""
    program, *more = stage.command.split()
    main = {"engine.search": search, "engine.sweep": sweep, "engine.gate": gate, "engine.kernel_facts": kernel_facts}[program].main
    return main([*more, "--campaign", str(path), "--out", str(out), "--quiet"])


@pytest.mark.slow
def test_one_file_with_every_stage_runs_to_its_end(measure, tmp_path: Path) -> None:
    """Nothing of a campaign has to be left out for a server: each stage ends well and leaves the files that the page is built from."""
    path = measure.campaign("none", {stage.name: None for stage in STAGES}, "smoke")
    assert {stage.name: run_stage(stage, path, tmp_path / "out") for stage in STAGES} == {stage.name: 0 for stage in STAGES}
    (tmp_path / "out" / "campaign.yaml").write_text(yaml.safe_dump({"name": "foreign", "backend": "sglang", "title": {"en": "f", "zh": "f"}}), "utf8")
    derivation = Derivation(load.load(tmp_path / "out"))
    for stage in STAGES:
        assert {*stage.csvs} <= set(derivation.campaign.tables)
        key = f"skipped.{stage.name}" if stage.name in INSIDE else "measured.search.confirm" if stage.name == "search" else f"measured.{stage.name}"
        assert derivation.claim(key).verdict == "holds", key
    assert derivation.claim("skipped.trace").verdict == "holds"
