"""Compact form of a ragged verify window."""

from __future__ import annotations

import torch

from kernels.contract import Contract, check_block_size

CONTRACT = Contract("verify_window_build", anchor="B | int", drafts="B G | int", verify_lens="B | int")


def verify_window_build(
    anchor: torch.Tensor, drafts: torch.Tensor, verify_lens: torch.Tensor
) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor, torch.Tensor]:
    """Lay the first verify_lens[b] tokens of [anchor, draft 1, ..., draft γ] of every request one after another.

    anchor [B], drafts [B, γ], verify_lens [B] in 1..γ+1, int64. Returns ids [M], rows [M] (request of each entry),
    offsets [M] (its window position) and cu_lens [B + 1] (prefix sums), M = sum of verify_lens.
    ValueError on shapes or lengths outside 1..γ+1. Source: SGLang 0.5.23, ragged verify.
    """
    sizes = CONTRACT.check(anchor=anchor, drafts=drafts, verify_lens=verify_lens)
    check_block_size("verify_window_build", sizes["G"])
    if bool(((verify_lens < 1) | (verify_lens > sizes["G"] + 1)).any()):
        raise ValueError(f"verify_window_build: verify_lens {list(verify_lens.shape)} holds lengths outside 1..{sizes['G'] + 1}")
    ids, rows, offsets, cu_lens = [], [], [], [0]
    for request in range(sizes["B"]):
        length = int(verify_lens[request])
        for offset in range(length):
            ids.append(int(anchor[request]) if offset == 0 else int(drafts[request, offset - 1]))
            rows.append(request)
            offsets.append(offset)
        cu_lens.append(cu_lens[-1] + length)
    device = anchor.device
    return (
        torch.tensor(ids, dtype=torch.int64, device=device),
        torch.tensor(rows, dtype=torch.int64, device=device),
        torch.tensor(offsets, dtype=torch.int64, device=device),
        torch.tensor(cu_lens, dtype=torch.int64, device=device),
    )
