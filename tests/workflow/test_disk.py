"""A full disk, a file that may not grow, a read-only folder: one line and exit code 2, what was published stays, and the next run is as if nothing had been."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.data.partial import only
from tests.data.synthetic import Plan, write_campaign
from tests.page.test_main import house, run  # noqa: F401
from tests.workflow.conftest import copy_repository
from tests.workflow.full import SAYS, filled, limited, may_mount, mounted, read_only
from workflow import keep
from workflow.cli import main as soundings
from workflow.derive import __main__ as derive
from workflow.figures import __main__ as figures
from workflow.plan import CAMPAIGNS, ROOT
from workflow.publish import __main__ as publish

TINY = Plan(repeats=2, prompts=2, osl=24, isls=(64, 512), concurrencies=(1,))


@pytest.fixture(scope="module")
def ground(tmp_path_factory) -> Path:
    """A measured campaign (`local`), its derived values, and a site to publish."""
    folder = tmp_path_factory.mktemp("ground")
    only("isl")(write_campaign(folder / "local", plan=TINY, name="local"))
    assert derive.main(["--campaign", str(folder / "local"), "--out", str(folder / "derived")]) == 0
    (folder / "site").mkdir()
    for name in ("index.html", "values.json"):
        (folder / "site" / name).write_text("x" * 5000)
    return folder


@dataclass(frozen=True)
class Program:
    """A program that publishes files below a folder."""

    run: Callable[[Path, Path], int]
    """(ground, folder) -> exit code."""

    def __call__(self, ground: Path, folder: Path) -> int:
        return self.run(ground, folder)


def refused(code: int) -> int:
    """1 says that a published claim is wrong, which is no trouble with the disk."""
    return 0 if code == 1 else code


PROGRAMS = {
    "derive": Program(lambda ground, out: derive.main(["--campaign", str(ground / "local"), "--out", str(out / "derived")])),
    "figures": Program(lambda ground, out: figures.main(["--values", str(ground / "derived/values.json"), "--out", str(out / "figures")])),
    "publish": Program(lambda ground, out: publish.main(["--site", str(ground / "site"), "--out", str(out / "dist")])),
    "keep": Program(lambda ground, out: keep.main([*map(str, sorted((ground / "local").glob("*isl*"))), "--into", str(out / "local")])),
    "audit": Program(lambda ground, out: refused(soundings(["audit", str(ROOT / CAMPAIGNS / "m1max-mtp"), "--html", str(out / "audit.html")]))),
}
TROUBLES = (filled, limited, read_only)
DEAR = ("derive", "figures")
"""Programs that take seconds: with the first trouble in the default suite, with the others among the slow tests."""
CASES = [
    pytest.param(name, trouble, marks=[pytest.mark.slow] if name in DEAR and trouble is not filled else [])
    for name in PROGRAMS
    for trouble in TROUBLES
]


@contextlib.contextmanager
def disk(folder: Path, trouble) -> Iterator[Path]:
    """A folder on which the trouble can be made. Skips where it cannot."""
    with mounted(folder, "16m") as alone:
        if not alone and (trouble is filled or (trouble is read_only and os.geteuid() == 0)):
            pytest.skip("nothing may be mounted here")
        yield folder


def content(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file() and path.name != ".filler"}


def one_line(text: str, says: tuple[str, ...]) -> bool:
    return text.count("\n") == 1 and any(word in text for word in says)


@pytest.mark.parametrize(("name", "trouble"), CASES)
def test_nothing_is_half_written_and_the_next_run_recovers(ground, tmp_path, monkeypatch, capsys, name, trouble):
    program = PROGRAMS[name]
    with disk(tmp_path / "disk", trouble) as folder:
        monkeypatch.setattr(keep, "BUILD", folder / "build")
        assert program(ground, folder) == 0
        before = content(folder)
        assert before
        shown = next(path for path in sorted(before) if "manifest" not in path)
        (folder / shown).write_bytes(b"an older one\n")
        before[shown] = b"an older one\n"
        capsys.readouterr()
        with trouble(folder):
            code = program(ground, folder)
        assert code == 2
        assert one_line(capsys.readouterr().err, SAYS[trouble])
        assert content(folder) == before
        assert program(ground, folder) == 0
        assert content(folder)[shown] != b"an older one\n"
        assert not [path for path in content(folder) if path.rpartition("/")[2].startswith(".")]


@pytest.mark.parametrize("trouble", TROUBLES)
def test_the_page_stays_and_is_built_when_there_is_room(house, tmp_path, capsys, trouble):  # noqa: F811
    with disk(house.root / "site", trouble) as site:
        assert run(house) == 0
        before = content(site)
        capsys.readouterr()
        with trouble(site):
            assert run(house, "--site-url", "https://soundings.example/") == 2
        assert one_line(capsys.readouterr().err, SAYS[trouble])
        assert content(site) == before
        assert run(house, "--site-url", "https://soundings.example/") == 0
        assert b"https://soundings.example/" in content(site)["index.html"]


@pytest.mark.slow
@pytest.mark.parametrize("trouble", [filled, read_only])
def test_snakemake_goes_on_when_there_is_room_again(tmp_path, trouble):
    """The whole workflow on a disk that is full, or may not be written: the published page and rows stay, and the next run needs no other command."""
    root = tmp_path / "disk"
    if not may_mount(root):
        pytest.skip("nothing may be mounted here")
    with mounted(root, "128m"):
        copy = copy_repository(root)
        copy.build()
        rows, page = content(copy.campaign), (copy.root / "site/index.html").read_bytes()
        text = copy.root / "templates/content/en/02-prologue.md"
        text.write_text(text.read_text("utf8").replace("title: ", "title: Sounded, ", 1), "utf8")
        with trouble(root):
            failed = copy.snakemake("site", "-R", "sweep_isl")
        assert failed.returncode != 0
        assert content(copy.campaign) == rows and (copy.root / "site/index.html").read_bytes() == page
        copy.build("-R", "sweep_isl")
        assert b"Sounded, " in (copy.root / "site/index.html").read_bytes()
        assert "Nothing to be done" in copy.build()
