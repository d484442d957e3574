"""What reruns and what does not. Measurements are a stand-in here (conftest); snakemake, keep, derive, figures and page are real."""

from __future__ import annotations

import contextlib
import shutil
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.data.synthetic import write_campaign
from tests.workflow.conftest import ROOT, Copy, copy_repository
from workflow.plan import CAMPAIGNS

pytestmark = pytest.mark.slow
MEASURING = {"search", "sweep_window", "sweep_isl", "sweep_concurrency", "sweep_verify_cost", "gate", "kernels"}
CHEAP = {"derive", "figures", "site"}
PAGE = {"texts", "site"}
"""What the page reads beside facts and drawings is told to it by checksums, which `texts` takes."""


@contextlib.contextmanager
def edited(path: Path, more: str) -> Iterator[None]:
    """Append to a file for the length of a block."""
    before = path.read_text("utf8")
    path.write_text(before + more, "utf8")
    try:
        yield
    finally:
        path.write_text(before, "utf8")


def test_a_fresh_clone_measures_everything_once(built: Copy):
    assert sorted(built.measured()) == ["concurrency", "gate", "isl", "kernels", "search", "verify_cost", "window"]


def test_a_second_run_does_nothing(built: Copy):
    assert "Nothing to be done" in built.build()


@pytest.mark.parametrize(
    ("file", "more", "reruns"),
    [
        ("templates/content/en/02-prologue.md", "\n", PAGE),
        ("templates/report.html.j2", "\n", PAGE),
        ("templates/strings.yaml", "\n", PAGE),
        ("templates/assets/page.css", "\n", PAGE),
        ("workflow/page/format.py", "\n", PAGE),
        ("workflow/figures/style.py", "\n", {"figures", *PAGE}),
        ("workflow/derive/decompose.py", "\n", CHEAP),
        ("workflow/yaml_file.py", "\n", {"texts", *CHEAP}),
        ("workflow/derive/thresholds.yaml", "\n", CHEAP),
        ("workflow/schemas/points.schema.json", "\n", CHEAP),
        ("workflow/campaigns/local/campaign.yaml", "\n", CHEAP),
        # the page must say that other code measured, so the code's fingerprint is taken again; nothing is measured
        ("engine/sweep.py", "\n# a comment\n", {"fingerprint", *CHEAP}),
        ("engine/sweep.py", "\nANOTHER = 1\n", {"fingerprint", *CHEAP}),
        ("kernels/tile.py", "\nANOTHER = 1\n", {"fingerprint", *CHEAP}),
        ("workflow/measure.py", "\nANOTHER = 1\n", set()),
    ],
)
def test_an_edit_reruns_what_depends_on_it_and_measures_nothing(built: Copy, file, more, reruns):
    with edited(built.root / file, more):
        assert built.scheduled() == reruns


@pytest.mark.parametrize(
    ("file", "first", "then"),
    [
        ("templates/strings.yaml", "workflow/build/texts.sha256", {"site"}),
        # its line breaks leave every fact as it was, and yet the page offers the file
        ("workflow/campaigns/local/sweep_isl.manifest.json", "workflow/build/local/rows.sha256", {"figures", "site"}),
    ],
)
def test_a_build_that_ends_before_the_page_leaves_it_to_the_next(built: Copy, file, first, then):
    values = (built.root / "workflow/build/local/values.json").read_bytes()
    with edited(built.root / file, "\n"):
        run = built.snakemake(first)
        assert run.returncode == 0, run.stdout + run.stderr
        assert (built.root / "workflow/build/local/values.json").read_bytes() == values
        assert built.scheduled() == then
        built.build()
        manifest = "sweep_isl.manifest.json"
        assert (built.root / "site/data" / manifest).read_bytes() == (built.campaign / manifest).read_bytes()
    built.build()


def test_other_cores_change_nothing(built: Copy):
    assert built.scheduled("--cores", "2") == set()


def test_a_touched_row_file_is_the_same_file(built: Copy):
    (built.campaign / "sweep_isl.csv").touch()
    assert built.scheduled() == set()


def test_an_edited_row_file_is_refused_and_the_published_page_stays(built: Copy):
    file, page = built.campaign / "sweep_isl.csv", built.root / "site/index.html"
    before, shown = file.read_bytes(), page.read_bytes()
    file.write_bytes(before.replace(b",ok,", b",oom,", 1))
    try:
        assert not built.scheduled() & MEASURING
        run = built.snakemake("site")
        assert run.returncode != 0 and "sweep_isl" in run.stdout + run.stderr and "sha256" in run.stdout + run.stderr
        assert page.read_bytes() == shown and "isl" in built.measured()
    finally:
        file.write_bytes(before)
    built.build()
    assert page.read_bytes() == shown


def test_one_sweep_is_measured_again_when_asked(built: Copy):
    assert built.scheduled("-R", "sweep_isl") == {"sweep_isl", "keep_isl", *CHEAP}


def test_a_missing_row_file_is_measured_again_and_nothing_else(built: Copy):
    file = built.campaign / "sweep_isl.csv"
    content = file.read_bytes()
    file.unlink()
    shutil.rmtree(built.root / "workflow/build/measured/local", ignore_errors=True)
    try:
        assert built.scheduled() & MEASURING == {"sweep_isl"}
    finally:
        file.write_bytes(content)


