"""Nucleus truncation: the kernel of `top_k_renorm`, weighing tokens instead of counting them."""

from __future__ import annotations

import torch

from kernels.top_k_renorm.triton import launch, truncate_variant
from kernels.top_p_renorm.reference import CONTRACT


def top_p_renorm(probs: torch.Tensor, top_p: torch.Tensor) -> torch.Tensor:
    """Same semantics as the reference; a top_p outside (0, 1] is not refused (that would wait for the device)."""
    return launch(CONTRACT, probs, "top_p", top_p, mass=True)


VARIANTS = [truncate_variant("*fp32", mass=True)]
