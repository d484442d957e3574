"""What the gate concludes from its rows: one check a clause, each with its number, its bound and a verdict. Pure."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from statistics import fmean

from engine.bench import gate_plan as plan
from engine.bench import gate_served
from engine.bench.gate_stats import paired, sign_flip
from engine.bench.stages import Gate
from engine.csvio import Row

PASS, FAIL, UNRESOLVED, NOTE, SKIPPED = "pass", "fail", "not resolved", "note", "skipped"
VARIETY_P = 0.01
ANSWERS, VARIETY = "answers", "variety"
MUST_FAIL = {"greedy-verify": (VARIETY,)}
"""Fault -> the checks that see it, all of which must fail: another one that fails beside them may do so by chance."""


@dataclass(frozen=True)
class Check:
    config: str
    name: str
    verdict: str
    """pass, fail, not resolved; `note` and `skipped` decide nothing."""
    value: float | None
    bound: float | None
    detail: str
    numbers: dict

    def as_dict(self) -> dict:
        return asdict(self)


def select(rows: Sequence[Row], config: str, task: str) -> list[Row]:
    return [row for row in rows if row["config"] == config and row["task"] == task]


def by_problem(rows: Sequence[Row], column: str) -> dict[str, list]:
    """Problem -> that column of its repeats, in order."""
    found: dict[str, list] = defaultdict(list)
    for row in sorted(rows, key=lambda row: row["repeat"]):
        found[row["problem"]].append(row[column])
    return dict(found)


def share(rows: Sequence[Row], column: str) -> float:
    return fmean(row[column] for row in rows)


def accuracy(rows: Sequence[Row], config: str, task: str, margin: float) -> Check:
    """Non-inferiority of a candidate's score to the base's, problem by problem."""
    base, other = (by_problem(select(rows, name, task), "correct") for name in (plan.BASE, config))
    common = [problem for problem in base if problem in other]
    if len(common) < 2:
        return Check(config, f"{task} accuracy", UNRESOLVED, None, -margin, f"{len(common)} problems in common with {plan.BASE}", {})
    if not any(value for problem in common for value in base[problem]):
        # it would be called non-inferior whatever it answered
        return Check(config, f"{task} accuracy", UNRESOLVED, None, -margin, f"{plan.BASE} answers none of {len(common)} problems rightly, so none can be lost", {})
    found = paired([base[p] for p in common], [other[p] for p in common], margin)
    verdict = {"non-inferior": PASS, "inferior": FAIL}.get(found.verdict, UNRESOLVED)
    words = f"{found.verdict}: {100 * found.mean:+.2f} points, at least {100 * found.lo:+.2f} (95 % one-sided), margin {100 * margin:.1f}"
    if found.needed:
        words += f"; about {found.needed} problems would resolve it"
    score = {"score": share(select(rows, config, task), "correct"), "base_score": share(select(rows, plan.BASE, task), "correct")}
    return Check(config, f"{task} accuracy", verdict, found.mean, -margin, words, found.as_dict() | score)


def text_health(rows: Sequence[Row], config: str, stage: Gate) -> list[Check]:
    """Stop rate, answers and degeneration over the checkable halves, and degeneration of sampled text, against the base's.

    Text has a share of its own: it ends at its limit and has no answer, and what goes in circles would be lost among so many short answers.
    One answer decides nothing, however few there are.
    """
    checks, halves = [], (plan.GREEDY, plan.SAMPLED)
    clauses = [("truncated", "truncated", 0, halves), ("no answer", "answered", 1, halves), ("degenerate", "degenerate", 0, halves)]
    for name, column, good, tasks in (*clauses, ("text degenerate", "degenerate", 0, (plan.TEXT,))):
        own, base = ([row for task in tasks for row in select(rows, label, task)] for label in (config, plan.BASE))
        if not own or not base:
            continue
        value, normal = (fmean(int(row[column] != good) for row in part) for part in (own, base))
        bound = normal + max(stage.health_margin, 1 / len(own))
        checks.append(Check(config, name, PASS if value <= bound else FAIL, value, bound, f"{100 * value:.2f} %, base {100 * normal:.2f} %", {}))
    return checks


def lossless(rows: Sequence[Row], config: str, reference: str) -> Check:
    """Greedy outputs token by token, against a reference configuration; as text, and called so, where a server hands out no ids."""
    found = [select(rows, name, plan.GREEDY) for name in (reference, config)]
    column = output_column(found)
    # different tokens may spell the same text, so the weaker check has a name of its own
    name, unit, split, how = {
        "output_ids": ("lossless", "token", str.split, f"equal {reference}'s token for token"),
        "output": ("same text", "character", str, f"read as {reference}'s; the server hands out no token ids, so text was compared"),
    }[column]
    left, right = ({problem: [str(value or "") for value in values] for problem, values in by_problem(part, column).items()} for part in found)
    common = [problem for problem in right if problem in left]
    differing = [problem for problem in common if left[problem] != right[problem]]
    places = [divergence(split(left[p][0]), split(right[p][0])) for p in differing]
    value = len(differing) / len(common) if common else None
    words = f"{len(common) - len(differing)} of {len(common)} outputs {how}"
    if places:
        words += f"; first divergence at {unit} {min(places)}"
    verdict = UNRESOLVED if not common else FAIL if differing else PASS
    return Check(config, name, verdict, value, 0.0, words, {"compared": len(common), "equal": len(common) - len(differing)})


def output_column(found: Sequence[Sequence[Row]]) -> str:
    """Where outputs are compared: their token ids, or their text where a server has left an answer without ids."""
    return "output_ids" if all(row["output_ids"] or not row["osl"] for part in found for row in part) else "output"


def skipped(config: str, name: str, why: str) -> Check:
    return Check(config, name, SKIPPED, None, None, why, {})


def divergence(left: Sequence[str], right: Sequence[str]) -> int:
    """Index of the first token, or character, that differs."""
    return next((i for i, (a, b) in enumerate(zip(left, right, strict=False)) if a != b), min(len(left), len(right)))


def bits(rows: Sequence[Row], config: str, reference: str, silent: bool, served: bool) -> Check:
    """Log probabilities and histograms, bit by bit: a silent knob may not move one, the state's precision must."""
    moved, compared = 0, 0
    own = {row["problem"]: row for row in select(rows, config, plan.GREEDY)}
    for row in select(rows, reference, plan.GREEDY):
        other = own.get(row["problem"])
        if other is None or row["logprob_sha"] is None or other["logprob_sha"] is None:
            continue
        compared += 1
        moved += row["logprob_sha"] != other["logprob_sha"] or (silent and row["accepted_histogram"] != other["accepted_histogram"])
    name = "bit-equal" if silent else "positive control"
    if not compared and served:
        return skipped(config, name, gate_served.NO_LOGPROBS)
    if not compared:
        return Check(config, name, UNRESOLVED, None, 0.0, "no log probabilities were recorded", {"compared": 0})
    good = (moved == 0) if silent else (moved > 0)
    words = f"log probabilities differ from {reference}'s in {moved} of {compared} outputs"
    return Check(config, name, PASS if good else FAIL, moved / compared, 0.0, words, {"compared": compared, "moved": moved})


