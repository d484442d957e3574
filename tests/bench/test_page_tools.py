"""The benchmark of page builders: the notebook has the page's prose and numbers, a stale page is told from a right one, the facts say so."""

from __future__ import annotations

import csv
import hashlib
import json
import sys
from datetime import datetime
from pathlib import Path

import pytest

from tests.bench.page_content import KEY, expected, write_notebook
from tests.bench.page_tools import FACTOR, NAME, Tool, edit, main, measure, publish, sentence, unrounded
from tests.data.partial import only
from tests.data.synthetic import Plan, write_campaign
from workflow.derive import load
from workflow.derive.__main__ import derive
from workflow.derive.evaluate import Derivation

PAGE = """<html><body><main><h2>One <data data-key="a">1.5</data></h2><p>Two*, <b>bold <data data-key="b">7 ms</data></b>, end.</p>
<p>no number<svg><text>3</text></svg></p><table><tr><td>lane</td><td data-value="4" data-key="c">4 ms</td></tr></table></main></body></html>"""
BUILDER = """
import csv, pathlib, sys
sys.path.insert(0, {root!r})
from tests.bench.page_content import CSV, SENTENCE, expected
page = pathlib.Path("page.html")
if not page.exists() or {fresh}:
    page.write_text(f"<p>{{SENTENCE}} <b>{{expected(CSV):.4f}}</b>.</p>")
"""


@pytest.fixture(scope="module")
def campaign(tmp_path_factory) -> Path:
    folder = write_campaign(tmp_path_factory.mktemp("pages") / "local", plan=Plan(repeats=2, prompts=2, osl=24, isls=(64,), concurrencies=(1, 4)), name="local")
    only("concurrency")(folder)
    return folder


def test_the_checked_number_is_the_fact(campaign):
    assert Derivation(load.load(campaign)).result(KEY).fact.value == pytest.approx(expected(campaign / "sweep_concurrency.csv"))


def test_the_notebook_has_the_prose_and_the_numbers(campaign, tmp_path):
    (tmp_path / "page.html").write_text(PAGE, "utf8")
    found = write_notebook(tmp_path / "page.html", campaign / "sweep_concurrency.csv", tmp_path / "out", lambda name: f"<{name}>", "pass")
    text = (tmp_path / "out/index.md").read_text("utf8")
    assert json.loads((tmp_path / "out/texts.json").read_text()) == ["1.5", "7 ms", "4 ms"] and found == 4
    assert "## One  <n0>\n" in text and "Two\\*, bold  <n1>  , end.\n" in text and "no number\n" in text
    assert "The checked ratio is <checked>." in text


def tool(name: str, fresh: bool, campaign: Path) -> Tool:
    def prepare(folder: Path) -> int:
        (folder / "sweep_concurrency.csv").write_bytes((campaign / "sweep_concurrency.csv").read_bytes())
        (folder / "build.py").write_text(BUILDER.format(root=str(Path(__file__).resolve().parents[2]), fresh=fresh))
        return 5

    return Tool(name, "0", prepare, [sys.executable, "build.py"], sentence("page.html"), "sweep_concurrency.csv", {})


def test_a_page_that_does_not_follow_its_csv_is_stale(campaign, tmp_path):
    rows = measure([tool("myst_nb_cache", False, campaign), tool("myst_nb_force", True, campaign)], 1, tmp_path)
    assert [(row["tool"], row["build"], row["stale"]) for row in rows] == [
        *(("myst_nb_cache", build, stale) for build, stale in (("cold", 0), ("noop", 0), ("edit", 1))),
        *(("myst_nb_force", build, 0) for build in ("cold", "noop", "edit")),
    ]
    assert rows[-1]["expected"] == pytest.approx(rows[0]["expected"] / FACTOR, abs=1e-5)
    out = tmp_path / "out"
    publish(rows, out, datetime.now().astimezone(), ["test"], "a processor")
    (out / "campaign.yaml").write_text("name: page-tools\nbackend: external\n")
    facts = derive(out).facts
    assert facts["pages.myst_nb_cache.edit_page"].value == "stale" and facts["pages.myst_nb_force.edit_page"].value == "right"
    assert facts["pages.myst_nb_cache.noop_page"].value == "right" and facts["pages.mystmd.cold_s"].missing
    assert facts["pages.myst_nb_force.cold_s"].value == rows[3]["seconds"] and facts["pages.numbers"].value == 5 and facts["pages.repeats"].value == 1


def test_our_rows_are_edited_with_their_manifest(campaign, tmp_path):
    folder = tmp_path / "copy"
    folder.mkdir()
    for path in campaign.iterdir():
        (folder / path.name).write_bytes(path.read_bytes())
    edit(Tool("soundings", "0", lambda folder: 0, [], lambda folder: 0.0, "copy/sweep_concurrency.csv", {}), tmp_path)
    content = (folder / "sweep_concurrency.csv").read_bytes()
    assert json.loads((folder / "sweep_concurrency.manifest.json").read_text())["sha256"] == hashlib.sha256(content).hexdigest()
    assert expected(folder / "sweep_concurrency.csv") == pytest.approx(expected(campaign / "sweep_concurrency.csv") / FACTOR)


@pytest.mark.parametrize(
    ("flags", "says"),
    [
        (["--campaign", "no-such-folder"], "--campaign no-such-folder: no campaign.yaml"),
        (["--repeats", "0"], "--repeats 0: expected at least 1"),
        (["--mystmd", sys.executable], "--mystmd: needs --myst-python"),
        (["--myst-python", "no-such-python"], "--myst-python no-such-python: no such program"),
    ],
)
def test_what_cannot_be_built_is_one_line(campaign, flags, says, capsys):
    (campaign / "campaign.yaml").touch()
    assert main(["--campaign", str(campaign), *flags]) == 2
    said = capsys.readouterr().err
    assert says in said and said.count("\n") == 1


def test_our_number_is_found_in_spans_and_cells():
    page = '<td data-value="1.25" data-key="k">1.3×</td><p><data value="1.25" data-key="k">1.25×</data></p><data value="9" data-key="other">9</data><text data-key="k">1.3</text>'
    assert unrounded(page, "k") == 1.25
    with pytest.raises(ValueError, match="k has 2 values"):
        unrounded(page.replace('"1.25"', '"1.2"', 1), "k")


def test_what_was_measured_stands_here():
    """The rows behind the README's table: every tool and build as often as every other."""
    with open(Path(__file__).parent / NAME / f"{NAME}.csv", newline="") as handle:
        rows = list(csv.DictReader(handle))
    counts = {(row["tool"], row["build"]): 0 for row in rows}
    for row in rows:
        counts[row["tool"], row["build"]] += 1
    assert len(set(counts.values())) == 1 and {build for _, build in counts} == {"cold", "noop", "edit"}
