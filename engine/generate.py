"""`python -m engine.generate`: prompts in, text or JSON out, through the engine of this repository."""

from __future__ import annotations

import argparse
import json
import signal
import subprocess
import sys
from pathlib import Path

from engine.arguments import Parser
from engine.config import WEIGHTS, ConfigError, EngineConfig
from engine.draft.flags import lane_flags, lane_settings
from engine.emission import visible_text
from engine.memory.flags import memory_flags, memory_settings
from engine.memory.limit import ProcessMemory, allocation_failure
from engine.model.flags import mode_flags, mode_settings
from engine.sampling_flags import sampling_flags, sampling_params
from engine.types import Request, RequestRecord

SEPARATOR = "---"


def parser() -> argparse.ArgumentParser:
    default = EngineConfig()
    p = Parser(prog="python -m engine.generate", description="Generate text for the prompts of a file.")
    p.add_argument("--prompt-file", required=True, type=Path, metavar="F", help=f"text file; prompts are separated by a line `{SEPARATOR}`")
    p.add_argument("--weights", type=Path, default=WEIGHTS, metavar="DIR", help="folder with target, drafters and tokenizer (default: the shipped ones)")
    lane_flags(p)
    mode_flags(p)
    p.add_argument("--threads", type=int, default=default.threads, metavar="N", help="CPU threads (default 1)")
    sampling_flags(p)
    memory_flags(p)
    p.add_argument("--in-child", action="store_true", help=argparse.SUPPRESS)
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


def as_json(record: RequestRecord, prompt: str, text: str, logprobs: bool) -> str:
    fields = {
        "prompt": prompt,
        "text": text,
        "token_ids": record.token_ids,
        "finish_reason": record.finish_reason,
        "matched_stop": record.matched_stop,
        "isl": record.isl,
        "osl": record.osl,
        "rounds": record.rounds,
        "rounds_without_draft": record.rounds_without_draft,
        "drafted": record.drafted,
        "accepted": record.accepted,
        "trimmed": record.trimmed,
        "accepted_histogram": record.accepted_histogram,
        "accept_length": 1 + record.accepted / record.rounds if record.rounds else None,
    }
    if logprobs:
        fields |= {"logprobs": record.logprobs, "top_logprobs": record.top_logprobs}
    return json.dumps(fields, ensure_ascii=False)


def in_child(argv: list[str]) -> int:
    """Run in a process of its own: a memory limit holds until its process ends."""
    code = subprocess.run([sys.executable, "-m", "engine.generate", *argv, "--in-child"], check=False).returncode
    if code == -signal.SIGABRT:
        print("engine.generate: oom: native code aborted under --device-memory", file=sys.stderr)
    return code if code >= 0 else 1


def main(argv: list[str] | None = None) -> int:
    """0: all prompts served; 1: some prompt ended with an error; 2: bad input (one line on stderr)."""
    args = parser().parse_args(argv)
    if args.device_memory is not None and not args.in_child:
        return in_child(sys.argv[1:] if argv is None else argv)
    try:
        sampling = sampling_params(args)
        prompts = read_prompts(args.prompt_file)
        from engine.engine import Engine  # torch is imported only when there is something to run
        from engine.model.tokenizer import Tokenizer

        config = EngineConfig(
            weights=args.weights, threads=args.threads, **mode_settings(args), **lane_settings(args),
            **memory_settings(args),
        )
        engine = Engine(config, ProcessMemory() if args.in_child else None)
        tokenizer = Tokenizer.load(args.weights, engine.model.bos_token_id)
    except ConfigError as fault:
        print(f"engine.generate: {fault}", file=sys.stderr)
        return 2
    except (MemoryError, RuntimeError) as fault:
        exhausted = allocation_failure(fault)
        if exhausted is None:
            raise
        print(f"engine.generate: oom at boot: {exhausted}", file=sys.stderr)
        return 1
    for line in engine.pools.lines:
        print(f"engine.generate: boot: {line}", file=sys.stderr)
    with engine:
        requests = [Request(str(i), tokenizer.encode(prompt), sampling) for i, prompt in enumerate(prompts)]
        records = engine.generate(requests)
        notes = engine.server_info()["notes"]
    for note in notes:
        print(f"engine.generate: note: {note}", file=sys.stderr)
    failed = False
    for prompt, record in zip(prompts, records):
        text = visible_text(tokenizer.decode(record.token_ids), record)
        if record.finish_reason.startswith("error"):
            print(f"engine.generate: prompt {record.request_id}: {record.finish_reason}", file=sys.stderr)
            failed = True
        print(as_json(record, prompt, text, sampling.logprobs is not None) if args.json else text)
        if not args.json and record is not records[-1]:
            print(SEPARATOR)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
