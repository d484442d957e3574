"""Broken files are refused with their place and what would be right."""

import csv
import gzip
from pathlib import Path

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from tests.derive.edit import rewrite, seal
from workflow.derive import load
from workflow.derive.schema import SchemaError, columns_of, numbers_within, parse, read_rows, rule_of, validate_csv, validate_manifest


def spoil(folder, file, line, column, text):
    """Put a text into one cell and keep the manifest in step."""

    def change(rows):
        rows[line - 2][column] = text
        return rows

    rewrite(folder, file, change)


@pytest.mark.parametrize(
    ("file", "column", "text", "told"),
    [
        ("sweep_window.csv", "block_size", "3.5", "an integer >= 1"),
        ("sweep_window.csv", "step_ms", "nan", "a finite number >= 0"),
        ("sweep_window.csv", "step_ms", "inf", "a finite number >= 0"),
        ("sweep_window.csv", "step_ms", "-1", "a finite number >= 0"),
        ("sweep_window.csv", "lane", "turbo", "one of plain, dspark, dflash, mtp, lookup, spec, unknown"),
        ("sweep_window.csv", "distinct_4gram_share", "1.5", "<= 1"),
        ("requests_window.csv", "accepted_histogram", "1,2", "like ^[0-9]+(;[0-9]+)*$"),
        ("requests_window.csv", "osl", "", "an integer >= 0"),
        ("noise.csv", "value_a", "0", "> 0"),
    ],
)
def test_a_bad_cell_is_named(scratch, file, column, text, told):
    spoil(scratch, file, 4, column, text)
    with pytest.raises(SchemaError) as error:
        load.load(scratch)
    message = str(error.value)
    assert f"{file}: line 4, column {column}: {text!r}" in message and told in message


def test_unknown_column_suggests_the_right_one(scratch):
    path = scratch / "sweep_window.csv"
    path.write_text(path.read_text("utf8").replace("mean_tpot_ms", "mean_tpot_sm", 1), "utf8")
    with pytest.raises(SchemaError, match=r"line 1: unknown column 'mean_tpot_sm'; did you mean 'mean_tpot_ms'"):
        validate_csv(path)


def test_required_column_missing(scratch):
    path = scratch / "noise.csv"
    lines = [line.rsplit(",", 1)[0] for line in path.read_text("utf8").splitlines()]
    path.write_text("\n".join(lines) + "\n", "utf8")
    with pytest.raises(SchemaError, match="line 1: column 'log_ratio' is missing"):
        validate_csv(path)


def test_ragged_row(scratch):
    path = scratch / "trace.csv"
    lines = path.read_text("utf8").splitlines()
    lines[2] += ",1"
    path.write_text("\n".join(lines) + "\n", "utf8")
    with pytest.raises(SchemaError, match="line 3: 21 cells, the header has 20"):
        validate_csv(path)


def test_run_id_must_be_unique_and_known(scratch):
    def twice(rows):
        rows[1]["run_id"] = rows[0]["run_id"]
        return rows

    rewrite(scratch, "sweep_isl.csv", twice)
    with pytest.raises(SchemaError, match="line 3, column run_id: .* stands on line 2 already"):
        load.load(scratch)


def test_rows_of_an_unknown_point(scratch):
    spoil(scratch, "requests_isl.csv", 5, "run_id", "nobody")
    with pytest.raises(SchemaError, match="requests_isl.csv: line 5, column run_id: 'nobody' is no point of sweep_isl.csv"):
        load.load(scratch)


def test_manifest_of_another_file(scratch):
    path = scratch / "noise.csv"
    path.write_text(path.read_text("utf8").replace("base-a", "base-c", 1), "utf8")
    with pytest.raises(SchemaError, match="noise.manifest.json: sha256: .* the CSV is not the one that was measured"):
        load.load(scratch)
    seal(path, 3)
    with pytest.raises(SchemaError, match="noise.manifest.json: rows: 3 but noise.csv has"):
        load.load(scratch)


