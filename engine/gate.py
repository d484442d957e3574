"""The accuracy gate: greedy half, sampled half and sampled text of every configuration, compared with plain decoding.

Writes gate.csv (a row a sample, raw output included) and its manifest, whose section `gate` holds every verdict. The gate's own
controls run with it: plain against plain, a state of lower precision that must move the logits, and a configuration that is
broken on purpose and must fail. Over HTTP the halves are the same; what a server cannot give is skipped, check by check, with its
reason, and text stands for tokens where it hands out no ids. Exit code 0: the gate passed; 1: it failed or could not resolve; 2: bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence

from engine import csvio, manifest
from engine.arguments import file_path
from engine.bench import gate_checks, gate_plan, gate_served
from engine.bench.campaign import Campaign
from engine.bench.command import Run, flags, guarded, load, writable
from engine.bench.estimate import minutes
from engine.bench.gate_kept import Kept
from engine.bench.gate_run import COSTS, GateRunner, planned_s, samples_s
from engine.bench.gate_score import scored
from engine.bench.gate_stats import needed_for, unseen
from engine.bench.gate_winner import Winner, searched
from engine.bench.progress import Progress
from engine.bench.stages import Gate
from engine.config import ConfigError
from engine.csvio import Row
from engine.machine import Machine

PROGRAM = "engine.gate"


def section(every: Sequence[Row], stage: Gate, winner: Winner | None = None, rescored: bool = False, served: bool = False) -> dict:
    """The `gate` section of the manifest. `served`: the answers came over HTTP."""
    configs = gate_plan.configs(stage, winner)
    checks = gate_checks.verdicts(every, stage, configs, served)
    left_out = [{"config": row["config"], "check": None, "reason": row["note"]} for row in every if row.get("status") == csvio.SKIPPED]
    left_out += [{"config": check.config, "check": check.name, "reason": check.detail} for check in checks if check.verdict == gate_checks.SKIPPED]
    asked = gate_checks.asked(every, configs)
    silence = {check.config: check for check in checks if check.name == gate_checks.ANSWERS}
    control = [gate_checks.outcome(checks, c.arm.label) == gate_checks.PASS for c in asked if c.role == "control" and c.arm.label not in silence]
    broken = [config for config in asked if config.fault]
    positive = [check.verdict == gate_checks.PASS for check in checks if check.name == "positive control" and check.verdict != gate_checks.SKIPPED]
    return {
        "verdict": gate_checks.overall(checks, asked),
        "margins": {name: getattr(stage, name) for name in ("margin", "sampled_margin", "health_margin", "accept_floor")},
        "configs": {c.arm.label: {"role": c.role, "outcome": gate_checks.outcome(checks, c.arm.label)} for c in asked if c.role != "base"},
        **({"winner": {**winner.as_dict(), "config": gate_plan.label_of(winner, configs)}} if winner else {}),
        "planned": planned(stage),
        "checks": [check.as_dict() for check in checks],
        "controls": {
            "off_off_lossless": all(control) if control else None,
            "broken_fails": gate_checks.caught(checks, broken[0]) if broken else None,
            "state_moves": all(positive) if positive else None,
        },
        **({"broken": broken_section(checks, broken[0])} if broken and broken[0].arm.label not in silence else {}),
        **({"unanswered": [unanswered_section(c, silence[c.arm.label]) for c in asked if c.arm.label in silence]} if silence else {}),
        **({"skipped": left_out} if left_out else {}),
        **({"rescored": True} if rescored else {}),
    }


def broken_section(checks: Sequence[gate_checks.Check], config: gate_plan.Config) -> dict:
    """Which checks must see the fault, and which failed."""
    failed = [check.name for check in checks if check.config == config.arm.label and check.verdict == gate_checks.FAIL]
    return {"config": config.arm.label, "fault": config.fault, "must_fail": list(gate_checks.MUST_FAIL[config.fault]), "failed": failed}


def unanswered_section(config: gate_plan.Config, check: gate_checks.Check) -> dict:
    return {"config": config.arm.label, "role": config.role, "status": check.numbers["status"], "reason": check.detail}


def planned(stage: Gate) -> dict:
    """Half -> problems, margin, and the share that can be told at best, when no problem differs. Known before anything runs."""
    halves = ((gate_plan.GREEDY, stage.problems, stage.margin), (gate_plan.SAMPLED, stage.sampled_problems, stage.sampled_margin))
    return {task: {"problems": count, "margin": margin, "detectable": unseen(count)} for task, count, margin in halves}


def declaration(stage: Gate, winner: Winner | None) -> list[str]:
    """What is said before anything runs: what can be resolved, and whether a search's winner is judged as well."""
    said = []
    for task, one in planned(stage).items():
        enough = one["detectable"] <= one["margin"]
        more = "" if enough else f", so it stays open: {needed_for(one['margin'])} problems would resolve it where none differs"
        said.append(
            f"{task}: {one['problems']} problems tell a loss from {100 * one['detectable']:.2f} points at best, margin {100 * one['margin']:.1f}{more}"
        )
    if winner is None:
        return [*said, "no search of this machine beside it: the configurations that the campaign names are judged"]
    label = gate_plan.label_of(winner, gate_plan.configs(stage, winner))
    fresh = f" (on fresh boots: {winner.confirmed})" if winner.confirmed else ""
    return [*said, f"the search's winner, {winner.label}{fresh}, is judged as {label}"]


