"""Static memory of one recording: freed and taken again in recording order, which is the order of every replay."""

from __future__ import annotations

import weakref

import torch
from torch import Tensor

ALIGN = 64


class Arena:
    """Buffers for the tensors of a recording.

    A buffer is free again when the last tensor of the recorded program that looks at it is gone, as in the private
    pool of a CUDA graph: what comes later in the program may overwrite it, because it also comes later in a replay.
    """

    def __init__(self) -> None:
        self.bytes = 0
        self._free: dict[int, list[Tensor]] = {}
        self._users: dict[int, int] = {}

    def empty_like(self, tensor: Tensor) -> Tensor:
        return self.empty(tensor.shape, tensor.dtype, tensor.stride())

    def empty(self, shape: tuple[int, ...], dtype: torch.dtype, stride: tuple[int, ...] | None = None) -> Tensor:
        """A tensor of the program, zeroed when its memory is new."""
        stride = stride or torch.empty(shape, device="meta").stride()
        elements = 1 + sum((n - 1) * s for n, s in zip(shape, stride)) if 0 not in shape else 1
        size = -(-elements * dtype.itemsize // ALIGN) * ALIGN
        ready = self._free.get(size)
        if ready:
            buffer = ready.pop()
        else:
            buffer = torch.zeros(size, dtype=torch.uint8)
            self.bytes += size
        tensor = torch.empty(0, dtype=dtype).set_(buffer.untyped_storage(), 0, tuple(shape), tuple(stride))
        self._users[buffer.data_ptr()] = 0
        self.watch(tensor, buffer)
        return tensor

    def watch(self, tensor: Tensor, buffer: Tensor | None = None) -> None:
        """Count a tensor of the program among the users of its buffer, if that is one of ours."""
        key = tensor.untyped_storage().data_ptr()
        if key in self._users:
            self._users[key] += 1
            size = tensor.untyped_storage().nbytes()
            kept = buffer if buffer is not None else torch.empty(0, dtype=torch.uint8).set_(tensor.untyped_storage(), 0, (size,), (1,))
            weakref.finalize(tensor, self._drop, key, kept).atexit = False

    def _drop(self, key: int, buffer: Tensor) -> None:
        self._users[key] -= 1
        if not self._users[key]:
            self._free.setdefault(buffer.numel(), []).append(buffer)


def untracked(value):
    """The same memory as a tensor that the arena does not count: what a tape holds on to."""
    if isinstance(value, Tensor):
        if value.is_mkldnn:
            return value
        return torch.empty(0, dtype=value.dtype).set_(value.untyped_storage(), value.storage_offset(), value.shape, value.stride())
    if isinstance(value, (list, tuple)):
        return type(value)(untracked(v) for v in value)
    return value
