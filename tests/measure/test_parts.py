"""A sweep in parts: together they are the sweep, and what does not belong together is refused."""

from __future__ import annotations

import argparse
import functools
import itertools
import json
import math
import shutil
from collections import Counter
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import csvio, sweep
from engine.bench.cells import PLAIN, Block
from engine.bench.part import Part
from engine.bench.part_check import OF_KIND, WHEN_OK, check
from engine.config import ConfigError
from tests.measure.conftest import SIZES
from workflow.derive.schema import validate_csv, validate_manifest

STAGES = {"isl": {**SIZES["isl"], "ladder": [16, 32], "repeats": 3}}


def arguments(campaign: Path, out: Path, *more: str) -> list[str]:
    return ["--sweep", "isl", "--campaign", str(campaign), "--out", str(out), "--quiet", *more]


@given(st.integers(0, 30), st.integers(1, 12), st.integers(1, 3))
def test_every_block_is_in_one_part_and_blocks_of_one_number_in_the_same(count: int, of: int, each: int) -> None:
    blocks = [Block(number, (PLAIN,) * place, ()) for number in range(count) for place in range(each)]
    found = [block for number in range(1, of + 1) for block in Part(number, of).blocks(blocks)]
    measured = [block for block in found if block in blocks]
    assert sorted(measured, key=lambda block: (block.number, len(block.arms))) == blocks
    parts = [{block.number for block in Part(number, of).blocks(blocks) if block in blocks} for number in range(1, of + 1)]
    assert sum(map(len, parts)) == count
    others = [block.number for block in found if block not in blocks]
    assert len(set(others)) == len(others) == 2 * min(count, of), "each part that measures has two sentinels of its own"


@pytest.mark.parametrize("text", ["", "1", "0/2", "3/2", "1/0", "a/b", "1/65", "-1/2", "1/2\n"])
def test_a_part_that_is_none(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError):
        Part.parse(text)


@pytest.fixture
def parts(campaign, fake_engine: None, tmp_path: Path) -> list[Path]:
    """Two measured parts of one sweep."""
    for number in (1, 2):
        assert sweep.main(arguments(campaign(stages=STAGES), tmp_path / "parts", "--part", f"{number}/2")) == 0
    found = sorted((tmp_path / "parts").iterdir())
    assert [path.name for path in found] == ["isl.1-of-2.part.jsonl", "isl.2-of-2.part.jsonl"]
    return found


def cells(out: Path) -> Counter:
    rows = csvio.read("points", out / "sweep_isl.csv")
    return Counter((row["stage"], row["label"], row["isl"], row["repeat"]) for row in rows if row["stage"] != "sentinel")


def told(path: Path, **changes: object) -> None:
    """Another head of a part."""
    head, *records = path.read_text("utf8").splitlines(keepends=True)
    path.write_text(json.dumps({**json.loads(head), **changes}) + "\n" + "".join(records), "utf8")


def gather(campaign: Path, out: Path, *parts: Path) -> int:
    return sweep.main(arguments(campaign, out, "--gather", *map(str, parts)))


