"""The later stages of a synthetic search: memory (tried fractions), cache (on and off by traffic) and knobs (one at a time)."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.data.synthetic import Campaign

DEVICE = 96 << 20
SLACK = 0
"""Left over after a boot, beyond what the fraction leaves."""
ANCHOR, STEP = 0.85, 0.01
FAULT = {"oom_asked_bytes": 1048576, "oom_free_bytes": 524288}
"""What the allocation that does not fit says."""


def search_stages(campaign: Campaign, load: dict) -> None:
    memory(campaign)
    cache(campaign, load)
    knobs(campaign, load)
    request_caps(campaign, load)
    front(campaign, load)


def cell(campaign: Campaign, stage: str, lane: str, gamma: int, boot: int, label: str, **load):
    from tests.data.synthetic import Cell

    return Cell(stage=stage, lane=lane, gamma=gamma, boot=boot, repeat=boot % 100, label=label, **load)


def memory(campaign: Campaign) -> None:
    """Anchor, the fractions that floor and floor + peak foretell, one between: dead when the wave needs more than is left."""
    physics = campaign.physics
    number = 1000
    for lane, gamma, peak in (("plain", 0, physics.peak_bytes), ("dspark", campaign.plan.base_gamma, 1.3 * physics.peak_bytes)):
        room = (1 - ANCHOR) * DEVICE + SLACK
        shown = peak * physics.peak_shown
        steps = {"anchor": ANCHOR, "floor": min(0.99, ANCHOR + room / DEVICE), "peak": ANCHOR + (room - shown) / DEVICE}
        steps["bisect-1"] = (steps["peak"] + steps["floor"]) / 2 if steps["floor"] - steps["peak"] > 0.02 else steps["peak"] - 0.02
        for name, value in steps.items():
            fraction = round(int(value * 100 + 1e-9) / 100, 2)
            left = round((1 - fraction) * DEVICE + SLACK)
            said = {"mem_fraction_static": fraction, "device_memory_bytes": DEVICE, "available_mem_bytes": left}
            one = cell(campaign, "memory", lane, gamma, number, f"{lane}-{name}", content="mixed", isl=256, concurrency=4, requests=4, osl=4)
            number += 1
            if left >= peak:
                campaign.measure("search", one, activation_peak_bytes=round(shown), **said)
            else:
                dead(campaign, one, {"activation_peak_bytes": 8192, **said})


def dead(campaign: Campaign, one, said: dict) -> None:
    """A point that ran out of memory: it has a boot, and no result."""
    kept = {name: list(rows) for name, rows in campaign.tables.items()}
    row = campaign.measure("search", one, **said)
    campaign.tables = kept
    blank = [name for name, value in row.items() if name not in said and isinstance(value, float) and name not in ("temperature", "top_p", "boot_s")]
    empty = {"completed": "", "failed": "", "steps": "", "rounds": "", "drafted": "", "accepted": "", "decode_tokens": ""}
    empty |= {"total_input_tokens": "", "total_output_tokens": "", "queue_max": "", "retracted": "", "step_source": ""}
    note = "error: out of memory: asked {oom_asked_bytes} bytes, {oom_free_bytes} free".format(**FAULT)
    campaign.add("search.csv", [row | dict.fromkeys(blank, "") | empty | FAULT | {"status": "oom", "note": note}])


def cache(campaign: Campaign, load: dict) -> None:
    physics, slots = campaign.physics, 48
    base = {"mem_fraction_static": 0.88, "device_memory_bytes": 2 * DEVICE, "state_slots": slots}
    for repeat in range(campaign.plan.repeats):
        for dataset in ("random-ids", "shared-prefix"):
            for label in ("radix-off", "radix-on"):
                on = label == "radix-on"
                saved = physics.cache_saves if on and dataset == "shared-prefix" else 0.0
                factor = physics.cache_cost if on else 1.0
                own = replace(
                    physics, prefill_ms=physics.prefill_ms * (1 - saved), decode_ms=physics.decode_ms * factor, per_row_ms=physics.per_row_ms * factor
                )
                one = cell(campaign, "cache", "plain", 0, 2000 + repeat, label, **load)
                said = {"dataset": dataset, "radix_cache": "on" if on else "off", "cache_hit_rate": saved, **base}
                said["effective_max_running_requests"] = slots // physics.cache_slots if on else slots
                campaign.measure("search", one, own, **said)


def knobs(campaign: Campaign, load: dict) -> None:
    """The base, a setting that does nothing, and one that may; and where prompts are long, a prefill chunk that costs and one that does not."""
    physics, gamma = campaign.physics, campaign.plan.base_gamma
    quick = replace(physics, decode_ms=physics.decode_ms / physics.knob_gain, per_row_ms=physics.per_row_ms / physics.knob_gain)
    for repeat in range(campaign.plan.repeats):
        for label, own in (("base", physics), ("chunked_prefill_size=64", physics), ("base", physics), ("mamba_ssm_dtype=bfloat16", quick), ("base", physics)):
            campaign.measure("search", cell(campaign, "knobs", "dspark", gamma, 3000 + repeat, label, **load), own)
        long = load | {"isl": 512, "osl": 8, "requests": 8}
        for size in (2048, 64, 2048, 1024, 2048):
            label = "base@bind" if size == 2048 else f"chunked_prefill_size={size}@bind"
            own = replace(physics, prefill_ms=physics.prefill_ms * (4 if size == 64 else 1))
            campaign.measure("search", cell(campaign, "knobs", "dspark", gamma, 3100 + repeat, label, **long), own, chunked_prefill_size=size)


CAPS = (2, 4, 48)
"""Request caps that are tried: the load fills the low ones, and the base has the high one."""


def request_caps(campaign: Campaign, load: dict) -> None:
    """A low cap leaves room for tokens, and its state slots are all in use; its requests queue, as if their prompts took longer."""
    physics, gamma = campaign.physics, campaign.plan.base_gamma
    for repeat in range(campaign.plan.repeats):
        for cap in CAPS:
            own = replace(physics, prefill_ms=physics.prefill_ms * 16 / cap)
            said = {"effective_max_running_requests": cap, "max_total_num_tokens": 17000 - 50 * cap, "state_slots": cap}
            said["state_usage_max"] = min(cap, load["concurrency"]) / cap
            campaign.measure("search", cell(campaign, "factorial", "dspark", gamma, 4000 + repeat, f"cap-{cap}/g{gamma}", **load), own, **said)


def front(campaign: Campaign, load: dict) -> None:
    """Each lane at a block size of its own, from one request at a time to several; on boots enough to be judged."""
    for repeat in range(max(3, campaign.plan.repeats)):
        for level in (1, 4):
            for lane, gamma in (("plain", 0), ("dspark", campaign.plan.base_gamma), ("mtp", 1)):
                label = lane if lane != "dspark" else f"dspark-g{gamma}"
                campaign.measure("search", cell(campaign, "frontier", lane, gamma, 6500 + repeat, label, **load | {"concurrency": level}))


def waits(stage: str, lane: str) -> dict[str, int]:
    """Steps in which the head of the queue waited, by cause: where arrivals have a timetable, each lane at its own wall."""
    counts = {"plain": {"kv_pages": 40, "cap": 10}, "dspark": {"cap": 30, "state_slots": 10}}.get(lane, {}) if stage == "rate" else {}
    causes = ("cap", "state_slots", "kv_pages", "prefill_budget", "new_token_reserve")
    return {f"blocked_by_{cause}": counts.get(cause, 0) for cause in causes}


def by_stage(points: list[dict], boot_s: float) -> dict[str, dict]:
    """What each stage took, as a search's manifest tells it."""
    found: dict[str, dict] = {}
    for stage in dict.fromkeys(row["stage"] for row in points):
        rows = [row for row in points if row["stage"] == stage]
        boots = len({row["boot_id"] for row in rows})
        seconds = sum(row["duration_s"] or 0.0 for row in rows)
        found[stage] = {"boots": boots, "boot_s": boots * boot_s, "cells": len(rows), "cell_s": seconds}
    return found


