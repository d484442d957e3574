"""What a setting may be, and the values that unset ones take."""

LANES = ("plain", "dspark", "dflash", "mtp", "lookup")
MODES = ("eager", "graph", "fused")
FUSED_VERIFY = ("shared", "serial")
MODELS = ("trained", "random-25m", "random-60m", "random-moe")
STATE_DTYPES = ("float32", "bfloat16", "float16")
RADIX_STRATEGIES = ("no_buffer", "extra_buffer")
SPECULATIVE_MAX_RUNNING = 48
"""What an unset cap becomes in a speculative lane (SGLang 0.5.23)."""
ROUNDING_STRIDE = 64
"""Prompt tokens between two roundings of a state that is stored in fewer than 32 bits."""
DEFAULT_TOTAL_TOKENS = 65536
"""KV tokens of a boot without a memory budget."""
ACCEPT_RULES = ("chain", "coupled")
MARKOV_HEADS = ("vanilla", "gated", "rnn")
VERIFY_MODES = ("static", "cap-accept", "compact")
SEEDS = (-(2**63), 2**63 - 1)
"""Least and greatest seed: the noise is keyed by 64 bits."""