def test_parts_are_refused_or_gathered(campaign, parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "out"

    def refused(says: str, *given: Path) -> None:
        capsys.readouterr()
        assert gather(path, out, *given) == 2
        said = capsys.readouterr().err
        assert said.count("\n") == 1 and says in said, said
        assert not out.exists() or not list(out.iterdir())

    one, two = parts
    refused("[2] are missing", one)
    refused("some are there twice", one, one, two)
    spoilt = tmp_path / "spoilt"
    spoilt.mkdir()

    def other(**changes: object) -> Path:
        copy = spoilt / two.name
        shutil.copy(two, copy)
        told(copy, **changes)
        return copy

    refused("code f00", one, other(code="f00f00f00f00"))
    refused("preset full", one, other(preset="full"))
    refused("weights", one, other(weights={"target.safetensors": "0" * 64}))
    refused("measured on 2 machines", one, other(node="another"))
    short = spoilt / "short.part.jsonl"
    short.write_bytes(two.read_bytes()[:-9])
    refused("not a whole part", one, short)
    refused("No such file", one, tmp_path / "none.part.jsonl")
    capsys.readouterr()
    assert gather(campaign(stages=STAGES, seed=6), out, one, two) == 2
    assert "measured with other settings" in capsys.readouterr().err

    path = campaign(stages=STAGES)
    assert gather(path, out, two, one) == 0
    names = ["requests_isl.csv", "steps_isl.csv", "sweep_isl.csv"]
    assert sorted(file.name for file in out.glob("*.csv")) == names
    for name in names:
        validate_csv(out / name)
        validate_manifest(out / name.replace(".csv", ".manifest.json"), out / name)
    kinds = (("isl", "plain"), ("isl", "dspark-g3"), ("teacher_forced", "dspark-g3"))
    assert cells(out) == Counter({(*kind, isl, repeat): 1 for kind in kinds for isl in (16, 32) for repeat in range(3)})
    points = csvio.read("points", out / "sweep_isl.csv")
    for column in ("run_id", "order"):
        assert len({row[column] for row in points}) == len(points)
    blocks = Counter((row["boot"], row["boot_id"].rpartition("-")[0]) for row in points)
    assert len(blocks) == 3 + 4, "three blocks, and two sentinels a part"
    manifest = json.loads((out / "sweep_isl.manifest.json").read_text("utf8"))
    assert [part["part"] for part in manifest["parts"]] == ["1-of-2", "2-of-2"]
    assert manifest["machine"]["host"] == points[0]["host"] and manifest["seconds"] == manifest["cost"]["total_s"]
    assert manifest["cost"]["cells"] == len(points)


    # machines are mixed by the campaign's own word alone
    assert gather(campaign(stages=STAGES, hosts="several"), tmp_path / "mixed", one, other(node="another")) == 0
    manifest = json.loads((tmp_path / "mixed/sweep_isl.manifest.json").read_text("utf8"))
    assert len({part["node"] for part in manifest["parts"]}) == 2


GONE = object()


def places(record: dict) -> list[tuple]:
    """Every key of a record, and those of its machine, its point and its first rows."""
    found = [(key,) for key in record]
    found += [(key, inner) for key in ("machine", "point") for inner in record.get(key) or {}]
    return found + [(key, 0, inner) for key in ("requests", "steps", "rows") if record.get(key) for inner in record[key][0]]


def damaged(record: dict, path: tuple, value: object) -> dict:
    """A copy with one value replaced; `path` leads to it, `GONE` takes it out."""
    copy = json.loads(json.dumps(record))
    inside = functools.reduce(lambda one, key: one[key], path[:-1], copy)
    if value is GONE:
        del inside[path[-1]]
    else:
        inside[path[-1]] = value
    return copy


def optional(kind: str) -> list[str]:
    return [column.name for column in csvio.columns(kind) if not column.required]


def test_a_part_with_anything_missing_or_odd_is_one_line_or_whole(campaign, parts: list[Path], tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Every key of the head and of a record of each kind, taken out and put in wrong: complete after the check, or one line that names file and line."""
    path, (one, two) = campaign(stages=STAGES), parts
    head, *records = [json.loads(line) for line in two.read_text("utf8").splitlines()]
    by_kind = {record["kind"]: record for record in reversed(records)}
    assert set(by_kind) >= {"boot", "cell", "closed"}
    refused = 0
    for kind, record in {"part": head, **by_kind}.items():
        for place in places(record):
            for value in (GONE, None, "x", [], -1.5, math.nan, math.inf):
                bad = damaged(record, place, value)
                try:
                    for found in check(two, *((bad, []) if kind == "part" else (head, [bad]))):
                        assert set(found) >= set(OF_KIND[kind]), (kind, place, value)
                        assert kind != "cell" or set(found["point"]) == {column.name for column in csvio.columns("points")}
                except ConfigError as error:
                    refused += 1
                    assert str(error).startswith(f"{two}: line {1 if kind == 'part' else 2}: ") and "\n" not in str(error), (kind, place, value)
                else:
                    assert not isinstance(value, float) or math.isfinite(value), (kind, place, value)
    assert refused > 200
    spoilt = tmp_path / "spoilt" / two.name
    spoilt.parent.mkdir()
    # through the command: a head that lacks a key, then rows that lack all a row may lack
    spoilt.write_text("".join(json.dumps(line) + "\n" for line in (damaged(head, ("machine",), GONE), *records)), "utf8")
    assert gather(path, tmp_path / "out", one, spoilt) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and "line 1: 'machine' is a required property; measure this part again" in said
    assert not (tmp_path / "out").exists()
    for record in (record for record in records if record["kind"] == "cell"):
        for key, kind, rows in (("point", "points", [record["point"]]), ("requests", "requests", record["requests"]), ("steps", "steps", record["steps"])):
            for row, name in itertools.product(rows, set(optional(kind)) - set(WHEN_OK)):
                row.pop(name, None)
    spoilt.write_text("".join(json.dumps(line) + "\n" for line in (head, *records)), "utf8")
    assert gather(path, tmp_path / "out", one, spoilt) == 0


@pytest.mark.parametrize("content", [b"", b"\n", b"[]\n", b"1\n", b"\xff\xfe\n", b'{"kind": "part"}\n', b'{"kind": 3}\n', b'{"kind":"part"}\n\xff\n', b"[" * 100_000 + b"\n"])
def test_a_file_that_is_no_part_is_one_line(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str], content: bytes) -> None:
    path = tmp_path / "odd.part.jsonl"
    path.write_bytes(content)
    assert gather(campaign(stages=STAGES), tmp_path / "out", path) == 2
    said = capsys.readouterr().err
    assert said.count("\n") == 1 and str(path) in said and not (tmp_path / "out").exists()
