"""`soundings new`: a campaign of every backend can be read by what measures, and says what is still to be filled in."""

from __future__ import annotations

import argparse
from pathlib import Path

import pytest

from engine.bench import campaign as campaigns
from workflow.cli import new
from workflow.cli.new import BACKENDS, OWN_STAGES, kept
from workflow.plan import CAMPAIGNS, ROOT


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / CAMPAIGNS / "local").mkdir(parents=True)
    (tmp_path / CAMPAIGNS / "local" / "campaign.yaml").write_bytes((ROOT / CAMPAIGNS / "local" / "campaign.yaml").read_bytes())
    monkeypatch.setattr(new, "ROOT", tmp_path)
    return tmp_path / CAMPAIGNS


@pytest.mark.parametrize("backend", [name for name in BACKENDS if name in campaigns.backends.BACKENDS])
def test_what_is_new_can_be_measured(folder: Path, backend: str, capsys: pytest.CaptureFixture[str]) -> None:
    parser = argparse.ArgumentParser()
    new.configure(parser)
    assert new.run(parser.parse_args(["mine", "--backend", backend])) == 0
    assert ("in place of MODEL" in capsys.readouterr().out) == (backend not in ("embedded", "soundings"))
    found = campaigns.load(folder / "mine" / "campaign.yaml")
    assert found.backend == backend and "search" in found.stages and "concurrency" in found.stages
    assert (found.server is None) == (backend == "embedded")
    assert bool(set(OWN_STAGES) & set(found.stages)) == (backend == "embedded")
    if found.server is not None and backend == "openai":
        assert not {name: value for name, value in found.server.settings.items() if name != "threads"}
    elif found.server is not None:
        # the settings of the file are those of every boot
        assert found.server.settings["max_running_requests"] == found.engine.max_running_requests


def test_a_stage_goes_with_its_comments() -> None:
    lines = ["    # of kernels\n", "    kernels:\n", "      targets: []\n", "    # of isl\n", "    isl:\n", "      osl: 3\n"]
    assert kept(lines) == lines[3:]
