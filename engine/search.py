"""Search an engine's settings in stages, knowing the noise first.

Always: `aa` (base against base over interleaved boots), `window` (every block size and the plain lane against the base at one
matched load), `confirm` (base and the fastest candidate on fresh boots: the figure that counts; the winner is the candidate where
that is better, else the base). Where the campaign asks for them, before the
window: `memory` (the ceiling with a hostile probe), `factorial` (request cap times block size), `knobs` (one at a time, and in a
regime where each can bind), `cache` (prefix cache on random and on shared prefixes); after it: `heads`, `lanes`, and after the confirmation the winner's `curve`.
Candidates are compared in time per token. With --budget, stages are given up in a printed order.
The first Ctrl-C ends it as a used-up budget does and publishes what there is, with exit code 130; --resume then measures the rest.
Writes search.csv, requests_search.csv, steps_search.csv and noise.csv with a manifest beside each, together or not at all.
"""

from __future__ import annotations

import argparse
import math
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from statistics import fmean

from engine.bench import detectable, plans, plans_search, search_parts
from engine.bench.cells import Arm, Block
from engine.bench.command import Run, closing, dry_run, flags, guarded, load, tables_of
from engine.bench.compare import Comparison, Spread, compare, detectable_ratio
from engine.bench.estimate import total_s
from engine.bench.floor import Floor
from engine.bench.ledger import ledger
from engine.bench.multiplicity import false_alarms, holm, too_few
from engine.bench.planner import Allotment, Part, allot, duration_s
from engine.bench.progress import Progress
from engine.bench.repeats import grown, repeats_of
from engine.bench.stages import PARTS, Search
from engine.bench.stopping import INTERRUPTED, Stopping
from engine.bench.verdicts import TIME as METRIC
from engine.bench.verdicts import against_base, pair_values
from engine.csvio import Row

PROGRAM = "engine.search"
DROP_ORDER = ("heads", "lanes", "curve", "factorial", "knobs", "cache", "memory")
"""What is given up first when the time does not suffice."""
LEAST_AA = 2
"""Pairs of A/A boots that no budget cuts off: one pair has no spread, and without a spread there is no verdict."""
NOISE_METRICS = ("mean_tpot_ms", "decode_throughput", "output_throughput", "step_ms", "accept_length")


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
        least = "" if c.minimum_detectable is None else f", could resolve {c.minimum_detectable:.3f}"
        return f"{self.arm.label}: {c.ratio:.3f} of the base's speed ({c.reach}{least}; {c.n} paired boots): {c.verdict}"


def judge(points: Sequence[Row], stage: Search, aa: Sequence[float]) -> tuple[list[Verdict], Spread]:
    """A verdict a candidate, with one spread pooled over the candidates' own repeats. `aa`: log ratios of one pass, base against base."""
    times = against_base(points)
    rates = against_base(points, "decode_throughput")
    spread = Spread.floored(list(times.values()), aa)
    arms = [arm for arm in plans.candidates(stage) if arm.label in times]
    return [Verdict(arm, compare(times[arm.label], spread), math.exp(-fmean(rates[arm.label]))) for arm in arms], spread


def challenger(verdicts: Sequence[Verdict]) -> Verdict | None:
    """The fastest candidate that did not lose to the base: the one that is put to the test. None where the base beat all of them.

    The largest of noisy ratios is biased upwards, so it is measured again, and that figure is the one reported.
    """
    return max((one for one in verdicts if one.comparison.verdict != "worse"), key=lambda one: one.comparison.ratio, default=None)


def knob_line(one: dict) -> str:
    ratio = f"{one['ratio']:.3f}: " if one["n"] else ""
    return f"{one['label']}: {ratio}{one['verdict']} ({one['why']})"


def thrown_away(row: Row) -> bool:
    """Whether the probe rule, not the candidate, is why a cell was rejected."""
    return (row.get("note") or "").startswith("a probe moved")


