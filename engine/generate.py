"""`python -m engine.generate`: prompts in, text or JSON out, through the engine of this repository."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path

from engine.config import LANES, MODES, WEIGHTS, ConfigError, EngineConfig, SamplingParams
from engine.memory.flags import memory_flags, memory_settings
from engine.types import Request, RequestRecord

SEPARATOR = "---"


def parser() -> argparse.ArgumentParser:
    default = EngineConfig()
    sampling = SamplingParams()
    p = argparse.ArgumentParser(prog="python -m engine.generate", description="Generate text for the prompts of a file.")
    p.add_argument("--prompt-file", required=True, type=Path, metavar="F", help=f"text file; prompts are separated by a line `{SEPARATOR}`")
    p.add_argument("--weights", type=Path, default=WEIGHTS, metavar="DIR", help="folder with target, drafters and tokenizer (default: the shipped ones)")
    p.add_argument("--lane", default=default.lane, help=f"one of {', '.join(LANES)} (default {default.lane})")
    p.add_argument("--block-size", type=int, default=None, metavar="N", help=f"γ, tokens drafted a round (default {default.block_size}; 1 for mtp)")
    p.add_argument("--mode", default=default.mode, help=f"one of {', '.join(MODES)} (default {default.mode})")
    p.add_argument("--threads", type=int, default=default.threads, metavar="N", help="CPU threads (default 1)")
    p.add_argument("--temperature", type=float, default=sampling.temperature, metavar="T", help="0 is greedy (default 0)")
    p.add_argument("--top-p", type=float, default=sampling.top_p, metavar="P", help="probability mass kept, in (0, 1] (default 1)")
    p.add_argument("--top-k", type=int, default=sampling.top_k, metavar="K", help="tokens kept, 0 keeps all (default 0)")
    p.add_argument("--seed", type=int, default=default.seed, metavar="N", help="noise of every prompt (default 0)")
    p.add_argument("--max-tokens", type=int, default=sampling.max_tokens, metavar="N", help="tokens generated at most, per prompt (default 64)")
    memory_flags(p)
    p.add_argument("--ignore-eos", action="store_true", help="go on to --max-tokens even after the end-of-text token")
    p.add_argument("--json", action="store_true", help="one JSON object a prompt and line instead of text")
    return p


def read_prompts(path: Path) -> list[str]:
    """Prompts of a file, blank ones refused; raises `ConfigError` naming file and prompt."""
    try:
        text = path.read_text("utf8")
    except OSError as fault:
        raise ConfigError(f"--prompt-file {path}: {fault.strerror}") from fault
    except UnicodeDecodeError as fault:
        raise ConfigError(f"--prompt-file {path}: not UTF-8 at byte {fault.start}") from fault
    prompts: list[list[str]] = [[]]
    for line in text.split("\n"):
        if line.strip() == SEPARATOR:
            prompts.append([])
        else:
            prompts[-1].append(line)
    joined = ["\n".join(lines).strip("\n") for lines in prompts]
    for number, prompt in enumerate(joined, 1):
        if not prompt.strip():
            raise ConfigError(f"--prompt-file {path}: prompt {number} is empty; put text between the lines `{SEPARATOR}`")
    return joined


def as_json(record: RequestRecord, prompt: str, text: str) -> str:
    return json.dumps(
        {
            "prompt": prompt,
            "text": text,
            "token_ids": record.token_ids,
            "finish_reason": record.finish_reason,
            "isl": record.isl,
            "osl": record.osl,
            "rounds": record.rounds,
            "drafted": record.drafted,
            "accepted": record.accepted,
            "accepted_histogram": record.accepted_histogram,
            "accept_length": 1 + record.accepted / record.rounds if record.rounds else None,
        },
        ensure_ascii=False,
    )


def main(argv: list[str] | None = None) -> int:
    """0: all prompts served; 1: some prompt ended with an error; 2: bad input (one line on stderr)."""
    args = parser().parse_args(argv)
    gamma = args.block_size if args.block_size is not None else 1 if args.lane == "mtp" else EngineConfig().block_size
    sampling = SamplingParams(
        temperature=args.temperature, top_k=args.top_k, top_p=args.top_p, max_tokens=args.max_tokens,
        ignore_eos=args.ignore_eos, seed=args.seed,
    )
    try:
        if fault := sampling.fault():
            raise ConfigError(fault)
        prompts = read_prompts(args.prompt_file)
        from engine.engine import Engine  # torch is imported only when there is something to run
        from engine.model.tokenizer import Tokenizer

        config = EngineConfig(
            weights=args.weights, lane=args.lane, block_size=gamma, mode=args.mode, threads=args.threads,
            **memory_settings(args),
        )
        engine = Engine(config)
        tokenizer = Tokenizer.load(args.weights, engine.model.bos_token_id)
    except ConfigError as fault:
        print(f"engine.generate: {fault}", file=sys.stderr)
        return 2
    with engine:
        requests = [Request(str(i), tokenizer.encode(prompt), sampling) for i, prompt in enumerate(prompts)]
        records = engine.generate(requests)
    failed = False
    for prompt, record in zip(prompts, records):
        text = tokenizer.decode(record.token_ids)
        if record.finish_reason.startswith("error"):
            print(f"engine.generate: prompt {record.request_id}: {record.finish_reason}", file=sys.stderr)
            failed = True
        print(as_json(record, prompt, text) if args.json else text)
        if not args.json and record is not records[-1]:
            print(SEPARATOR)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