def ledger(points: list[dict], total_s: float, configurations: int) -> dict:
    """The search section of its manifest, as far as facts read it; the grid at the mean cost of a cell with its boot."""
    grid_s = configurations * total_s / len(points)
    alarm = {"pairs": 16, "comparisons": 4000, "independent": 4, "alarms": 80, "rate": 0.02, "lo": 0.01, "hi": 0.04, "interval": "bootstrap over pairs"}
    spent = {"thrown_away_s": 0.02 * total_s, "rejected_s": 0.03 * total_s}
    return {
        "false_alarm": alarm,
        "planned_detectable": {"window": 1.05, "confirm": 1.04},
        "achieved_detectable": {"window": 1.06, "confirm": 1.03},
        "knobs": [bound(label, regime) for label in SETTINGS for regime in ("matched", "binding")],
        "ledger": spent | {"grid_configurations": configurations, "grid_loads": 1, "grid_s": grid_s},
    }


SETTINGS = ("chunked_prefill_size=64", "mamba_ssm_dtype=bfloat16", "cuda_graph_max_bs=2", "schedule_conservativeness=0.6", "radix_cache=True")


def bound(label: str, regime: str) -> dict:
    """What a search says of one setting: here that it could bind, and slowed the engine."""
    found = {"label": label + ("@bind" if regime == "binding" else ""), "knob": label.partition("=")[0], "regime": regime, "n": 3}
    found |= {"ratio": 0.8, "smallest": 0.79, "largest": 0.81, "lo": 0.78, "hi": 0.82, "minimum_detectable": 1.05, "p": 0.001, "verdict": "worse"}
    return found | {"could_bind": True, "why": "every step reads and writes the state"}
