"""Gates in few dispatches, in place on one temporary."""

from __future__ import annotations

import torch

from kernels.kda_gate.reference import check_gate
from kernels.scalars import scalar
from kernels.vector_loop import VECTOR


def kda_gate(
    f: torch.Tensor,
    b: torch.Tensor,
    a_log: torch.Tensor,
    dt_bias: torch.Tensor,
    decay_floor: float = -3.0,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference; an element's bits do not depend on the batch if H * K is a multiple of 64."""
    heads, channels = check_gate(f, b, a_log, dt_bias, decay_floor)
    wide = f + dt_bias if f.dtype is torch.float32 else f.float().add_(dt_bias)
    raw = wide.view(*f.shape[:-1], heads, channels // heads)
    g = raw.mul_(a_log.exp().unsqueeze_(-1)).sigmoid_().mul_(scalar(decay_floor))
    # A few heads would fall into the scalar rest of the loop for one row and into its vector part for many, and the two
    # sigmoids differ in the last bit: padding keeps every head in the vector part.
    padded = torch.constant_pad_nd(b if b.dtype is torch.float32 else b.float(), (0, -heads % VECTOR))
    return g, padded.sigmoid_()[..., :heads]
