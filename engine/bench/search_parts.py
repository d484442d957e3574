"""The search's optional stages: run them, and say what their rows decide."""

from __future__ import annotations

import math
from collections.abc import Sequence
from statistics import fmean

from engine.bench import plans_search
from engine.bench.binding import INERT, could_bind, judged
from engine.bench.ceiling import Outcome
from engine.bench.ceiling import search as search_ceiling
from engine.bench.cells import Arm
from engine.bench.compare import Comparison, Spread, compare
from engine.bench.detectable import RATE, logs_of
from engine.bench.session import Session
from engine.bench.stages import Cache, Factorial, Heads, Knobs, Lanes, Memory, Search
from engine.bench.verdicts import TIME, against_base, finished, geometric, pair_values
from engine.csvio import Row


def memory(session: Session, stage: Memory, search: Search) -> dict:
    """The ceiling of each lane; the `memory` part of the manifest."""
    found = {}
    number = 0
    for lane in plans_search.memory_lanes(stage, search):

        def probe(label: str, fraction: float, lane: str = lane) -> Outcome:
            nonlocal number
            arm = plans_search.memory_arm(lane, stage, search, fraction, label)
            block = plans_search.hostile(stage, arm, number)
            number += 1
            session.run([block])
            row = next(row for row in reversed(session.rows.points) if row["boot"] == block.number)
            status = row["status"] if row["status"] != "ok" or not row["failed"] else partial(session.rows.requests, row["run_id"])
            return Outcome(status, row.get("available_mem_bytes"), row.get("activation_peak_bytes"))

        one = search_ceiling(probe, stage.device_bytes, stage.anchor, stage.step, stage.boots)
        tried = [{"label": a.label, "fraction": a.fraction, "status": a.outcome.status} for a in one.attempts]
        found[lane] = {
            "fraction": one.fraction,
            "floor_prediction": one.floor_prediction,
            "peak_prediction": one.peak_prediction,
            "bounded": one.bounded,
            "attempts": tried,
        }
        session.progress.say(f"memory ceiling, {lane}: {one.fraction} (floor predicts {one.floor_prediction}, floor + peak {one.peak_prediction})")
    return found


def partial(requests: Sequence[Row], run_id: str) -> str:
    """What a hostile wave came to of which some requests failed: out of memory where one of them says so."""
    reasons = [str(one.get("finish_reason") or "") for one in requests if one["run_id"] == run_id]
    return "oom" if any("out of memory" in reason.lower() for reason in reasons) else "failed"


def rates(pairs: dict) -> list[float]:
    return [math.log(b / a) for _, _, a, b in pairs.values()]


def known_mean(values: Sequence[float | None]) -> float | None:
    """The mean of values that are all known; None where one is not."""
    return None if None in values or not values else fmean(values)


def cache(points: Sequence[Row], stage: Cache, aa: Sequence[float]) -> list[dict]:
    """Prefix cache on against off, throughput, by workload. `aa`: log ratios of throughput, base against base."""
    found = []
    on = {
        dataset: [row for row in points if row["stage"] == "cache" and row["dataset"] == dataset] for dataset in ("random-ids", "shared-prefix")
    }
    labels = sorted({row["label"] for row in finished(points, "cache")} - {"radix-off"})
    logs = {(name, label): rates(pair_values(rows, "cache", ("radix-off", label), RATE)) for name, rows in on.items() for label in labels}
    spread = Spread.floored(list(logs.values()), aa)
    for dataset, rows in on.items():
        for label in labels:
            if not logs[dataset, label]:
                continue
            own = [row for row in finished(rows, "cache") if row["label"] == label]
            caps = {row["label"]: row.get("effective_max_running_requests") for row in finished(rows, "cache")}
            found.append(
                {
                    "label": label,
                    "dataset": dataset,
                    **compare(logs[dataset, label], spread).as_dict(),
                    "cache_hit_rate": known_mean([row.get("cache_hit_rate") for row in own]),
                    "running_on": caps.get(label),
                    "running_off": caps.get("radix-off"),
                }
            )
    return found


