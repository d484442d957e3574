"""Flags of the speculative lanes for the command lines that start an engine."""

from __future__ import annotations

import argparse
import json
from pathlib import Path

from engine.config import ACCEPT_RULES, LANES, MARKOV_HEADS, VERIFY_MODES, ConfigError, EngineConfig


def lane_flags(p: argparse.ArgumentParser) -> None:
    default = EngineConfig()
    p.add_argument("--lane", default=default.lane, help=f"one of {', '.join(LANES)} (default {default.lane})")
    p.add_argument("--block-size", type=int, default=None, metavar="N", help=f"γ, tokens drafted a round (default {default.block_size}; 1 for mtp)")
    p.add_argument("--allow-untrained-gamma", action="store_true", help="let --block-size exceed the block the drafter was trained for")
    choices = lambda names: f"one of {', '.join(names)} (default %(default)s)"
    p.add_argument("--markov-head-type", default=default.markov_head_type, metavar="H", help=f"lane dspark: {choices(MARKOV_HEADS)}")
    p.add_argument("--accept-rule", default=default.accept_rule, metavar="R", help=f"for sampled requests, {choices(ACCEPT_RULES)}")
    p.add_argument("--verify-mode", default=default.verify_mode, metavar="M", help=f"lane dspark: {choices(VERIFY_MODES)}")
    p.add_argument(
        "--sps-table", type=Path, default=None, metavar="F",
        help="JSON list of [positions in a step, steps per second] for the length scheduler (default: admit every draft)",
    )
    p.add_argument(
        "--enable-linear-replayssm-spec", action="store_true",
        help="keep a window's inputs instead of its states and replay the accepted ones: less memory, more time",
    )
    p.add_argument("--draft-prompt-kv", choices=("on", "off"), default="on", help="lane mtp: off leaves the prompt out of the head's keys and values (default on)")


def lane_settings(args: argparse.Namespace) -> dict:
    """Fields of `EngineConfig`; raises `ConfigError` naming the flag."""
    gamma = args.block_size if args.block_size is not None else 1 if args.lane == "mtp" else EngineConfig().block_size
    return {
        "lane": args.lane,
        "block_size": gamma,
        "allow_untrained_gamma": args.allow_untrained_gamma,
        "markov_head_type": args.markov_head_type,
        "accept_rule": args.accept_rule,
        "verify_mode": args.verify_mode,
        "sps_table": read_sps_table(args.sps_table) if args.sps_table else (),
        "enable_linear_replayssm_spec": args.enable_linear_replayssm_spec,
        "draft_prompt_kv": args.draft_prompt_kv == "on",
    }


def read_sps_table(path: Path) -> tuple[tuple[int, float], ...]:
    """Pairs of a JSON file, checked by `EngineConfig.check`; `ConfigError` on anything that is no list of pairs."""
    try:
        return tuple((int(positions), float(rate)) for positions, rate in json.loads(path.read_text("utf8")))
    except OSError as fault:
        raise ConfigError(f"--sps-table {path}: {fault.strerror}") from fault
    except (ValueError, TypeError) as fault:
        raise ConfigError(f"--sps-table {path}: must be a JSON list of [positions, steps per second] ({fault})") from fault
