"""Operators that know when a tape is running, and what of theirs cannot lie on it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from engine.batch import Batch
from engine.model.graph.tape import Tape
from engine.model.operators import Operators


class Recording:
    """What the operators of one target share: the tape that is running, and the batch that a replay serves."""

    def __init__(self) -> None:
        self.tape: Tape | None = None
        self.batch: Batch | None = None


class RecordedLinear:
    """A projection called as a whole: its own choice of kernel is what makes its rows invariant."""

    def __init__(self, project: Any, recording: Recording) -> None:
        self._project, self._recording = project, recording

    def __call__(self, x: Tensor) -> Tensor:
        tape = self._recording.tape
        if tape is None:
            return self._project(x)
        y = tape.new((x.shape[0], self._project.out_features), x.dtype)
        project, source, into = self._project, tape.kept(x), tape.kept(y)
        tape.call(lambda: into.copy_(project(source)))
        return y

    def __getattr__(self, name: str) -> Any:
        return getattr(self._project, name)


def recordable(ops: Operators, recording: Recording) -> Operators:
    """The same operators. On a tape the state pools are read through the slots' tensor, and attention runs on the real rows."""

    def linear(weight: Tensor) -> RecordedLinear:
        return RecordedLinear(ops.linear(weight), recording)

    def short_conv_window(x: Tensor, weight: Tensor, state: Tensor, slots: Tensor) -> tuple[Tensor, Tensor]:
        if recording.tape is None:
            return ops.short_conv_window(x, weight, state, slots)
        return ops.short_conv_window(x, weight, state.index_select(0, slots))

    def kda_decode(q, k, v, g, beta, state: Tensor, *, scale: float, slots: Tensor | None = None, **more) -> tuple[Tensor, Tensor]:
        if recording.tape is None or slots is None:
            return ops.kda_decode(q, k, v, g, beta, state, scale=scale, slots=slots, **more)
        before = state.index_select(0, slots)
        o, after = ops.kda_decode(q, k, v, g, beta, before, scale=scale, out_state=before)
        state.index_copy_(0, slots, after)
        return o, after

    def kda_verify(q, k, v, g, beta, state: Tensor, *, scale: float, slots: Tensor, snapshots: Tensor) -> tuple[Tensor, Tensor]:
        if recording.tape is None:
            return ops.kda_verify(q, k, v, g, beta, state, scale=scale, slots=slots, snapshots=snapshots)
        return ops.kda_verify(q, k, v, g, beta, state.index_select(0, slots), scale=scale, snapshots=snapshots)

    def kv_write(k: Tensor, v: Tensor, keys: Tensor, values: Tensor, slots: Tensor) -> None:
        tape = recording.tape
        if tape is None:
            return ops.kv_write(k, v, keys, values, slots)
        k, v = tape.kept(k), tape.kept(v)

        def write() -> None:
            real = recording.batch.window_slots
            ops.kv_write(k[: real.shape[0]], v[: real.shape[0]], keys, values, real)

        return tape.call(write)

    def verify_attention(q: Tensor, keys: Tensor, values: Tensor, table, lengths, *, page_size: int, scale: float) -> Tensor:
        tape = recording.tape
        if tape is None:
            return ops.verify_attention(q, keys, values, table, lengths, page_size=page_size, scale=scale)
        o = tape.new(tuple(q.shape), q.dtype)
        source, into = tape.kept(q), tape.kept(o)

        def attend() -> None:
            batch = recording.batch
            real = ops.verify_attention(
                source[: batch.rows], keys, values, batch.block_table, batch.lengths, page_size=batch.page_size, scale=scale
            )
            into[: batch.rows].copy_(real)

        tape.call(attend)
        return o

    mine: dict[str, Callable] = {
        "linear": linear, "short_conv_window": short_conv_window, "kda_decode": kda_decode, "kda_verify": kda_verify,
        "kv_write": kv_write, "verify_attention": verify_attention,
    }
    return Operators(**{**vars(ops), **mine})


def int64_zeros(*shape: int) -> Tensor:
    return torch.zeros(shape, dtype=torch.int64)