def achieved(found: dict) -> list[str]:
    """What the accuracy checks of the candidates could tell, by half."""
    said = []
    for task in found["planned"]:
        own = [check for check in found["checks"] if check["name"] == f"{task} accuracy" and found["configs"][check["config"]]["role"] == "candidate"]
        reaches = [check["numbers"]["mean"] - check["numbers"]["lo"] for check in own if check["numbers"]]
        if reaches:
            said.append(f"{task}: a loss from {100 * max(reaches):.2f} points could be told")
    return said


def lines(found: dict) -> list[str]:
    """What a reader wants on the terminal."""
    said = [f"{check['config']}: {check['name']}: {check['verdict']}: {check['detail']}" for check in found["checks"]]
    left_out = found.get("skipped", [])
    if "broken" in found:
        seen = "is caught" if found["controls"]["broken_fails"] else "is NOT caught"
        said.append(f"{found['broken']['config']} {seen}: must fail {', '.join(found['broken']['must_fail'])}; failed {', '.join(found['broken']['failed']) or 'none'}")
    said += [f"{one['config']}: skipped: {one['reason']}" for one in left_out if one["check"] is None]
    configurations = sum(one["check"] is None for one in left_out)
    more = f"; skipped: configurations {configurations}, checks {len(left_out) - configurations}" if left_out else ""
    return [*said, *achieved(found), f"gate: {found['verdict']}{more}"]


def dry_run(campaign: Campaign, stage: Gate, winner: Winner | None, as_json: bool) -> None:
    """Configurations, samples and minutes."""
    planned_configs = gate_plan.configs(stage, winner)
    reasons = {config.arm.label: why for config in planned_configs if (why := gate_served.why_not(campaign, config))}
    configs = [config for config in planned_configs if config.arm.label not in reasons]
    held_out = {gate_plan.GREEDY: stage.problems, gate_plan.SAMPLED: stage.sampled_problems * stage.repeats, gate_plan.TEXT: stage.texts * stage.text_repeats}
    limits = {gate_plan.TEXT: stage.text_tokens}
    samples, seconds = {}, COSTS.start_s
    for config in configs:
        counts = {task: held_out[task] for task in config.tasks}
        if config.role in ("control", "silent"):
            counts = {task: min(count, stage.control_problems) for task, count in counts.items()}
        samples[config.arm.label] = sum(counts.values())
        seconds += COSTS.boot_s
        seconds += sum(samples_s(task, count, limits.get(task, stage.max_tokens), stage.max_concurrency) for task, count in counts.items())
    if as_json:
        about = {"command": PROGRAM, "campaign": campaign.name, "preset": campaign.preset, "boots": len(configs), "samples": samples}
        about |= {"skipped": reasons} if reasons else {}
        print(json.dumps({**about, "estimated_minutes": round(seconds / 60, 2), "planned": planned(stage)}))
        return
    for config in configs:
        print(f"{config.arm.label} ({config.role}): {', '.join(config.tasks)}, {samples[config.arm.label]} samples")
    for label, why in reasons.items():
        print(f"{label}: skipped: {why}")
    print("\n".join(declaration(stage, winner)))
    print(f"{PROGRAM}, preset {campaign.preset}: {sum(samples.values())} samples, {len(configs)} boots, about {minutes(seconds)} on one thread")