def knobs(points: Sequence[Row], stage: Knobs, aa: Sequence[float]) -> list[dict]:
    """Every knob against the base beside it, in throughput; and whether it could have done anything. `aa`: as for the cache."""
    bases = ("base", "base@bind")
    logs = {label: [-value for value in values] for label, values in against_base(points, RATE, "knobs", bases).items()}
    spread = Spread.floored(list(logs.values()), aa)
    found = []
    for label, values in logs.items():
        name = label.partition("=")[0]
        changed = next(row for row in finished(points, "knobs") if row["label"] == label)
        base = next(row for row in finished(points, "knobs") if row["boot"] == changed["boot"] and row["label"] in bases)
        bind, why = could_bind(name, base, changed)
        comparison = compare(values, spread).as_dict()
        verdict, why = judged(name, bind, comparison["verdict"], why)
        regime = "binding" if label.endswith("@bind") else "matched"
        found.append({"label": label, "knob": name, "regime": regime, **comparison, "verdict": verdict, "could_bind": bind, "why": why})
    return [*found, *unmeasured(points, {one["label"] for one in found} | set(bases))]


def unmeasured(points: Sequence[Row], known: set[str]) -> list[dict]:
    """Knobs that no boot could serve, with what it said: they were tried, so they are listed."""
    last = {row["label"]: row for row in points if row["stage"] == "knobs" and row["label"] not in known}
    return [
        {"label": label, "knob": label.partition("=")[0], "regime": "binding" if label.endswith("@bind") else "matched", "n": 0, "verdict": "not measured",
         "why": f"{row['status']}: {row.get('note')}"}
        for label, row in last.items()
    ]  # fmt: skip


def inert_pairs(found: Sequence[dict]) -> dict | None:
    """What the knobs that could do nothing moved all the same: more pairs of one configuration; None where there were none."""
    logs = [math.log(one["ratio"]) for one in found if one["verdict"] == INERT]
    return {"comparisons": len(logs), "pairs_each": min(one["n"] for one in found if one["verdict"] == INERT), "largest": math.exp(max(map(abs, logs)))} if logs else None


def heads(points: Sequence[Row], stage: Heads, aa: Sequence[float]) -> list[dict]:
    """Every variant of the Markov head against the first, content by content, in time per token; accept lengths beside it."""
    first, *others = (f"head-{kind}" for kind in stage.types)
    found = []
    of = {content: [row for row in points if row["stage"] == "heads" and row["content"] == content] for content in stage.contents}
    logs = {
        (content, label): [-value for value in rates(pair_values(rows, "heads", (first, label), TIME))] for content, rows in of.items() for label in others
    }
    spread = Spread.floored(list(logs.values()), aa)
    for content, rows in of.items():
        for label in others:
            if not logs[content, label]:
                continue
            lengths = {name: [row["accept_length"] for row in finished(rows, "heads") if row["label"] == name] for name in (first, label)}
            found.append(
                {
                    "label": label,
                    "base": first,
                    "content": content,
                    **compare(logs[content, label], spread).as_dict(),
                    "accept_length": fmean(lengths[label]),
                    "base_accept_length": fmean(lengths[first]),
                }
            )
    return found


def against(points: Sequence[Row], stage: str, base: str, aa: Sequence[float], metric: str = RATE) -> dict[tuple[str, int], Comparison]:
    """(label, requests in flight) -> arm against the arm `base` of the same block and load; above one is better, also of a time.

    One spread over all of them. `aa`: log ratios of the metric, base against base.
    """
    rows = finished(points, stage)
    labels = [label for label in dict.fromkeys(row["label"] for row in rows) if label != base]
    sign = 1.0 if metric == RATE else -1.0
    logs = {}
    for level in sorted({row["max_concurrency"] for row in rows}):
        own = [row for row in rows if row["max_concurrency"] == level]
        logs |= {(label, level): [sign * value for value in rates(pair_values(own, stage, (base, label), metric))] for label in labels}
    logs = {key: values for key, values in logs.items() if values}
    spread = Spread.floored(list(logs.values()), aa)
    return {key: compare(values, spread) for key, values in logs.items()}


def against_plain(points: Sequence[Row], stage: str, aa: Sequence[float]) -> list[dict]:
    """Every arm of a stage against plain decoding beside it, in throughput, at every number of requests in flight."""
    found = against(points, stage, "plain", aa)
    return [{"label": label, "max_concurrency": level, **one.as_dict()} for (label, level), one in found.items()]