def test_manifest_without_a_field(scratch):
    manifest = scratch / "noise.manifest.json"
    manifest.write_text(manifest.read_text("utf8").replace('"machine"', '"machines"'), "utf8")
    with pytest.raises(SchemaError, match=r"noise.manifest.json: the document: .*machine"):
        validate_manifest(manifest, scratch / "noise.csv")


def test_campaign_without_a_backend(scratch):
    (scratch / "campaign.yaml").write_text("name: synthetic\n", "utf8")
    with pytest.raises(SchemaError, match="campaign.yaml: the document: 'backend' is a required property"):
        load.load(scratch)


def test_csv_without_manifest(scratch):
    (scratch / "noise.manifest.json").unlink()
    with pytest.raises(SchemaError, match="noise.manifest.json: no such file"):
        load.load(scratch)


def test_gzipped_rows_read_the_same(scratch, measured):
    path = scratch / "steps_isl.csv"
    path.with_name("steps_isl.csv.gz").write_bytes(gzip.compress(path.read_bytes()))
    path.unlink()
    assert load.load(scratch).tables["steps_isl.csv"].columns == measured.tables["steps_isl.csv"].columns


def test_file_of_an_unknown_kind(tmp_path):
    path = tmp_path / "results.csv"
    path.write_text("a\n1\n", "utf8")
    with pytest.raises(SchemaError, match="no schema for a file of this name"):
        validate_csv(path)


@pytest.mark.parametrize("content", [b"not gzip", b"\x1f\x8b\x08\x00", gzip.compress(b"run_id\n", mtime=0)[:-9]], ids=["other file", "header alone", "cut short"])
def test_a_broken_archive_is_one_line(tmp_path, content):
    path = tmp_path / "sweep_window.csv.gz"
    path.write_bytes(content)
    with pytest.raises(SchemaError, match="sweep_window.csv.gz: not a whole gzip file"):
        read_rows(path)


@pytest.mark.parametrize("name", ["campaign.yaml", "noise.manifest.json"])
def test_bytes_that_are_no_text_are_one_line(scratch, name):
    (scratch / name).write_bytes(b"name: \xff\xfe")
    with pytest.raises(SchemaError, match=f"{name}: not UTF-8"):
        load.load(scratch)


def divided(read, text: str):
    """What a reader makes of a text, or what it says about it."""
    try:
        return read(Path("x.csv"), text)
    except SchemaError as error:
        return str(error)


def by_csv(path: Path, text: str):
    header, rows, lines = parse(path, text)
    return header, {name: tuple(row[at] for row in rows) for at, name in enumerate(header)}, lines


@given(st.text('a1,\n\r" ', max_size=30))
@example("a,b\n1,2")
@example("a,a\n1,2\n")
@example("a\n\n1\n")
@example("a,b\n" + "1" * csv.field_size_limit() + "1,2\n")
def test_columns_are_those_of_a_csv_reader(text):
    assert divided(columns_of, text) == divided(by_csv, text)


@given(
    st.sets(st.from_regex(r"-?[0-9]{1,3}(\.[0-9]{1,3})?([eE][+-]?[0-9]{1,3})?", fullmatch=True) | st.sampled_from(["", "1\n2", "1_0", " 1", "1.", "inf", "9" * 400]), max_size=4),
    st.sampled_from([["integer"], ["number"], ["number", "null"]]),
    st.dictionaries(st.sampled_from(["minimum", "maximum", "exclusiveMinimum"]), st.sampled_from([-1, 0, 1, 2.5])),
)
def test_a_column_that_passes_as_a_whole_passes_cell_by_cell(texts, types, bounds):
    rule = {"type": types, **bounds}
    if numbers_within(rule, texts):
        assert all(map(rule_of(rule), texts))


def test_numbers_pass_as_a_whole():
    assert numbers_within({"type": ["number", "null"], "minimum": 0}, {"", "1", "2.5", "1e-3"}) and numbers_within({"type": "integer"}, {"-3", "10"})