def measure(args: argparse.Namespace, argv: Sequence[str]) -> int:
    if args.rescore:
        return rescore(args)
    campaign = load(args)
    stage = campaign.stage("gate")
    winner = searched((args.out, campaign.path.parent), Machine.read().host)
    if args.dry_run:
        dry_run(campaign, stage, winner, args.json)
        return 0
    configs = gate_plan.configs(stage, winner)
    with Progress(f"gate of campaign {campaign.name}", COSTS.boot_s * len(configs), args.log, args.quiet) as progress:
        run = Run.start(campaign, "gate", argv, args, progress)
        session = run.session
        runner = GateRunner(session, stage, lambda text: run.tokenizer.encode(text, bos=False), run.tokenizer.decode)
        asked = gate_plan.questions(stage, campaign.name, campaign.seed, session.held_out)
        progress.estimate_s = sum(planned_s(gate_plan.share_of(config, stage, asked), stage.max_concurrency) for config in configs)
        for line in declaration(stage, winner):
            progress.say(line)
        # the base comes first: without it nothing is asked of the others
        runner.run(configs[0], asked, left=len(configs) - 1)
        base = {"status": None, **runner.rows[0]}
        if base["status"] == csvio.SKIPPED:
            return without_base(run, args, base["note"])
        if base["status"] is not None:
            raise ConfigError(f"the base configuration could not be run, so there is nothing to compare with: {base['status']}: {base['note']}")
        for place, config in enumerate(configs[1:], 2):
            runner.run(config, asked, left=len(configs) - place)
        found = section(runner.rows, stage, winner, served=campaign.server is not None)
        files = run.publish(args.out, {"gate.csv": ("gate", runner.rows)}, {"gate.csv": {"gate": found}})
        for line in lines(found):
            progress.say(line)
    if args.json:
        print(json.dumps({"files": [str(path) for path in files], "gate": found}, ensure_ascii=False))
    return 0 if found["verdict"] == gate_checks.PASS or args.report_only else 1


def without_base(run: Run, args: argparse.Namespace, why: str) -> int:
    """The files of a gate whose server does not decode plainly: one skipped row. No verdict is no pass."""
    note = f"skipped: {why}, so there is nothing to compare with"
    files = run.publish(args.out, {"gate.csv": ("gate", [csvio.skipped("gate", note, campaign=run.campaign.name)])}, {})
    if args.json:
        print(json.dumps({"files": [str(path) for path in files], "skipped": note}, ensure_ascii=False))
    return 0 if args.report_only else 1


def rescore(args: argparse.Namespace) -> int:
    """Score kept outputs again, with this version's scorer and the campaign's margins; nothing is run. With --dry-run nothing is written either."""
    campaign = load(args)
    kept = Kept.read(args.rescore, campaign.stage("gate"))
    rows = [scored(row) if row.get("status") is None else row for row in kept.rows]
    found = section(rows, kept.stage, kept.winner, rescored=True, served=kept.served)
    if not args.dry_run:
        content = csvio.render("gate", rows, "gate.csv")
        about = {**kept.about, "rows": len(rows), "sha256": manifest.sha256(content), "gate": found}
        files = {args.out / "gate.csv": content, args.out / "gate.manifest.json": manifest.render(about)}
        writable(args.out)
        csvio.publish(files)
    print(json.dumps({"gate": found}, ensure_ascii=False) if args.json else "\n".join(lines(found)))
    return 0 if found["verdict"] == gate_checks.PASS or args.report_only else 1


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = flags(f"python -m {PROGRAM}", "Compare what configurations answer with what plain decoding answers. Margins are shares (0.03 = 3 points).")
    parser.add_argument("--rescore", type=file_path, metavar="GATE_CSV", help="score the kept outputs of this gate.csv again; runs nothing, writes into --out (default: measure)")
    parser.add_argument("--report-only", action="store_true", help="exit 0 whatever the verdict, where a page wants to show a failed gate")
    args = parser.parse_args(words)
    return guarded(lambda parsed: measure(parsed, [PROGRAM, *words]), args, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
