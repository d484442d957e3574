"""A row that stands for what was not measured: checked on both sides of the files, and counted nowhere."""

import csv
import hashlib
import json
from pathlib import Path

import pytest

from engine import csvio
from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.schema import SchemaError, validate_csv

KINDS = {"gate": "gate.csv", "verify_cost": "sweep_verify_cost.csv", "trace": "trace.csv", "kernels": "kernels.csv", "predicates": "predicates.csv"}
WHY = "skipped: backend llamacpp cannot do it: a server does not tell"
OLD = Path(__file__).parents[2] / "workflow" / "campaigns" / "llamacpp-smollm2"


def cells(kind: str) -> tuple[list[str], list[str]]:
    """Header and skipped row, as the measuring side writes them."""
    header, row = csv.reader(csvio.render(kind, [csvio.skipped(kind, WHY, campaign="c")], KINDS[kind]).decode().splitlines())
    return header, row


def put(folder: Path, kind: str, header: list[str], *rows: list[str]) -> Path:
    path = folder / KINDS[kind]
    with path.open("w", newline="") as file:
        csv.writer(file, lineterminator="\n").writerows([header, *rows])
    return path


@pytest.mark.parametrize("kind", KINDS)
def test_both_sides_take_the_row_and_only_such_a_row(tmp_path, kind):
    header, row = cells(kind)
    assert validate_csv(put(tmp_path, kind, header, row)) == 1
    assert csvio.read(kind, tmp_path / KINDS[kind]) == [{**dict.fromkeys(header), **csvio.skipped(kind, WHY, campaign="c")}]
    number = next(name for name in header if name in ("isl", "width", "round", "registers", "value"))
    for name, text, told in ((number, "3", "stands in a row of status skipped"), ("note", "", "why is the row's status skipped|no reason")):
        path = put(tmp_path, kind, header, [text if column == name else cell for column, cell in zip(header, row)])
        with pytest.raises(SchemaError, match=f"line 2, column {name}: .*({told})"):
            validate_csv(path)
        with pytest.raises(csvio.TableError, match=f"row 1: column {name}: .*({told})"):
            csvio.read(kind, path)
    # a reason alone does not let a row off its rules
    path = put(tmp_path, kind, header, ["" if column == "status" else cell for column, cell in zip(header, row)])
    with pytest.raises(SchemaError, match="line 2, column"):
        validate_csv(path)
    with pytest.raises(csvio.TableError, match="must not be empty"):
        csvio.read(kind, path)


def test_a_skipped_row_is_set_apart_and_moves_no_number(scratch):
    before = load.load(scratch)
    path = scratch / "trace.csv"
    header = path.read_text("utf8").splitlines()[0].split(",")
    more = {"campaign": before.name, "status": "skipped", "note": WHY}
    table = list(csv.reader(path.read_text("utf8").splitlines()))
    names = [*header, *(name for name in more if name not in header)]
    rows = [[*row, *[""] * (len(names) - len(header))] for row in table[1:]]
    put(scratch, "trace", names, *rows, [more.get(name, "") for name in names])
    about = scratch / "trace.manifest.json"
    manifest = json.loads(about.read_text("utf8")) | {"rows": len(rows) + 1, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    about.write_text(json.dumps(manifest), "utf8")
    after = load.load(scratch)
    assert len(after.tables["trace.csv"]) == len(before.tables["trace.csv"]) == len(rows)
    assert after.skipped["trace.csv"].columns["note"] == (WHY,) and after.skipped["trace.csv"].lines == (len(rows) + 2,)
    was, now = Derivation(before, resamples=0), Derivation(after, resamples=0)
    keys = [key for key in was.definitions if "trace" in key or key.startswith(("run.", "dspark."))]
    assert len(keys) > 20
    assert {key: now.result(key).fact.value for key in keys} == {key: was.result(key).fact.value for key in keys}
    assert now.claim("skipped.trace").verdict == "fails"


@pytest.mark.parametrize("row", [False, True])
def test_a_stage_without_a_measured_row_is_skipped_by_either_form(tmp_path, row):
    """The reason in the manifest beside a file without rows, as it was written before there were such rows, or in the row."""
    name = "written"
    (tmp_path / "campaign.yaml").write_text(f"name: {name}\nbackend: llamacpp\ntitle: {{en: f, zh: f}}\n", "utf8")
    header, cell = cells("gate")
    skipped = ["written" if text == "c" else text for text in cell]
    path = put(tmp_path, "gate", header, *([skipped] if row else []))
    about = json.loads((OLD / "gate.manifest.json").read_text("utf8"))
    about |= {"campaign": name, "rows": int(row), "sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "notes": [] if row else [WHY]}
    (tmp_path / "gate.manifest.json").write_text(json.dumps(about), "utf8")
    derivation = Derivation(load.load(tmp_path), resamples=0)
    fact = derivation.result("skipped.gate").fact
    assert fact.value == 1 and derivation.claim("skipped.gate").verdict == "holds" and derivation.result("measured.gate").fact.missing
    assert [(one.file, one.row, one.column) for one in fact.source] == ([("gate.csv", "2", "note")] if row else [("gate.manifest.json", "notes", "")])


@pytest.mark.parametrize("first", [True, False])
def test_a_candidate_that_failed_is_not_stood_for_by_the_next(scratch, first):
    """The facts speak of the first candidate; where that one failed they are missing with its reason, and a later one that failed moves none."""
    path = scratch / "gate.csv"
    before = Derivation(load.load(scratch), resamples=0)
    with path.open(newline="") as file:
        header, *rows = csv.reader(file)
    more = {"campaign": before.campaign.name, "config": "mtp", "role": "candidate", "lane": "mtp", "status": "crash", "note": "an end of the engine"}
    names = [*header, *(name for name in more if name not in header)]
    rows = [[*row, *[""] * (len(names) - len(header))] for row in rows]
    failed = [more.get(name, "") for name in names]
    put(scratch, "gate", names, *([failed, *rows] if first else [*rows, failed]))
    about = scratch / "gate.manifest.json"
    manifest = json.loads(about.read_text("utf8")) | {"rows": len(rows) + 1, "sha256": hashlib.sha256(path.read_bytes()).hexdigest()}
    about.write_text(json.dumps(manifest), "utf8")
    after = Derivation(load.load(scratch), resamples=0)
    keys = [key for key in before.definitions if key.startswith("gate.")]
    assert len(keys) > 40 and after.result("gate.skipped.configs").fact.missing
    moved = {key for key in keys if after.result(key).fact.value != before.result(key).fact.value}
    assert all(key.startswith(("gate.candidate", "gate.gamma", "gate.problems", "gate.repeats", "gate.silent")) for key in moved)
    assert bool(moved) is first and (not first or after.result("gate.candidate").fact.reason == "mtp gave the gate no answer")
