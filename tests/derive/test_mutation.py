"""The mutation run finds numbers that do not hang on their sources."""

import random
from dataclasses import replace

import pytest

from workflow.cli import main
from workflow.derive import load, registry
from workflow.derive.evaluate import Derivation
from workflow.derive.mutation import BY_DEFINITION, FACTORS, Mutation, Prover, changed
from workflow.derive.schema import schema
from workflow.plan import CAMPAIGNS, ROOT


@pytest.fixture(scope="module")
def prover(measured):
    return Prover(measured, seed=3)


def test_a_sample_of_the_keys_is_proven(prover):
    keys = random.Random(5).sample(sorted(prover.keys()), 60)
    outcome = prover.run(keys)
    assert not outcome.unproven and not outcome.strays and outcome.score == 1


def test_what_is_left_out_by_definition_is_one(prover):
    assert {prover.base.result(key).fact.value for key in BY_DEFINITION} == {1.0}


@pytest.mark.parametrize(("kind", "value"), [("ratio", 1.93), ("count", 2), ("label", "code")])
def test_what_reads_its_rows_and_returns_a_constant_is_not_proven(measured, monkeypatch, kind, value):
    """Without its rows, or with cells that choose no row, such a function fails; that is no proof."""

    def typed(read):
        """as it was last time"""
        read.requests("window", content="code", arm="g3").sum("rounds")
        read["window.code.g3.tpot_ms"]
        return value

    monkeypatch.setattr(registry, "FACTS", [*registry.FACTS, registry.Definition("test.typed", typed, kind)])
    prover = Prover(measured)
    outcome = prover.run(["test.typed"], tries=25)
    assert outcome.unproven == ["test.typed"] and outcome.score == 0
    lines = prover.sources("test.typed")["requests_window.csv", "rounds"]
    gone = Mutation("requests_window.csv", "", tuple(n for n in range(lines.bit_length()) if lines >> n & 1))
    assert "test.typed" in prover.moved(gone)


def test_a_number_read_behind_the_registry_is_found(measured, monkeypatch):
    """A function that takes a cell without going through its reader moves against the graph."""

    def hidden(read):
        """accept length, and something else"""
        table = read.campaign.tables["requests_window.csv"]
        return read["window.code.g3.accept_length"] * float(table.numbers("e2e_ms")[0])

    monkeypatch.setattr(registry, "FACTS", [*registry.FACTS, registry.Definition("test.hidden", hidden, "length", "token/round")])
    prover = Prover(measured)
    line = measured.tables["requests_window.csv"].lines[0]
    mutation = Mutation("requests_window.csv", "e2e_ms", (line,), ("999.0",))
    prover.readers[("requests_window.csv", "e2e_ms")].add("test.hidden")
    assert "test.hidden" in prover.moved(mutation) and not prover.expected("test.hidden", mutation)


def test_one_cell_moves_what_rests_on_it_and_nothing_else(prover):
    cell = next(c for c in prover.base.result("window.code.g3.accept_length").fact.source if c.column == "accepted")
    line = int(cell.row.split(",")[0].split("-")[0])
    moved = prover.moved(Mutation(cell.file, "accepted", (line,), ("1",)))
    assert "window.code.g3.accept_length" in moved and "window.all.g3.accept_length" in moved
    assert not [key for key in moved if key.startswith(("window.en.", "lanes.c", "isl.", "search."))]


def test_all_numeric_cells_of_one_file(measured, prover):
    """Exhaustive over the input-length points: no stray, and each column that a fact reads moves one."""
    mutations = [m for m in prover.every_cell() if m.file == "sweep_isl.csv"][::7]
    assert len(mutations) > 60
    for mutation in mutations:
        strays = [key for key in prover.moved(mutation) if not prover.expected(key, mutation)]
        assert not strays, f"{mutation}: {strays[:3]}"


def test_a_build_that_fails_counts_as_caught(measured):
    prover = Prover(measured)
    points = measured.tables["sweep_window.csv"]
    assert "window.decode_ms" in prover.moved(Mutation("sweep_window.csv", "", tuple(points.lines)))


