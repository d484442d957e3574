"""The command: files, index, all or nothing, errors."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

import pytest

from workflow.derive.fact import Cell, Fact
from workflow.derive.values import Values
from workflow.figures import build as building
from workflow.figures import draw, left, share
from workflow.figures.__main__ import main
from workflow.figures.registry import plate, plates

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture
def file(tmp_path, values):
    path = tmp_path / "values.json"
    path.write_text(json.dumps(values.to_json()), "utf8")
    return path


def test_files_and_index(tmp_path, file, capsys):
    out = tmp_path / "figures"
    assert main(["--values", str(file), "--out", str(out)]) == 0
    index = json.loads((out / "index.json").read_text("utf8"))
    assert list(index) == sorted([*(p.id for p in plates()), "share.png"])
    assert index.pop("share.png") == {"file": "share.png", "sha256": hashlib.sha256((out / "share.png").read_bytes()).hexdigest()}
    for name, record in index.items():
        assert record["reason"] is None and (out / record["file"]).exists() and (out / record["narrow"]).exists()
        assert record["keys"] and record["rows"] == len(record["table"]["rows"]) and record["claim"] == plate(name).claim
        assert (ROOT / record["code"]).exists()
    assert "window: window.svg" in capsys.readouterr().out


@pytest.fixture
def few(monkeypatch):
    """Builds of a few plates, where the number of plates does not matter."""
    monkeypatch.setattr(building, "plates", lambda: (plate("noise"), plate("verify-cost")))


def test_again_gives_the_same_bytes_and_drops_what_is_gone(tmp_path, file, few):
    out = tmp_path / "figures"
    main(["--values", str(file), "--out", str(out)])
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    (out / "old.svg").write_text("x")
    main(["--values", str(file), "--out", str(out)])
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before
    assert [p for p in tmp_path.iterdir() if p.name.startswith(".")] == []


def test_every_edit_of_a_drawing_shows_in_the_index(tmp_path, file, few, monkeypatch):
    """The page's rule declares the index and no drawing: a build that ends between the two must not take the old page for a new one."""
    out, render, picture = tmp_path / "figures", draw.render, share.picture
    assert main(["--values", str(file), "--out", str(out)]) == 0
    before = json.loads((out / "index.json").read_text("utf8"))
    monkeypatch.setattr(draw, "render", lambda sheet, name, stops: render(sheet, name, stops).replace("</svg>", "<g/></svg>"))
    monkeypatch.setattr(share, "picture", lambda values: picture(values) + b"\0")
    monkeypatch.setattr(left, "code", lambda: "edited")
    assert main(["--values", str(file), "--out", str(out)]) == 0
    after = json.loads((out / "index.json").read_text("utf8"))
    assert all(before[name]["sha256"] != after[name]["sha256"] for name in before)


@pytest.mark.parametrize("text", ["", "[]", '{"schema": 99, "campaign": "x", "facts": {}, "claims": {}, "runs": {}}'])
def test_a_bad_values_file_is_one_line_and_exit_2(tmp_path, text, capsys):
    bad = tmp_path / "values.json"
    bad.write_text(text)
    assert main(["--values", str(bad), "--out", str(tmp_path / "figures")]) == 2
    assert capsys.readouterr().err.count("\n") == 1
    assert not (tmp_path / "figures").exists()


def test_an_absent_values_file_is_one_line_and_exit_2(tmp_path, capsys):
    assert main(["--values", str(tmp_path / "no.json"), "--out", str(tmp_path / "figures")]) == 2
    assert "no.json" in capsys.readouterr().err


def test_a_drawing_over_the_budget_leaves_the_old_ones(tmp_path, file, few, monkeypatch, capsys):
    out = tmp_path / "figures"
    main(["--values", str(file), "--out", str(out)])
    before = {p.name: p.read_bytes() for p in out.iterdir()}
    monkeypatch.setattr(draw, "BUDGET", 100)
    monkeypatch.setattr(left, "code", lambda: "edited")
    assert main(["--values", str(file), "--out", str(out)]) == 2
    assert "budget" in capsys.readouterr().err
    assert {p.name: p.read_bytes() for p in out.iterdir()} == before


def test_sources_are_the_leaves_of_all_parents(tmp_path, values, few):
    leaf = Fact("leaf", 1.0, source=(Cell("sweep_window.csv", "2-5", "step_ms"),))
    facts = values.facts | {"leaf": leaf, "noise.floor": Fact("noise.floor", 2.0, kind="percent", parents=("leaf",))}
    index = building.build(Values("x", facts, values.claims), tmp_path / "figures")
    assert index["noise"]["sources"] == ["sweep_window.csv"]


def test_an_unknown_plate_names_the_known_ones():
    with pytest.raises(KeyError, match="verify-cost"):
        plate("verify")
