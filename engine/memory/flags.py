"""Command-line flags of the memory and scheduling knobs; names, units and defaults are those of `EngineConfig`."""

from __future__ import annotations

import argparse

from engine.config import RADIX_STRATEGIES, STATE_DTYPES, EngineConfig, parse_size

FIELDS = (
    "mem_fraction_static", "max_running_requests", "max_total_num_tokens", "max_mamba_cache_size", "mamba_full_memory_ratio",
    "mamba_ssm_dtype", "radix_cache", "radix_strategy", "mamba_max_states_per_path", "schedule_conservativeness", "chunked_prefill_size",
    "page_size",
)


def memory_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags to a parser."""
    d = EngineConfig()
    add = parser.add_argument_group("memory and scheduling").add_argument
    add("--device-memory", metavar="SIZE", help="budget for weights, pools and activations in bytes, or with K, M, G; enforced (default: none)")
    add("--mem-fraction-static", type=float, default=d.mem_fraction_static, metavar="F", help="share of the budget for weights and pools (default %(default)s)")
    add("--max-running-requests", type=int, metavar="N", help="requests served together at most (default 48 in a speculative lane)")
    add("--max-total-num-tokens", type=int, metavar="N", help="tokens of the KV pool (default: what the budget leaves, else 65536)")
    add("--max-mamba-cache-size", type=int, metavar="N", help="slots of the state pool (default: by the cap or the budget)")
    add("--mamba-full-memory-ratio", type=float, default=d.mamba_full_memory_ratio, metavar="R", help="state bytes to KV bytes of a budget (default %(default)s)")
    add("--mamba-ssm-dtype", default=d.mamba_ssm_dtype, metavar="T", help=f"storage of recurrent states, one of {', '.join(STATE_DTYPES)} (default %(default)s)")
    add("--disable-radix-cache", dest="radix_cache", action="store_false", help="keep no prompt prefixes")
    add("--radix-strategy", default=d.radix_strategy, metavar="S", help=f"state checkpoints, one of {', '.join(RADIX_STRATEGIES)} (default %(default)s)")
    add("--mamba-max-states-per-path", type=int, default=d.mamba_max_states_per_path, metavar="N", help="checkpoints on one cached path at most, 0 for no limit (default 0)")
    add("--schedule-conservativeness", type=float, default=d.schedule_conservativeness, metavar="X", help="scales the KV reserved for tokens to come; no effect with --ignore-eos (default %(default)s)")
    add("--chunked-prefill-size", type=int, default=d.chunked_prefill_size, metavar="N", help="prompt tokens a prefill turn takes at most (default %(default)s)")
    add("--page-size", type=int, default=d.page_size, metavar="N", help="tokens a KV page holds (default %(default)s)")


def memory_settings(args: argparse.Namespace) -> dict:
    """`EngineConfig` fields of the parsed flags; `ConfigError` on a size that is none."""
    budget = {} if args.device_memory is None else {"device_memory": parse_size(args.device_memory)}
    return {**{name: getattr(args, name) for name in FIELDS}, **budget}
