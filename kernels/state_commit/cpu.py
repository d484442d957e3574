"""State commit: one copy a request, all layers at once; one copy for all where a window has one position."""

from __future__ import annotations

import torch

from kernels.state_commit.reference import check_commit


def state_commit(pool: torch.Tensor, snapshots: torch.Tensor, slots: torch.Tensor, steps: torch.Tensor) -> None:
    """Same semantics as the reference."""
    check_commit(pool, snapshots, slots, steps)
    window, chosen = snapshots.shape[1], steps.tolist()
    if window == 1 and not any(chosen):
        # plain decoding: every request keeps its only position
        pool.index_copy_(1, slots, snapshots[:, 0])
        return
    for request, (slot, step) in enumerate(zip(slots.tolist(), chosen)):
        if 0 <= step < window:
            pool[:, slot].copy_(snapshots[:, step, request])
