"""The two transcribed campaigns: what they restate, what follows from it, and each of their claims through each verdict."""

import csv
import os
from dataclasses import replace
from pathlib import Path

import pytest

from workflow.derive import load, schema
from workflow.derive.evaluate import Derivation
from workflow.derive.fact import Cell
from workflow.derive.mutation import Prover
from workflow.plan import CAMPAIGNS, ROOT

NAMES = ("k3-mi355x", "m1max-mtp")
REFERENCE = os.environ.get("SOUNDINGS_REFERENCE")


@pytest.fixture(scope="module")
def campaigns():
    return {name: load.load(ROOT / CAMPAIGNS / name) for name in NAMES}


@pytest.fixture(scope="module")
def derivations(campaigns):
    return {name: Derivation(campaign, resamples=0) for name, campaign in campaigns.items()}


def edited(campaign, file: str, column: str, changes: dict[str, str]):
    """The campaign with some rows' cells changed, by the name of the row."""
    table = campaign.tables[file]
    names = table.columns[schema.NAMED_BY[table.kind]]
    for name, text in changes.items():
        table = table.with_cell(names.index(name), column, text)
    return campaign.with_table(table)


def without(campaign, *files: str):
    return replace(campaign, tables={name: table for name, table in campaign.tables.items() if name not in files})


def value(derivation, key: str) -> float:
    return derivation.result(key).fact.value


@pytest.mark.parametrize("name", NAMES)
def test_everything_says_that_it_is_transcribed(derivations, name):
    derivation = derivations[name]
    facts = [
        derivation.result(key).fact
        for key in derivation.definitions
        if key.startswith(("rows.", "figure.", "ledger.", "audit.", "origin."))
    ]
    shown = [fact for fact in facts if not fact.missing]
    assert len(shown) > 40 and {fact.status for fact in shown} <= {"transcribed", "computed"}
    assert all(fact.source or fact.parents for fact in shown)


def test_the_shares_of_the_long_input_close(derivations):
    k3 = derivations["k3-mi355x"]
    shares = {part: value(k3, f"rows.loss.{part}_share") for part in ("prefill", "step", "accept", "rest")}
    assert sum(shares.values()) == pytest.approx(100) and abs(shares["rest"]) < 0.1
    assert {part: round(share) for part, share in shares.items()} == {"step": 58, "accept": 27, "prefill": 15, "rest": 0}
    assert value(k3, "rows.loss.total_ms") == pytest.approx(53_782.2)
    assert value(k3, "rows.isl.step_log_share") == pytest.approx(69.2, abs=0.1)


def test_one_factor_at_a_time(derivations):
    k3 = derivations["k3-mi355x"]
    assert value(k3, "rows.cap.raised") == 0 and value(k3, "rows.cap.lowered") == 4
    assert value(k3, "rows.cap.best") == 24 and value(k3, "rows.cap.gain") == pytest.approx(1.524, abs=0.001)
    assert value(k3, "rows.block.best") == 3 and value(k3, "rows.block.gain") == pytest.approx(1.683, abs=0.001)
    assert value(k3, "rows.block.over_best_cap") == pytest.approx(1.105, abs=0.001)
    assert value(k3, "rows.lanes.shared") == 96 and value(k3, "rows.lanes.shared_levels") == 1
    assert value(k3, "rows.lanes.ratio") > 1.9


def test_the_allocation_that_failed_says_what_it_lacked(derivations):
    k3 = derivations["k3-mi355x"]
    found = {what: value(k3, f"rows.memory.plain.t4.{what}") for what in ("fraction", "asked", "free_at_fault")}
    assert found == {"fraction": pytest.approx(95), "asked": 1_750_000_000, "free_at_fault": 1_010_000_000}
    assert k3.result("rows.memory.plain.t4.asked").fact.status == "transcribed"
    assert k3.result("rows.memory.plain.t3.asked").fact.missing and k3.result("memory.plain.t3.asked").fact.missing


def test_what_the_plates_of_published_rows_show(derivations):
    k3 = derivations["k3-mi355x"]
    assert value(k3, "rows.isl.i8192.step_ms") == pytest.approx(2.339 * 12.48) and value(k3, "rows.isl.throughput_longest") == pytest.approx(16.04)
    assert (value(k3, "rows.cap.lowest"), value(k3, "rows.cap.at_lowest.tokens"), value(k3, "rows.cap.at_default.tokens")) == (16, 1_658_855, 1_174_618)
    assert (value(k3, "rows.osl.shortest"), value(k3, "rows.osl.longest")) == (128, 4096)
    assert value(k3, "rows.concurrency.at_most.per_request") == pytest.approx(1060.58 / 42.65)
    assert value(k3, "rows.cache.random.off.output_throughput") == pytest.approx((875.08 + 877.37 + 878.15) / 3), "repeats of the setting"
    assert value(k3, "rows.cache.shared.on.ratio") == pytest.approx(696.99 / 462.52) and value(k3, "rows.cache.on.running") == 114
    assert (value(k3, "rows.memory.plain.served"), value(k3, "rows.memory.plain.ran_out"), value(k3, "rows.memory.plain.tokens_at_least")) == (93, 94, 838_048)
    assert [value(k3, f"rows.memory.plain.t{place}.outcome") for place in (1, 2, 3, 4)] == ["came-up", "came-up", "ran-out", "ran-out"]
    m1 = derivations["m1max-mtp"]
    assert value(m1, "ledger.verify_ms") == 21.0 and value(m1, "ledger.speculative_rate") == 65.26


