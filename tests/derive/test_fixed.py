"""A step without a draft, off the line through the steps of all block sizes."""

import numpy as np
import pytest

from tests.derive.edit import drop
from workflow.derive import line, load
from workflow.derive.evaluate import Derivation
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

GAMMAS = range(1, 8)


def test_the_line_is_that_of_least_squares(derivation):
    steps = [derivation.result(f"window.all.g{gamma}.step_ms").fact.value for gamma in GAMMAS]
    slope, start = np.polyfit(GAMMAS, steps, 1)
    found = {name: derivation.result(f"window.fixed.{name}").fact.value for name in ("step_ms", "draft_adds_ms", "overhead_ms", "off_line_ms")}
    assert found["step_ms"] == pytest.approx(start) and found["draft_adds_ms"] == pytest.approx(slope)
    assert found["overhead_ms"] == pytest.approx(start - derivation.result("window.all.plain.step_ms").fact.value)
    assert found["off_line_ms"] == pytest.approx(np.max(np.abs(steps - (start + slope * np.array(GAMMAS)))))


def test_what_lies_off_the_line_is_part_of_what_the_overhead_may_be_off_by(derivation):
    claim = derivation.claim("window.fixed_overhead")
    off, plain = (derivation.result(key).fact.value for key in ("window.fixed.off_line_ms", "window.all.plain.step_ms"))
    assert claim.noise >= off / plain > 0


def test_two_block_sizes_hold_no_line(scratch):
    drop(scratch, "window", lambda row: row["lane"] == "dspark" and int(row["block_size"]) > 2)
    derivation = Derivation(load.load(scratch))
    assert derivation.result("window.fixed.step_ms").fact.value is None
    assert derivation.claim("window.fixed_overhead").verdict == "missing"


def test_points_of_several_units_are_taken_in_that_of_the_first():
    start, slope = line.through([1, 2, 3], [Sample(3.0, "ms"), Sample(0.005, "s"), Sample(7.0, "ms")], "drafts")
    assert (start.unit, start.value, slope.value) == ("ms", pytest.approx(1.0), pytest.approx(2.0))
    with pytest.raises(Missing, match="drafts"):
        line.through([1, 2, 1], [Sample(1.0), Sample(2.0), Sample(3.0)], "drafts")