def confirm(points: Sequence[Row], candidate: Arm, aa: Sequence[float]) -> Verdict | None:
    """Candidate against base on fresh boots; None where no pair of boots finished. `aa`: log ratios over all passes of a boot."""
    pairs = pair_values(points, "confirm", ("base", "candidate"), METRIC).values()
    if not pairs:
        return None
    times = [math.log(base / fast) for _, _, base, fast in pairs]
    rates = [math.log(fast / base) for _, _, base, fast in pair_values(points, "confirm", ("base", "candidate"), "decode_throughput").values()]
    return Verdict(candidate, compare(times, Spread.floored([times], aa)), math.exp(fmean(rates)))


def part_blocks(name: str, stage: Search) -> list[Block]:
    """Blocks of an optional stage as far as they are known before it runs, for the estimate."""
    part = getattr(stage, name)
    match name:
        case "memory":
            lanes = plans_search.memory_lanes(part, stage)
            arms = [plans_search.memory_arm(lane, part, stage, part.anchor, f"try-{n}") for lane in lanes for n in range(part.boots)]
            return [plans_search.hostile(part, arm, number) for number, arm in enumerate(arms)]
        case "cache":
            return plans_search.cache(part)
        case "curve":
            return plans_search.curve(part, stage, plans.drafting(stage.lane, stage.block_size))
        case "lanes":
            arms = plans_search.lane_candidates(part)
            return [
                *plans_search.lanes_at(arms, part, stage, (stage.max_concurrency,), "lanes", plans_search.FIRST["lanes"]),
                *plans_search.lanes_at(arms[: 4 + search_parts.MOST_TIES], part, stage, part.levels, "frontier", plans_search.FIRST["lanes"] + 500),
            ]
    return getattr(plans_search, name)(part, stage)


def planned(stage: Search) -> dict[str, list[Block]]:
    """Stage -> its blocks, in the order they run."""
    optional = {name: part_blocks(name, stage) for name in PARTS if getattr(stage, name)}
    before = {name: optional[name] for name in ("memory", "factorial", "knobs", "cache") if name in optional}
    after = {name: optional[name] for name in ("heads", "lanes") if name in optional}
    last = {name: optional[name] for name in ("curve",) if name in optional}
    return {
        "aa": plans.search_aa(stage),
        **before,
        "window": plans.search_window(stage),
        **after,
        "confirm": plans.search_confirm(stage, plans.drafting(stage.lane, stage.block_size)),
        **last,
    }


def boots_of(stage: Search) -> dict[str, int]:
    """Stage -> boots behind each of its comparisons."""
    parts = {name: part.repeats for name in PARTS if (part := getattr(stage, name)) and hasattr(part, "repeats")}
    return {"window": stage.window_repeats, **parts, "confirm": stage.confirm_pairs}


