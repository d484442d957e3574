"""Edit an input of any kind and build again: the site is, byte for byte, the one of a build from nothing."""

from __future__ import annotations

import random
import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.derive.edit import rewrite
from tests.workflow.conftest import Copy, copy_repository
from tests.workflow.test_staleness import replace

pytestmark = pytest.mark.slow
CELLS = [
    ("sweep_concurrency.csv", ("duration_s", "mean_ttft_ms")),
    ("sweep_window.csv", ("step_ms", "verify_ms")),
    ("requests_isl.csv", ("e2e_ms", "ttft_ms")),
]


@pytest.fixture(scope="module")
def pinned(tmp_path_factory) -> Copy:
    """A built copy whose page compares with a publication that stays, so that the site depends on its inputs alone."""
    copy = copy_repository(tmp_path_factory.mktemp("pinned"))
    copy.build()
    shutil.copy(copy.root / "site/values.json", copy.root / "before.json")
    replace(copy.root / "workflow/config.yaml", 'previous: ""', "previous: before.json")
    copy.build()
    return copy


def cell(seed: int) -> Callable[[Copy], None]:
    """One number of one row, drawn by a seed, a little larger."""

    def edit(copy: Copy) -> None:
        draw = random.Random(seed)
        file, columns = CELLS[seed % len(CELLS)]

        def change(rows: list[dict]) -> list[dict]:
            places = [(row, name) for row in rows for name in columns if row.get(name)]
            row, name = draw.choice(places)
            row[name] = repr(float(row[name]) * draw.uniform(1.01, 1.2))
            return rows

        rewrite(copy.campaign, file, change)

    return edit


def text(file: str, old: str, new: str) -> Callable[[Copy], None]:
    return lambda copy: replace(copy.root / file, old, new)


def several(copy: Copy) -> None:
    """One edit of each kind of file that is no row."""
    for edit in (
        text("workflow/derive/facts/machine.py", "processor name in the manifests", "the processor as the manifests name it"),
        text("workflow/derive/shown.py", '"chain_accept",\n    "state_commit",', '"state_commit",\n    "chain_accept",'),
        text("workflow/figures/style.py", '"plain": Cue("o", (5, 3)', '"plain": Cue("o", (9, 3)'),
        text("templates/strings.yaml", "Contents", "What stands here"),
        text("workflow/campaigns/local/campaign.yaml", "title:", "# a comment\ntitle:"),
    ):
        edit(copy)


def site(copy: Copy) -> dict[str, bytes]:
    return {path.relative_to(copy.root).as_posix(): path.read_bytes() for path in sorted((copy.root / "site").rglob("*")) if path.is_file()}


@pytest.mark.parametrize("edit", [*map(cell, range(len(CELLS))), several], ids=[*(file for file, _ in CELLS), "code and texts"])
def test_the_site_is_that_of_a_build_from_nothing(pinned: Copy, tmp_path: Path, edit: Callable[[Copy], None]):
    before = site(pinned)
    edit(pinned)
    pinned.build()
    fresh = Copy(tmp_path / "fresh")
    shutil.copytree(pinned.root, fresh.root, ignore=shutil.ignore_patterns("site", "build", ".snakemake", "__pycache__"))
    fresh.build()
    assert fresh.measured() == pinned.measured(), "nothing was measured again"
    found, wanted = site(pinned), site(fresh)
    assert found.keys() == wanted.keys()
    assert [name for name in found if found[name] != wanted[name]] == []
    assert found != before, "the edit shows"
