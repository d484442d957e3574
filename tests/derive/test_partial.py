"""Campaigns that lack a stage, that failed, or that hold one row: they derive, and what they do not allow is missing with its reason."""

import pytest

from tests.derive.edit import remove, rewrite
from workflow.derive import load, schema
from workflow.derive.__main__ import main
from workflow.derive.evaluate import Derivation
from workflow.derive.values import Values

FILES = {family: [load.file_name(kind, family) for kind in ("points", "requests", "steps")] for family in load.FIRST}
FILES["search"].append("noise.csv")
FILES["window"].append("trace.csv")


def lacks(*families):
    return lambda folder: remove(folder, *(file for family in families for file in FILES[family]))


def all_failed(*families):
    def change(folder):
        keep = {*schema.schema("points")["required"], "block_size", "content", "max_concurrency", "boot"}

        def fail(rows):
            return [{name: cell if name in keep else "" for name, cell in row.items()} | {"status": "oom", "note": "no memory"} for row in rows]

        for family in families:
            rewrite(folder, FILES[family][0], fail)
            for file in FILES[family][1:3]:
                rewrite(folder, file, lambda rows: [])

    return change


def one_row(family):
    def change(folder):
        rewrite(folder, FILES[family][0], lambda rows: rows[:1])
        kept = schema.read_rows(folder / FILES[family][0])[1][0][0]
        for file in FILES[family][1:3]:
            rewrite(folder, file, lambda rows: [row for row in rows if row["run_id"] == kept])

    return change


def no_rows(family):
    return lambda folder: [rewrite(folder, file, lambda rows: []) for file in FILES[family][:3]]


PARTIAL = {
    **{f"no {family}": (lacks(family), family) for family in FILES},
    **{f"only {family}": (lacks(*(other for other in FILES if other != family)), None) for family in FILES},
    **{f"every {family} row failed": (all_failed(family), family) for family in FILES},
    **{f"one {family} row": (one_row(family), None) for family in FILES},
    **{f"no {family} row": (no_rows(family), family) for family in FILES},
    **{f"{family} points alone": (lambda folder, family=family: remove(folder, *FILES[family][1:]), None) for family in FILES},
    "everything failed": (all_failed(*FILES), None),
    "nothing": (lacks(*FILES), None),
}
SPEAKS = {"search": "search.winner_ratio", "window": "window.code.g3.speedup", "isl": "isl.at_longest.plain.tpot_ms", "concurrency": "lanes.c1.ratio"}


@pytest.mark.parametrize("name", PARTIAL)
def test_a_partial_campaign_derives(scratch, derivation, name):
    change, family = PARTIAL[name]
    change(scratch)
    values = Derivation(load.load(scratch), resamples=20).values()
    schema.check_document(scratch / "values.json", values.to_json(), "values")
    assert set(derivation.definitions) <= set(values.facts) and set(derivation.claim_definitions) == set(values.claims)
    assert all(fact.reason for fact in values.facts.values() if fact.missing)
    assert all(claim.reason for claim in values.claims.values() if claim.verdict in ("missing", "unresolved"))
    if family is not None:
        fact = values.fact(SPEAKS[family])
        assert fact.missing and FILES[family][0].removesuffix(".csv").split("_")[-1] in fact.reason, fact.reason


def test_rows_that_failed_say_so(scratch):
    all_failed("window")(scratch)
    reason = Derivation(load.load(scratch), resamples=0).result("window.code.g3.step_ms").fact.reason
    assert reason.startswith("sweep_window.csv line ") and reason.endswith("status oom (no memory)")


def test_a_partial_campaign_is_written(scratch, tmp_path):
    lacks("window", "search")(scratch)
    assert main(["--campaign", str(scratch), "--out", str(tmp_path / "out")]) == 0
    assert Values.load(tmp_path / "out" / "values.json").claim("window.narrow_wins").verdict == "missing"


def test_a_foreign_file_without_a_column_says_so(scratch):
    def drop(rows):
        return [{name: "" if name == "step_ms" else cell for name, cell in row.items()} for row in rows]

    rewrite(scratch, "sweep_window.csv", drop)
    assert Derivation(load.load(scratch), resamples=0).result("window.code.g3.step_ms").fact.reason.endswith("column step_ms is empty")
    rewrite(scratch, "sweep_window.csv", lambda rows: rows, without=("step_ms",))
    reason = Derivation(load.load(scratch), resamples=0).result("window.code.g3.step_ms").fact.reason
    assert reason == "sweep_window.csv has no column step_ms"
