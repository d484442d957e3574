"""Units decide what may be computed."""

import pytest

from workflow.derive import registry, units
from workflow.derive.evaluate import Derivation
from workflow.derive.sample import Sample


def test_tokens_a_step_over_seconds_a_step_are_tokens_a_second():
    rate = Sample(3.0, "token/step") / Sample(6.0, "ms/step")
    assert rate.to("token/s").value == pytest.approx(500.0)


@pytest.mark.parametrize("wrong", ["ms", "token", "token/round", "", "step/s"])
def test_anything_else_is_refused(wrong):
    rate = Sample(3.0, "token/step") / Sample(6.0, "ms/step")
    with pytest.raises(units.UnitError):
        rate.to(wrong)


def test_seconds_over_milliseconds_keep_their_factor():
    assert (Sample(1.0, "s") / Sample(1.0, "ms")).to("").value == pytest.approx(1000.0)
    assert (Sample(2.0, "s") / Sample(1000.0, "ms") - 1).to("percent").value == pytest.approx(100.0)


def test_sums_convert_and_refuse():
    assert (Sample(1.0, "s") + Sample(5.0, "ms")).to("ms").value == pytest.approx(1005.0)
    with pytest.raises(units.UnitError):
        Sample(1.0, "s") + Sample(1.0, "token")
    with pytest.raises(units.UnitError):
        Sample(1.0, "token").log()


@pytest.mark.parametrize("kind", units.COLUMNS)
def test_column_units_refine_the_schema(kind):
    """A unit of ours times what it is taken over is the unit that the schema annotates."""
    from workflow.derive.schema import schema

    for column, unit in units.COLUMNS[kind].items():
        annotated = schema(kind)["properties"][column].get("unit")
        if annotated and "time" in str(units.registry().parse_units(annotated).dimensionality):
            assert units.timed(unit), f"{kind}.{column}"


def test_a_fact_with_a_wrong_unit_fails_the_build(measured, monkeypatch):
    def wrong(read):
        """accept length, said to be a time"""
        return read["window.code.g3.accept_length"]

    definition = registry.Definition("test.wrong", wrong, "duration", "ms")
    monkeypatch.setattr(registry, "FACTS", [*registry.FACTS, definition])
    with pytest.raises(units.UnitError, match=r"test\.wrong: token/round is not ms; its function is .*wrong"):
        Derivation(measured, resamples=0).result("test.wrong")


def test_every_declared_unit_is_one():
    for definition in registry.FACTS:
        units.factor(definition.unit, definition.unit)
