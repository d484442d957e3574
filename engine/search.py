"""Search the verify window at one matched load, knowing the noise first.

Stages: `aa` (base against base over interleaved boots), `window` (every block size and the plain lane against the base),
`confirm` (base and winner on fresh boots: the figure that counts). Candidates are compared in time per token.
Writes search.csv, requests_search.csv, steps_search.csv and noise.csv with a manifest beside each, together or not at all.
"""

from __future__ import annotations

import argparse
import math
import sys
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from statistics import fmean

from engine.bench import plans
from engine.bench.cells import Arm
from engine.bench.command import Run, closing, dry_run, flags, guarded, load, tables_of
from engine.bench.compare import Comparison, Spread, compare
from engine.bench.estimate import total_s
from engine.bench.progress import Progress
from engine.bench.stages import Search
from engine.csvio import Row

PROGRAM = "engine.search"
METRIC = "mean_tpot_ms"
NOISE_METRICS = ("mean_tpot_ms", "decode_throughput", "output_throughput", "step_ms", "accept_length")


def finished(points: Sequence[Row], stage: str) -> list[Row]:
    return [point for point in points if point["stage"] == stage and point["status"] == "ok"]


def geometric(values: Sequence[float]) -> float:
    return math.exp(fmean(math.log(value) for value in values))


def pair_values(points: Sequence[Row], stage: str, labels: tuple[str, str], metric: str) -> dict[int, tuple[Row, Row, float, float]]:
    """Block -> (a row of each boot, geometric mean of each boot's passes), for blocks where both boots finished a cell."""
    by_boot: dict[tuple[int, str], list[Row]] = defaultdict(list)
    for point in finished(points, stage):
        by_boot[point["boot"], point["label"]].append(point)
    found = {}
    for block in sorted({boot for boot, _ in by_boot}):
        a, b = (by_boot.get((block, label)) for label in labels)
        if a and b:
            found[block] = (a[0], b[0], geometric([row[metric] for row in a]), geometric([row[metric] for row in b]))
    return found


def noise_rows(points: Sequence[Row], campaign: str) -> list[Row]:
    """One row a pair of A/A boots and metric."""
    rows: list[Row] = []
    for metric in NOISE_METRICS:
        for number, (a, b, value_a, value_b) in enumerate(pair_values(points, "aa", ("base-a", "base-b"), metric).values()):
            rows.append(
                {
                    "campaign": campaign,
                    "comparison": number,
                    "repeat": a["repeat"],
                    "label_a": a["label"],
                    "label_b": b["label"],
                    "boot_id_a": a["boot_id"],
                    "boot_id_b": b["boot_id"],
                    "metric": metric,
                    "value_a": value_a,
                    "value_b": value_b,
                    "log_ratio": math.log(value_b / value_a),
                }
            )
    return rows


def against_base(points: Sequence[Row], metric: str = METRIC) -> dict[str, list[float]]:
    """Label -> one log ratio a block, base over candidate: above zero is faster where the metric is a time.

    The base of a candidate is read off a straight line (of logarithms) through the nearest base cells before and after it,
    so that a steady drift cancels.
    """
    ratios: dict[str, list[float]] = defaultdict(list)
    rows = sorted(finished(points, "window"), key=lambda row: row["order"])
    for block in sorted({row["boot"] for row in rows}):
        inside = [row for row in rows if row["boot"] == block]
        bases = [row for row in inside if row["label"] == "base"]
        for row in inside:
            if row["label"] == "base" or not bases:
                continue
            ratios[row["label"]].append(base_log(bases, row["order"], metric) - math.log(row[metric]))
    return dict(ratios)


def base_log(bases: Sequence[Row], order: int, metric: str) -> float:
    """Logarithm of the base's metric at a place in the order, between its neighbours or that of the only neighbour."""
    before = next((base for base in reversed(bases) if base["order"] < order), None)
    after = next((base for base in bases if base["order"] > order), None)
    if before is None or after is None:
        return math.log((before or after)[metric])
    share = (order - before["order"]) / (after["order"] - before["order"])
    return (1 - share) * math.log(before[metric]) + share * math.log(after[metric])


