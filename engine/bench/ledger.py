"""What a search cost, what of it went into candidates that were rejected, and what trying everything would have cost."""

from __future__ import annotations

from collections.abc import Iterable

from engine.bench.cost import Cost
from engine.bench.stages import Search


def grid(stage: Search) -> tuple[int, int]:
    """(configurations, loads) of the full grid over every value that the stages try."""
    configurations = len(stage.block_sizes) + 1
    if stage.knobs:
        values: dict[str, set] = {}
        for name, value in stage.knobs.values:
            values.setdefault(name, set()).add(value)
        for one in values.values():
            configurations *= 1 + len(one)
    if stage.factorial:
        configurations *= len(stage.factorial.caps)
    if stage.memory:
        configurations *= round((1.0 - stage.memory.anchor) / stage.memory.step)
    return configurations, len(stage.curve.levels) if stage.curve else 1


def ledger(cost: Cost, stage: Search, rejected: Iterable[str]) -> dict:
    """`rejected` are labels as "stage/label". Seconds; `grid_means_s` is a product of measured means."""
    lost = [cost.by_arm[name] for name in rejected if name in cost.by_arm]
    boot_s = cost.boot_s / cost.boots if cost.boots else 0.0
    cell_s = sum(one.cell_s for one in cost.by_stage.values()) / max(1, sum(one.cells for one in cost.by_stage.values()))
    configurations, loads = grid(stage)
    return {
        "boot_s": round(cost.boot_s, 3),
        "bench_s": round(sum(one.cell_s for one in cost.by_stage.values()), 3),
        "rejected_s": round(sum(one.boot_s + one.cell_s for one in lost), 3),
        "thrown_away_s": round(cost.wasted_s, 3),
        "grid_configurations": configurations,
        "grid_loads": loads,
        "grid_means_s": round(configurations * (boot_s + loads * cell_s), 1),
    }
