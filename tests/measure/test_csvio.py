from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema import Draft202012Validator

from engine import csvio
from engine.csvio import TableError

STEP = {
    "run_id": "window-0001",
    "step": 0,
    "kind": "round",
    "start_s": 0.25,
    "step_ms": 5.5,
    "running": 1,
    "queued": 0,
    "positions": 4,
    "committed": 2,
    "emitted": 2,
    "draft_ms": 1.0,
    "verify_ms": 4.0,
    "commit_ms": 0.25,
    "kv_usage": 0.5,
    "state_usage": None,
    "retracted": 0,
    "blocked_by": None,
}
KINDS = ("points", "requests", "steps", "trace", "noise", "kernels", "predicates")


@pytest.mark.parametrize("kind", (*KINDS, "manifest", "campaign"))
def test_schemas_are_json_schemas(kind: str) -> None:
    Draft202012Validator.check_schema(json.loads((csvio.SCHEMAS / f"{kind}.schema.json").read_text("utf8")))


def test_rows_survive_a_round_trip() -> None:
    rows = [STEP, {**STEP, "step": 1, "blocked_by": "kv_pages"}]
    assert csvio.parse("steps", csvio.render("steps", rows, "s.csv"), "s.csv") == rows


@given(st.floats(min_value=0, max_value=1e6), st.integers(min_value=0, max_value=10**9))
def test_numbers_survive_to_nine_digits(ms: float, count: int) -> None:
    (row,) = csvio.parse("steps", csvio.render("steps", [{**STEP, "step_ms": ms, "queued": count}], "s.csv"), "s.csv")
    assert row["queued"] == count
    assert row["step_ms"] == pytest.approx(ms, rel=1e-8, abs=1e-300)


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"kind": "idle"}, "column kind: 'idle' is none of prefill, decode, round"),
        ({"step": -1}, "column step: -1 is below 0"),
        ({"step": 1.5}, "column step: 1.5 is not an integer"),
        ({"step": None}, "column step: must not be empty"),
        ({"step_ms": float("nan")}, "column step_ms: nan is not finite"),
        ({"kv_usage": 1.2}, "column kv_usage: 1.2 is above 1"),
        ({"step_ms": "fast"}, "column step_ms: 'fast' is not a number"),
        ({"colour": "red"}, "column 'colour' is not in steps.schema.json"),
    ],
)
def test_a_bad_cell_is_named(change: dict, says: str) -> None:
    with pytest.raises(TableError) as caught:
        csvio.render("steps", [STEP, {**STEP, **change}], "steps_window.csv")
    assert str(caught.value) == f"steps_window.csv: row 2: {says}"


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (b"", "empty file"),
        (b"\xff\xfe", "not readable as CSV"),
        (b"run_id,colour\n", "column 'colour' is not in"),
        (b"run_id,step\n", "column 'kind' is missing"),
    ],
)
def test_a_broken_file_is_named(content: bytes, says: str) -> None:
    with pytest.raises(TableError, match=says):
        csvio.parse("steps", content, "steps_window.csv")


def test_a_short_line_is_named() -> None:
    content = csvio.render("steps", [STEP, STEP], "s.csv")
    torn = content[: content.rindex(b",")]
    with pytest.raises(TableError, match="row 2: 16 cells, the header has 17"):
        csvio.parse("steps", torn, "s.csv")


def test_optional_columns_may_be_absent() -> None:
    header, line = csvio.render("steps", [STEP], "s.csv").decode().splitlines()
    short = "\n".join(text.rsplit(",", 1)[0] for text in (header, line))
    assert "blocked_by" not in csvio.parse("steps", short.encode(), "s.csv")[0]


def test_rate_may_be_a_number_or_inf() -> None:
    rate = next(column for column in csvio.columns("points") if column.name == "request_rate")
    assert [rate.parse(text) for text in ("2.5", "inf", "")] == [2.5, "inf", None]
    assert rate.fault("inf") is None and rate.fault(2.5) is None and rate.fault("fast") is not None


def test_files_appear_together_or_not_at_all(tmp_path: Path) -> None:
    old = tmp_path / "a.csv"
    old.write_bytes(b"old")
    with pytest.raises(FileNotFoundError):
        csvio.publish({old: b"new", tmp_path / "absent" / "b.csv": b"new"})
    assert old.read_bytes() == b"old"
    assert [path.name for path in tmp_path.iterdir()] == ["a.csv"]
    csvio.publish({old: b"new", tmp_path / "b.csv": b"more"})
    assert sorted(path.name for path in tmp_path.iterdir()) == ["a.csv", "b.csv"]
    assert old.read_bytes() == b"new"
