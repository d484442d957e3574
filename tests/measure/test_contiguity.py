"""How contiguous free memory is: read from what the kernel says, and made so where that is allowed."""

from __future__ import annotations

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from engine.bench.contiguity import free_huge_share, settle


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