def test_wins_rest_on_the_repeats_of_the_publication(derivations):
    k3 = derivations["k3-mi355x"]
    assert value(k3, "noise.comparisons") == 8 and value(k3, "noise.floor") == pytest.approx(7.83, abs=0.01)
    claim = k3.claim("rows.narrow_block_serves_more")
    assert claim.verdict == "holds" and claim.noise >= 0.07


def flat_rows(campaign):
    """Block sizes and caps that all serve the same."""
    rows = campaign.tables["search.csv"].columns
    same = {name: "300" for name, stage in zip(rows["run_id"], rows["stage"]) if stage == "search"}
    return edited(campaign, "search.csv", "output_throughput", same)


def steady(campaign):
    """Repeats that agree."""
    table = campaign.tables["noise.csv"]
    for row in range(len(table)):
        table = table.with_cell(row, "log_ratio", "0.001")
    return campaign.with_table(table)


def test_each_claim_of_the_rows_through_each_verdict(campaigns):
    k3 = campaigns["k3-mi355x"]
    empty = without(k3, "search.csv", "sweep_isl.csv", "sweep_osl.csv", "sweep_concurrency.csv")
    level = flat_rows(k3)
    variants = {
        "rows.loss_closes": {
            "holds": k3,
            "fails": edited(k3, "sweep_isl.csv", "mean_e2e_ms", {"isl:65536": "90000"}),
        },
        "rows.accept_falls": {
            "holds": edited(k3, "sweep_isl.csv", "accept_length", {"isl:128": "2.6"}),
            "fails": k3,
        },
        "rows.lower_cap_serves_more": {
            "holds": k3,
            "unresolved": level,
        },
        "rows.narrow_block_serves_more": {
            "holds": k3,
            "unresolved": level,
        },
        "rows.step_cliff": {
            "holds": k3,
            "fails": edited(k3, "search.csv", "median_tpot_ms", {"8k1k:p3b-g2:c48": "20"}),
            "unresolved": edited(k3, "search.csv", "median_tpot_ms", {"8k1k:p3b-g2:c48": "58"}),
        },
        "rows.ttft_flat": {
            "holds": steady(k3),
            "fails": edited(k3, "sweep_osl.csv", "median_ttft_ms", {"osl:4096": "400"}),
            "unresolved": k3,
        },
        "rows.memory_wall": {
            "holds": k3,
            "fails": edited(k3, "search.csv", "mem_fraction_static", {"boot:p1-nospec-mf0.94": "0.9"}),
        },
        "rows.more_requests_serve_more": {
            "holds": k3,
            "fails": edited(k3, "sweep_concurrency.csv", "output_throughput", {"concurrency:48": "500"}),
            "unresolved": edited(k3, "sweep_concurrency.csv", "output_throughput", {"concurrency:48": "949.9"}),
        },
        "rows.cache_pays_on_shared": {
            "holds": k3,
            "fails": edited(k3, "search.csv", "output_throughput", {"shared_prefix:p2-radix-lazy:c32": "300"}),
            "unresolved": edited(k3, "search.csv", "output_throughput", {"shared_prefix:p2-radix-lazy:c32": "465"}),
        },
        "rows.plain_serves_more": {
            "holds": k3,
            "fails": edited(k3, "search.csv", "output_throughput", {"8k1k:p2-base-mf0.93:c96": "200"}),
            "unresolved": level,
        },
    }
    for key, cases in variants.items():
        for verdict, campaign in {**cases, "missing": empty}.items():
            claim = Derivation(campaign, resamples=0).claim(key)
            assert claim.verdict == verdict, f"{key}: {claim.verdict}, margin {claim.margin}, noise {claim.noise}, {claim.reason}"