@dataclass(frozen=True)
class Verdict:
    arm: Arm
    comparison: Comparison
    throughput_ratio: float

    def as_dict(self, note: str | None = None) -> dict:
        described = {
            "label": self.arm.label,
            "lane": self.arm.lane,
            "block_size": self.arm.block_size,
            **self.comparison.as_dict(),
            "decode_throughput_ratio": self.throughput_ratio,
        }
        return {**described, "note": note} if note else described

    def line(self) -> str:
        c = self.comparison
        interval = "no interval" if c.lo is None else f"{c.lo:.3f} to {c.hi:.3f}, could resolve {c.minimum_detectable:.3f}"
        return f"{self.arm.label}: {c.ratio:.3f} of the base's speed ({interval}; {c.n} paired boots): {c.verdict}"


def judge(points: Sequence[Row], stage: Search, aa: Sequence[float]) -> tuple[list[Verdict], Spread]:
    """A verdict a candidate, with one spread pooled over the A/A pairs and the candidates' own repeats."""
    times = against_base(points)
    rates = against_base(points, "decode_throughput")
    spread = Spread.pooled([aa, *times.values()])
    arms = [arm for arm in plans.candidates(stage) if arm.label in times]
    return [Verdict(arm, compare(times[arm.label], spread), math.exp(-fmean(rates[arm.label]))) for arm in arms], spread


def confirm(points: Sequence[Row], winner: Arm, aa: Sequence[float]) -> Verdict | None:
    """Winner against base on fresh boots; None where no pair of boots finished."""
    pairs = pair_values(points, "confirm", ("base", "winner"), METRIC).values()
    if not pairs:
        return None
    times = [math.log(base / fast) for _, _, base, fast in pairs]
    rates = [math.log(fast / base) for _, _, base, fast in pair_values(points, "confirm", ("base", "winner"), "decode_throughput").values()]
    return Verdict(winner, compare(times, Spread.pooled([aa, times])), math.exp(fmean(rates)))


def decided(stage: Search, verdicts: Sequence[Verdict], spread: Spread, winner: Arm | None, fresh: Verdict | None) -> dict:
    """The `search` section of the manifest."""
    return {
        "metric": METRIC,
        "base": f"dspark-g{stage.block_size}",
        **({"winner": winner.label} if winner else {}),
        **({} if math.isnan(spread.sd) else {"noise_log_sd": spread.sd}),
        "candidates": [verdict.as_dict() for verdict in verdicts],
        "confirm": fresh.as_dict("fresh boots and prompts") if fresh else None,
    }


def measure(args: argparse.Namespace, argv: Sequence[str]) -> int:
    campaign = load(args)
    stage = campaign.stage("search")
    planned = plans.framed(plans.blocks_of("search", stage))
    if args.dry_run:
        dry_run(PROGRAM, campaign, planned, args.json)
        return 0
    with Progress(f"search of campaign {campaign.name}", total_s(planned), args.log, args.quiet) as progress:
        run = Run.start(campaign, "search", argv, args, progress)
        session = run.session
        points = session.rows.points
        session.run([plans.sentinel("start", 0), *plans.search_aa(stage)])
        noise = noise_rows(points, campaign.name)
        aa = [row["log_ratio"] for row in noise if row["metric"] == METRIC]
        if aa:
            progress.say(
                f"base against base: {len(aa)} pairs of boots, largest difference {100 * math.expm1(max(map(abs, aa))):.2f} % of TPOT"
            )
        session.run(plans.search_window(stage))
        verdicts, spread = judge(points, stage, aa)
        for verdict in verdicts:
            progress.say(verdict.line())
        winner, fresh = None, None
        if verdicts:
            # the largest of noisy ratios is biased upwards: it is measured again, and that figure is the one reported
            winner = max(verdicts, key=lambda verdict: verdict.comparison.ratio).arm
            session.run(plans.search_confirm(stage, winner))
            fresh = confirm(points, winner, aa)
            if fresh:
                progress.say(f"confirmed on fresh boots: {fresh.line()}")
        session.run([plans.sentinel("end", 1)])
        tables = {**tables_of(session, "search", "search"), "noise.csv": ("noise", noise)}
        section = decided(stage, verdicts, spread, winner, fresh)
        files = run.publish(args.out, tables, {"search.csv": {"search": section}})
        closing(run, files, args.json, {"search": section})
    return 0


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = flags(
        f"python -m {PROGRAM}", "Measure the noise, search the verify window at one matched load, confirm the winner. Times are wall-clock."
    )
    args = parser.parse_args(words)
    return guarded(lambda parsed: measure(parsed, [PROGRAM, *words]), args, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
