"""The block drafters in mode `fused`: backbone, base logits, greedy Markov steps and learning as compiled calls.

Weights and state are the eager drafter's own: context keys in the KV pool, the last context row under the state slot. Prompts, and
picks that draw noise, stay in Python, on the compiled backbone's rows.
"""

from __future__ import annotations

from ctypes import byref

import torch
from torch import Tensor

from engine.batch import Batch
from engine.draft.base import Draft
from engine.draft.block import BlockDrafter
from engine.draft.dspark import DSpark
from engine.model.fused.layers import LANES, Structs
from engine.model.fused.structs import DraftCallStruct, DrafterStruct, LinearStruct
from engine.model.fused.target import FusedTarget
from engine.model.layers import BF16


class FusedLinear:
    """A packed projection, rows [n, K] bfloat16 -> [n, N] float32."""

    def __init__(self, target: FusedTarget, struct: LinearStruct, project) -> None:
        self._lib, self._struct, self._project = target.lib, struct, project
        self.in_features, self.out_features = struct.k, struct.n

    def __call__(self, x: Tensor) -> Tensor:
        x = x.contiguous()
        out, scratch = torch.empty(x.shape[0], self.out_features), torch.empty(x.shape)
        self._lib.fused_linear(byref(self._struct), x.data_ptr(), out.data_ptr(), x.shape[0], scratch.data_ptr())
        return out

    def __getattr__(self, name: str):
        return getattr(self._project, name)


class FusedBlock:
    """Stands behind one `BlockDrafter` and takes over its forward."""

    def __init__(self, drafter: BlockDrafter, target: FusedTarget) -> None:
        self.drafter, self.target, self.lib = drafter, target, target.lib
        self._structs = structs = Structs()
        queued = structs.queue(drafter.mixer, drafter.mlp)
        add = structs.packed.add
        fc, w_last, kv = add(drafter.fc.weight), add(drafter.w_last.weight), add(drafter.mixer.kv_weight.contiguous())
        w2 = add(drafter.w2.weight) if self._greedy_head() else LinearStruct()
        structs.packed.place()
        self.struct = DrafterStruct(
            layer=structs.layer(drafter.mixer, drafter.mlp, queued, 0, -1), fc=fc, w_last=w_last, kv=kv, w2=w2,
            hidden_norm=structs.pointer(drafter.hidden_norm), norm=structs.pointer(drafter.norm),
            block_rows=structs.pointer(drafter.block_rows), tap_width=drafter.fc.in_features,
        )
        if self._greedy_head():
            self.struct.w1, self.struct.rank = structs.pointer(drafter.w1), drafter.w1.shape[1]
            # sampled rows step through the same numbers as greedy ones
            drafter.w2 = FusedLinear(target, w2, drafter.w2)
        self._logits = FusedLinear(target, target.lm_head_struct, target.lm_head)
        self._propose = drafter.propose
        self._call, self._work = DraftCallStruct(), torch.empty(0)
        drafter._hidden, drafter._logits, drafter.observe = self.hidden, self.logits, self.observe
        if self._greedy_head() and drafter.confidence is None:
            drafter.propose = self.propose

    def _greedy_head(self) -> bool:
        """The vanilla Markov head, whose greedy steps are compiled too."""
        drafter, hidden = self.drafter, self.target.config.hidden_size
        return isinstance(drafter, DSpark) and drafter.head is None and drafter.w1.shape[1] % LANES == 0 and drafter.w1.shape[1] <= hidden

    @property
    def repacked_bytes(self) -> int:
        return self._structs.packed.bytes

    def _bind(self, batch: Batch, width: int) -> DraftCallStruct:
        call, drafter = self._call, self.drafter
        call.rows, call.width, call.table_width, call.page_size = batch.rows, width, batch.block_table.shape[1], batch.page_size
        call.anchors, call.slots, call.table = batch.anchors.data_ptr(), batch.slots.data_ptr(), batch.block_table.data_ptr()
        call.lengths, call.kv_slots = batch.lengths.data_ptr(), batch.window_slots.data_ptr()
        call.last, call.keys, call.values = drafter.last.data_ptr(), drafter.keys.data_ptr(), drafter.values.data_ptr()
        floats = self.lib.fused_draft_work_floats(byref(self.target.model_struct), byref(call))
        if floats > self._work.numel():
            self._work = torch.empty(floats)
        call.work = self._work.data_ptr()
        return call

    def hidden(self, batch: Batch) -> Tensor:
        """As `BlockDrafter._hidden`."""
        width = self.drafter.width
        call = self._bind(batch, width)
        hidden = torch.empty(batch.rows, width, self.target.config.hidden_size, dtype=BF16)
        call.hidden = hidden.data_ptr()
        self.lib.fused_draft_hidden(byref(self.target.model_struct), byref(self.struct), byref(call))
        return hidden

    def logits(self, hidden: Tensor) -> Tensor:
        """As `BlockDrafter._logits`, float32."""
        b, n, d = hidden.shape
        return self._logits(hidden.reshape(b * n, d)).view(b, n, -1)

    def propose(self, batch: Batch, keep_logits: bool) -> Draft:
        """Greedy rows in one call; a batch with sampled or traced rows steps through Python on the same numbers."""
        if keep_logits:
            return self._propose(batch, keep_logits)
        width, config = self.drafter.width, self.target.config
        call = self._bind(batch, width)
        hidden = torch.empty(batch.rows, width, config.hidden_size, dtype=BF16)
        base = torch.empty(batch.rows, width, config.vocab_size)
        picks = torch.empty(batch.rows, width, dtype=torch.int64)
        call.hidden, call.base, call.picks = hidden.data_ptr(), base.data_ptr(), picks.data_ptr()
        self.lib.fused_draft_greedy(byref(self.target.model_struct), byref(self.struct), byref(call))
        return Draft(picks, None)

    def observe(self, batch: Batch, window: Tensor, taps: Tensor, correct: Tensor, bonus: Tensor) -> None:
        """As `BlockDrafter.observe`."""
        b, width, m = taps.shape
        call = self._bind(batch, width)
        taps, correct, wide = taps.contiguous(), correct.contiguous(), torch.empty(b * width, m)
        call.taps, call.steps, call.base = taps.data_ptr(), correct.data_ptr(), wide.data_ptr()
        self.lib.fused_draft_observe(byref(self.target.model_struct), byref(self.struct), byref(call))
