"""Implementations outside the registry that an operator is compared with, where they are installed."""

from __future__ import annotations

import importlib.util
from collections.abc import Callable
from typing import Any

import torch

from kernels.bench.cases import SCALE, Case
from kernels.registry import load


def sdpa(op: str, case: Case) -> tuple[str, Callable[[], Any]] | None:
    """torch's scaled_dot_product_attention for one token a request."""
    if op != "decode_attention":
        return None
    from kernels.decode_attention.sdpa import decode_attention

    return "torch-sdpa", lambda: decode_attention(*case.args, **case.kwargs)


def fla(op: str, case: Case) -> tuple[str, Callable[[], Any]] | None:
    """KDA of flash-linear-attention; CUDA only. Its state is [B, H, K, V] as here."""
    if op not in ("kda_prefill", "kda_decode") or not case.args[0].is_cuda or importlib.util.find_spec("fla") is None:
        return None
    from fla.ops.kda import chunk_kda, fused_recurrent_kda

    q, k, v, g, beta, state = case.args
    if op == "kda_decode":
        step = [x.unsqueeze(1) for x in (q, k, v, g, beta)]
        return "fla", lambda: fused_recurrent_kda(*step, scale=SCALE, initial_state=state, output_final_state=True)
    return "fla", lambda: chunk_kda(q, k, v, g, beta, scale=SCALE, initial_state=state, output_final_state=True)


def compiled(op: str, case: Case) -> tuple[str, Callable[[], Any]] | None:
    """torch.compile of the reference, for operators whose reference has no data-dependent control flow."""
    if op not in ("rms_norm", "rms_norm_gated", "l2_norm", "silu_mul", "kda_gate", "kda_decode", "kda_verify", "softmax_temperature"):
        return None
    function = torch.compile(load(op, "reference"), dynamic=False)
    return "torch.compile", lambda: function(*case.args, **case.kwargs)
