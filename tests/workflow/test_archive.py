"""A measured live campaign becomes an archived one, whole or not at all; and what was measured with other code is told."""

from __future__ import annotations

import gzip
import json
import shutil

import pytest
import yaml

from tests.data.synthetic import write_campaign
from workflow import archive as archiving
from workflow.archive import archive
from workflow.cli import main, stale
from workflow.cli.archive import check_name
from workflow.derive import load
from workflow.plan import CAMPAIGNS, ROOT, Plan, PlanError
from workflow.stale import differing, stale_stages

TITLES = {"en": "Yesterday", "zh": "昨天"}


@pytest.fixture
def plan(tmp_path) -> Plan:
    folder = tmp_path / CAMPAIGNS / "local"
    write_campaign(folder, name="local")
    shutil.copy(ROOT / CAMPAIGNS / "local/campaign.yaml", folder / "campaign.yaml")
    stages = sorted(measured_stages(folder))
    definition = yaml.safe_load((folder / "campaign.yaml").read_text("utf8"))
    definition["measure"]["stages"] = {name: definition["measure"]["stages"][name] for name in stages}
    (folder / "campaign.yaml").write_text(yaml.safe_dump(definition), "utf8")
    return Plan(("local",), "local", tmp_path)


def measured_stages(folder) -> set[str]:
    plan = Plan(("local",), "local", folder.parents[2])
    return {stage.name for stage in plan.listed("local") if archiving.measured(folder, stage)}


def test_the_rows_are_the_same_and_no_rule_may_write_them(plan):
    before = load.load(plan.root / CAMPAIGNS / "local")
    archive(plan, "local", "yesterday", TITLES)
    after = load.load(plan.root / CAMPAIGNS / "yesterday")
    assert {name: table.columns for name, table in after.tables.items()} == {name: table.columns for name, table in before.tables.items()}
    both = Plan(("local", "yesterday"), "local", plan.root)
    assert both.live == ["local"]
    assert both.definition("yesterday")["title"] == TITLES


def test_the_authors_go_with_the_rows(plan):
    path = plan.root / CAMPAIGNS / "local/campaign.yaml"
    path.write_text(path.read_text("utf8") + "authors: [Ada One, Bo]\n", "utf8")
    archive(plan, "local", "signed", TITLES)
    assert Plan(("local", "signed"), "local", plan.root).definition("signed")["authors"] == ["Ada One", "Bo"]

def test_large_row_files_are_gzipped_to_the_same_bytes_each_time(plan, monkeypatch):
    monkeypatch.setattr(archiving, "LARGEST", 2000)
    archive(plan, "local", "first", TITLES)
    archive(plan, "local", "second", TITLES)
    packed = sorted(path.name for path in (plan.root / CAMPAIGNS / "first").glob("*.csv.gz"))
    assert packed
    for name in packed:
        content = (plan.root / CAMPAIGNS / "first" / name).read_bytes()
        assert content == (plan.root / CAMPAIGNS / "second" / name).read_bytes()
        assert gzip.decompress(content) == (plan.root / CAMPAIGNS / "local" / name.removesuffix(".gz")).read_bytes()
    load.load(plan.root / CAMPAIGNS / "first")


def spoil_a_row(plan):
    with open(plan.root / CAMPAIGNS / "local/sweep_window.csv", "a") as handle:
        handle.write("half a ro")


def remove_every_row(plan):
    for path in (plan.root / CAMPAIGNS / "local").glob("*.csv"):
        path.unlink()


@pytest.mark.parametrize(
    ("name", "into", "spoil"),
    [
        ("local", "yesterday", spoil_a_row),
        ("local", "yesterday", remove_every_row),
        ("local", "local", lambda plan: None),
        ("nowhere", "yesterday", lambda plan: None),
    ],
)
def test_what_cannot_be_archived_leaves_nothing_behind(plan, name, into, spoil):
    spoil(plan)
    folder = plan.root / CAMPAIGNS
    before = sorted(path.name for path in folder.iterdir())
    with pytest.raises((PlanError, ValueError)):
        archive(plan, name, into, TITLES)
    assert sorted(path.name for path in folder.iterdir()) == before


@pytest.mark.parametrize("name", ["", "Upper", "../up", "zh", "a/b", "-x", "numbers"])
def test_names_that_are_no_folder_or_are_routes(name):
    with pytest.raises(ValueError, match="name|route"):
        check_name(name)


def test_a_stage_is_stale_when_one_of_its_modules_is_another(plan):
    folder = plan.root / CAMPAIGNS / "local"
    path = next(iter(sorted(folder.glob("sweep_*.manifest.json"))))
    now = json.loads(path.read_text("utf8"))["fingerprint"]
    assert stale_stages(plan, now) == []
    (first, *_) = now
    found = stale_stages(plan, now | {first: "f" * 64})
    assert {item.stage.name for item in found} == {stage.name for stage in plan.stages("local")}
    assert all(item.modules == (first,) for item in found)
    assert stale_stages(plan, now | {"engine/backends/vllm.py": "f" * 64}) == [], "the embedded engine never loads it"
    assert differing({"a": "1", "b": "2"}, {"b": "2", "c": "3"}) == ("a", "c")


def test_what_was_never_measured_is_not_stale(plan):
    remove_every_row(plan)
    for path in (plan.root / CAMPAIGNS / "local").glob("*.manifest.json"):
        path.unlink()
    assert stale_stages(plan, {"engine/engine.py": "0" * 64}) == []


def test_stale_prints_rules_for_snakemake_and_fails_only_when_asked(plan, monkeypatch, capsys):
    folder = plan.root / CAMPAIGNS / "local"
    now = json.loads((folder / "sweep_isl.manifest.json").read_text("utf8"))["fingerprint"]
    (plan.root / "workflow/config.yaml").write_text("campaigns: [local]\nlead: local\npreset: quick\nlanguages: [en, zh]\n", "utf8")
    monkeypatch.setattr(stale, "ROOT", plan.root)
    monkeypatch.setattr(stale.Plan, "from_config", lambda config: plan)
    monkeypatch.setattr(stale, "fingerprint_now", lambda root: now)
    assert main(["stale", "--check"]) == 0 and capsys.readouterr().out.strip() == ""
    monkeypatch.setattr(stale, "fingerprint_now", lambda root: now | {"engine/new.py": "0" * 64})
    assert main(["stale"]) == 0
    told = capsys.readouterr()
    assert set(told.out.split()) == {stage.rule for stage in plan.stages("local")} and "engine/new.py" in told.err
    assert main(["stale", "--check"]) == 1
