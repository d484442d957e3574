"""Print the figures that the embedded engine is meant to reach, beside what was measured.

`python -m tests.bench.figures` measures the window sweep of a campaign on this machine first; `--measured DIR` reads one that
is there. Ratios only, each from cells of the same blocks. Exit code 1 when a figure is missed.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from engine import csvio, sweep
from engine.bench.stages import CONTENTS
from engine.csvio import Row
from workflow.derive import division

ROOT = Path(__file__).resolve().parents[2]
CAMPAIGN = ROOT / "workflow" / "campaigns" / "local" / "campaign.yaml"
# Most that each may be, and least that each speculative lane must win by.
DRAM_TIMES = 9.0
VERIFY_FOUR = 1.35
SPEEDUPS = {"arith": 1.6, "code": 1.3, "en": 1.3}
DIVISION_GAP = 0.04


@dataclass(frozen=True)
class Figure:
    name: str
    value: float
    bound: float | None
    at_least: bool

    @property
    def reached(self) -> bool:
        return self.bound is None or (self.value >= self.bound if self.at_least else self.value <= self.bound)

    def line(self) -> str:
        if self.bound is None:
            return f"{self.name:<58} {self.value:8.3f}"
        sign, outcome = ">=" if self.at_least else "<=", "reached" if self.reached else "MISSED"
        return f"{self.name:<58} {self.value:8.3f}   {sign} {self.bound:g}   {outcome}"


@dataclass(frozen=True)
class Pool:
    """Cells of one arm and content over all repeats: sums over sums."""

    tokens: int
    decode_ms: float
    steps: int
    draft_ms: float
    verify_ms: float
    commit_ms: float
    emitted_per_round: float | None

    @classmethod
    def of(cls, cells: Sequence[Row]) -> Pool:
        steps = sum(cell["steps"] for cell in cells)

        def mean(column: str) -> float:
            return sum(cell[column] * cell["steps"] for cell in cells) / steps

        rounds = sum(cell["rounds"] or 0 for cell in cells)
        tokens = sum(cell["decode_tokens"] for cell in cells)
        decode_ms = sum(1000 * cell["decode_tokens"] / cell["decode_throughput"] for cell in cells)
        return cls(
            tokens,
            decode_ms,
            steps,
            mean("draft_ms"),
            mean("verify_ms"),
            mean("commit_ms"),
            tokens / rounds if rounds else None,
        )

    @property
    def tpot_ms(self) -> float:
        return self.decode_ms / self.tokens


def pools(points: Sequence[Row]) -> dict[tuple[str, str], Pool]:
    """(content, label) -> pool of the finished cells of eager mode: against plain decoding of another mode no speedup is one."""
    groups: dict[tuple[str, str], list[Row]] = {}
    for point in points:
        if point["status"] == "ok" and point["steps"] and point["mode"] == "eager":
            groups.setdefault((point["content"], point["label"]), []).append(point)
    return {key: Pool.of(cells) for key, cells in groups.items()}


def predicted(plain: Pool, spec: Pool) -> float:
    """Speedup by the division, what lies outside the blocks taken from the plain lane (o per emitted token).

    With the round's own measured rest in its place the inputs would cancel to the measured ratio, and the gap could only be zero.
    """
    decode = plain.verify_ms + plain.commit_ms
    return division.speedup(
        tau=spec.emitted_per_round,
        decode=decode,
        other=plain.tpot_ms - decode,
        draft=spec.draft_ms,
        verify=spec.verify_ms,
        commit=spec.commit_ms,
    )


def figures(points: Sequence[Row], weights_bytes: int, read_gb_s: float) -> list[Figure]:
    found: list[Figure] = []
    by_cell = pools(points)
    contents = [content for content in CONTENTS if (content, "plain") in by_cell]
    plain_ms = sum(by_cell[content, "plain"].tpot_ms for content in contents) / len(contents)
    bound_ms = weights_bytes / read_gb_s / 1e6
    found.append(
        Figure(f"plain decode over the memory bound ({plain_ms:.2f} ms, bound {bound_ms:.2f} ms)", plain_ms / bound_ms, DRAM_TIMES, False)
    )
    decode = sum(by_cell[content, "plain"].verify_ms for content in contents)
    wide = [content for content in contents if (content, "dspark-g3") in by_cell]
    if wide == contents:
        verify = sum(by_cell[content, "dspark-g3"].verify_ms for content in contents)
        found.append(Figure("verifying four positions, in decode steps", verify / decode, VERIFY_FOUR, False))
    worst = 0.0
    for content in contents:
        plain = by_cell[content, "plain"]
        arms = {label: pool for (kind, label), pool in by_cell.items() if kind == content and label.startswith("dspark")}
        for label, pool in sorted(arms.items()):
            gap = predicted(plain, pool) / (plain.tpot_ms / pool.tpot_ms) - 1
            worst = max(worst, abs(gap))
        best, pool = min(arms.items(), key=lambda item: item[1].tpot_ms)
        found.append(
            Figure(
                f"speedup on {content} at the best block size ({best}, {pool.tpot_ms:.2f} ms, plain {plain.tpot_ms:.2f})",
                plain.tpot_ms / pool.tpot_ms,
                SPEEDUPS.get(content),
                True,
            )
        )
        found.append(Figure(f"  predicted by division ({pool.emitted_per_round:.2f} emitted a round)", predicted(plain, pool), None, True))
    found.append(Figure("largest gap between division and measurement", worst, DIVISION_GAP, False))
    return found


def bandwidth(cpu: int | None) -> float:
    command = [sys.executable, "-m", "tests.bench.bandwidth", *(["--cpu", str(cpu)] if cpu is not None else [])]
    return float(
        subprocess.run(command, check=True, capture_output=True, text=True, cwd=ROOT, env={**os.environ, "OMP_NUM_THREADS": "1"}).stdout
    )


def report(folder: Path) -> int:
    points = csvio.read("points", folder / "sweep_window.csv")
    about = json.loads((folder / "sweep_window.manifest.json").read_text("utf8"))
    read = bandwidth(about["machine"]["pinned_cpu"])
    machine = about["machine"]
    print(f"{machine['cpu']}, load {machine['load_average_start'][0]}, others {machine['other_share']}, {read:.1f} GB/s read")
    found = figures(points, about["model"]["bytes"], read)
    for figure in found:
        print(figure.line())
    same = about.get("lossless", {})
    print(f"outputs equal to plain: {same.get('equal')} of {same.get('compared')}")
    return 0 if all(figure.reached for figure in found) and same.get("equal") == same.get("compared") else 1


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.figures", description=__doc__.splitlines()[0])
    parser.add_argument(
        "--measured", type=Path, metavar="DIR", help="folder with sweep_window.csv and its manifest; measures afresh when absent"
    )
    parser.add_argument("--campaign", type=Path, default=CAMPAIGN, metavar="FILE", help="campaign.yaml that is measured without --measured (default: that of `local`)")
    parser.add_argument("--preset", choices=("quick", "smoke"), default="quick", help="sizes of that measurement (default: %(default)s)")
    args = parser.parse_args(argv)
    if args.measured:
        absent = [name for name in ("sweep_window.csv", "sweep_window.manifest.json") if not (args.measured / name).is_file()]
        if absent:
            print(f"figures: --measured {args.measured}: no {absent[0]}; expected what `engine.sweep --sweep window` wrote", file=sys.stderr)
            return 2
        return report(args.measured)
    with tempfile.TemporaryDirectory() as folder:
        code = sweep.main(["--sweep", "window", "--campaign", str(args.campaign), "--preset", args.preset, "--out", folder])
        return code or report(Path(folder))


if __name__ == "__main__":
    sys.exit(main())
