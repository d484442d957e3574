from __future__ import annotations

import sys
import tempfile
from pathlib import Path

import pytest
import yaml

from engine import search
from engine.backends.embedded import EmbeddedBackend
from engine.bench import command

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def own_machine_lock(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """Tests do not wait for a measurement that runs beside them, nor does it for them."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setattr(tempfile, "tempdir", None)


@pytest.fixture
def fake_engine(monkeypatch: pytest.MonkeyPatch) -> None:
    """Measuring commands boot the stand-in; the machine is not probed and the test process keeps its processors."""
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    monkeypatch.setattr(EmbeddedBackend, "worker", (sys.executable, "-m", "tests.measure.fake_worker"))
    monkeypatch.setattr(command, "quietest_cpu", lambda: None)
    monkeypatch.setattr(command, "leave_cpu", lambda cpu: None)
    # by the stand-in's clock every candidate may have lost, and nothing would be left to confirm
    monkeypatch.setattr(search, "challenger", lambda verdicts: verdicts[0] if verdicts else None)


SIZES = {
    "window": {"contents": ["arith", "code"], "block_sizes": [1, 3], "mtp": True, "isl": 16, "osl": 9, "num_prompts": 2, "repeats": 2},
    "isl": {"content": "code", "block_size": 3, "ladder": [16, 32, 64], "osl": 6, "num_prompts": 2, "repeats": 2},
    "concurrency": {"block_size": 3, "levels": [1, 4], "isl": 16, "osl": 6, "num_prompts": 8, "repeats": 1},
    "search": {
        "block_size": 3,
        "block_sizes": [1, 3],
        "max_concurrency": 2,
        "isl": 16,
        "osl": 6,
        "num_prompts": 4,
        "aa_pairs": 2,
        "passes": 2,
        "window_repeats": 2,
        "confirm_pairs": 2,
    },
}


@pytest.fixture
def campaign(tmp_path: Path):
    """Write a small campaign.yaml; keyword arguments replace keys of `measure`."""

    def write(**changes: object) -> Path:
        measure = {"preset": "quick", "threads": 1, "seed": 5, "stages": SIZES, **changes}
        path = tmp_path / "campaign.yaml"
        path.write_text(yaml.safe_dump({"name": "trial", "backend": "embedded", "measure": measure}, sort_keys=False), "utf8")
        return path

    return write