def variety(rows: Sequence[Row], config: str) -> Check:
    """Sampled text must be as various as the base's: a verifier that decides greedily gives the same text every time."""
    found = [select(rows, name, plan.TEXT) for name in (plan.BASE, config)]
    column = output_column(found)
    base, other = (by_problem(part, column) for part in found)
    common = [problem for problem in base if problem in other]
    if len(common) < 2:
        return Check(config, VARIETY, UNRESOLVED, None, None, "fewer than two texts were sampled", {})
    a, b = ([len(set(one[p])) / len(one[p]) for p in common] for one in (base, other))
    p = sign_flip(a, b)
    bad = p < VARIETY_P and fmean(b) < fmean(a)
    words = f"{fmean(b):.2f} of the repeats differ, base {fmean(a):.2f} (p {p:.2g}; fails below {VARIETY_P})"
    return Check(config, VARIETY, FAIL if bad else PASS, fmean(b), fmean(a), words, {"p": p})


def floor(rows: Sequence[Row], config: str, stage: Gate, served: bool) -> Check:
    """Speculation that accepts nothing is broken, however right its answers are."""
    own = select(rows, config, plan.GREEDY)
    if served and all(row["rounds"] is None for row in own):
        return skipped(config, "accept length floor", gate_served.NO_ROUNDS)
    rounds, accepted = sum(row["rounds"] or 0 for row in own), sum(row["accepted"] or 0 for row in own)
    value = 1 + accepted / rounds if rounds else None
    verdict = FAIL if value is None or value < stage.accept_floor else PASS
    words = "no round was run" if value is None else f"accept length {value:.2f} over {rounds} rounds, floor {stage.accept_floor}"
    return Check(config, "accept length floor", verdict, value, stage.accept_floor, words, {"rounds": rounds})


