"""How contiguous the machine's free memory is, and making it so before a boot.

Weights and pools that lie in scattered pages of 4 KiB cost a walk of the page tables almost everywhere they are touched: on a virtual machine
that had been up for eight hours the same decode step took 3.6 times as long as after compaction, with no time stolen, no load beside it
and a probe that saw nothing, since its own buffers are huge pages. Which boot got which pages decided what it measured.
"""

from __future__ import annotations

import mmap
from pathlib import Path

BUDDYINFO = Path("/proc/buddyinfo")
COMPACT = Path("/proc/sys/vm/compact_memory")
HUGE_BYTES = 2 << 20
SCATTERED = 0.6
"""Below this share of free memory in huge blocks a boot is told of: boots differed by up to three times at 0.4, by a few percent at 0.9."""


def free_huge_share(text: str, page_bytes: int = mmap.PAGESIZE) -> float | None:
    """Share of the free memory that stands in blocks of 2 MiB and more, from /proc/buddyinfo; None where it tells of none."""
    free = huge = 0
    for line in text.splitlines():
        counts = line.partition("zone")[2].split()[1:]
        for order, count in enumerate(map(int, counts)):
            block = page_bytes << order
            free += count * block
            huge += count * block if block >= HUGE_BYTES else 0
    return huge / free if free else None


def settle(compact: Path = COMPACT, buddyinfo: Path = BUDDYINFO) -> float | None:
    """Ask the kernel to compact free memory, which only root may (else nothing happens), and return `free_huge_share` of now.

    Takes some 20 ms where nothing is left to do, 0.3 s where everything is. Call it while nothing is measured.
    """
    try:
        compact.write_text("1", encoding="ascii")
    except OSError:
        pass  # not root, another system, or a container that may not: what the share says is all there is
    try:
        return free_huge_share(buddyinfo.read_text("ascii"))
    except OSError:
        return None
