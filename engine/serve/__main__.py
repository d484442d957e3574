"""`python -m engine.serve`: an OpenAI-compatible server over the engine of this repository."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

from engine.arguments import Parser
from engine.config import MODES, WEIGHTS, ConfigError, EngineConfig
from engine.draft.flags import lane_flags, lane_settings
from engine.memory.flags import memory_flags, memory_settings

NO_SERVER = "engine.serve: starlette and uvicorn are not installed; `pip install -e .[serve]` brings them"


def parser() -> argparse.ArgumentParser:
    default = EngineConfig()
    p = Parser(prog="python -m engine.serve", description="Serve completions over HTTP, on this machine only by default.")
    p.add_argument("--host", default="127.0.0.1", help="address to listen on (default 127.0.0.1); there is no authentication")
    p.add_argument("--port", type=int, default=30000, metavar="N", help="port to listen on, 0 takes a free one (default 30000)")
    p.add_argument("--served-model-name", default="soundings", metavar="NAME", help="model name that clients may give (default soundings)")
    p.add_argument("--max-queued-requests", type=int, default=256, metavar="N", help="requests held beyond the running ones; more get 503 (default 256)")
    p.add_argument("--max-body-bytes", type=int, default=1 << 20, metavar="N", help="largest request body (default 1048576)")
    p.add_argument("--weights", type=Path, default=WEIGHTS, metavar="DIR", help="folder with target, drafters and tokenizer (default: the shipped ones)")
    lane_flags(p)
    p.add_argument("--mode", default=default.mode, help=f"one of {', '.join(MODES)} (default {default.mode})")
    p.add_argument("--threads", type=int, default=default.threads, metavar="N", help="CPU threads of the engine (default 1)")
    p.add_argument("--seed", type=int, default=default.seed, metavar="N", help="noise of requests that bring no seed (default 0)")
    p.add_argument("--context-length", type=int, default=default.context_length, metavar="N", help=f"tokens of prompt and answer (default {default.context_length})")
    memory_flags(p)
    return p


def main(argv: Sequence[str] | None = None) -> int:
    """0 after a regular end; 2: bad input (one line on stderr)."""
    args = parser().parse_args(argv)
    try:
        if not 0 <= args.port < 65536:
            raise ConfigError(f"--port {args.port}: must be 0 (a free one) to 65535")
        if args.max_queued_requests < 0 or args.max_body_bytes < 1:
            raise ConfigError("--max-queued-requests must be at least 0 and --max-body-bytes at least 1")
        try:
            import uvicorn

            from engine.serve.app import Front
        except ModuleNotFoundError as fault:
            if fault.name not in ("uvicorn", "starlette"):
                raise
            print(NO_SERVER, file=sys.stderr)
            return 2
        from engine.engine import Engine  # torch is imported only when there is something to run
        from engine.model.tokenizer import Tokenizer
        from engine.serve.loop import EngineLoop

        config = EngineConfig(weights=args.weights, mode=args.mode, threads=args.threads, **lane_settings(args), **memory_settings(args))
        engine = Engine(replace(config, seed=args.seed, context_length=args.context_length))
        tokenizer = Tokenizer.load(args.weights, engine.model.bos_token_id)
    except ConfigError as fault:
        print(f"engine.serve: {fault}", file=sys.stderr)
        return 2
    with engine:
        front = Front(EngineLoop(engine, args.max_queued_requests), tokenizer, args.served_model_name, args.max_body_bytes)
        uvicorn.run(front.app(), host=args.host, port=args.port, log_level="info", access_log=False)
    return 0


if __name__ == "__main__":
    sys.exit(main())
