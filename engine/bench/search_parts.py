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
from engine.bench.compare import Spread, compare
from engine.bench.detectable import RATE
from engine.bench.session import Session
from engine.bench.stages import Cache, Factorial, Heads, Knobs, Lanes, Memory, Search
from engine.bench.verdicts import TIME, against_base, finished, geometric, pair_values
from engine.csvio import Row


def memory(session: Session, stage: Memory, search: Search) -> dict:
    """The ceiling of each lane; the `memory` part of the manifest."""
    found = {}
    number = 0
    for lane in stage.lanes:

        def probe(label: str, fraction: float, lane: str = lane) -> Outcome:
            nonlocal number
            arm = plans_search.memory_arm(lane, stage, search, fraction, label)
            block = plans_search.hostile(stage, arm, number)
            number += 1
            session.run([block])
            row = next(row for row in reversed(session.rows.points) if row["boot"] == block.number)
            status = row["status"] if row["status"] != "ok" or not row["failed"] else "oom"
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
    return found


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


def factorial(points: Sequence[Row], stage: Factorial) -> dict:
    """Mean throughput of every cell of the factorial, its best, and the additive part of what the two knobs do."""
    table: dict[tuple[int, int], list[float]] = {}
    for row in finished(points, "factorial"):
        table.setdefault((row["max_running_requests"], row["block_size"]), []).append(row[RATE])
    means = {key: geometric(values) for key, values in table.items()}
    if not means:
        return {}
    best = max(means, key=means.get)
    cells = [{"cap": cap, "block_size": gamma, RATE: round(value, 3)} for (cap, gamma), value in sorted(means.items())]
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


def best_of_lanes(points: Sequence[Row], stage: Lanes) -> list[Arm]:
    """Each lane's fastest block size at the search's load, plain decoding among them."""
    arms = {arm.label: arm for arm in plans_search.lane_candidates(stage)}
    speed: dict[str, float] = {}
    for label in arms:
        own = [row[RATE] for row in finished(points, "lanes") if row["label"] == label]
        if own:
            speed[label] = geometric(own)
    best: dict[str, str] = {}
    for label, value in speed.items():
        lane = arms[label].lane
        if lane not in best or value > speed[best[lane]]:
            best[lane] = label
    return [arms[label] for label in best.values()]


def frontier(points: Sequence[Row]) -> list[dict]:
    """Throughput against TPOT and TTFT of the lanes' best at every level; `dominated` where another is better in all three."""
    grouped: dict[tuple[str, int], list[Row]] = {}
    for row in finished(points, "frontier"):
        grouped.setdefault((row["label"], row["max_concurrency"]), []).append(row)
    columns = (RATE, "mean_tpot_ms", "mean_ttft_ms")
    found = [
        {"label": label, "max_concurrency": level, **{column: geometric([row[column] for row in rows]) for column in columns}}
        for (label, level), rows in grouped.items()
    ]
    for one in found:
        rivals = [other for other in found if other["max_concurrency"] == one["max_concurrency"] and other is not one]
        one["dominated"] = any(r[RATE] > one[RATE] and r["mean_tpot_ms"] < one["mean_tpot_ms"] and r["mean_ttft_ms"] < one["mean_ttft_ms"] for r in rivals)
    return found
