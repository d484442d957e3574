"""State commit: one copy a request, all layers at once."""

from __future__ import annotations

import torch

from kernels.state_commit.reference import check_commit


def state_commit(pool: torch.Tensor, snapshots: torch.Tensor, slots: torch.Tensor, steps: torch.Tensor) -> None:
    """Same semantics as the reference."""
    check_commit(pool, snapshots, slots, steps)
    window = snapshots.shape[1]
    for request, (slot, step) in enumerate(zip(slots.tolist(), steps.tolist())):
        if 0 <= step < window:
            pool[:, slot].copy_(snapshots[:, step, request])