@dataclass
class Searching:
    """One search while it runs: what it has decided so far."""

    run: Run
    stage: Search
    kept: tuple[str, ...]
    deadline_s: float | None
    """On time.monotonic's clock; None without a budget."""
    stopping: Stopping

    def __post_init__(self) -> None:
        self.session, self.progress = self.run.session, self.run.session.progress
        self.section: dict = {"metric": METRIC, "base": f"{self.stage.lane}-g{self.stage.block_size}"}
        self.skipped: list[str] = []
        self.blocks: dict[str, int] = {}
        """Stage -> blocks that were measured."""
        self.cut_short: dict[str, dict[str, int]] = {}
        self.verdicts: list[Verdict] = []
        self.aa: list[float] = []
        self.spread = Spread.pooled([])
        self.candidate: Verdict | None = None
        """What the window chose, and the confirmation put to the test."""
        self.fresh: Verdict | None = None
        """Its verdict on fresh boots."""
        self.winner = plans.drafting(self.stage.lane, self.stage.block_size)

    @property
    def points(self) -> list[Row]:
        return self.session.rows.points

    def aa_of(self, name: str) -> list[float]:
        """Log ratios of the A/A pairs in the quantity that a stage compares."""
        return detectable.aa_logs(self.points, name)

    @property
    def over(self) -> bool:
        """Whether the budget is used up, or somebody asked to stop."""
        return self.stopping.asked or (self.deadline_s is not None and time.monotonic() > self.deadline_s)

    @property
    def why(self) -> str:
        return "asked to stop" if self.stopping.asked else "the budget is used up"

    def measure(self, name: str, blocks: Sequence[Block], least: int = 1) -> None:
        """The blocks of a stage, as many as the time allows and `least` of them in any case."""
        done = 0
        for block in blocks:
            if done >= least and self.over:
                break
            self.session.run([block])
            done += 1
        self.blocks[name] = done
        if done < len(blocks):
            self.cut_short[name] = {"measured": done, "planned": len(blocks)}
            self.progress.say(f"{name}: cut short after {done} of {len(blocks)} blocks, {self.why}")

    def wants(self, name: str) -> bool:
        """Whether a stage is still to run; one that the clock has overtaken is said to be left out."""
        if name not in self.kept:
            return False
        if self.over and name in PARTS:
            self.skipped.append(name)
            self.progress.say(f"{name}: not measured, {self.why}")
            return False
        return True

    def noise(self) -> list[Row]:
        """A/A first: its spread, its false-alarm rate, and what the rest can hope to resolve."""
        self.measure("aa", plans.search_aa(self.stage), LEAST_AA)
        rows = noise_rows(self.points, self.run.campaign.name)
        self.aa = [row["log_ratio"] for row in rows if row["metric"] == METRIC]
        if not self.aa:
            return rows
        say = self.progress.say
        say(f"base against base: {len(self.aa)} pairs of boots, largest difference {100 * math.expm1(max(map(abs, self.aa))):.2f} % of TPOT")
        floor = Floor.of(self.points)
        if floor:
            self.session.tolerate(floor)
            say(f"cells are repeated when the machine's probe moves by more than {100 * self.session.tolerance:.1f} %")
        before = detectable.planned(self.points, {name: n for name, n in boots_of(self.stage).items() if name in self.kept})
        self.section["planned_detectable"] = before
        for name, value in before.items():
            say(detectable.planned_line(name, value))
        alarm = false_alarms(self.aa, (self.stage.window_repeats, self.stage.confirm_pairs))
        if alarm:
            self.section["false_alarm"] = alarm.as_dict()
            say(
                f"false alarms: {alarm.alarms} of {alarm.comparisons} relabelled A/A comparisons, {100 * alarm.rate:.1f} %"
                f" ({100 * alarm.lo:.0f} to {100 * alarm.hi:.0f} %, {alarm.interval}; {alarm.pairs} pairs of boots)"
            )
        if why := too_few(alarm, len(self.aa)):
            say(why)
        return rows

    def before_window(self) -> None:
        stage, session = self.stage, self.session
        if self.wants("memory"):
            self.section["memory"] = search_parts.memory(session, stage.memory, stage)
        if self.wants("factorial"):
            self.measure("factorial", plans_search.factorial(stage.factorial, stage))
            self.section["factorial"] = search_parts.factorial(self.points, stage.factorial, self.aa_of("factorial"))
        if self.wants("knobs"):
            self.measure("knobs", plans_search.knobs(stage.knobs, stage))
            self.section["knobs"] = search_parts.knobs(self.points, stage.knobs, self.aa_of("knobs"))
            if inert := search_parts.inert_pairs(self.section["knobs"]):
                self.section["inert_pairs"] = inert
            self.tell("knobs", knob_line)
        if self.wants("cache"):
            self.measure("cache", plans_search.cache(stage.cache))
            self.section["cache"] = search_parts.cache(self.points, stage.cache, self.aa_of("cache"))
            self.tell("cache", lambda one: f"{one['label']} on {one['dataset']}: {one['ratio']:.3f} of the throughput without it: {one['verdict']}")

    def tell(self, name: str, line: Callable[[dict], str]) -> None:
        for one in self.section[name]:
            self.progress.say(line(one))

    def window(self) -> None:
        """Every candidate against the base."""
        self.measure("window", plans.search_window(self.stage))
        self.verdicts, self.spread = judge(self.points, self.stage, self.aa_of("window"))
        for verdict in self.verdicts:
            self.progress.say(verdict.line())

    def after_window(self) -> None:
        stage = self.stage
        if self.wants("heads"):
            self.measure("heads", plans_search.heads(stage.heads, stage))
            self.section["heads"] = search_parts.heads(self.points, stage.heads, self.aa_of("heads"))
            self.tell("heads", lambda one: f"{one['label']} on {one['content']}: {one['ratio']:.3f} of {one['base']}'s speed: {one['verdict']}")
        if self.wants("lanes"):
            first, level = plans_search.FIRST["lanes"], (stage.max_concurrency,)
            self.measure("lanes", plans_search.lanes_at(plans_search.lane_candidates(stage.lanes), stage.lanes, stage, level, "lanes", first))
            best, self.section["lanes_tied_no_room"] = search_parts.best_of_lanes(self.points, stage.lanes, self.aa_of("lanes"))
            if tied := self.section["lanes_tied_no_room"]:
                self.progress.say(f"lanes: tied, no room on the frontier: {', '.join(tied)}")
            self.measure("frontier", plans_search.lanes_at(best, stage.lanes, stage, stage.lanes.levels, "frontier", first + 500))
            self.section["lanes"] = search_parts.frontier(self.points)
            self.section["lanes_against_plain"] = search_parts.against_plain(self.points, "lanes", self.aa_of("lanes"))

    def confirm(self) -> None:
        """The candidate against the base on fresh boots: it is the winner where it is better there, and the base is where it is not."""
        self.candidate = challenger(self.verdicts)
        if self.candidate:
            self.measure("confirm", plans.search_confirm(self.stage, self.candidate.arm))
            self.fresh = confirm(self.points, self.candidate.arm, self.aa_of("confirm"))
        if self.fresh:
            self.progress.say(f"on fresh boots: {self.fresh.line()}")
            if self.fresh.comparison.verdict == "better":
                self.winner = self.candidate.arm
        self.progress.say(f"winner: {self.winner.label}")

    def curve(self) -> None:
        if self.wants("curve"):
            self.measure("curve", plans_search.curve(self.stage.curve, self.stage, self.winner))
            self.section["curve_against_plain"] = search_parts.against_plain(self.points, "curve", self.aa_of("curve"))

    def rejected(self) -> list[str]:
        """Candidates that lost or could not run, as "stage/label": what the time spent on them was spent in vain for."""
        found = [f"window/{one.arm.label}" for one in self.verdicts if one.comparison.verdict == "worse"]
        found += [f"{row['stage']}/{row['label']}" for row in self.points if row["status"] in ("oom", "rejected") and not thrown_away(row)]
        found += [f"{name}/{one['label']}" for name in ("knobs", "heads") for one in self.section.get(name, ()) if one["verdict"] == "worse"]
        # a lane's own best goes on to the frontier, and what is not told from it did not lose
        kept = {one["label"] for one in self.section.get("lanes", ())}
        stay = {*kept, *self.section.get("lanes_tied_no_room", ())}
        found += [f"lanes/{row['label']}" for row in self.points if kept and row["stage"] == "lanes" and row["label"] not in stay]
        return [*found, *(["confirm/candidate"] if self.candidate and self.winner is not self.candidate.arm else [])]

    def decided(self, dropped: Sequence[str]) -> dict:
        """The `search` section of the manifest. Holm's family: every candidate and the confirmation."""
        fresh = self.fresh
        family = [*self.verdicts, *([fresh] if fresh else [])]
        achieved = {"window": detectable_ratio(self.spread, max(1, self.blocks.get("window", 0))), "confirm": fresh and fresh.comparison.minimum_detectable}
        compared = {name: self.section.get(name, []) for name in ("cache", "knobs", "heads")}
        compared |= {name: self.section.get(f"{name}_against_plain", []) for name in ("lanes", "curve")}
        compared["factorial"] = [one["against_best"] for one in self.section.get("factorial", {}).get("cells", ()) if "against_best" in one]
        achieved |= {name: detectable.worst(one) for name, one in compared.items()}
        achieved = {name: value for name, value in achieved.items() if value is not None}
        before = self.section.get("planned_detectable", {})
        for name, value in achieved.items():
            self.progress.say(detectable.achieved_line(name, value, before.get(name)))
        tested = [verdict for verdict in family if verdict.comparison.p is not None]
        adjusted = dict(zip(map(id, tested), holm([verdict.comparison.p for verdict in tested]), strict=True))

        def told(verdict: Verdict, note: str | None = None) -> dict:
            return {**verdict.as_dict(note), "p_holm": adjusted.get(id(verdict))}

        again = told(fresh, "fresh boots and prompts") if fresh else None
        return {
            **self.section,
            "winner": self.winner.label,
            "winner_arm": {"label": self.winner.label, "lane": self.winner.lane, "block_size": self.winner.block_size},
            **({"candidate": {"label": tried.arm.label, "window": told(tried), "confirm": again}} if (tried := self.candidate) else {}),
            "not_carried": [one["label"] for one in self.section.get("knobs", ()) if one["verdict"] == "better" and one["regime"] == "matched"],
            **({} if math.isnan(self.spread.sd) else {"noise_log_sd": self.spread.sd}),
            "candidates": [told(verdict) for verdict in self.verdicts],
            "confirm": again,
            "achieved_detectable": achieved,
            "detectable_metric": {name: detectable.compared(name) for name in sorted({*before, *achieved})},
            "probe_tolerance": self.session.tolerance,
            "repeats": repeats_of(self.stage, self.kept),
            "not_measured": [*dropped, *self.skipped, *(name for name in PARTS if not getattr(self.stage, name)), *([] if self.candidate else ["confirm"])],
            **({"stopped": True} if self.stopping.asked else {}),
            **({"cut_short": self.cut_short} if self.cut_short else {}),
            "ledger": ledger(self.session.cost, self.stage, dict.fromkeys(self.rejected())),
        }


