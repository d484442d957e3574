"""Flags of the execution mode for the command lines that start an engine."""

from __future__ import annotations

import argparse

from engine.config import FUSED_VERIFY, MODELS, MODES, EngineConfig


def mode_flags(p: argparse.ArgumentParser) -> None:
    default = EngineConfig()
    p.add_argument("--model", default=default.model, metavar="M", help=f"one of {', '.join(MODELS)}; random-* are cost-only, their text means nothing (default {default.model})")
    p.add_argument("--mode", default=default.mode, help=f"one of {', '.join(MODES)} (default {default.mode}; fused needs a C++ compiler)")
    p.add_argument("--fused-verify", default=default.fused_verify, metavar="P", help=f"mode fused: one of {', '.join(FUSED_VERIFY)}, same bits (default {default.fused_verify})")
    p.add_argument("--cuda-graph-max-bs", type=int, default=default.cuda_graph_max_bs, metavar="N", help="mode graph: largest batch recorded, on a CPU too; 0 takes the effective --max-running-requests (default 0)")
    p.add_argument("--instrument", action="store_true", help="clock the operator classes of every step")


def mode_settings(args: argparse.Namespace) -> dict:
    """Fields of `EngineConfig`."""
    return {name: getattr(args, name) for name in ("model", "mode", "fused_verify", "cuda_graph_max_bs", "instrument")}
