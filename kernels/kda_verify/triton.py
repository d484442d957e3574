"""KDA verify: a tile of the state lives in registers and walks the window; every step is written out."""

from __future__ import annotations

import torch
import triton
import triton.language as tl

from kernels.aot import Variant, variant
from kernels.kda_decode.reference import check_state_rows
from kernels.kda_verify.reference import CONTRACT

WARPS = 4
BLOCK_V = 32


@triton.jit
def kda_walk(
    q,
    k,
    v,
    g,
    beta,
    state,
    slots,
    o,
    after,
    scale,
    B,
    W,
    H,
    K,
    V,
    HAS_SLOTS: tl.constexpr,
    AFTER_BY_SLOT: tl.constexpr,
    BLOCK_K: tl.constexpr,
    BLOCK_V: tl.constexpr,
):
    """W steps of one (request, head) and one tile of value channels.

    Decode is W = 1 with `after` = the pool (AFTER_BY_SLOT) or a tensor of its own; verify writes after[t, request].
    A step's arithmetic depends on neither B nor W.
    """
    request = (tl.program_id(0) // H).to(tl.int64)
    head = tl.program_id(0) % H
    key = tl.arange(0, BLOCK_K)
    value = tl.program_id(1) * BLOCK_V + tl.arange(0, BLOCK_V)
    inside_k = key < K
    inside_v = value < V
    inside = inside_k[:, None] & inside_v[None, :]
    tile = key[:, None] * V + value[None, :]
    slot = request
    if HAS_SLOTS:
        slot = tl.load(slots + request)
    S = tl.load(state + (slot * H + head) * K * V + tile, mask=inside, other=0.0)
    for t in range(W):
        row = (request * W + t) * H + head
        decay = tl.exp(tl.load(g + row * K + key, mask=inside_k, other=0.0))
        k_t = tl.load(k + row * K + key, mask=inside_k, other=0.0)
        q_t = tl.load(q + row * K + key, mask=inside_k, other=0.0)
        v_t = tl.load(v + row * V + value, mask=inside_v, other=0.0)
        S *= decay[:, None]
        update = tl.load(beta + row) * (v_t - tl.sum(S * k_t[:, None], axis=0))
        S += k_t[:, None] * update[None, :]
        tl.store(o + row * V + value, tl.sum(S * q_t[:, None], axis=0) * scale, mask=inside_v)
        target = t * B + request
        if AFTER_BY_SLOT:
            target = slot
        tl.store(after + (target * H + head) * K * V + tile, S, mask=inside)


def launch(
    tensors: tuple[torch.Tensor, ...], slots: torch.Tensor | None, o: torch.Tensor, after: torch.Tensor, scale: float, by_slot: bool
) -> None:
    """Walk o's window [B, W, H, V] from q, k, v, g, beta and state; `by_slot`: `after` is the pool itself, else [W, B, ...]."""
    batch, window, heads, values = o.shape
    keys = tensors[0].shape[-1]
    if not batch or not window:
        return
    # Each program reads its tile before it writes it and no two share one, so reading and writing the pool is safe.
    kda_walk[(batch * heads, triton.cdiv(values, BLOCK_V))](
        *(tensor.contiguous() for tensor in tensors),
        tensors[0] if slots is None else slots,
        o,
        after,
        scale,
        batch,
        window,
        heads,
        keys,
        values,
        HAS_SLOTS=slots is not None,
        AFTER_BY_SLOT=by_slot,
        BLOCK_K=triton.next_power_of_2(keys),
        BLOCK_V=BLOCK_V,
        num_warps=WARPS,
    )


def walk_variant(window: int | str, by_slot: bool) -> Variant:
    """Heads of 128 keys, a pool with slots; window 1 for decode, "i32" for any."""
    floats = {name: "*fp32" for name in ("q", "k", "v", "g", "beta", "state")}
    sizes = {"B": "i32", "W": window, "H": "i32", "K": "i32", "V": "i32"}
    return variant(
        kda_walk,
        WARPS,
        **floats,
        slots="*i64",
        o="*fp32",
        after="*fp32",
        scale="fp32",
        **sizes,
        HAS_SLOTS=True,
        AFTER_BY_SLOT=by_slot,
        BLOCK_K=128,
        BLOCK_V=BLOCK_V,
    )


def kda_verify(
    q: torch.Tensor,
    k: torch.Tensor,
    v: torch.Tensor,
    g: torch.Tensor,
    beta: torch.Tensor,
    state: torch.Tensor,
    *,
    scale: float,
    slots: torch.Tensor | None = None,
    snapshots: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Same semantics as the reference, bit-equal to W launches of the Triton `kda_decode`."""
    sizes = CONTRACT.check(q=q, k=k, v=v, g=g, beta=beta, state=state, slots=slots, snapshots=snapshots)
    batch, window, heads, keys, values = (sizes[letter] for letter in ("B", "W", "H", "K", "V"))
    check_state_rows("kda_verify", state, batch, slots)
    if snapshots is None:
        snapshots = torch.empty(window, batch, heads, keys, values, device=q.device)
    o = torch.empty(batch, window, heads, values, device=q.device)
    launch((q, k, v, g, beta, state), slots, o, snapshots, scale, by_slot=False)
    return o, snapshots


VARIANTS = [walk_variant("i32", by_slot=False)]
