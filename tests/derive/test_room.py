"""What single settings take under one budget: each against the base of its own block of boots and its own mode."""

import numpy as np
import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation

CHUNK, STATE = "chunked_prefill_size=64", "mamba_ssm_dtype=bfloat16"


def cells(campaign, label: str, column: str) -> dict[str, float]:
    """Boot -> number of one column of one setting's cells."""
    table = campaign.find("points", "capacity")
    return {table.columns["boot"][i]: table.numbers(column)[i] for i in table.select({"stage": "capacity", "label": label})}


def left(campaign, label: str) -> dict[str, float]:
    peaks = cells(campaign, label, "activation_peak_bytes")
    return {boot: free - peaks[boot] for boot, free in cells(campaign, label, "available_mem_bytes").items()}


def attempts(derivation) -> dict[str, int]:
    """Label of a setting -> its place among those that the search tried."""
    count = round(derivation.result("knobs.tried").fact.value)
    return {derivation.result(f"knobs.t{place}.label").fact.value: place for place in range(1, count + 1)}


@pytest.mark.parametrize("label", [CHUNK, STATE])
def test_each_setting_is_held_against_the_base_of_its_boots(derivation, measured, label):
    place, base = attempts(derivation)[label], left(measured, "base")
    moved = [free - base[boot] for boot, free in left(measured, label).items()]
    assert len(moved) >= 2
    assert derivation.result(f"knobs.t{place}.room.headroom").fact.value == pytest.approx(np.mean(moved), abs=1)
    tokens = np.mean(list(cells(measured, label, "max_total_num_tokens").values())) / np.mean(list(cells(measured, "base", "max_total_num_tokens").values()))
    assert derivation.result(f"knobs.t{place}.room.tokens").fact.value == pytest.approx(100 * (tokens - 1))


def test_the_farthest_is_named_whichever_way_it_goes(scratch, measured):
    assert Derivation(load.load(scratch)).result("knobs.room.farthest").fact.value == CHUNK
    relabelled(scratch, mamba_ssm_dtype={"available_mem_bytes": str(20 << 20)})
    derivation = Derivation(load.load(scratch))
    assert derivation.result("knobs.room.farthest").fact.value == STATE and derivation.result("knobs.room.farthest_headroom").fact.value < 0
    assert derivation.claim("knobs.room.moves_headroom").verdict == "holds"


def relabelled(folder, **named):
    """The rows of some settings under another label and with other cells."""
    rewrite(folder, "sweep_capacity.csv", lambda rows: [row | named.get(row["label"].partition("=")[0], {}) for row in rows])


def test_a_setting_of_captured_graphs_stands_beside_the_base_in_that_mode(scratch, measured):
    """Its base holds the graphs of many requests at once; the eager base holds none and is no base of it."""
    relabelled(scratch, chunked_prefill_size={"label": f"{CHUNK}/graph"}, mamba_ssm_dtype={"label": "base/graph", "available_mem_bytes": "30000000"})
    derivation = Derivation(load.load(scratch))
    base = {boot: 30_000_000 - peak for boot, peak in cells(measured, STATE, "activation_peak_bytes").items()}
    moved = [free - base[boot] for boot, free in left(measured, CHUNK).items()]
    assert derivation.result(f"knobs.t{attempts(derivation)[CHUNK]}.room.headroom").fact.value == pytest.approx(np.mean(moved), abs=1)


def test_a_setting_that_no_boot_served_is_missing_and_says_so(scratch):
    relabelled(scratch, chunked_prefill_size={"status": "oom"})
    derivation = Derivation(load.load(scratch))
    found = derivation.result(f"knobs.t{attempts(derivation)[CHUNK]}.room.tokens").fact
    assert found.value is None and CHUNK in found.reason
    assert derivation.result("knobs.room.tried").fact.value == 1
