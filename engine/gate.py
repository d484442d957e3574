"""The accuracy gate: greedy half, sampled half and sampled text of every configuration, compared with plain decoding.

Writes gate.csv (a row a sample, raw output included) and its manifest, whose section `gate` holds every verdict. The gate's own
controls run with it: plain against plain, a state of lower precision that must move the logits, and a configuration that is
broken on purpose and must fail. Exit code 0: the gate passed; 1: it failed or could not resolve; 2: bad input.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine import csvio, manifest
from engine.bench import gate_checks, gate_plan
from engine.bench.command import Run, flags, guarded, load
from engine.bench.estimate import minutes
from engine.bench.gate_run import GateRunner, planned_s
from engine.bench.gate_score import scored
from engine.bench.progress import Progress
from engine.bench.stages import Gate
from engine.config import ConfigError
from engine.csvio import Row

PROGRAM = "engine.gate"


def section(rows: Sequence[Row], stage: Gate, rescored: bool = False) -> dict:
    """The `gate` section of the manifest."""
    configs = gate_plan.configs(stage)
    checks = gate_checks.verdicts(rows, stage, configs)
    ran = [config for config in configs if any(row["config"] == config.arm.label for row in rows)]

    def control(role: str, good: str) -> bool | None:
        labels = [config.arm.label for config in ran if config.role == role]
        return all(gate_checks.outcome(checks, label) == good for label in labels) if labels else None

    positive = [check.verdict == gate_checks.PASS for check in checks if check.name == "positive control"]
    return {
        "verdict": gate_checks.overall(checks, ran),
        "margins": {name: getattr(stage, name) for name in ("margin", "sampled_margin", "health_margin", "accept_floor")},
        "configs": {c.arm.label: {"role": c.role, "outcome": gate_checks.outcome(checks, c.arm.label)} for c in ran if c.role != "base"},
        "checks": [check.as_dict() for check in checks],
        "controls": {
            "off_off_lossless": control("control", gate_checks.PASS),
            "broken_fails": control("broken", gate_checks.FAIL),
            "state_moves": all(positive) if positive else None,
        },
        **({"rescored": True} if rescored else {}),
    }


def lines(found: dict) -> list[str]:
    """What a reader wants on the terminal."""
    said = [f"{check['config']}: {check['name']}: {check['verdict']}: {check['detail']}" for check in found["checks"]]
    return [*said, f"gate: {found['verdict']}"]


def dry_run(campaign, stage: Gate, as_json: bool) -> None:
    configs = gate_plan.configs(stage)
    counts = {gate_plan.GREEDY: stage.problems, gate_plan.SAMPLED: stage.sampled_problems * stage.repeats, gate_plan.TEXT: stage.texts * stage.text_repeats}
    samples = {config.arm.label: sum(counts[task] for task in config.tasks) for config in configs}
    seconds = sum(2.0 + count * 36 / stage.max_concurrency * 0.022 for count in samples.values())
    if as_json:
        print(json.dumps({"command": PROGRAM, "campaign": campaign.name, "preset": campaign.preset, "boots": len(configs), "samples": samples,
                          "estimated_minutes": round(seconds / 60, 2)}))
        return
    for config in configs:
        print(f"{config.arm.label} ({config.role}): {', '.join(config.tasks)}, {samples[config.arm.label]} samples")
    print(f"{PROGRAM}, preset {campaign.preset}: {sum(samples.values())} samples, {len(configs)} boots, about {minutes(seconds)} on one thread")


def measure(args: argparse.Namespace, argv: Sequence[str]) -> int:
    if args.rescore:
        return rescore(args)
    campaign = load(args)
    stage = campaign.stage("gate")
    if args.dry_run:
        dry_run(campaign, stage, args.json)
        return 0
    configs = gate_plan.configs(stage)
    estimate = sum(planned_s([], 1) for _ in configs)
    with Progress(f"gate of campaign {campaign.name}", estimate, args.log, args.quiet) as progress:
        run = Run.start(campaign, "gate", argv, args, progress)
        session = run.session
        runner = GateRunner(session, stage, lambda text: run.tokenizer.encode(text, bos=False), run.tokenizer.decode)
        asked = gate_plan.questions(stage, campaign.name, campaign.seed, session.held_out)
        progress.estimate_s = sum(planned_s([q for q in asked if q.task in c.tasks], stage.max_concurrency) for c in configs)
        for config in configs:
            runner.run(config, asked)
        if not any(row["config"] == gate_plan.BASE for row in runner.rows):
            raise ConfigError("the base configuration could not be run, so there is nothing to compare with; the log says why")
        found = section(runner.rows, stage)
        files = run.publish(args.out, {"gate.csv": ("gate", runner.rows)}, {"gate.csv": {"gate": found}})
        for line in lines(found):
            progress.say(line)
    if args.json:
        print(json.dumps({"files": [str(path) for path in files], "gate": found}, ensure_ascii=False))
    return 0 if found["verdict"] == gate_checks.PASS or args.report_only else 1


def rescore(args: argparse.Namespace) -> int:
    """Score kept outputs again, with this version's scorer and the campaign's margins; nothing is run."""
    campaign = load(args)
    stage = campaign.stage("gate")
    about_path = args.rescore.with_name("gate.manifest.json")
    try:
        about = json.loads(about_path.read_text("utf8"))
    except json.JSONDecodeError as error:
        raise ConfigError(f"{about_path}: line {error.lineno} is not JSON; the manifest stands beside the gate.csv that was measured") from None
    rows = [scored(row) for row in csvio.read("gate", args.rescore)]
    ran = about.get("config", {})
    stage = replace(stage, **{name: retuple(ran[name]) for name in ("block_sizes", "lanes", "silent") if name in ran})
    found = section(rows, stage, rescored=True)
    content = csvio.render("gate", rows, "gate.csv")
    about = {**about, "rows": len(rows), "sha256": manifest.sha256(content), "gate": found}
    args.out.mkdir(parents=True, exist_ok=True)
    csvio.publish({args.out / "gate.csv": content, args.out / "gate.manifest.json": manifest.render(about)})
    print(json.dumps({"gate": found}, ensure_ascii=False) if args.json else "\n".join(lines(found)))
    return 0 if found["verdict"] == gate_checks.PASS or args.report_only else 1


def retuple(value: object) -> object:
    return tuple(retuple(one) for one in value) if isinstance(value, list) else value


def main(argv: Sequence[str] | None = None) -> int:
    words = list(sys.argv[1:] if argv is None else argv)
    parser = flags(f"python -m {PROGRAM}", "Compare what configurations answer with what plain decoding answers. Margins are shares (0.03 = 3 points).")
    parser.add_argument("--rescore", type=Path, metavar="GATE_CSV", help="score the kept outputs of this gate.csv again; runs nothing, writes into --out")
    parser.add_argument("--report-only", action="store_true", help="exit 0 whatever the verdict, where a page wants to show a failed gate")
    args = parser.parse_args(words)
    return guarded(lambda parsed: measure(parsed, [PROGRAM, *words]), args, PROGRAM)


if __name__ == "__main__":
    sys.exit(main())
