"""What the registry records by itself."""

import math

import pytest

from workflow.derive import registry, schema
from workflow.derive.evaluate import Derivation
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample
from workflow.derive.values import UnknownKey, Values


def with_facts(monkeypatch, *definitions):
    monkeypatch.setattr(registry, "FACTS", [*registry.FACTS, *definitions])


def test_parents_and_cells_are_recorded_not_typed(derivation):
    speedup = derivation.result("window.code.g3.speedup").fact
    assert set(speedup.parents) == {"window.code.plain.tpot_ms", "window.code.g3.tpot_ms"} and not speedup.source
    tpot = derivation.result("window.code.g3.tpot_ms").fact
    assert {cell.column for cell in tpot.source} == {"e2e_ms", "ttft_ms", "osl"}
    assert {cell.file for cell in tpot.source} == {"requests_window.csv"}
    assert {cell.where for cell in tpot.source} == {"content=code arm=g3"}


def test_the_lines_of_a_source_are_those_of_the_file(folder, derivation):
    cell = derivation.result("isl.i512.plain.ttft_ms").fact.source[0]
    text = (folder / cell.file).read_text("utf8").splitlines()
    header = text[0].split(",")
    first, last = cell.row.split(",")[0].split("-")
    points = {row["run_id"]: row for row in read(folder / "sweep_isl.csv")}
    for line in range(int(first), int(last) + 1):
        point = points[text[line - 1].split(",")[header.index("run_id")]]
        assert (point["isl"], point["lane"]) == ("512", "plain")


def read(path):
    import csv

    return list(csv.DictReader(path.open(encoding="utf8")))


def test_value_is_what_the_formula_says(folder, derivation):
    """Recomputed from the file without any of our code."""
    points = {row["run_id"] for row in read(folder / "sweep_window.csv") if row["content"] == "code" and row["label"] == "dspark-g3"}
    rows = [row for row in read(folder / "requests_window.csv") if row["run_id"] in points]
    tokens = sum(int(row["osl"]) - 1 for row in rows)
    tpot = sum(float(row["e2e_ms"]) - float(row["ttft_ms"]) for row in rows) / tokens
    rounds, accepted = sum(int(row["rounds"]) for row in rows), sum(int(row["accepted"]) for row in rows)
    assert derivation.result("window.code.g3.tpot_ms").fact.value == pytest.approx(tpot, rel=1e-12)
    assert derivation.result("window.code.g3.accept_length").fact.value == pytest.approx(1 + accepted / rounds, rel=1e-12)
    assert derivation.result("window.code.g3.emitted_per_round").fact.value == pytest.approx(tokens / rounds, rel=1e-12)


def test_status_is_that_of_the_weakest_parent(derivation):
    assert derivation.result("window.code.g3.speedup").fact.status == "measured"
    assert derivation.result("division.code.g3.predicted").fact.status == "computed"
    assert derivation.result("division.code.g3.gap").fact.status == "computed"
    assert derivation.result("division.worst_gap").fact.status == "computed"


def test_rows_that_say_they_were_simulated_weaken_everything_above(measured):
    from dataclasses import replace

    manifests = {name: manifest | {"status": "simulated"} for name, manifest in measured.manifests.items()}
    derivation = Derivation(replace(measured, manifests=manifests), resamples=0)
    assert derivation.result("window.code.g3.speedup").fact.status == "simulated"
    claim = derivation.claim("window.spec_pays.code")
    assert claim.verdict == "unresolved" and "simulated, not measured" in claim.reason


def test_missing_tells_the_first_reason(measured, monkeypatch):
    def first(read):
        """nothing"""
        raise Missing("the machine was switched off")

    def second(read):
        """of nothing"""
        return read["test.first"] * 2

    with_facts(monkeypatch, registry.Definition("test.first", first, "ratio"), registry.Definition("test.second", second, "ratio"))
    fact = Derivation(measured, resamples=0).result("test.second").fact
    assert fact.missing and fact.reason == "the machine was switched off" and fact.parents == ("test.first",)


@pytest.mark.parametrize("value", [math.nan, math.inf, -math.inf])
def test_what_is_not_finite_is_missing(measured, monkeypatch, value):
    def broken(read):
        """not a number"""
        return Sample(value)

    with_facts(monkeypatch, registry.Definition("test.broken", broken, "ratio"))
    fact = Derivation(measured, resamples=0).result("test.broken").fact
    assert fact.value is None and fact.reason == "the value is not finite"