def test_files_that_no_longer_fit_together_count_as_caught(measured):
    prover = Prover(measured)
    line = measured.tables["search.csv"].lines[0]
    moved = prover.moved(Mutation("search.csv", "run_id", (line,), ("another",)))
    assert "run.cells" in moved and "noise.floor" not in moved


@pytest.mark.parametrize(
    ("kind", "column"),
    [
        ("points", "steps"),
        ("points", "distinct_4gram_share"),
        ("points", "accept_length"),
        ("points", "lane"),
        ("requests", "accepted_histogram"),
    ],
)
def test_mutated_cells_stay_within_their_schema(kind, column):
    from workflow.derive.schema import rule_of

    rule = schema(kind)["properties"][column]
    text = {"steps": "1", "distinct_4gram_share": "1.0", "accept_length": "1.0", "lane": "plain", "accepted_histogram": "3;0;1"}[column]
    for factor in (1.37, 0.6, 4.0, 0.2, 0.0):
        new = changed(text, rule, factor)
        assert rule_of(rule)(new)
        # by factor 0 all cells take one value, which some of them may have already
        assert new != text or (factor == 0.0 and "enum" in rule)


def test_the_score_is_a_fact_of_the_files_it_was_made_on(measured):
    sources = {name: manifest["sha256"] for name, manifest in measured.manifests.items()}
    found = {"keys": 40, "proven": 39, "mutations": 77, "sources": sources}
    derivation = Derivation(replace(measured, mutation=found), resamples=0)
    assert derivation.result("mutation.score").fact.value == 97.5
    stale = Derivation(replace(measured, mutation=found | {"sources": {}}), resamples=0).result("mutation.score").fact
    assert stale.missing and "read another" in stale.reason
    assert "no mutation run" in Derivation(measured, resamples=0).result("mutation.keys").fact.reason


ARCHIVED = ROOT / CAMPAIGNS / "xeon-2core"


def test_the_archived_score_is_that_of_the_archived_rows():
    derivation = Derivation(load.load(ARCHIVED), resamples=0)
    assert derivation.result("mutation.score").fact.value == 100
    assert derivation.claim("mutation.every_key_moves").verdict == "holds"


@pytest.mark.slow
def test_a_seeded_sample_of_the_archived_campaign_is_proven(capsys, tmp_path):
    assert main(["mutate", "--campaign", str(ARCHIVED), "--sample", "150", "--seed", "7", "--out", str(tmp_path / "mutation.json")]) == 0
    assert "150 of 150 keys moved" in capsys.readouterr().out


def test_every_place_of_a_list_that_a_fact_rests_on_is_proposed(prover):
    """A fact about the last draft of a block rests on the last counts of the histograms, which few draws would hit."""
    key = "window.code.accept_at_pos.7"
    wanted = prover.slots(key)["requests_window.csv", "accepted_histogram"]
    assert sorted(wanted) == [6, 7]
    table = prover.campaign.tables["requests_window.csv"]
    line = next(n for n, text in zip(table.lines, table.columns["accepted_histogram"]) if text.count(";") == 7)
    for mutation, slot in zip(prover.cells_mutation(table, "accepted_histogram", [line], 1.37, wanted), wanted, strict=True):
        old = table.columns["accepted_histogram"][table.lines.index(line)].split(";")
        new = mutation.texts[0].split(";")
        assert [n for n, (a, b) in enumerate(zip(old, new, strict=True)) if a != b] == [slot]


def test_every_value_of_an_enumeration_is_tried():
    """A count of rows with one status is zero in many campaigns: it moves only when a row gets that very status."""
    rule = {"enum": ["ok", "oom", "crash", "timeout", "skipped"]}
    assert {changed("ok", rule, factor) for factor in FACTORS[:-1]} == {"oom", "crash", "timeout", "skipped"}
    assert {changed("a", {"enum": ["a", "b"]}, factor) for factor in FACTORS[:-1]} == {"b"}


def test_a_count_of_nothing_can_overtake_others():
    rule = {"type": ["integer", "null"], "minimum": 0}
    assert changed("0", rule, max(FACTORS)) == "1000" and changed("0", rule, FACTORS[0]) == "1"
    assert changed("0", rule | {"maximum": 1}, max(FACTORS)) == "1", "a bound is kept"
