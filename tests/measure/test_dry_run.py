from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

from engine import gate, search, sweep
from engine.bench.campaign import load
from engine.bench.stages import SMOKE, SWEEPS
from tests.measure.conftest import ROOT

LOCAL = ROOT / "workflow" / "campaigns" / "local" / "campaign.yaml"


@pytest.mark.parametrize("argv", [["--sweep", name] for name in SWEEPS] + [[]])
def test_it_counts_cells_boots_and_minutes(capsys: pytest.CaptureFixture[str], argv: list[str]) -> None:
    program = sweep if argv else search
    assert program.main([*argv, "--campaign", str(LOCAL), "--dry-run", "--json"]) == 0
    plan = json.loads(capsys.readouterr().out)
    assert plan["cells"] == len(plan["plan"]) > 0
    assert plan["boots"] > 0 and plan["estimated_minutes"] > 0
    assert program.main([*argv, "--campaign", str(LOCAL), "--dry-run"]) == 0
    text = capsys.readouterr().out
    assert f"{plan['cells']} cells" in text and f"{plan['boots']} boots" in text


def test_smoke_takes_the_place_of_the_campaigns_sizes() -> None:
    smoke = load(LOCAL, "smoke").stages
    assert smoke == {name: SMOKE[name] for name in smoke} and {"search", "window", "gate"} <= set(smoke)
    assert load(LOCAL, "quick") == load(LOCAL)


@pytest.mark.parametrize("program", [sweep, search, gate])
def test_help_names_units_and_defaults(program, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        program.main(["--help"])
    assert ended.value.code == 0
    text = capsys.readouterr().out
    assert "--dry-run" in text and "default: None" not in text and "default: False" not in text
    flags = {"--preset", "--weights", "--cpu", "--log", "--journal", "--resume", *({"--budget"} if program is search else ())}
    told = " ".join(text.partition("options:")[2].split())
    for flag in flags:
        own = re.search(rf"{flag} .*?(?= --[a-z]|$)", told)
        assert own and "default: " in own[0], flag


def test_a_dry_run_leaves_no_trace(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert search.main(["--campaign", str(LOCAL), "--dry-run", "--out", str(tmp_path / "out")]) == 0
    assert list(tmp_path.iterdir()) == []
