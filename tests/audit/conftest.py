import csv
import os
from pathlib import Path

import pytest

from workflow.derive.audit import against, tables

HEADER = ("id", "published", "unit", "kind", "set", "formula", "meaning")


@pytest.fixture
def write(tmp_path):
    """Write a folder of published figures: `write(claims, measurements)`, both lists of dicts."""

    def _write(claims: list[dict], rows: list[dict], folder: Path = tmp_path) -> Path:
        with (folder / "claims.csv").open("w", newline="", encoding="utf8") as file:
            writer = csv.DictWriter(file, HEADER, restval="")
            writer.writeheader()
            writer.writerows(claims)
        columns = list(dict.fromkeys(name for row in rows for name in row))
        with (folder / "measurements.csv").open("w", newline="", encoding="utf8") as file:
            writer = csv.DictWriter(file, columns, restval="")
            writer.writeheader()
            writer.writerows(rows)
        return folder

    return _write


@pytest.fixture
def audited(write):
    """Verdicts of claims over rows: `audited(claims, rows)` -> id -> Finding."""

    def _audited(claims: list[dict], rows: list[dict]) -> dict:
        return {finding.id: finding for finding in against.audit(tables.read(write(claims, rows)))}

    return _audited


@pytest.fixture(scope="session")
def reference() -> Path:
    """The folder of reference campaigns."""
    folder = os.environ.get("SOUNDINGS_REFERENCE")
    if not folder:
        pytest.skip("SOUNDINGS_REFERENCE is not set")
    return Path(folder)
