"""Recurrent state of the KDA layers: one slot a request, plus the states of an open verify window.

While a window is open a speculative request holds, beside its committed state, one state for each of the
γ + 1 positions (temporal and convolution). Acceptance picks one of them; the others were the price of
being able to stop anywhere.
"""

from __future__ import annotations

import heapq
import math

import torch
from torch import Tensor

from engine.config import ModelConfig
from engine.memory.storage import renew


class StatePool:
    """Slots of committed state and the scratch of one verify window for up to `rows` requests.

    temporal [L, slots + 1, H, K, V] float32, bfloat16 or float16; conv [L, slots + 1, 3, D] bfloat16, the raw
    projections as they were; L KDA layers. The last slot belongs to nobody: rows that pad a batch may use it.
    """

    def __init__(self, config: ModelConfig, slots: int, rows: int, window: int, dtype: torch.dtype = torch.float32, replay: bool = False) -> None:
        """`window` = γ + 1 positions, or 0 for a lane that never speculates.

        `replay`: the accepted positions of a window are run again from their inputs, so that its states need to live
        only as long as one layer is computed, and one layer's worth of them serves all (ReplaySSM, SGLang 0.5.23).
        """
        layers, heads, dim = len(config.kda_layers), config.num_heads, config.head_dim
        self.layers, self.heads, self.dim = layers, heads, dim
        self.kept, self.channels = config.conv_width - 1, 3 * config.inner_size
        self.window, self.dtype, self.replay = window, dtype, replay
        self.window_layers = 1 if replay else layers
        self.companions: tuple[Tensor, ...] = ()
        """What a drafter keeps by state slot, [slots + 1, ...] each."""
        self.temporal = torch.empty(0, dtype=dtype)
        self.conv = torch.empty(0, dtype=torch.bfloat16)
        self._temporal_scratch = torch.empty(0, dtype=dtype)
        self.carve(slots, rows)

    def carve(self, slots: int, rows: int) -> None:
        """Give the pool its memory, touched; whoever holds its tensors sees the new storage. States are lost."""
        layers, heads, dim = self.layers, self.heads, self.dim
        self.slots, self.rows = slots, rows
        renew(self.temporal, (layers, slots + 1, heads, dim, dim))
        renew(self.conv, (layers, slots + 1, self.kept, self.channels))
        renew(self._temporal_scratch, (self.window_layers, self.window * (rows + 1) * heads * dim * dim))
        # a heap: the lowest free slot first, since rows that lie in rising order are read faster than in falling order
        self._free = list(range(slots))

    @property
    def padding_slot(self) -> int:
        return self.slots

    @property
    def free_count(self) -> int:
        return len(self._free)

    @property
    def usage(self) -> float:
        """Share of slots that belong to a request."""
        return 1 - len(self._free) / self.slots

    @property
    def bytes_per_slot(self) -> int:
        return sum(t[:, 0].numel() * t.element_size() for t in (self.temporal, self.conv))

    @property
    def bytes_per_window(self) -> int:
        """Temporal states of one request's open window; its convolution states are activations."""
        return self.window * self.temporal[: self.window_layers, 0].numel() * self.temporal.element_size()

    @property
    def bytes(self) -> int:
        return sum(t.numel() * t.element_size() for t in (self.temporal, self.conv, self._temporal_scratch))

    def take(self) -> int | None:
        """A slot whose content is left as it is, for a copy to fill; None when all are taken."""
        return heapq.heappop(self._free) if self._free else None

    def clear(self, slot: int) -> None:
        """The state before the first token."""
        for pool in (self.temporal, self.conv):
            pool[:, slot].zero_()

    def copy(self, source: int, target: int) -> None:
        """Make `target` hold what `source` holds, the drafter's rows included."""
        for pool in (self.temporal, self.conv):
            pool[:, target].copy_(pool[:, source])
        for rows in self.companions:
            rows[target].copy_(rows[source])

    def finite(self, slot: int) -> bool:
        """Whether a state holds numbers only: NaN and infinities survive a sum."""
        return math.isfinite(self.temporal[:, slot].sum(dtype=torch.float32).item())

    def release(self, slot: int) -> None:
        if slot in self._free:
            raise RuntimeError(f"state slot {slot} released twice")
        heapq.heappush(self._free, slot)

    def snapshots(self, rows: int, width: int) -> Tensor:
        """[L, W', b, H, K, V]: where a window of W' <= γ + 1 positions of b requests leaves the state after each; L = 1 with replay."""
        used = width * rows * self.heads * self.dim * self.dim
        return self._temporal_scratch[:, :used].view(self.window_layers, width, rows, self.heads, self.dim, self.dim)
