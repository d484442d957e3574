"""Campaigns that lack something: whole stages, every completed request, all rows but one; and one whose notes are hostile.

Each is a complete synthetic campaign with a piece taken away as a measuring program would have left it: manifests fit, schemas hold.

    python -m tests.data.partial --out FOLDER        # one campaign folder a kind
"""

from __future__ import annotations

import argparse
import csv
import json
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tests.data.synthetic import Physics, Plan, write_campaign
from tests.data.synthetic_sweeps import MORE
from tests.derive.edit import remove, rewrite
from workflow.derive.schema import kind_of, schema

SMALL = Plan(repeats=2, prompts=3, osl=24, isls=(64, 512, 4096), concurrencies=(1, 4, 16))
STAGES = {
    "search": ("search.csv", "requests_search.csv", "steps_search.csv", "noise.csv"),
    "window": ("sweep_window.csv", "requests_window.csv", "steps_window.csv", "trace.csv"),
    "isl": ("sweep_isl.csv", "requests_isl.csv", "steps_isl.csv"),
    "concurrency": ("sweep_concurrency.csv", "requests_concurrency.csv", "steps_concurrency.csv"),
    "rate": ("sweep_rate.csv", "requests_rate.csv", "steps_rate.csv"),
    **{name: (f"sweep_{name}.csv", f"requests_{name}.csv", f"steps_{name}.csv") for name in MORE},
}
"""What one measuring command leaves behind."""
HOSTILE = '<script>alert(1)</script><img src=x onerror="a()">&amp; {{ n("w") }} {% raw %} {# c #} ${7*7} {{7*7}} `rm` **b** [a](javascript:b) 三分之一 five 42 \u202e\ue0007\ue001'
"""A note with markup, template code, Markdown, number words, a direction override and the page's own placeholders in it."""
RESULTS = (
    "duration_s", "request_throughput", "output_throughput", "total_throughput", "concurrency", "steps", "rounds", "drafted", "accepted",
    "accept_length", "emitted_per_round", "distinct_4gram_share", "step_ms", "draft_ms", "verify_ms", "commit_ms", "other_ms", "between_ms",
    "total_input_tokens", "total_output_tokens", "decode_tokens", "decode_throughput", "kv_usage_max", "state_usage_max", "queue_max",
    *(f"{stat}_{name}_ms" for stat in ("mean", "median", "p99") for name in ("ttft", "tpot", "e2e")),
)  # fmt: skip
"""Cells that a point has only when something completed."""


def points(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.glob("*.csv") if kind_of(path) == "points")


def rows_of(folder: Path) -> list[str]:
    return sorted(path.name for pattern in ("requests_*.csv", "steps_*.csv") for path in folder.glob(pattern))


def without(*stages: str) -> Callable[[Path], None]:
    return lambda folder: remove(folder, *(file for stage in stages for file in STAGES[stage]))


def only(*stages: str) -> Callable[[Path], None]:
    """Nothing but the files of some stages."""
    kept = {file for stage in stages for file in STAGES[stage]}
    return lambda folder: remove(folder, *(path.name for path in sorted(folder.glob("*.csv")) if path.name not in kept))


def without_files(*files: str) -> Callable[[Path], None]:
    return lambda folder: remove(folder, *files)


def failed(row: dict, status: str, note: str) -> dict:
    return {**row, "status": status, "note": note, "failed": row["num_prompts"], "completed": 0, **{name: "" for name in RESULTS if name in row}}


def only_failed(folder: Path) -> None:
    """Every point failed, each way in turn; nothing completed, so no request, no step and no comparison was written."""
    ways = ("oom", "crash", "timeout", "skipped", "rejected")
    for file in points(folder):
        rewrite(folder, file, lambda rows: [failed(row, ways[at % len(ways)], "asked for more than there was") for at, row in enumerate(rows)])
    for file in (*rows_of(folder), "noise.csv", "trace.csv"):
        rewrite(folder, file, lambda rows: [])


def hostile(folder: Path) -> None:
    """A failed point in every file with a note, and a title and remarks, that no page may run, render or believe."""
    for file in points(folder):
        rewrite(folder, file, lambda rows: [*rows, failed({**rows[-1], "run_id": "hostile"}, "crash", HOSTILE)])
    text = json.dumps(HOSTILE.split("\u202e")[0].strip(), ensure_ascii=False)
    definition = folder / "campaign.yaml"
    lines = [line for line in definition.read_text("utf8").splitlines() if not line.startswith(("hardware:", "source:"))]
    definition.write_text("\n".join([*lines, f"title: {{en: {text}, zh: {text}}}", f"hardware: {text}", f"source: {text}", ""]), "utf8")


def bare(folder: Path) -> None:
    """Files of a program that wrote no column beyond those that each kind of file must have."""
    for path in sorted(folder.glob("*.csv")):
        needed = schema(kind_of(path))["required"]
        given = path.read_text("utf8").partition("\n")[0].split(",")
        rewrite(folder, path.name, lambda rows: rows, tuple(name for name in given if name not in needed))


def one_row(folder: Path) -> None:
    """One point of one sweep, with its requests and steps."""
    only("window")(folder)
    remove(folder, "trace.csv")
    rewrite(folder, "sweep_window.csv", lambda rows: rows[-1:])
    kept = read(folder / "sweep_window.csv")[0]["run_id"]
    for file in rows_of(folder):
        rewrite(folder, file, lambda rows: [row for row in rows if row["run_id"] == kept])


def only_plain(folder: Path) -> None:
    """No speculative arm at all."""
    kept = {row["run_id"] for file in points(folder) for row in read(folder / file) if row["lane"] == "plain"}
    for file in (*points(folder), *rows_of(folder)):
        rewrite(folder, file, lambda rows: [row for row in rows if row["run_id"] in kept])
    remove(folder, "noise.csv", "trace.csv")


def read(path: Path) -> list[dict]:
    with path.open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file))


KINDS: dict[str, Callable[[Path], None]] = {
    **{f"no-{stage}": without(stage) for stage in STAGES if stage not in MORE},
    **{f"only-{stage}": only(stage) for stage in STAGES if stage not in MORE},
    "no-more": without(*MORE),
    "only-batch": only("batch"),
    "no-rows": lambda folder: remove(folder, *rows_of(folder), "trace.csv"),
    "no-trace": without_files("trace.csv"),
    "no-noise": without_files("noise.csv"),
    "nothing": only(),
    "only-failed": only_failed,
    "bare": bare,
    "one-row": one_row,
    "only-plain": only_plain,
    "hostile": hostile,
}


def write(kind: str, whole: Path, out: Path) -> Path:
    """A copy of the campaign `whole` with the piece of one kind taken away."""
    KINDS[kind](Path(shutil.copytree(whole, out)))
    definition = out / "campaign.yaml"
    definition.write_text(re.sub(r"(?m)^name: (.*)", rf"name: {out.name}\nmeasured_as: \1", definition.read_text("utf8")), "utf8")
    return out


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.data.partial", description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True, help="folder to write one campaign folder a kind into; it must not exist")
    arguments = parser.parse_args()
    whole = write_campaign(arguments.out / "whole", Physics(), SMALL)
    for kind in KINDS:
        print(write(kind, whole, arguments.out / kind))
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
