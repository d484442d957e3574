"""guidellm drives `engine.serve`: what it says and what we say of the same requests agree, or the definition that differs is named.

Needs guidellm in an environment of its own: SOUNDINGS_GUIDELLM names its executable, else one is installed under .pytest_cache, outside the folders that tests read.
"""

from __future__ import annotations

import csv
import json
import os
import subprocess
import sys
import time
import urllib.request
from pathlib import Path
from statistics import fmean

import pytest

from engine.backends.launch import free_port
from engine.bench import metrics
from engine.bench.http_client import Endpoint, OpenAICompletions, run_load
from engine.bench.workloads import HeldOut, Workload
from engine.config import WEIGHTS
from engine.model.tokenizer import Tokenizer
from tests.external.relay import Relay

pytestmark = [pytest.mark.external, pytest.mark.timeout(1800)]
ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".pytest_cache" / "guidellm"
VERSION = "0.8.1"
PROMPTS, ISL, OSL, STREAMS = 16, 64, 24, 4
AGREES = 0.02


@pytest.fixture(scope="module")
def guidellm() -> str:
    if os.environ.get("SOUNDINGS_GUIDELLM"):
        return os.environ["SOUNDINGS_GUIDELLM"]
    if not (CACHE / "bin" / "guidellm").exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
        subprocess.run([CACHE / "bin" / "pip", "install", "-q", f"guidellm=={VERSION}"], check=True)
    return str(CACHE / "bin" / "guidellm")


@pytest.fixture(scope="module")
def prompts() -> list[tuple[str, tuple[int, ...]]]:
    tokenizer = Tokenizer.load(WEIGHTS)
    held_out = HeldOut(lambda text: tokenizer.encode(text, bos=False), tokenizer.bos_token_id)
    drawn = held_out.prompts(Workload("independent", "mixed", PROMPTS, ISL), ISL, campaign="independent", seed=1, repeat=0)
    # a text may be tokenised anew: both clients send the text
    return [(text := tokenizer.decode(prompt.ids[1:]), tokenizer.encode(text)) for prompt in drawn]


@pytest.fixture(scope="module")
def server():
    port = free_port()
    words = ["--port", str(port), "--lane", "dspark", "--block-size", "3", "--threads", "1", "--max-running-requests", str(STREAMS)]
    process = subprocess.Popen([sys.executable, "-m", "engine.serve", *words], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    end = time.monotonic() + 120
    while not ready(url):
        assert process.poll() is None and time.monotonic() < end, "engine.serve does not start"
        time.sleep(0.2)
    yield url
    process.terminate()
    process.wait(20)


def ready(url: str) -> bool:
    try:
        with urllib.request.urlopen(f"{url}/health", timeout=5) as answer:
            return answer.status == 200
    except OSError:
        return False


def flushed(url: str) -> None:
    urllib.request.urlopen(urllib.request.Request(f"{url}/flush_cache", method="POST"), timeout=20).close()


def lifetime_accept_length(url: str) -> float:
    with urllib.request.urlopen(f"{url}/server_info", timeout=20) as answer:
        return json.load(answer)["internal_states"][0]["avg_spec_accept_length"]


def ours(records: list[dict]) -> dict[str, float]:
    """Our definitions over finished records, as engine.bench.rows has them."""
    assert {record["finish_reason"] for record in records} <= {"stop", "length"}
    tokens = sum(record["output_tokens"] for record in records)
    span = max(record["end_s"] for record in records) - min(record["queued_s"] for record in records)
    rounds, accepted = (sum(record[name] for record in records) for name in ("rounds", "accepted"))
    tpot = [metrics.tpot_ms(record["first_token_s"], record["end_s"], record["output_tokens"]) for record in records]
    return {
        "output_throughput": tokens / span,
        "mean_ttft_ms": fmean(1000.0 * (record["first_token_s"] - record["queued_s"]) for record in records),
        "mean_tpot_ms": fmean(value for value in tpot if value is not None),
        "accept_length": 1.0 + accepted / rounds,
    }


def driven(guidellm: str, url: str, prompts, folder: Path) -> Path:
    """One run of guidellm over the same prompts; its report."""
    data, report = folder / "prompts.jsonl", folder / "guidellm.json"
    data.write_text("".join(json.dumps({"prompt": text, "output_tokens_count": OSL}) + "\n" for text, _ in prompts), "utf8")
    # it names no temperature by itself, and a server's default is 1: greedy has to be asked for
    asked = {"kind": "openai_http", "target": url, "model": "soundings", "request_format": "/v1/completions", "extras": {"body": {"temperature": 0.0}}}
    words = [
        *("run", "--backend", json.dumps(asked)),
        *("--profile", f"kind=concurrent,streams={STREAMS}", "--constraint", f"kind=max_requests,count={PROMPTS}"),
        *("--data", f"kind=json_file,path={data}", "--output", f"kind=json,path={report}", "--disable-console"),
    ]
    subprocess.run([guidellm, *words], check=True, cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"}, timeout=900)
    return report


def imported(report: Path, folder: Path) -> dict[str, float]:
    """What the importer makes of the report: the columns of ours."""
    words = [sys.executable, "-m", "workflow.cli", "import", str(report), "--to", str(folder)]
    done = subprocess.run(words, check=False, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = [row for path in sorted(folder.glob("*.csv")) for row in csv.DictReader(path.open(encoding="utf8")) if "mean_ttft_ms" in row]
    assert len(rows) == 1
    return {name: float(rows[0][name]) for name in ("output_throughput", "mean_ttft_ms", "mean_tpot_ms") if rows[0].get(name)}


def test_two_readings_of_the_same_streams_agree(guidellm, server, prompts, tmp_path):
    flushed(server)
    with Relay(server) as relay:
        report = driven(guidellm, relay.url, prompts, tmp_path)
    records = relay.records[-PROMPTS:]
    assert {record["body"]["prompt"] for record in records} == {text for text, _ in prompts}
    mine, theirs = ours(records), imported(report, tmp_path / "imported")
    # their report has none: the server's counters over exactly these requests
    theirs["accept_length"] = lifetime_accept_length(server)
    found = {name: theirs[name] / mine[name] - 1.0 for name in mine}
    (tmp_path / "agreement.json").write_text(json.dumps({"ours": mine, "theirs": theirs, "difference": found}, indent=1))
    print(json.dumps({"ours": mine, "theirs": theirs, "difference": found}))
    assert {name: value for name, value in found.items() if abs(value) > AGREES} == {}


def test_two_runs_of_the_same_prompts_accept_the_same(guidellm, server, prompts, tmp_path):
    """Greedy text does not depend on who asks: only the times of two runs may differ."""
    sampling = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "ignore_eos": True, "max_tokens": OSL, "seed": 1}
    requests = [{"request_id": f"r{number}", "prompt_ids": ids, "sampling": sampling} for number, (_, ids) in enumerate(prompts)]
    flushed(server)
    answer = run_load(Endpoint(server, "soundings"), OpenAICompletions(), requests, STREAMS, 600.0)
    mine = ours(answer["requests"])
    flushed(server)
    with Relay(server) as relay:
        driven(guidellm, relay.url, prompts, tmp_path)
    asked = {record["body"]["prompt"]: record for record in relay.records[-PROMPTS:]}
    assert [asked[text]["output_tokens"] for text, _ in prompts] == [record["output_tokens"] for record in answer["requests"]]
    assert ours(list(asked.values()))["accept_length"] == pytest.approx(mine["accept_length"], rel=AGREES)
