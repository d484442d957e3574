"""What a plain forward is bound by, from its shares."""

import pytest

from tests.derive.edit import scale
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.facts.modes import parts_of, regimes_of
from workflow.derive.sample import Sample


@pytest.mark.parametrize(
    ("over_bound", "widest_ratio", "regime"),
    [(5.0, 1.45, "dispatch"), (0.65, 2.1, "cache"), (1.5, 1.2, "bandwidth"), (3.0, 5.0, None), (30.0, 9.0, None)],
    ids=["fixed", "faster-than-memory", "weights", "positions", "positions-alone"],
)
def test_a_share_that_outweighs_the_rest_names_the_regime(over_bound, widest_ratio, regime):
    parts = parts_of(Sample(over_bound), Sample(widest_ratio), 8)
    assert sum(part.value for part in parts.values()) == pytest.approx(1)
    assert {name for name, inside in regimes_of(parts).items() if inside.value > 0} == ({regime} if regime else set())


def test_each_mode_has_its_own(values):
    assert [values.fact(f"modes.{mode}.regime").value for mode in ("eager", "graph", "fused")] == ["dispatch", "dispatch", "cache"]


def test_a_slower_memory_makes_another_regime_of_the_same_times(scratch):
    """The toy engine's eager forward takes some five times as long as a read of its weights; from a memory a third as fast it is bound by it."""
    scale(scratch, "sweep_verify_cost.csv", "bound_ms", 3.5, mode="eager")
    derivation = Derivation(load.load(scratch))
    assert derivation.result("modes.eager.regime").fact.value == "bandwidth"
    assert derivation.claim("modes.regime.eager").verdict == "holds"


def test_a_graph_is_held_against_the_eager_step_that_it_replays(values):
    bounds = {mode: values.fact(f"modes.{mode}.bound_ms") for mode in ("eager", "graph")}
    assert bounds["graph"].value == bounds["eager"].value and bounds["graph"].source


def test_no_rest_is_left_of_a_forward_faster_than_memory(derivation):
    rest = {mode: derivation.result(f"modes.{mode}.share.fixed").fact for mode in ("eager", "fused")}
    assert not rest["eager"].missing and rest["fused"].missing
    assert rest["fused"].reason == "the forward takes less time than reading the weights once, so no rest is left"
