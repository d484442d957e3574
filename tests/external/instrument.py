"""guidellm beside this project's own client on the same streams of `engine.serve`: what both say of them, as instrument.csv.

Needs guidellm in an environment of its own: SOUNDINGS_GUIDELLM names its executable, else one is installed under .pytest_cache, outside the folders that tests read.

    python -m tests.external.instrument --out workflow/campaigns/NAME --name MEASURED_AS
"""

from __future__ import annotations

import argparse
import contextlib
import csv
import json
import os
import subprocess
import sys
import tempfile
import time
import urllib.request
from collections.abc import Iterator, Sequence
from datetime import datetime
from pathlib import Path
from statistics import fmean

from engine import csvio, manifest
from engine.backends.launch import free_port
from engine.bench import metrics
from engine.bench.command import command_line
from engine.bench.workloads import HeldOut, Workload
from engine.config import WEIGHTS
from engine.csvio import Row
from engine.fingerprint import fingerprint, short
from engine.machine import Machine, load_average
from engine.model.tokenizer import Tokenizer
from tests.external.relay import Relay

ROOT = Path(__file__).resolve().parents[2]
CACHE = ROOT / ".pytest_cache" / "guidellm"
CLIENT, VERSION = "guidellm", "0.8.1"
PROMPTS, ISL, OSL, STREAMS = 16, 64, 24, 4
BLOCK_SIZE, SEED = 3, 1
AGREES = 0.02
"""Share by which two readings of the same streams may differ."""
DEFINITIONS = {"ttft_ms": "from_the_client", "time_per_output_token_ms": "with_first_token"}
"""Quantity whose definition is not ours -> how it differs. The relay's clock begins with a request that has arrived, the client's before it
connects: the same milliseconds in the time to the first token and in the whole latency, and none in what lies between."""
QUANTITIES = ("output_throughput", "ttft_ms", "tpot_ms", "accept_length", "time_per_output_token_ms")
"""What the table holds."""
MISNAMED = "time_per_output_token_ms"
SOURCES = {"accept_length": "server"}
"""Quantity that is not in the client's report -> where it comes from: the server's counters over exactly its requests."""
Prompts = Sequence[tuple[str, tuple[int, ...]]]


def installed() -> str:
    """The executable of guidellm; installed where there is none."""
    if os.environ.get("SOUNDINGS_GUIDELLM"):
        return os.environ["SOUNDINGS_GUIDELLM"]
    if not (CACHE / "bin" / CLIENT).exists():
        subprocess.run([sys.executable, "-m", "venv", CACHE], check=True)
        subprocess.run([CACHE / "bin" / "pip", "install", "-q", f"{CLIENT}=={VERSION}"], check=True)
    return str(CACHE / "bin" / CLIENT)


def drawn() -> Prompts:
    """(text, its ids) of each prompt."""
    tokenizer = Tokenizer.load(WEIGHTS)
    held_out = HeldOut(lambda text: tokenizer.encode(text, bos=False), tokenizer.bos_token_id)
    prompts = held_out.prompts(Workload("independent", "mixed", PROMPTS, ISL), ISL, campaign="independent", seed=SEED, repeat=0)
    # a text may be tokenised anew: both clients send the text
    return [(text := tokenizer.decode(prompt.ids[1:]), tokenizer.encode(text)) for prompt in prompts]


