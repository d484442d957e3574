"""`snakemake check`: what it finds."""

from __future__ import annotations

import shutil

from workflow.check import _same, schemas
from workflow.plan import CAMPAIGNS, ROOT


def test_rows_that_break_their_schema_or_manifest_are_found(tmp_path):
    for name in ("k3-mi355x", "m1max-mtp"):
        shutil.copytree(ROOT / CAMPAIGNS / name, tmp_path / CAMPAIGNS / name)
    assert schemas(["k3-mi355x", "m1max-mtp"], tmp_path).verdict == "passed"
    file = tmp_path / CAMPAIGNS / "m1max-mtp/figures.csv"
    file.write_bytes(file.read_bytes() + b"x\n")
    found = schemas(["k3-mi355x", "m1max-mtp"], tmp_path)
    assert found.verdict == "failed" and "figures.csv" in found.output and found.output.count("\n") == 0


def test_a_site_that_is_not_what_a_build_writes_now_is_found(tmp_path):
    site, fresh = tmp_path / "site", tmp_path / "fresh"
    for folder in (site, fresh):
        folder.mkdir()
        (folder / "index.html").write_text("now")
    assert _same(site, fresh).verdict == "passed"
    (site / "index.html").write_text("then")
    assert "index.html" in _same(site, fresh).output
    (fresh / "index.html").unlink()
    assert _same(site, fresh).verdict == "failed", "a build of nothing proves nothing"
