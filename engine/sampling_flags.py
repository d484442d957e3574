"""Flags of the sampling parameters for the command lines that serve requests."""

from __future__ import annotations

import argparse

from engine.config import ConfigError, EngineConfig, SamplingParams


def sampling_flags(p: argparse.ArgumentParser) -> None:
    default = SamplingParams()
    p.add_argument("--temperature", type=float, default=default.temperature, metavar="T", help="0 is greedy (default 0)")
    p.add_argument("--top-p", type=float, default=default.top_p, metavar="P", help="probability mass kept, in (0, 1] (default 1)")
    p.add_argument("--top-k", type=int, default=default.top_k, metavar="K", help="tokens kept, 0 keeps all (default 0)")
    p.add_argument("--min-p", type=float, default=default.min_p, metavar="P", help="least share of the likeliest token's probability kept, in [0, 1] (default 0)")
    p.add_argument("--seed", type=int, default=EngineConfig().seed, metavar="N", help="noise of every prompt, 64 bits (default 0)")
    p.add_argument("--max-tokens", type=int, default=default.max_tokens, metavar="N", help="tokens generated at most, per prompt (default 64)")
    p.add_argument("--ignore-eos", action="store_true", help="go on to --max-tokens even after the end-of-text token")
    p.add_argument("--stop", action="append", default=[], metavar="TEXT", help="end at this text, which is not printed; may be given several times")
    p.add_argument("--logprobs", type=int, default=None, metavar="N", help="with --json: logprobs of the tokens and of the N likeliest beside each (0: the tokens' own)")


def sampling_params(args: argparse.Namespace) -> SamplingParams:
    """Raises `ConfigError` with the first fault."""
    params = SamplingParams(
        temperature=args.temperature, top_k=args.top_k, top_p=args.top_p, min_p=args.min_p, seed=args.seed,
        max_tokens=args.max_tokens, ignore_eos=args.ignore_eos, stop=tuple(args.stop), logprobs=args.logprobs,
    )
    if fault := params.fault():
        raise ConfigError(fault)
    return params
