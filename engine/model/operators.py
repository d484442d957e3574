"""The operators a forward pass calls, resolved once at boot by where the weights live."""

from __future__ import annotations

from types import SimpleNamespace

from torch import Tensor

from engine.model.clock import OperatorClock
from kernels.registry import resolve

NAMES = (
    "linear",
    "rms_norm",
    "rms_norm_gated",
    "l2_norm",
    "silu_mul",
    "short_conv_prefill",
    "short_conv_window",
    "kda_gate",
    "kda_prefill",
    "kda_decode",
    "kda_verify",
    "state_commit",
    "kv_write",
    "decode_attention",
    "verify_attention",
    "prefill_attention",
    "block_attention",
    "row_argmax",
    "markov_greedy",
    "markov_sample",
    "gumbel_sample",
    "philox_uniform",
    "softmax_temperature",
    "top_k_renorm",
    "top_p_renorm",
    "greedy_accept",
    "chain_accept",
    "one_hot_accept",
    "coupled_accept",
    "verify_lens",
    "accept_mixed",
)


class Operators(SimpleNamespace):
    """One attribute an operator; looking them up again in the step loop would cost a dictionary walk a call."""

    @classmethod
    def resolve(cls, tensor: Tensor, clock: OperatorClock | None = None) -> Operators:
        """Callables for tensors that live where `tensor` lives, timed by `clock`; LookupError names what is missing."""
        found = {name: resolve(name, tensor) for name in NAMES}
        return cls(**({name: clock.wrap(name, operator) for name, operator in found.items()} if clock else found))