def binding(rows: Sequence[Row], config: str) -> list[Check]:
    """Whether a silent setting had anything to do; nothing where its rows do not tell."""
    steps = next((row.get("bound_steps") for row in select(rows, config, plan.GREEDY)), None)
    if steps is None:
        return []
    words = f"the setting kept a request waiting in {steps} steps" if steps else "inert by construction: the setting kept no request waiting, so equal bits say nothing of it"
    return [Check(config, "could bind", NOTE, steps, None, words, {})]


def unanswered(config: plan.Config, failed: Row | None) -> Check:
    """Of a configuration that was to be asked and gave no answer: a candidate that cannot serve fails, and a control that did not run shows nothing."""
    words = f"{failed['status']}: {failed['note']}" if failed else "it was planned, and there is no row of it"
    status = failed["status"] if failed else None
    return Check(config.arm.label, ANSWERS, FAIL if config.role == "candidate" else UNRESOLVED, 0.0, None, words, {"status": status})


def asked(rows: Sequence[Row], configs: Sequence[plan.Config]) -> list[plan.Config]:
    """The configurations that were not skipped, whether or not they answered."""
    left_out = {row["config"] for row in rows if row.get("status") == SKIPPED}
    return [config for config in configs if config.arm.label not in left_out]


def verdicts(every: Sequence[Row], stage: Gate, configs: Sequence[plan.Config], served: bool = False) -> list[Check]:
    """Every check of every configuration that was not skipped. `served`: over HTTP, so what is not there was not to be had."""
    rows = [row for row in every if row.get("status") is None]
    failed = {row["config"]: row for row in every if row.get("status") not in (None, SKIPPED)}
    ran = {row["config"] for row in rows}
    checks: list[Check] = []
    reference = next((c.arm.label for c in configs if c.role == "candidate"), plan.BASE)
    for config in asked(every, configs):
        label = config.arm.label
        if config.role == "base":
            continue
        if label not in ran:
            checks.append(unanswered(config, failed.get(label)))
            continue
        if config.role == "control":
            checks.append(lossless(rows, label, plan.BASE))
            continue
        if config.role == "silent":
            checks += [lossless(rows, label, reference), bits(rows, label, reference, silent=True, served=served), *binding(rows, label)]
            continue
        margins = {plan.GREEDY: stage.margin, plan.SAMPLED: stage.sampled_margin}
        checks += [accuracy(rows, label, task, margin) for task, margin in margins.items() if task in config.tasks]
        checks += text_health(rows, label, stage)
        if config.role == "numeric":
            checks.append(bits(rows, label, plan.BASE, silent=False, served=served))
        elif config.role == "candidate":
            checks += [lossless(rows, label, plan.BASE), floor(rows, label, stage, served)]
        if plan.TEXT in config.tasks:
            checks.append(variety(rows, label))
    return checks


def outcome(checks: Sequence[Check], config: str) -> str:
    """fail, not resolved or pass, the worst of a configuration's checks; skipped where every one of them was."""
    found = {check.verdict for check in checks if check.config == config}
    return next((verdict for verdict in (FAIL, UNRESOLVED) if verdict in found), SKIPPED if found == {SKIPPED} else PASS)


def caught(checks: Sequence[Check], config: plan.Config) -> bool | None:
    """Whether every check that must see a fault has failed, whatever others did; None where the broken configuration gave no answer."""
    own = {check.name: check.verdict for check in checks if check.config == config.arm.label}
    return None if ANSWERS in own or not own else all(own.get(name) == FAIL for name in MUST_FAIL[config.fault])


def overall(checks: Sequence[Check], configs: Sequence[plan.Config]) -> str:
    """The gate passes when nothing that should pass fails and the broken configuration is caught; without any candidate it judged nothing.

    `configs`: those that were not skipped.
    """
    if not any(config.role == "candidate" for config in configs):
        return UNRESOLVED
    broken = [config for config in configs if config.fault]
    seen = [caught(checks, config) for config in broken]
    rest = {outcome(checks, label) for label in {check.config for check in checks} - {config.arm.label for config in broken}}
    if False in seen or FAIL in rest:
        return FAIL
    return UNRESOLVED if None in seen or UNRESOLVED in rest else PASS
