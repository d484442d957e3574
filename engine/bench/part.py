"""Which blocks of a sweep one job of several measures.

A block number is the least that can be split off: arms of it are compared with one another, so they run on one machine.
"""

from __future__ import annotations

import argparse
import re
from collections.abc import Sequence
from dataclasses import dataclass

from engine.bench.cells import Block
from engine.bench.plans import sentinel

NUMBERS = 1000
"""Cells and boots of a part are numbered from here on times its place, so that ids of two parts never meet."""
MOST = 64


@dataclass(frozen=True)
class Part:
    """Part `number` (from 1) of `of`."""

    number: int
    of: int

    @classmethod
    def parse(cls, text: str) -> Part:
        """`2/4`. For argparse."""
        found = re.fullmatch(r"(\d{1,3})/(\d{1,3})", text)
        number, of = map(int, found.groups()) if found else (0, 0)
        if not 1 <= number <= of <= MOST:
            raise argparse.ArgumentTypeError(f"{text!r}: expected K/N with 1 <= K <= N <= {MOST}, such as 2/4")
        return cls(number, of)

    @property
    def name(self) -> str:
        return f"{self.number}-of-{self.of}"

    @property
    def first(self) -> int:
        """Number of its first cell and of its first boot."""
        return NUMBERS * (self.number - 1)

    def blocks(self, blocks: Sequence[Block]) -> list[Block]:
        """Its share of a sweep's blocks, every `of`-th number, between two sentinels of its own: each job shows its own drift."""
        numbers = list(dict.fromkeys(block.number for block in blocks))[self.number - 1 :: self.of]
        own = [block for block in blocks if block.number in numbers]
        return [sentinel("start", 2 * self.first), *own, sentinel("end", 2 * self.first + 1)] if own else []
