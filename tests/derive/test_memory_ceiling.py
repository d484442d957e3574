"""How far the first boot's word on memory lay from where the tries put the ceiling."""

import csv

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.figures.plates import memory_wall
from workflow.figures.sheet import Area
from workflow.figures.style import LAYOUTS

STEP, SAID = 0.01, 90
"""Grid of the search, and the prediction in grid steps, rounded down, that the anchors below lead to."""
DEVICE = 1_000_000
SURVIVED, RAN_OUT, CRASHED = {"status": "ok", "failed": "0"}, {"status": "oom"}, {"status": "crash"}


def tried(folder, *tries):
    """The memory stage of both lanes as an anchor and these (place on the grid, outcome)."""

    def change(rows):
        kept = [row for row in rows if row["stage"] != "memory"]
        for lane in ("plain", "dspark"):
            anchor = next(row for row in rows if row["label"] == f"{lane}-anchor")
            anchor |= {"mem_fraction_static": "0.85", "device_memory_bytes": str(DEVICE), "available_mem_bytes": "150000", "activation_peak_bytes": "96000"}
            kept.append(anchor)
            for place, outcome in tries:
                more = {"label": f"{lane}-bisect", "run_id": f"{anchor['run_id']}-{place}", "mem_fraction_static": f"{place * STEP:.2f}"}
                kept.append(anchor | more | outcome)
        return kept

    rewrite(folder, "search.csv", change)
    kept = {row["run_id"] for row in csv.DictReader((folder / "search.csv").open(encoding="utf8"))}
    for kind in ("requests", "steps"):
        rewrite(folder, f"{kind}_search.csv", lambda rows: [row for row in rows if row["run_id"] in kept])
    return Derivation(load.load(folder))


@pytest.mark.parametrize(
    ("tries", "off", "verdict"),
    [
        ([(SAID, SURVIVED), (SAID + 1, RAN_OUT)], 0, "holds"),
        ([(SAID - 3, SURVIVED), (SAID + 7, RAN_OUT)], 0, "holds"),
        ([(SAID - 1, SURVIVED), (SAID, RAN_OUT)], 1, "holds"),
        ([(SAID + 1, SURVIVED)], 1, "holds"),
        ([(SAID - 1, RAN_OUT)], 2, "fails"),
        ([(SAID + 2, SURVIVED), (SAID + 3, RAN_OUT)], 2, "fails"),
        ([(SAID, CRASHED)], None, "unresolved"),
    ],
)
def test_a_prediction_may_be_off_by_one_step_of_the_grid(scratch, tries, off, verdict):
    derivation = tried(scratch, *tries)
    claim = derivation.claim("memory.peak_predicts")
    assert claim.verdict == verdict, claim.reason
    assert derivation.result("memory.step").fact.value == 100 * STEP
    if off is not None:
        assert derivation.result("memory.floor_less_peak.steps_off").fact.value == off


@pytest.mark.parametrize("layout", LAYOUTS, ids=lambda layout: layout.name)
def test_pools_and_peak_are_stacked_from_zero_to_what_they_took(scratch, layout):
    values = tried(scratch, (SAID, SURVIVED | {"available_mem_bytes": "100000", "activation_peak_bytes": "94000"}), (SAID + 1, RAN_OUT)).values()
    assert [values.facts[f"memory.plain.{what}_share"].value for what in ("boot", "peak")] == pytest.approx([90.0, 9.4])
    sheet = memory_wall.draw(values, layout)
    for lane in memory_wall.LANES:
        ground, boot, peak = [sorted(x for x, _ in item.what.points) for item in sheet.items if item.group == f"{lane}-stack" and isinstance(item.what, Area)]
        budget = ground[-1] - ground[0]
        assert boot[0] == ground[0] and boot[-1] == pytest.approx(peak[0])
        assert [(bar[-1] - bar[0]) / budget for bar in (boot, peak)] == pytest.approx([0.9, 0.094])
