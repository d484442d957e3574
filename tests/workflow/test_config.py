"""The two YAML files that a user edits are read strictly: one line says what is wrong."""

import json

import pytest

from workflow.derive import schema
from workflow.page.__main__ import main
from workflow.page.routes import RESERVED
from workflow.plan import ROOT, Plan, PlanError, read_config

GOOD = (ROOT / "workflow/config.yaml").read_text("utf8")
CAMPAIGNS = next(line for line in GOOD.splitlines() if line.startswith("campaigns:"))


def test_the_configuration_is_good():
    assert read_config(ROOT / "workflow/config.yaml")["languages"] == ["en", "zh"]


@pytest.mark.parametrize(
    ("old", "new", "told"),
    [
        ("languages: [en, zh]", "languages: [en]", "languages: ['en'] is too short; expected: [en, zh]; every page is written in both"),
        ("languages: [en, zh]", "languages: [en, fr]", "languages.1: 'fr' is not one of ['en', 'zh']"),
        ('site_url: ""', 'site_url: "javascript:alert(1)"', "expected: an http or https address, or nothing"),
        ('site_url: ""', "site_url: 'https://a.example/\"x'", "expected: an http or https address, or nothing"),
        ("preset: quick", "preset: slow", "preset: 'slow' is not one of ['quick', 'full', 'smoke']"),
        ("preset: quick", "preset: quick\npreset: smoke", "not valid YAML: key 'preset' stands on line"),
        ("preset: quick", "prest: quick", "the document: "),
        (CAMPAIGNS, "campaigns: [zh]", "campaigns.0: "),
        (CAMPAIGNS, "campaigns: [", "not valid YAML: "),
    ],
)
def test_a_broken_configuration_is_one_line(tmp_path, capsys, old, new, told):
    assert old in GOOD
    path = tmp_path / "config.yaml"
    path.write_text(GOOD.replace(old, new, 1), "utf8")
    with pytest.raises(PlanError) as error:
        read_config(path)
    assert str(error.value).startswith(f"{path}: ") and told in str(error.value)
    assert main(["--config", str(path), "--site", str(tmp_path / "site")]) == 2
    err = capsys.readouterr().err
    assert err.count("\n") == 1 and told in err and not (tmp_path / "site").exists()


def test_a_folder_in_place_of_the_configuration(tmp_path):
    with pytest.raises(PlanError, match="is a folder; expected a YAML file"):
        read_config(tmp_path)


def test_a_campaign_s_folder_has_its_name(tmp_path):
    folder = tmp_path / "workflow/campaigns/shelf"
    folder.mkdir(parents=True)
    (folder / "campaign.yaml").write_text("name: other\nbackend: external\n", "utf8")
    with pytest.raises(PlanError, match="name: 'other'; a campaign's folder has its name, expected 'shelf'"):
        Plan(("shelf",), "shelf", tmp_path).definition("shelf")


@pytest.mark.parametrize("presets", ["full", [], ["slow"], 3])
def test_presets_of_a_stage_are_a_list_of_presets(tmp_path, presets):
    folder = tmp_path / "workflow/campaigns/shelf"
    folder.mkdir(parents=True)
    stages = {"osl": {"presets": presets}}
    (folder / "campaign.yaml").write_text(json.dumps({"name": "shelf", "backend": "embedded", "measure": {"preset": "quick", "stages": stages}}), "utf8")
    with pytest.raises(PlanError, match=r"measure\.stages\.osl\.presets: .* there are: quick, full, smoke"):
        Plan(("shelf",), "shelf", tmp_path).definition("shelf")


def test_the_names_of_routes_are_no_names_of_campaigns():
    """Two places must say so: the schema is what a user's editor reads, the routes are what the site has."""
    assert set(schema.schema("config")["properties"]["campaigns"]["items"]["not"]["enum"]) == RESERVED
