"""The page that says what changed: found by itself, flipped claims first, and plain words when nothing was published before."""

import json
import shutil
import subprocess

import pytest
from lxml import html

from tests.page.test_main import house, run  # noqa: F401  (a fixture)
from workflow.page.previous import find


def page(site, path="moved/index.html"):
    return html.fromstring((site / path).read_text("utf8"))


def verdicts(root) -> dict[str, str]:
    return {row.xpath("string(./th)"): row.xpath("string(./td[1]/span/@class)").removeprefix("verdict ") for row in root.xpath("//tbody/tr")}


def test_the_first_publication_says_so(house):  # noqa: F811
    assert run(house) == 0
    for path, words in (("moved/index.html", "no previous publication"), ("zh/moved/index.html", "没有可供对照的上一次发布")):
        root = page(house.root / "site", path)
        assert words in root.text_content() and not root.xpath("//tbody")


def test_a_change_is_told_and_stays_told(house, capsys):  # noqa: F811
    assert run(house) == 0
    house.values(facts={"w.accept": {"value": 2.77}, "w.step_ms": {"value": 12.51}}, claims={"w.wins": "fails"})
    assert run(house) == 0
    assert "claim flipped" in capsys.readouterr().out
    first = (house.root / "site/moved/index.html").read_bytes()
    root = page(house.root / "site")
    found = verdicts(root)
    assert list(found)[0] == "w.wins" and found["w.wins"] == "claim_flipped"
    assert {"w.accept", "w.step_ms"} <= set(found)
    row = root.xpath("//tr[th//code='w.accept']")[0].text_content()
    assert "2.51" in row and "2.77" in row and "+10.4 %" in row
    assert run(house) == 0  # nothing changed since: the same comparison, not an empty one
    assert (house.root / "site/moved/index.html").read_bytes() == first


def test_another_campaign_that_led_the_site_is_no_publication_of_this_one(house, capsys):  # noqa: F811
    assert run(house) == 0
    before = house.root / "site/values.json"
    text = before.read_text("utf8")
    assert '"campaign":"local"' in text.replace(" ", "")
    before.write_text(json.dumps(json.loads(text) | {"campaign": "other"}), "utf8")
    house.values(facts={"w.accept": {"value": 2.77}})
    capsys.readouterr()
    assert run(house) == 0
    assert "no previous publication" in capsys.readouterr().out
    assert not (house.root / "build/previous/local").exists() and not verdicts(page(house.root / "site"))


def test_the_publication_can_be_named(house):  # noqa: F811
    old = house.root / "old/local.json"
    old.parent.mkdir()
    shutil.copy(house.root / "build/local/values.json", old)
    house.values(facts={"w.accept": {"value": 2.77}})
    config = house.root / "workflow/config.yaml"
    config.write_text(config.read_text() + 'previous: "old/{campaign}.json"\n')
    assert run(house) == 0
    assert "w.accept" in verdicts(page(house.root / "site"))


def test_a_publication_of_a_commit(tmp_path, workspace):
    build = workspace.root / "build"
    (tmp_path / "values.json").write_bytes((build / "local/values.json").read_bytes())
    git = ("git", "-c", "user.name=a", "-c", "user.email=a@b")
    for command in (("init", "-q"), ("add", "values.json"), ("commit", "-q", "-m", "x")):
        subprocess.run([*git, *command], cwd=tmp_path, check=True)
    (tmp_path / "values.json").unlink()
    found = find("local", "HEAD:values.json", tmp_path / "none", build, tmp_path)
    assert found.values.get("w.accept").value == 2.51
    assert find("local", "HEAD:nowhere.json", tmp_path / "none", build, tmp_path) is None


@pytest.mark.parametrize("content", ["{", "[]", json.dumps({"schema": 1})])
def test_a_broken_publication_is_one_error(house, capsys, content):  # noqa: F811
    (house.root / "site").mkdir()
    (house.root / "site/values.json").write_text(content)
    assert run(house) == 2
    error = capsys.readouterr().err
    assert "site/values.json" in error and len(error.strip().splitlines()) == 1
