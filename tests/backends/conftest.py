"""What tests of programs that launch a server share."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest

from engine.backends import device_memory
from engine.bench import command, session


@pytest.fixture(autouse=True)
def measured_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Cells are counted here: on a busy machine, which the client's probes see, some would be measured again."""
    monkeypatch.setattr(session, "AGAIN_SHARE", 0.0)


@pytest.fixture
def alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A measuring command in this process: locks and journals of its own, an idle device, and it stays on its processor. Returns its folder."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)
    monkeypatch.setattr(device_memory, "in_use", lambda: {"gpu0": 0})
    monkeypatch.setattr(command, "leave_cpu", lambda cpu: None)
    return tmp_path
