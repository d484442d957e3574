"""Resampling: boots, then the requests inside them; and the few estimators that the facts share.

The unit of replication is the boot (one process, one engine). Arms that are compared share a boot number because they were
alive together, and the prompts of a repeat are the same for all of them, so one draw serves every arm (paired resampling).
"""

from __future__ import annotations

import hashlib
import math
from dataclasses import dataclass, field

import numpy as np

from workflow.derive.load import Table, family_of

BOOTS_SHOWN = 6
"""Places kept for the value of single boots in every sample."""


@dataclass(frozen=True)
class Selection:
    """What a set of rows of one table stands for."""

    lines: str
    """Line numbers, `2-5,9`."""
    boots: dict[tuple[str, str], int]
    """(table family, stage) -> distinct boots."""
    prompts: int
    """Bit set of distinct prompts, 0 where rows are not requests."""


@dataclass(frozen=True)
class Weights:
    """How often each unit of replication stands in each resample: `matrix` [size, units], `unit` [rows] the unit of each row."""

    matrix: np.ndarray
    unit: np.ndarray
    names: tuple[tuple, ...]
    """(stage, boot) or (stage, boot, repeat, content, input length, prompt) of each unit."""
    bits: dict[tuple, int]
    """Number of each prompt, shared by all tables of a derivation."""
    _cache: dict = field(default_factory=dict, repr=False, compare=False)

    def sums(self, rows: np.ndarray, values: np.ndarray) -> np.ndarray:
        """Sum of `values` over the rows, in every resample [size]."""
        return self.matrix @ np.bincount(self.unit[rows], weights=values, minlength=self.matrix.shape[1])

    def selection(self, table: Table, family: str, rows: np.ndarray) -> Selection:
        """Lines, boots and prompts of some rows."""
        key = rows.tobytes()
        if key not in self._cache:
            boots: dict[tuple[str, str], int] = {}
            prompts = 0
            if table.kind == "noise":
                # Each comparison is two boots of one configuration: a repeat of its own.
                boots[(family, "")] = len({table.columns["comparison"][i] for i in rows})
            elif "boot" in table.columns:
                names = {self.names[u] for u in self.unit[rows]}
                for stage in {name[0] for name in names}:
                    boots[(family, stage)] = len({name[1] for name in names if name[0] == stage})
                for name in names:
                    if len(name) > 2:
                        prompts |= 1 << self.bits.setdefault((family, name[0], *name[2:]), len(self.bits))
            self._cache[key] = Selection(ranges([table.lines[i] for i in rows]), boots, prompts)
        return self._cache[key]


def ranges(lines: list[int]) -> str:
    """`2-5,9` for 2, 3, 4, 5, 9."""
    parts: list[list[int]] = []
    for line in sorted(set(lines)):
        if parts and line == parts[-1][1] + 1:
            parts[-1][1] = line
        else:
            parts.append([line, line])
    return ",".join(str(a) if a == b else f"{a}-{b}" for a, b in parts)


@dataclass(frozen=True)
class Resampling:
    """How many resamples, from which seed. `resamples=0` gives estimates only."""

    resamples: int
    seed: int = 0
    boots_shown: int = BOOTS_SHOWN

    @property
    def size(self) -> int:
        return 1 + self.boots_shown + self.resamples

    def rng(self, *parts) -> np.random.Generator:
        digest = hashlib.sha256("/".join(map(str, (self.seed, *parts))).encode()).digest()
        return np.random.default_rng(int.from_bytes(digest[:8], "big"))

    def of_boots(self, family: str, stage: str, boots: list[str]) -> np.ndarray:
        """Weights of the boots of one stage [size, boots]: all, each alone, then draws of one fewer than there are (Rao and Wu 1988).

        A draw has a smaller total than the data; every estimator here is a ratio of sums, so the scale cancels.
        """
        count = len(boots)
        alone = np.zeros((self.boots_shown, count))
        shown = min(count, self.boots_shown)
        alone[:shown, :shown] = np.eye(shown)
        draws = self.rng("boots", family, stage).multinomial(max(count - 1, 1), np.full(count, 1 / count), size=self.resamples)
        return np.vstack([np.ones((1, count)), alone, draws])

    def weights(self, table: Table, requests: bool, bits: dict[tuple, int]) -> Weights:
        """Units are boots, or with `requests` the prompts of each boot, drawn within prompt set, content and input length."""
        keys = ("stage", "boot", *(("repeat", "content", "asked_isl", "prompt_id") if requests else ()))
        columns = [table.columns.get(name, ("",) * len(table)) for name in keys]
        if requests:
            columns[-1] = tuple(prompt or request for prompt, request in zip(columns[-1], table.columns["request_id"]))
        number: dict[tuple, int] = {}
        unit = np.fromiter((number.setdefault(key, len(number)) for key in zip(*columns)), int, len(table))
        names = tuple(number)
        matrix = np.ones((self.size, len(names)))
        family = family_of(table.file)  # points, request and step rows share their draws
        for stage in sorted({name[0] for name in names}):
            boots = sorted({name[1] for name in names if name[0] == stage}, key=lambda text: (len(text), text))
            drawn = self.of_boots(family, stage, boots)
            for place, name in enumerate(names):
                if name[0] == stage:
                    matrix[:, place] = drawn[:, boots.index(name[1])]
        if requests and self.resamples:
            groups: dict[tuple, list[str]] = {}
            for stage, _, *group, prompt in names:
                prompts = groups.setdefault((stage, *group), [])
                if prompt not in prompts:
                    prompts.append(prompt)
            draws = {}
            for group, prompts in groups.items():
                counts = self.rng("requests", family, *group).multinomial(
                    len(prompts), np.full(len(prompts), 1 / len(prompts)), size=self.resamples
                )
                draws |= {(*group, prompt): counts[:, i] for i, prompt in enumerate(prompts)}
            for place, (stage, _, *rest) in enumerate(names):
                matrix[1 + self.boots_shown :, place] *= draws[(stage, *rest)]
        return Weights(matrix, unit, names, bits)


def interval(values: np.ndarray, level: float, shown: int = BOOTS_SHOWN) -> tuple[float, float] | None:
    """Percentile interval of the resamples in `values` [1 + shown + resamples]; None when there are none or some are not finite."""
    ordered = np.sort(values[1 + shown :])  # NaN goes to the end
    if ordered.size == 0 or not (math.isfinite(ordered[0]) and math.isfinite(ordered[-1])):
        return None
    return at(ordered, (1 - level) / 2), at(ordered, (1 + level) / 2)


def at(ordered: np.ndarray, share: float) -> float:
    """Quantile of sorted values by the linear rule of np.quantile, which takes many times as long and is asked thousands of times a campaign."""
    place = share * (ordered.size - 1)
    below = min(int(place), ordered.size - 2)
    low = float(ordered[below])
    return low + (float(ordered[below + 1]) - low) * (place - below) if ordered.size > 1 else low


def reach(value: float, drawn: tuple[float, float]) -> float:
    """How far the interval of a margin reaches towards zero, and beyond it: what the margin must exceed to have a sign."""
    return value - drawn[0] if value > 0 else drawn[1] - value
