"""The ledger on a published campaign: its figures in, its conclusions out."""

import csv
import os
from pathlib import Path

import pytest

from workflow.derive.ledger import acceptance, table

FOLDER = os.environ.get("SOUNDINGS_REFERENCE")
pytestmark = pytest.mark.skipif(not FOLDER, reason="SOUNDINGS_REFERENCE is not set")


@pytest.fixture(scope="module")
def figures() -> dict[str, float]:
    with (Path(FOLDER) / "m1max-mtp/measurements.csv").open(encoding="utf8") as file:
        return {row["id"]: float(row["value"]) for row in csv.DictReader(file)}


@pytest.fixture(scope="module")
def said() -> dict[str, str]:
    with (Path(FOLDER) / "m1max-mtp/claims.csv").open(encoding="utf8") as file:
        return {row["id"]: row["published"] for row in csv.DictReader(file)}


def printed(value: float, text: str) -> str:
    """The value at the precision of a printed figure."""
    return f"{value:.{len(text.partition('.')[2])}f}"


def test_prediction_break_even_and_verdict(figures, said):
    case = table.entry(
        {
            "decode_tok_s": figures["plain_tok_s"],
            "p": figures["p"],
            "draft_ms": figures["t_draft_ms"],
            "verify_ms": figures["t_verify_ms"],
            "measured_tok_s": figures["spec_tok_s"],
        }
    )
    assert printed(case.tok_s, said["predicted"]) == said["predicted"]
    assert printed(case.break_even_ms, said["break-even"]) == said["break-even"]
    assert printed(case.break_even_steps, said["break-even-ratio"]) == said["break-even-ratio"]
    assert printed((figures["spec_tok_s"] / case.tok_s - 1) * 100, said["predicted-gap"]) == said["predicted-gap"]
    assert case.verdict == "never pays" and case.verify_ms > case.break_even_ms


def test_one_ruler_and_two(figures, said):
    case = table.entry(
        {
            "decode_tok_s": figures["july_graph_tok_s"],
            "p": figures["july_p"],
            "draft_ms": figures["july_draft_ms"],
            "verify_passes": 2.0,
            "block_sum_ms": sum(figures[f"july_{block}_ms"] for block in ("linear", "full", "moe", "head", "rest")),
        }
    )
    assert printed(case.forwards_bound, said["p-one-bound"]) == said["p-one-bound"]
    assert printed(case.tok_s, said["july-right"]) == said["july-right"]
    assert printed(case.speedup, said["july-right-ratio"]) == said["july-right-ratio"]
    (mismatch,) = case.mismatches
    assert mismatch.flips and printed(mismatch.left_out * 100, said["july-missing"]) == said["july-missing"]
    assert printed(mismatch.mixed * figures["july_graph_tok_s"], said["july-wrong"]) == said["july-wrong"]


def test_forty_eight_steps_say_little(figures):
    short = acceptance.of_one_draft(figures["p_48"], 48)
    assert short.half_width > 0.13 and 100 * acceptance.wald(figures["p_48"], 48) == pytest.approx(14.12, abs=0.01)
    assert acceptance.of_one_draft(figures["p_128"], 128).half_width < short.half_width
