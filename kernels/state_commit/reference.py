"""Commit the recurrent state of the last accepted position."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("state_commit", slots="B | int", steps="B | int")


def check_commit(pool: torch.Tensor, snapshots: torch.Tensor, slots: torch.Tensor, steps: torch.Tensor) -> None:
    """pool [L, N, ...] and snapshots [L, W, B, ...] agree in L and in the trailing dimensions."""
    batch = CONTRACT.check(slots=slots, steps=steps)["B"]
    for name, tensor in (("pool", pool), ("snapshots", snapshots)):
        if not isinstance(tensor, torch.Tensor) or tensor.dim() < 2 or tensor.device != slots.device:
            found = f"{list(tensor.shape)} on {tensor.device}" if isinstance(tensor, torch.Tensor) else type(tensor).__name__
            raise ValueError(f"state_commit: {name} is {found}, expected a tensor [L, N, ...] or [L, W, {batch}, ...] on {slots.device}")
    layers, _, *inner = pool.shape
    if snapshots.shape[:1] != pool.shape[:1] or snapshots.shape[2:] != (batch, *inner):
        raise ValueError(
            f"state_commit: snapshots has shape {list(snapshots.shape)}, expected [{layers}, W, {batch}"
            f"{''.join(f', {size}' for size in inner)}] for pool {list(pool.shape)}"
        )
    if snapshots.dtype != pool.dtype:
        raise ValueError(f"state_commit: snapshots has dtype {snapshots.dtype}, the pool {list(pool.shape)} has {pool.dtype}")


def state_commit(pool: torch.Tensor, snapshots: torch.Tensor, slots: torch.Tensor, steps: torch.Tensor) -> None:
    """pool[:, slots[b]] <- snapshots[:, steps[b], b], in place, for every request b with 0 <= steps[b] < W.

    pool [L, N, ...] states of L layers; snapshots [L, W, B, ...] states after each window position; slots [B] and
    steps [B] int64, steps[b] = accepted count c (the bonus token is not in any state yet). A step outside 0..W-1
    leaves its slot alone. Serves temporal states [.., H, K, V] and convolution windows [.., 3, D].
    ValueError on shapes or dtypes that do not fit. Source: SGLang 0.5.23, commit of intermediate states.
    """
    check_commit(pool, snapshots, slots, steps)
    for request in range(slots.shape[0]):
        step = int(steps[request])
        if 0 <= step < snapshots.shape[1]:
            pool[:, int(slots[request])] = snapshots[:, step, request]