def test_each_claim_of_the_ledger_through_its_verdicts(campaigns):
    m1 = campaigns["m1max-mtp"]
    variants = {
        "ledger.two_forwards_lose": {"holds": m1},
        "ledger.rulers_flip": {"holds": m1, "fails": edited(m1, "figures.csv", "value", {"july_linear_ms": "7.2"})},
        "ledger.too_dear": {"holds": m1, "fails": edited(m1, "figures.csv", "value", {"t_verify_ms": "12.0"})},
    }
    for key, cases in variants.items():
        for verdict, campaign in {**cases, "missing": without(m1, "figures.csv")}.items():
            assert Derivation(campaign, resamples=0).claim(key).verdict == verdict, key


def test_a_measured_campaign_keeps_its_own_account(derivation):
    assert derivation.result("rows.isl.longest").fact.missing and derivation.result("origin.publisher").fact.missing
    assert "measured here" in derivation.result("origin.publisher").fact.reason


def test_a_formula_that_cannot_be_read_stops_no_other(campaigns):
    k3 = edited(campaigns["k3-mi355x"], "claims.csv", "formula", {"isl-share": "v("})
    derivation = Derivation(k3, resamples=0)
    assert value(derivation, "audit.isl-share.verdict") == "unverifiable"
    assert value(derivation, "audit.conc-gain.verdict") == "consistent"


def test_a_verdict_names_the_cells_it_rests_on(derivations):
    fact = derivations["k3-mi355x"].result("audit.isl-share.verdict").fact
    assert Cell("sweep_isl.csv", "3,8", "accept_length", "") in fact.source
    assert any(cell.file == "claims.csv" and cell.column == "published" for cell in fact.source)


def test_every_number_moves_with_its_sources(campaigns):
    prover = Prover(campaigns["m1max-mtp"], seed=1)
    keys = [key for key in prover.keys() if not key.startswith("audit.")]  # noqa: SIM118
    outcome = prover.run(keys[::4])
    assert outcome.unproven == [] and outcome.strays == []


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_every_number_moves_with_its_sources_verdicts_included(campaigns, name):
    prover = Prover(campaigns[name])
    outcome = prover.run(prover.keys())
    assert outcome.unproven == [] and outcome.strays == []


# against the published files themselves

RENAMED = {
    "max_running_requests": "effective_max_running_requests",
    "kv_usage": "kv_usage_max",
    "state_usage": "state_usage_max",
    "queue": "queue_max",
}
LEFT = {"id", "setting", "workload", "note", "available_mem_gb"}


def rows(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf8", newline="") as file:
        return list(csv.DictReader(file))


@pytest.mark.skipif(not REFERENCE, reason="SOUNDINGS_REFERENCE is not set")
def test_every_published_cell_is_restated(campaigns):
    ours = {}
    for file, table in campaigns["k3-mi355x"].tables.items():
        if table.kind == "points":
            cells = list(zip(*table.columns.values()))
            ours |= {row[0]: dict(zip(table.columns, row)) | {"file": file} for row in cells}
    theirs = rows(Path(REFERENCE) / "k3-mi355x/measurements.csv")
    assert len(theirs) == len(ours) == 90
    for row in theirs:
        mine = ours[row["id"]]
        for column, text in row.items():
            if column not in LEFT:
                assert mine.get(RENAMED.get(column, column), "") == text or (column == "isl" and row["workload"] == "hostile"), (
                    row["id"],
                    column,
                )
        if row["available_mem_gb"]:
            assert int(mine["available_mem_bytes"]) == round(float(row["available_mem_gb"]) * 1e9)


@pytest.mark.skipif(not REFERENCE, reason="SOUNDINGS_REFERENCE is not set")
@pytest.mark.parametrize("name", NAMES)
def test_every_figure_and_claim_is_restated(campaigns, name):
    table = campaigns[name].tables["figures.csv"]
    ours = dict(zip(table.columns["id"], table.columns["value"]))
    source = "facts.csv" if name == "k3-mi355x" else "measurements.csv"
    theirs = {row["id"]: row["value"] for row in rows(Path(REFERENCE) / name / source)}
    assert all(ours[key] == text for key, text in theirs.items() if key in ours) and set(theirs) - set(ours) <= {"recipe"}
    claims = campaigns[name].tables["claims.csv"].columns
    published = {row["id"]: row["published"] for row in rows(Path(REFERENCE) / name / "claims.csv")}
    assert dict(zip(claims["id"], claims["published"])) == published


@pytest.mark.skipif(not REFERENCE, reason="SOUNDINGS_REFERENCE is not set")
@pytest.mark.parametrize("name", NAMES)
def test_the_restated_files_get_the_same_verdicts(name):
    from workflow.derive.audit import against, tables

    ours, theirs = (against.audit(tables.read(folder / name)) for folder in (ROOT / CAMPAIGNS, Path(REFERENCE)))
    assert [(f.id, f.verdict, f.other) for f in ours] == [(f.id, f.verdict, f.other) for f in theirs]
