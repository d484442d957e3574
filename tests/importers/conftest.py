"""Sample files and imports in memory."""

from __future__ import annotations

from pathlib import Path

import pytest

from workflow.importers.run import Imported, import_files

DATA = Path(__file__).resolve().parent.parent / "data" / "imports"


def imported(*paths: Path, **options) -> Imported:
    return import_files([(None, path) for path in paths], **options)


def rows(done: Imported) -> list[dict[str, str]]:
    return [row for family in done.collected.families().values() for row in family]


def told(done: Imported, *kinds: str) -> str:
    return "\n".join(str(one) for one in (done.report.of(*kinds) if kinds else done.report.remarks.values()))


@pytest.fixture
def sample():
    return lambda name: DATA / name