def factorial(points: Sequence[Row], stage: Factorial, aa: Sequence[float]) -> dict:
    """Mean throughput of every cell of the factorial and its ratio to the best, and the additive part of what the two knobs do."""
    table: dict[tuple[int, int], list[float]] = {}
    names: dict[tuple[int, int], str] = {}
    for row in finished(points, "factorial"):
        key = row["max_running_requests"], row["block_size"]
        table.setdefault(key, []).append(row[RATE])
        names[key] = row["label"]
    means = {key: geometric(values) for key, values in table.items()}
    if not means:
        return {}
    best = max(means, key=means.get)
    beside = {label: one.as_dict() for (label, _), one in against(points, "factorial", names[best], aa).items()}
    cells = [
        {"cap": key[0], "block_size": key[1], RATE: round(value, 3), **({"against_best": one} if (one := beside.get(names[key])) else {})}
        for key, value in sorted(means.items())
    ]
    return {"cells": cells, "best": {"cap": best[0], "block_size": best[1]}, "interaction_log_sd": interaction(means)}


def interaction(means: dict[tuple[int, int], float]) -> float | None:
    """Spread of what is left of ln(throughput) after a row effect and a column effect; None for an incomplete table."""
    caps, gammas = sorted({cap for cap, _ in means}), sorted({gamma for _, gamma in means})
    if len(means) != len(caps) * len(gammas) or len(caps) < 2 or len(gammas) < 2:
        return None
    logs = {key: math.log(value) for key, value in means.items()}
    whole = fmean(logs.values())
    row = {cap: fmean(logs[cap, gamma] for gamma in gammas) for cap in caps}
    column = {gamma: fmean(logs[cap, gamma] for cap in caps) for gamma in gammas}
    left = [logs[cap, gamma] - row[cap] - column[gamma] + whole for cap in caps for gamma in gammas]
    return math.sqrt(sum(value * value for value in left) / ((len(caps) - 1) * (len(gammas) - 1)))


MOST_TIES = 2
"""Block sizes that go on to the frontier beside a lane's fastest, of all lanes together."""


def best_of_lanes(points: Sequence[Row], stage: Lanes, aa: Sequence[float] = ()) -> tuple[list[Arm], list[str]]:
    """(each lane's fastest block size at the search's load, plain decoding among them, and the closest that it is not told from; labels of further ones).

    The further ones are not told from their lane's fastest either: the frontier has no room for their boots, which is no verdict on them.
    """
    arms = {arm.label: arm for arm in plans_search.lane_candidates(stage)}
    speed = {label: geometric(own) for label in arms if (own := [row[RATE] for row in finished(points, "lanes") if row["label"] == label])}
    best: dict[str, str] = {}
    for label, value in speed.items():
        lane = arms[label].lane
        if lane not in best or value > speed[best[lane]]:
            best[lane] = label
    ties = []
    for first in best.values():
        beside = against(points, "lanes", first, aa)
        own = {label: one for (label, _), one in beside.items() if arms[label].lane == arms[first].lane}
        ties += [(one.ratio, label) for label, one in own.items() if one.verdict != "worse"]
    closest = [label for _, label in sorted(ties, reverse=True)]
    kept = {*best.values(), *closest[:MOST_TIES]}
    return [arm for label, arm in arms.items() if label in kept], closest[MOST_TIES:]


def frontier(points: Sequence[Row]) -> list[dict]:
    """Throughput against TPOT and TTFT of the lanes' best at every level; `dominated_by`: the arms that are better in all three.

    By their intervals, in each quantity no narrower than base against base: a mean below another's is no domination where the two are
    not told apart.
    """
    grouped: dict[tuple[str, int], list[Row]] = {}
    for row in finished(points, "frontier"):
        grouped.setdefault((row["label"], row["max_concurrency"]), []).append(row)
    columns = {column: logs_of(points, column) for column in (RATE, "mean_tpot_ms", "mean_ttft_ms")}
    found = [
        {"label": label, "max_concurrency": level, **{column: geometric([row[column] for row in rows]) for column in columns}}
        for (label, level), rows in grouped.items()
    ]
    for one in found:
        beside = [against(points, "frontier", one["label"], aa, column) for column, aa in columns.items()]
        rivals = [label for label, level in beside[0] if level == one["max_concurrency"]]
        key = one["max_concurrency"]
        one["dominated_by"] = [name for name in rivals if all(of.get((name, key)) and of[name, key].verdict == "better" for of in beside)]
        one["dominated"] = bool(one["dominated_by"])
    return found