def test_an_empty_cell_is_missing_and_named(measured):
    points = measured.tables["sweep_window.csv"]
    row = next(i for i in range(len(points)) if points.columns["label"][i] == "dspark-g3" and points.columns["content"][i] == "code")
    derivation = Derivation(measured.with_table(points.with_cell(row, "step_ms", "")), resamples=0)
    fact = derivation.result("window.code.g3.step_ms").fact
    assert fact.missing and fact.reason == f"sweep_window.csv line {points.lines[row]}: column step_ms is empty"


def test_a_failed_point_does_not_count_and_is_the_reason(measured):
    points = measured.tables["sweep_isl.csv"]
    before = Derivation(measured, resamples=0)
    for row in range(len(points)):
        if points.columns["isl"][row] == "4096" and points.columns["lane"][row] == "dspark":
            points = points.with_cell(row, "status", "oom").with_cell(row, "note", "asked for 9 GiB")
    derivation = Derivation(measured.with_table(points), resamples=0)
    fact = derivation.result("isl.i4096.dspark.step_ms").fact
    assert fact.missing and "status oom (asked for 9 GiB)" in fact.reason
    assert derivation.result("isl.longest").fact.value == 512
    was, now = ({key: one.result(f"run.{key}").fact.value for key in ("failed", "cells", "cells_oom")} for one in (before, derivation))
    assert now == was | {"cells_oom": was["cells_oom"] + 2}


def test_keys_that_depend_on_themselves_are_refused(measured, monkeypatch):
    def around(read):
        """itself"""
        return read["test.around"]

    with_facts(monkeypatch, registry.Definition("test.around", around, "ratio"))
    with pytest.raises(ValueError, match="test.around depends on itself"):
        Derivation(measured, resamples=0).result("test.around")


def test_two_functions_may_not_claim_one_key(measured, monkeypatch):
    def again(read):
        """a second definition"""
        return 1.0

    with_facts(monkeypatch, registry.Definition("noise.floor", again, "percent", "percent"))
    with pytest.raises(ValueError, match="noise.floor: registered by floor and by again"):
        Derivation(measured, resamples=0).result("noise.floor")


def test_a_count_must_be_whole(measured, monkeypatch):
    def half(read):
        """half a thing"""
        return 1.5

    with_facts(monkeypatch, registry.Definition("test.half", half, "count"))
    with pytest.raises(ValueError, match="test.half: a count of 1.5"):
        Derivation(measured, resamples=0).result("test.half")


def test_every_fact_and_claim_says_what_it_is(derivation):
    for definition in (*registry.FACTS, *registry.CLAIMS):
        assert definition.formula, definition.template


def test_unknown_keys_name_near_ones(derivation, values):
    with pytest.raises(UnknownKey, match="window.code.g3.speedup"):
        derivation.result("window.code.g3.speedups")
    with pytest.raises(KeyError, match="no fact"):
        values.fact("window.cod.g3.speedup")
    with pytest.raises(UnknownKey, match="no claim"):
        values.claim("window.narrow_win")


def test_values_survive_the_file(values, tmp_path):
    from workflow.derive.__main__ import write

    write(values, tmp_path)
    back = Values.load(tmp_path / "values.json")
    assert back.facts == values.facts and back.claims == values.claims and back.campaign == values.campaign


def test_every_fact_and_claim_satisfies_the_schema(values, tmp_path):
    schema.check_document(tmp_path, values.to_json(), "values")
    broken = values.to_json()
    broken["facts"]["noise.floor"]["value"] = None
    with pytest.raises(schema.SchemaError, match="facts.noise.floor"):
        schema.check_document(tmp_path, broken, "values")


def test_match_orders_numbers_as_numbers(values):
    found = [fact.key for fact in values.match("lanes.c*.ratio")]
    assert found == ["lanes.c1.ratio", "lanes.c4.ratio", "lanes.c16.ratio"]


def test_a_campaign_without_files_has_every_key_and_a_reason(tmp_path):
    from workflow.derive import load

    (tmp_path / "campaign.yaml").write_text("name: empty\nbackend: external\n", "utf8")
    values = Derivation(load.load(tmp_path)).values()
    present = [key for key, fact in values.facts.items() if not fact.missing]
    assert all(key.startswith("threshold.") for key in present)
    assert all(fact.reason for fact in values.facts.values() if fact.missing)
    assert {claim.verdict for claim in values.claims.values()} == {"missing"}
