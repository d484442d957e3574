"""Pool storage: memory that is really there, renewed in place."""

from __future__ import annotations

import torch
from torch import Tensor


def touched_zeros(shape: tuple[int, ...], dtype: torch.dtype = torch.float32) -> Tensor:
    """Zeros whose memory is really there: `torch.zeros` leaves the page faults to the first, timed, use."""
    return torch.empty(shape, dtype=dtype).zero_()


def renew(tensor: Tensor, shape: tuple[int, ...]) -> None:
    """Replace the tensor's storage by touched zeros of `shape`; every holder of the object sees it.

    The old storage goes first: two pools at once may not fit.
    """
    tensor.set_(torch.empty(0, dtype=tensor.dtype))
    tensor.set_(touched_zeros(shape, tensor.dtype))
