"""`python -m workflow.page`: exit codes and one-line errors."""

import json
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
import yaml

from tests.page.campaign import Workspace
from workflow.page import __main__ as command
from workflow.page import words
from workflow.plan import ROOT


@pytest.fixture
def house(tmp_path, monkeypatch):
    """A workspace that the command takes for the repository."""
    space = Workspace.make(tmp_path / "house")
    config = space.root / "workflow/config.yaml"
    config.write_text(yaml.safe_dump({"campaigns": ["local"], "lead": "local", "preset": "quick", "languages": ["en", "zh"]}))
    monkeypatch.setattr(command, "ROOT", space.root)
    monkeypatch.setattr(command, "TEMPLATES", space.root / "templates")
    return space


def run(house, *more):
    options = [
        "--build",
        str(house.root / "build"),
        "--site",
        str(house.root / "site"),
        "--config",
        str(house.root / "workflow/config.yaml"),
    ]
    return command.main([*options, *more])


def test_builds_lists_and_logs(house, capsys):
    assert run(house) == 0
    assert "index.html: " in capsys.readouterr().out
    assert run(house, "--list") == 0
    listed = capsys.readouterr().out.split()
    assert all(Path(name).is_file() for name in listed)


def test_a_finding_writes_nothing_and_exits_1(house, capsys):
    house.edit("content/en/01-window.md", "- first", "- 3 boots")
    assert run(house) == 1
    assert "templates/content/en/01-window.md:" in capsys.readouterr().err
    assert not (house.root / "site").exists()


def test_check_writes_nothing(house):
    assert run(house, "--check") == 0
    assert not (house.root / "site").exists()


@pytest.mark.parametrize("gone", ["build/local/values.json", "build/local/figures", "workflow/config.yaml"])
def test_a_missing_input_exits_2(house, capsys, gone):
    path = house.root / gone
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    assert run(house) == 2
    error = capsys.readouterr().err
    assert error.startswith("error: ") and len(error.strip().splitlines()) == 1


def test_an_unknown_campaign_exits_2(house, capsys):
    assert run(house, "--campaign", "nowhere") == 2
    assert "nowhere" in capsys.readouterr().err


def test_templates_lie_in_the_repository():
    assert (words.TEMPLATES / "base.html.j2").is_file()


def shown(folder):
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_a_folder_in_a_files_place_stops_everything(house, capsys):
    assert run(house) == 0
    page = house.root / "site/zh/index.html"
    page.unlink()
    page.mkdir()
    before = shown(house.root / "site")
    house.values(facts={"w.accept": {"value": 2.77}})
    assert run(house) == 2
    error = capsys.readouterr().err
    assert "zh/index.html" in error and "folder" in error and len(error.strip().splitlines()) == 1
    assert shown(house.root / "site") == before


def test_a_file_in_a_folders_place_stops_everything(house, capsys):
    site = house.root / "site"
    site.mkdir()
    (site / "zh").write_text("")
    assert run(house) == 2
    assert len(capsys.readouterr().err.strip().splitlines()) == 1
    assert not (site / "index.html").exists() and not list(site.rglob(".page-*"))


def test_a_site_that_cannot_be_written_is_one_line(house, capsys, monkeypatch):
    def refuse(**where):
        raise PermissionError(13, "Permission denied", f"{where['dir']}/.page-x")

    monkeypatch.setattr("workflow.page.site.tempfile.mkstemp", refuse)
    assert run(house) == 2
    error = capsys.readouterr().err
    assert "cannot be written" in error and len(error.strip().splitlines()) == 1
    assert not shown(house.root / "site")


def test_an_ascii_terminal_is_enough(house):
    house.edit("content/en/01-window.md", "- first", "- 3 boots é γ")
    code = f"import sys, runpy; from pathlib import Path; from workflow.page import __main__ as m; r = Path({str(house.root)!r}); m.ROOT, m.TEMPLATES = r, r / 'templates'; sys.exit(m.main(sys.argv[1:]))"
    options = [f"--{name}={house.root / place}" for name, place in (("build", "build"), ("site", "site"), ("config", "workflow/config.yaml"))]
    done = subprocess.run([sys.executable, "-c", code, *options], env={"PYTHONIOENCODING": "ascii", "PYTHONPATH": str(ROOT)}, capture_output=True, text=True)
    assert done.returncode == 1 and "Traceback" not in done.stderr and "typed digit" in done.stderr


def test_what_an_earlier_build_wrote_goes_and_nothing_else(house, capsys):
    """`publish` packs the folder: the pages of a campaign that left the configuration may not stay in it."""
    site, record = house.root / "site", house.root / "build/site.json"
    assert run(house, "--prune") == 0
    before = {path for path in site.rglob("*") if path.is_file()}
    names = json.loads(record.read_text("utf8"))
    assert {site / name for name in names["files"]} == before
    for name in ("left/zh/index.html", "left/index.html", "by-hand.txt", "left/by-hand.txt"):
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text("x")
    (house.root / "kept.txt").write_text("x")
    names["files"] += ["left/zh/index.html", "left/index.html", "../kept.txt", "never-there.html"]
    record.write_text(json.dumps(names), "utf8")
    capsys.readouterr()
    assert run(house, "--prune") == 0
    assert capsys.readouterr().out.count("removed, no campaign of this site has it") == 2
    assert {path for path in site.rglob("*") if path.is_file()} == before | {site / "by-hand.txt", site / "left/by-hand.txt"}
    assert (house.root / "kept.txt").exists() and not (site / "left/zh").exists()
    record.write_text("no JSON", "utf8")
    assert run(house, "--prune") == 0 and json.loads(record.read_text("utf8"))["files"]
