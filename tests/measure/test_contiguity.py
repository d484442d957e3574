"""How contiguous free memory is: read from what the kernel says, and made so where that is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine import csvio, sweep
from engine.backends import worker_pool
from engine.bench.contiguity import free_huge_share, settle
from tests.measure.conftest import SIZES


def buddyinfo(*zones: list[int]) -> str:
    return "".join(f"Node 0, zone {name:>8} {' '.join(f'{count:6}' for count in counts)}\n" for name, counts in zip(("DMA", "DMA32", "Normal"), zones))


@given(st.lists(st.lists(st.integers(0, 40_000), min_size=11, max_size=11), min_size=1, max_size=3))
def test_the_share_is_that_of_the_bytes(zones: list[list[int]]) -> None:
    free = sum(count * 4096 * 2**order for counts in zones for order, count in enumerate(counts))
    huge = sum(count * 4096 * 2**order for counts in zones for order, count in enumerate(counts) if order >= 9)
    found = free_huge_share(buddyinfo(*zones), 4096)
    assert found is None if not free else found == pytest.approx(huge / free)


@pytest.mark.parametrize("text", ["", "nothing of the kind\n"])
def test_unknown_is_not_zero(text: str) -> None:
    assert free_huge_share(text) is None


def test_compaction_is_asked_for_and_may_be_refused(tmp_path: Path) -> None:
    said = tmp_path / "buddyinfo"
    said.write_text(buddyinfo([0] * 9 + [1, 1]), "ascii")
    assert settle(compact := tmp_path / "compact_memory", said) == 1.0
    assert compact.read_text("ascii") == "1"
    assert settle(tmp_path / "no" / "such", said) == 1.0
    assert settle(tmp_path / "no" / "such", tmp_path / "neither") is None


@pytest.mark.usefixtures("fake_engine")
@pytest.mark.parametrize(("share", "told"), [(0.0, 1), (0.3, 1), (0.95, 0), (None, 0)])
def test_scattered_memory_is_told_once_and_stands_in_every_row(campaign, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, share: float | None, told: int) -> None:
    monkeypatch.setattr(worker_pool.contiguity, "settle", lambda: share)
    words = ["--sweep", "isl", "--campaign", str(campaign(stages={"isl": SIZES["isl"]})), "--out", str(tmp_path / "out"), "--log", str(tmp_path / "log"), "--quiet"]
    assert sweep.main(words) == 0
    assert (tmp_path / "log").read_text("utf8").count("free memory is scattered") == told
    assert {row.get("free_huge_share") for row in csvio.read("points", tmp_path / "out" / "sweep_isl.csv")} == {share}
