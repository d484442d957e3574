"""Scoring a kept gate again: whatever stands in its files, the verdict is of a whole gate, or one line says what is wrong."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from engine import csvio, gate
from tests.measure.test_gate import STAGES

pytestmark = pytest.mark.usefixtures("fake_engine")


def test_a_kept_gate_of_any_shape(campaign, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path, out = campaign(stages=STAGES), tmp_path / "gate"
    gate.main(["--campaign", str(path), "--out", str(out), "--quiet", "--report-only"])
    capsys.readouterr()
    rows, about = (out / "gate.csv").read_bytes(), json.loads((out / "gate.manifest.json").read_text("utf8"))
    again, spoilt = tmp_path / "again", tmp_path / "spoilt"
    spoilt.mkdir()

    def rescored(csv: bytes, manifest: bytes) -> str:
        """What is said in one line; empty where it could be scored."""
        (spoilt / "gate.csv").write_bytes(csv)
        (spoilt / "gate.manifest.json").write_bytes(manifest)
        code = gate.main(["--campaign", str(path), "--out", str(again), "--rescore", str(spoilt / "gate.csv"), "--report-only"])
        said = capsys.readouterr().err
        assert (code, said.count("\n")) == ((2, 1) if said else (0, 0)), said
        if said:
            assert str(spoilt) in said and not again.exists()
        for file in again.glob("*"):
            file.unlink()
        again.rmdir() if again.exists() else None
        return said

    kept = json.dumps(about).encode()
    assert rescored(rows, kept) == ""
    lines = rows.splitlines(keepends=True)
    assert "no row of config 'base'" in rescored(lines[0], kept)
    others = [row for row in csvio.read("gate", out / "gate.csv") if row["config"] != "base"]
    assert "no row of config 'base'" in rescored(csvio.render("gate", others, "gate.csv"), kept)
    for csv in (b"", b"\xff\xfe", rows + b"a,b\n"):
        assert "gate.csv" in rescored(csv, kept)
    for manifest in (b"", b"[]", b"null", b"{", b"{}", b"\xff\xfe", b"[" * 5000):
        assert "gate.manifest.json" in rescored(rows, manifest)
    for key in about:
        for value in (None, "x", {}):
            rescored(rows, json.dumps({**about, key: value}).encode())
        rescored(rows, json.dumps({name: one for name, one in about.items() if name != key}).encode())
    for config in ({"block_sizes": "x"}, {"block_sizes": []}, {"block_sizes": [99]}, {"lanes": ["sideways"]}, {"silent": [1]}, {"silent": [[[], 1]]}, {"silent": [["a", {}]]}):
        assert "gate.manifest.json: config" in rescored(rows, json.dumps({**about, "config": {**about["config"], **config}}).encode())
    for winner in (3, {}, {"label": "x"}, {"label": "x", "lane": "sideways", "block_size": 1}, {"label": "x", "lane": "dspark", "block_size": None}):
        assert "gate.manifest.json: gate.winner" in rescored(rows, json.dumps({**about, "gate": {**about["gate"], "winner": winner}}).encode())
    # a dry run scores and writes nothing
    before = sorted(tmp_path.rglob("*"))
    assert gate.main(["--campaign", str(path), "--dry-run", "--rescore", str(out / "gate.csv"), "--report-only"]) == 0
    assert capsys.readouterr().out.splitlines()[-1].startswith("gate: ") and sorted(tmp_path.rglob("*")) == before
