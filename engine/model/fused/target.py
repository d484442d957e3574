"""The target whose verify windows are one call into C++. Prompts still run as in mode `eager`.

The same pools as eager: paged keys and values, state slots, window states. Two paths give the same bits: `shared`
reads each tile of weights once for all positions of the window, `serial` runs a pass per position.
"""

from __future__ import annotations

import ctypes
from ctypes import byref, c_void_p

import numpy as np
import torch
from torch import Tensor

from engine.batch import Batch
from engine.config import ModelConfig
from engine.memory.kv_pool import KvPool
from engine.memory.state_pool import StatePool
from engine.model.checkpoint import Checkpoint
from engine.model.fused.compiler import NATIVE, build
from engine.model.fused.layers import STATE_KINDS, Structs, check_shapes
from engine.model.fused.structs import CLASSES, CallStruct, LinearStruct, library
from engine.model.operators import Operators
from engine.model.target import Target

BF16 = torch.bfloat16
SELF_TEST_ROWS = 13


class FusedTarget(Target):
    """`window` and `commit` of `Target` through the compiled library; logits come out float32."""

    def __init__(
        self,
        config: ModelConfig,
        source: Checkpoint,
        ops: Operators,
        kv: KvPool,
        states: StatePool,
        tap_layers: tuple[int, ...] = (),
        *,
        verify: str = "shared",
        threads: int = 1,
        march: str = NATIVE,
    ) -> None:
        """`verify`: `shared` or `serial`. Raises `ConfigError` where nothing can compile or the model's sizes do not fit."""
        super().__init__(config, source, ops, kv, states, tap_layers)
        check_shapes(config)
        self.serial, self.threads = verify == "serial", threads
        self.build = build(config.head_dim, march)
        self.lib = library(self.build.path)
        self.isa = self.lib.fused_isa().decode("ascii")

        self._structs = structs = Structs()
        queued = [structs.queue(mixer, mlp) for mixer, mlp in zip(self.mixers, self.mlps)]
        lm_head = structs.packed.add(self.lm_head.weight)
        structs.packed.place()
        self.lm_head_struct = lm_head
        layers = []
        for i, (mixer, mlp, linears) in enumerate(zip(self.mixers, self.mlps, queued)):
            place = self._kv_of[i] if i in self._kv_of else mixer.index  # noqa: SIM401 (an attention mixer has no index to fall back on)
            tap = tap_layers.index(i) if i in tap_layers else -1
            layers.append(structs.layer(mixer, mlp, linears, place, tap))
        self.model_struct = structs.model(config, self.embed, self.norm, lm_head, layers, len(tap_layers))
        self._linears: dict[tuple[int, int], LinearStruct] = {
            (part.n, part.k): part for part, _ in structs.packed.parts
        }
        self._call = CallStruct(serial=self.serial, threads=threads)
        self._bound: tuple[int, ...] = ()
        self._inputs = self._work = torch.empty(0)
        self._timers: np.ndarray | None = None
        self._touched = np.zeros(2, dtype=np.int64)
        if config.num_experts:
            self._call.touched = self._touched.ctypes.data

    @property
    def repacked_bytes(self) -> int:
        return self._structs.packed.bytes

    def _bind(self) -> None:
        """Point the call at the pools. Their storage may be replaced after this target was built, so it is looked up each time."""
        temporal, conv, kv = self.states.temporal, self.states.conv, self.kv
        count = len(self.config.attention_layers)
        pointers = (temporal.data_ptr(), conv.data_ptr(), *(t.data_ptr() for t in (*kv.keys[:count], *kv.values[:count])))
        if pointers == self._bound:
            return
        call, size = self._call, temporal.element_size()
        call.state_kind, call.page_size = STATE_KINDS[temporal.dtype], kv.page_size
        call.temporal, call.temporal_layer, call.temporal_slot = pointers[0], temporal.stride(0) * size, temporal.stride(1) * size
        call.conv, call.conv_layer, call.conv_slot = pointers[1], conv.stride(0), conv.stride(1)
        self._keys = (c_void_p * count)(*pointers[2 : 2 + count])
        self._values = (c_void_p * count)(*pointers[2 + count :])
        call.keys, call.values = ctypes.addressof(self._keys), ctypes.addressof(self._values)
        self._bound = pointers

    def _shape(self, rows: int, width: int, table_width: int) -> None:
        """Strides and static buffers of one shape of call; a buffer lives until a larger shape needs more."""
        call, config = self._call, self.config
        call.rows, call.width, call.table_width = rows, width, table_width
        inputs = len(config.kda_layers) * rows * (width + 3) * 3 * config.inner_size
        if inputs > self._inputs.numel():
            self._inputs = torch.empty(inputs, dtype=BF16)
        call.inputs = self._inputs.data_ptr()
        floats = self.lib.fused_work_floats(byref(self.model_struct), byref(call))
        if floats > self._work.numel():
            self._work = torch.empty(floats)
        call.work = self._work.data_ptr()
        if width > 1:
            snapshots = self.states.snapshots(rows, width)  # [L, W, b, H, K, V]
            size = snapshots.element_size()
            call.snapshots = snapshots.data_ptr()
            call.snap_layer, call.snap_position, call.snap_row = (stride * size for stride in snapshots.stride()[:3])

    def window(self, ids: Tensor, batch: Batch) -> tuple[Tensor, Tensor | None]:
        b, width = ids.shape
        table = batch.block_table
        self._bind()
        self._shape(b, width, table.shape[1])
        call, d = self._call, self.config.hidden_size
        ids = ids.contiguous()
        logits = torch.empty(b, width, self.config.vocab_size)
        taps = torch.empty(b, width, len(self.tap_layers) * d, dtype=BF16) if self.tap_layers else None
        call.ids, call.slots, call.table = ids.data_ptr(), batch.slots.data_ptr(), table.data_ptr()
        call.lengths, call.kv_slots = batch.lengths.data_ptr(), batch.window_slots.data_ptr()
        call.logits, call.taps = logits.data_ptr(), taps.data_ptr() if taps is not None else None
        self.lib.fused_window(byref(self.model_struct), byref(call))
        if width == 1:
            self.commit(batch, torch.zeros(b, dtype=torch.int64))
        return logits, taps

    def commit(self, batch: Batch, correct: Tensor) -> None:
        self._call.slots = batch.slots.data_ptr()
        self.lib.fused_commit(byref(self.model_struct), byref(self._call), correct.contiguous().data_ptr())

    # facts

    def mode_facts(self) -> dict:
        outcome = self.self_test()
        return {
            "fused_verify": "serial" if self.serial else "shared",
            "compiler": self.build.compiler,
            "isa": self.isa,
            "fused_weights_bytes": self.repacked_bytes,
            "fused_row_invariance": {"ok": all(outcome.values()), "shapes": [[n, k, ok] for (n, k), ok in outcome.items()]},
        }

    def time_classes(self, on: bool) -> None:
        """Clock the operator classes of every forward from now on, or stop."""
        self._timers = np.zeros(len(CLASSES)) if on else None
        self._call.timers = self._timers.ctypes.data if on else None

    def class_ms(self) -> dict[str, float]:
        """Milliseconds by operator class since the last call of this; empty when not clocked."""
        if self._timers is None:
            return {}
        spent = dict(zip(CLASSES, (1e3 * self._timers).tolist()))
        self._timers[:] = 0.0
        return spent

    def experts_touched(self) -> int:
        """Experts whose weights were read since the last call of this, summed over layers and passes."""
        touched = int(self._touched[0])
        self._touched[:] = 0
        return touched

    def self_test(self) -> dict[tuple[int, int], bool]:
        """(N, K) -> every row's bits are the same alone and among up to 13 rows, on this host."""
        generator = torch.Generator().manual_seed(22)
        outcome = {}
        for (n, k), struct in sorted(self._linears.items()):
            x = torch.randn(SELF_TEST_ROWS, k, generator=generator).to(BF16)

            def project(rows: Tensor, n: int = n, k: int = k, struct: LinearStruct = struct) -> Tensor:
                rows = rows.contiguous()
                out, scratch = torch.empty(rows.shape[0], n), torch.empty(rows.shape[0], k)
                self.lib.fused_linear(byref(struct), rows.data_ptr(), out.data_ptr(), rows.shape[0], scratch.data_ptr())
                return out

            alone = torch.cat([project(x[i : i + 1]) for i in range(SELF_TEST_ROWS)])
            outcome[n, k] = all(torch.equal(project(x[-count:]), alone[-count:]) for count in range(1, SELF_TEST_ROWS + 1))
        return outcome
