"""A silent setting is tried where it has something to do, and the gate counts whether it had."""

from __future__ import annotations

import pytest

from engine.bench import gate_binding, gate_checks, gate_plan
from engine.bench.stages import FULL, Gate

SILENT = {config.arm.knobs[0][0]: config for config in gate_plan.configs(Gate()) if config.role == "silent"}


def test_every_default_setting_has_a_count_that_tells() -> None:
    assert set(SILENT) == {name for name, _ in Gate().silent} == set(gate_binding.MEETS)


@pytest.mark.parametrize("stage", [Gate(), FULL["gate"], Gate(max_concurrency=2)], ids=["quick", "full", "two in flight"])
def test_the_reserve_is_tried_in_a_pool_that_all_in_flight_could_overrun(stage: Gate) -> None:
    changed = {config.arm.label: dict(gate_binding.in_regime(config, stage).arm.knobs) for config in gate_plan.configs(stage)}
    pools = {label: knobs["max_total_num_tokens"] for label, knobs in changed.items() if "max_total_num_tokens" in knobs}
    own = gate_plan.ANSWER_PROMPT + stage.max_tokens
    ((label, tokens),) = pools.items()
    assert label == "schedule_conservativeness=0.6" and tokens >= 4 * own
    assert tokens < stage.max_concurrency * own or stage.max_concurrency <= 4
    assert [config for config in gate_plan.configs(stage) if config.arm.label != label and gate_binding.in_regime(config, stage) is not config] == []


def test_a_pool_that_the_campaign_names_stays() -> None:
    named = SILENT["schedule_conservativeness"]
    named = gate_plan.Config(named.arm.with_knobs("x", max_total_num_tokens=9000), "silent", named.tasks)
    assert gate_binding.in_regime(named, Gate()) is named


@pytest.mark.parametrize(("knob", "why"), gate_binding.MEETS.items())
def test_steps_in_which_it_was_in_the_way_are_counted(knob: str, why: str) -> None:
    steps = [{"blocked_by": one, "retracted": 0} for one in (why, "", "kv_pages", why)]
    assert gate_binding.bound_steps(SILENT[knob], steps) == 2
    assert gate_binding.bound_steps(SILENT[knob], steps[1:2]) == 0
    retracted = [{"blocked_by": "", "retracted": 1}]
    assert gate_binding.bound_steps(SILENT[knob], retracted) == (knob == "schedule_conservativeness")
    # where steps do not tell, the count is none and not zero
    for unknown in ([], [{"retracted": 0}], [{"blocked_by": None}, *steps]):
        assert gate_binding.bound_steps(SILENT[knob], unknown) is None
    assert gate_binding.bound_steps(gate_plan.configs(Gate())[0], steps) is None


@pytest.mark.parametrize(("steps", "said"), [(None, []), (0, ["inert by construction"]), (7, ["in 7 steps"])])
def test_what_is_said_of_it_decides_nothing(steps: int | None, said: list[str]) -> None:
    checks = gate_checks.binding([{"config": "x", "task": "greedy", "bound_steps": steps}], "x")
    assert [check.verdict for check in checks] == ["note"] * len(said) and all(text in check.detail for text, check in zip(said, checks, strict=True))
    assert gate_checks.outcome(checks, "x") == "pass"
