"""The command line: help, a missing earlier stage, a missing text source."""

from pathlib import Path

import pytest

from engine.train import __main__ as command
from engine.train import corpora


def test_help_lists_the_stages(capsys):
    with pytest.raises(SystemExit) as stop:
        command.main(["--help"])
    assert stop.value.code == 0
    out = capsys.readouterr().out
    assert all(stage in out for stage in command.STAGES)


@pytest.mark.parametrize("stage", ["target", "drafters", "gate", "export"])
def test_a_stage_without_its_input_says_so(stage, tmp_path, capsys):
    assert command.main([stage, "--work", str(tmp_path), "--weights", str(tmp_path)]) == 2
    assert str(tmp_path) in capsys.readouterr().err
    assert list(tmp_path.iterdir()) == []


def test_a_missing_package_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(corpora, "OFFICE_HELP", Path(tmp_path / "absent"))
    with pytest.raises(corpora.MissingSource, match="libreoffice-help-zh-cn"):
        corpora.chinese_documents()
