"""What single settings take under one budget: each against the base of its own block of boots and its own mode."""

import math
from statistics import variance

import numpy as np
import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.paired import t_quantile

CHUNK, STATE = "chunked_prefill_size=64", "mamba_ssm_dtype=bfloat16"


def cells(campaign, label: str, column: str) -> dict[str, float]:
    """Boot -> number of one column of one setting's cells."""
    table = campaign.find("points", "capacity")
    return {table.columns["boot"][i]: table.numbers(column)[i] for i in table.select({"stage": "capacity", "label": label})}


def left(campaign, label: str) -> dict[str, float]:
    peaks = cells(campaign, label, "activation_peak_bytes")
    return {boot: free - peaks[boot] for boot, free in cells(campaign, label, "available_mem_bytes").items()}


def value(derivation, key: str):
    return derivation.result(f"knobs.room.{key}").fact.value


def place(derivation, label: str) -> str:
    """`t1` or another place, of a setting."""
    count = round(value(derivation, "tried"))
    return next(f"t{number}" for number in range(1, count + 1) if value(derivation, f"t{number}.label") == label)


def relabelled(folder, **named):
    """The rows of some settings under another label and with other cells."""
    rewrite(folder, "sweep_capacity.csv", lambda rows: [row | named.get(row["label"].partition("=")[0], {}) for row in rows])
    return Derivation(load.load(folder))


@pytest.mark.parametrize("label", [CHUNK, STATE])
def test_each_setting_is_held_against_the_base_of_its_boots(derivation, measured, label):
    base = left(measured, "base")
    moved = [free - base[boot] for boot, free in left(measured, label).items()]
    assert len(moved) >= 2
    assert value(derivation, f"{place(derivation, label)}.headroom") == pytest.approx(np.mean(moved), abs=1)
    tokens = np.mean(list(cells(measured, label, "max_total_num_tokens").values())) / np.mean(list(cells(measured, "base", "max_total_num_tokens").values()))
    assert value(derivation, f"{place(derivation, label)}.tokens") == pytest.approx(100 * (tokens - 1))


def test_the_farthest_is_named_whichever_way_it_goes(scratch):
    assert value(Derivation(load.load(scratch)), "farthest") == CHUNK
    derivation = relabelled(scratch, mamba_ssm_dtype={"available_mem_bytes": str(20 << 20)})
    assert value(derivation, "farthest") == STATE and value(derivation, "farthest_headroom") < 0
    assert derivation.claim("knobs.room.moves_headroom").verdict == "holds"


def test_the_largest_of_several_may_be_off_by_what_boots_of_one_arm_differ_by(derivation, measured):
    """Settings share their base, so the spread is that of boots within an arm, for a difference of two; the level is shared among the settings."""
    groups = [list(left(measured, label).values()) for label in ("base", CHUNK, STATE)]
    boots = len(groups[0])
    freedom = sum(len(group) - 1 for group in groups)
    spread = math.sqrt(sum(variance(group) * (len(group) - 1) for group in groups) / freedom)
    reach = t_quantile(1 - 0.05 / 2 / 2, freedom) * math.sqrt(2) * spread / math.sqrt(boots)
    assert value(derivation, "detectable") == pytest.approx(reach, rel=1e-4, abs=1)


def test_a_setting_of_captured_graphs_stands_beside_the_base_in_that_mode(scratch, measured):
    """Its base holds the graphs of many requests at once; the eager base holds none and is no base of it."""
    graphed = {"label": f"{CHUNK}/graph"}
    derivation = relabelled(scratch, chunked_prefill_size=graphed, mamba_ssm_dtype={"label": "base/graph", "available_mem_bytes": "30000000"})
    base = {boot: 30_000_000 - peak for boot, peak in cells(measured, STATE, "activation_peak_bytes").items()}
    moved = [free - base[boot] for boot, free in left(measured, CHUNK).items()]
    assert value(derivation, f"{place(derivation, CHUNK)}.headroom") == pytest.approx(np.mean(moved), abs=1)
    assert value(derivation, "tried") == 1


def test_tokens_are_known_where_no_system_tells_the_peak(scratch):
    rewrite(scratch, "sweep_capacity.csv", lambda rows: [row | {"activation_peak_bytes": ""} for row in rows])
    derivation = Derivation(load.load(scratch))
    assert value(derivation, "fewest") == CHUNK and derivation.claim("knobs.room.costs_tokens").verdict == "holds"
    assert derivation.claim("knobs.room.moves_headroom").verdict == "missing"


def test_a_setting_that_no_boot_served_is_asked_for_and_not_tried(scratch):
    derivation = relabelled(scratch, chunked_prefill_size={"status": "oom"})
    assert (value(derivation, "asked"), value(derivation, "tried")) == (2, 1)
    assert derivation.claim("knobs.room.costs_tokens").verdict == "unresolved"


def test_a_block_without_its_base_counts_for_no_setting(scratch, measured):
    first = min(left(measured, "base"))
    rewrite(
        scratch, "sweep_capacity.csv", lambda rows: [row | {"status": "crash"} if (row["label"], row["boot"]) == ("base", first) else row for row in rows]
    )
    derivation = Derivation(load.load(scratch))
    base = left(measured, "base")
    moved = [free - base[boot] for boot, free in left(measured, CHUNK).items() if boot != first]
    assert value(derivation, f"{place(derivation, CHUNK)}.headroom") == pytest.approx(np.mean(moved), abs=1)
