"""What facts and plates enumerate alike. Imports nothing, so that whoever draws loads no derivation."""

MODES = ("eager", "graph", "fused")
OPERATORS = (
    "kda_prefill",
    "markov_sample",
    "kda_verify",
    "verify_attention",
    "chain_accept",
    "state_commit",
)
"""Operators of a prompt and of one sampled round, in the order in which they are called. What every kernel has is in kernels.csv."""
TARGETS = ("sm_90", "sm_100", "gfx942", "gfx950")
OF_ROW = {
    "output_throughput": ("output_throughput", "rate", "token/s"),
    "ttft_ms": ("mean_ttft_ms", "duration", "ms"),
    "tpot_ms": ("mean_tpot_ms", "duration", "ms/token"),
    "accept_length": ("accept_length", "length", "token/round"),
}
"""Part of an imported row's facts -> its column, kind and unit."""