def allotted(stage: Search, budget_s: float | None) -> tuple[Search, Allotment, list[str]]:
    """The search as the budget has it: stages given up where it is short, repeats added where it is long; and what to say of that."""
    parts = [Part(name, total_s(blocks), droppable=name in PARTS) for name, blocks in planned(stage).items()]
    allotment = allot(parts, DROP_ORDER, budget_s)
    if budget_s is None:
        return stage, allotment, []

    def seconds(larger: Search) -> float:
        return sum(total_s(blocks) for name, blocks in planned(larger).items() if name in allotment.kept)

    larger = grown(stage, allotment.kept, seconds, budget_s)
    before, after = repeats_of(stage, allotment.kept), repeats_of(larger, allotment.kept)
    lines = allotment.lines(budget_s, parts)
    lines += [f"{name}: {after[name]} repeats instead of {before[name]}, which the budget allows" for name in before if after[name] > before[name]]
    return larger, replace(allotment, seconds=seconds(larger)), lines


def measure(args: argparse.Namespace, argv: Sequence[str]) -> int:
    campaign = load(args)
    budget_s = duration_s(args.budget) if args.budget is not None else None
    stage, allotment, lines = allotted(campaign.stage("search"), budget_s)
    if args.dry_run:
        kept = [block for name, blocks in planned(stage).items() if name in allotment.kept for block in blocks]
        dry_run(PROGRAM, campaign, plans.framed(kept), args.json)
        if not args.json:
            print("\n".join([f"drop order: {', '.join(DROP_ORDER)}", *lines]))
        return 0
    with Progress(f"search of campaign {campaign.name}", allotment.seconds, args.log, args.quiet) as progress:
        run = Run.start(campaign, "search", argv, args, progress)
        for line in lines:
            progress.say(line)
        with Stopping(progress.say) as stopping:
            searching = Searching(run, stage, allotment.kept, None if budget_s is None else time.monotonic() + budget_s, stopping)
            session = run.session
            session.run([plans.sentinel("start", 0)])
            noise = searching.noise()
            searching.before_window()
            searching.window()
            searching.after_window()
            searching.confirm()
            searching.curve()
            session.run([plans.sentinel("end", 1)])
            tables = {**tables_of(session, "search", "search"), "noise.csv": ("noise", noise)}
            section = searching.decided(allotment.dropped)
            files = run.publish(args.out, tables, {"search.csv": {"search": section}}, finished=not stopping.asked)
            closing(run, files, args.json, {"search": section})
    return INTERRUPTED if stopping.asked else 0


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = flags(
        f"python -m {PROGRAM}", "Measure the noise, search the verify window at one matched load, confirm the winner. Times are wall-clock."
    )
    parser.add_argument("--budget", metavar="TIME", help="time the search may take, 90s, 20m or 8h; stages are given up in a printed order until it fits, and what is left over goes into repeats (default: no limit)")
    args = parser.parse_args(words)
    return guarded(lambda parsed: measure(parsed, [PROGRAM, *words]), args, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