def test_a_deleted_page_file_is_built_again_alone(built: Copy):
    (built.root / "site" / "index.html").unlink()
    assert built.scheduled() == {"site"}
    built.build()
    assert (built.root / "site" / "index.html").exists()


def test_a_page_that_fails_its_checks_leaves_the_published_one(built: Copy):
    published = {path: path.read_bytes() for path in (built.root / "site").rglob("*") if path.is_file()}
    with edited(built.root / "templates/content/en/02-prologue.md", "\n{#typed}\nA typed 7.\n"):
        for _ in range(2):  # what was refused once is not up to date afterwards
            run = built.snakemake("site")
            assert run.returncode != 0
            assert "02-prologue.md" in run.stdout + run.stderr
    assert {path: path.read_bytes() for path in (built.root / "site").rglob("*") if path.is_file()} == published


@pytest.mark.parametrize(("mood", "says"), [("spoils", "sweep_isl.csv"), ("dies", "died")])
def test_a_measurement_that_fails_leaves_the_published_rows(built: Copy, mood, says):
    published = {path.name: path.read_bytes() for path in built.campaign.iterdir()}
    (built.root / "mood").write_text(mood)
    try:
        run = built.snakemake("site", "-R", "sweep_isl")
    finally:
        (built.root / "mood").unlink()
    log = run.stdout + run.stderr + "".join(p.read_text("utf8") for p in (built.root / "workflow/build/logs/local").glob("*isl*"))
    assert run.returncode != 0
    assert says in log
    assert {path.name: path.read_bytes() for path in built.campaign.iterdir()} == published


def test_the_previous_rows_are_kept_when_new_ones_are_published(built: Copy):
    published = (built.campaign / "sweep_isl.csv").read_bytes()
    built.build("-R", "sweep_isl")
    assert (built.root / "workflow/build/previous/local/sweep_isl.csv").read_bytes() == published


def test_no_rule_measures_into_an_archived_campaign(built: Copy):
    archived = built.root / "workflow" / "campaigns" / "archived"
    shutil.copytree(built.campaign, archived)
    text = (archived / "campaign.yaml").read_text("utf8")
    (archived / "campaign.yaml").write_text(text[: text.index("measure:")].replace("name: local", "name: archived"), "utf8")
    try:
        run = built.snakemake("-n", "site", "-R", "sweep_isl", "--config", "campaigns=[local, archived]")
        assert run.returncode == 0, run.stdout + run.stderr
        measured = [line for line in run.stdout.splitlines() if "output:" in line and "build/measured/archived" in line]
        kept = [line for line in run.stdout.splitlines() if "output:" in line and "workflow/campaigns/archived" in line]
        assert not measured and not kept
        only = built.snakemake("-n", "site", "--config", "campaigns=[archived]", "lead=archived")
        assert only.returncode == 0, only.stdout + only.stderr
        assert not any(f"rule {rule}:" in only.stdout for rule in MEASURING)
    finally:
        shutil.rmtree(archived)


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("name: local\nmeasure: {}\n", "measure.stages"),
        ("name: local\nmeasure:\n", "measure.stages"),
        ("name: local\nmeasure: {stages: {windw: {}}}\n", "'windw' is no stage"),
        ("- a\n- b\n", "expected a mapping"),
        ("name: [local\n", "not valid YAML"),
    ],
)
def test_a_bad_campaign_file_ends_in_one_line_that_names_it(built: Copy, text, says):
    file = built.campaign / "campaign.yaml"
    before = file.read_text("utf8")
    file.write_text(text, "utf8")
    try:
        run = built.snakemake("-n", "site")
    finally:
        file.write_text(before, "utf8")
    assert run.returncode != 0
    lines = [line for line in (run.stdout + run.stderr).splitlines() if says in line]
    assert lines and "campaign.yaml" in lines[0]


def test_an_archived_campaign_alone_is_built_as_the_command_line_says(tmp_path):
    copy = copy_repository(tmp_path)
    past = copy.root / "workflow/campaigns/past"
    write_campaign(past, name="past")
    (past / "campaign.yaml").write_text("name: past\ntitle: {en: Past, zh: 过去}\nbackend: embedded\n", "utf8")
    copy.build("--config", "campaigns=[past]", "lead=past", "site_url=https://example.org/r/")
    assert copy.measured() == []
    page = (copy.root / "site/index.html").read_text("utf8")
    assert "https://example.org/r/" in page
    assert not (copy.root / "site/past").exists()


def test_nothing_measures_under_a_transcribed_campaign(built: Copy):
    names = ("k3-mi355x", "m1max-mtp")
    for name in names:
        for path in (ROOT / CAMPAIGNS / name).iterdir():
            shutil.copy(path, built.root / CAMPAIGNS / name / path.name)
    both = ("--config", f"campaigns=[{', '.join(names)}]", f"lead={names[0]}")
    for forced in ((), ("-F",)):
        run = built.snakemake("-n", "site", *forced, *both)
        assert run.returncode == 0, run.stdout + run.stderr
        assert "rule site:" in run.stdout and not any(f"rule {rule}:" in run.stdout for rule in MEASURING)
        assert not any("output: workflow/campaigns/" in line for line in run.stdout.splitlines())