@contextlib.contextmanager
def serving() -> Iterator[str]:
    """The address of an `engine.serve` that ends with the block."""
    port = free_port()
    words = ["--port", str(port), "--lane", "dspark", "--block-size", str(BLOCK_SIZE), "--threads", "1", "--max-running-requests", str(STREAMS)]
    process = subprocess.Popen([sys.executable, "-m", "engine.serve", *words], cwd=ROOT, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        url = f"http://127.0.0.1:{port}"
        end = time.monotonic() + 120
        while not ready(url):
            assert process.poll() is None and time.monotonic() < end, "engine.serve does not start"
            time.sleep(0.2)
        yield url
    finally:
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


def ours(records: Sequence[dict]) -> dict[str, float]:
    """Our definitions over finished records, as engine.bench.rows has them."""
    assert {record["finish_reason"] for record in records} <= {"stop", "length"}
    tokens = sum(record["output_tokens"] for record in records)
    span = max(record["end_s"] for record in records) - min(record["queued_s"] for record in records)
    rounds, accepted = (sum(record[name] for record in records) for name in ("rounds", "accepted"))
    tpot = [metrics.tpot_ms(record["first_token_s"], record["end_s"], record["output_tokens"]) for record in records]
    return {
        "output_throughput": tokens / span,
        "ttft_ms": fmean(1000.0 * (record["first_token_s"] - record["queued_s"]) for record in records),
        "tpot_ms": fmean(value for value in tpot if value is not None),
        "e2e_ms": fmean(1000.0 * (record["end_s"] - record["queued_s"]) for record in records),
        "accept_length": 1.0 + accepted / rounds,
    }


def driven(client: str, url: str, prompts: Prompts, folder: Path) -> Path:
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
    subprocess.run([client, *words], check=True, cwd=folder, env={**os.environ, "HF_HUB_OFFLINE": "1"}, timeout=900, stdout=subprocess.DEVNULL)
    return report


def imported(report: Path, folder: Path) -> dict[str, float]:
    """What the importer makes of the report, under the names of ours; and the figure that only looks like one of them."""
    words = [sys.executable, "-m", "workflow.cli", "import", str(report), "--to", str(folder)]
    done = subprocess.run(words, check=False, cwd=ROOT, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = [row for path in sorted(folder.glob("*.csv")) for row in csv.DictReader(path.open(encoding="utf8")) if "mean_ttft_ms" in row]
    assert len(rows) == 1
    names = {"output_throughput": "output_throughput", "ttft_ms": "mean_ttft_ms", "tpot_ms": "mean_tpot_ms", "e2e_ms": "mean_e2e_ms"}
    (benchmark,) = json.loads(report.read_text("utf8"))["benchmarks"]
    return {one: float(rows[0][column]) for one, column in names.items() if rows[0].get(column)} | {MISNAMED: benchmark["metrics"][MISNAMED]["successful"]["mean"]}


def compare(client: str, url: str, prompts: Prompts, folder: Path) -> tuple[dict[str, float], dict[str, float]]:
    """(ours, theirs) of one run; both read the same bytes."""
    flushed(url)
    with Relay(url) as relay:
        report = driven(client, relay.url, prompts, folder)
    records = relay.records[-PROMPTS:]
    assert {record["body"]["prompt"] for record in records} == {text for text, _ in prompts}
    mine, theirs = ours(records), imported(report, folder / "imported")
    theirs["accept_length"] = lifetime_accept_length(url)
    return {**mine, MISNAMED: mine["tpot_ms"]}, theirs


def rows_of(campaign: str, repeat: int, mine: dict[str, float], theirs: dict[str, float], load: float) -> list[Row]:
    """Rows of instrument.csv of one run."""
    common = {"campaign": campaign, "client": CLIENT, "client_version": VERSION, "repeat": repeat, "requests": PROMPTS, "max_concurrency": STREAMS}
    return [
        {
            **common,
            "quantity": name,
            "ours": round(mine[name], 6),
            "theirs": round(theirs[name], 6),
            "definition": DEFINITIONS.get(name, "same"),
            "source": SOURCES.get(name, "report"),
            "load_average": round(load, 2),
        }
        for name in QUANTITIES
        if name in theirs
    ]


def publish(rows: list[Row], out: Path, campaign: str, argv: Sequence[str], begun: datetime, load_start: list[float]) -> list[Path]:
    """instrument.csv and its manifest, both or neither."""
    hashes = fingerprint()
    commit, dirty = manifest.git_state()
    ended = datetime.now().astimezone()
    content = csvio.render("instrument", rows, "instrument.csv")
    about = {
        "schema": 1,
        "file": "instrument.csv",
        "kind": "instrument",
        "campaign": campaign,
        "command": command_line(["tests.external.instrument", *argv]),
        "config": {"bound": AGREES, "lane": "dspark", "block_size": BLOCK_SIZE, "isl": ISL, "osl": OSL, "temperature": 0.0},
        "preset": "bench",
        "commit": commit,
        "dirty": dirty,
        "code": short(hashes),
        "fingerprint": hashes,
        "versions": {**manifest.versions(), CLIENT: VERSION},
        "machine": manifest.machine_section(Machine.read(), None, load_start, load_average(), None, None),
        "threads": 1,
        "seeds": {"prompts": SEED},
        "start": manifest.stamp(begun),
        "end": manifest.stamp(ended),
        "seconds": round((ended - begun).total_seconds(), 3),
        "thresholds_sha256": manifest.thresholds_sha256(),
        "rows": len(rows),
        "sha256": manifest.sha256(content),
    }
    files = {out / "instrument.csv": content, out / "instrument.manifest.json": manifest.render(about)}
    csvio.publish(files)
    return list(files)


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = argparse.ArgumentParser(prog="python -m tests.external.instrument", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="campaign folder for instrument.csv and its manifest")
    parser.add_argument("--name", required=True, help="name under which the campaign's rows were measured")
    parser.add_argument("--runs", type=int, default=3, help="runs of the independent client (default: %(default)s)")
    args = parser.parse_args(words)
    if args.runs < 1:
        parser.error(f"--runs {args.runs}: expected at least 1")
    begun, load_start, client, prompts = datetime.now().astimezone(), load_average(), installed(), drawn()
    rows: list[Row] = []
    for repeat in range(args.runs):
        # a server of its own for each run: its counters begin with the run
        with serving() as url, tempfile.TemporaryDirectory(prefix="soundings-instrument-") as folder:
            load = load_average()[0]
            mine, theirs = compare(client, url, prompts, Path(folder))
        rows += rows_of(args.name, repeat, mine, theirs, load)
        print("; ".join(f"{name} {100 * (theirs[name] / mine[name] - 1):+.2f} %" for name in mine if name in theirs), flush=True)
    print("\n".join(map(str, publish(rows, args.out, args.name, words, begun, load_start))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
