"""llama.cpp: `llama-server`, asked through its native /completion, whose events carry the clock and counters of every step."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from engine.backends import http_ask
from engine.backends.base import TOKEN_IDS
from engine.backends.server import ServerBackend
from engine.backends.server_config import ServerConfig
from engine.backends.server_flags import Flag, FlagMap, switch
from engine.bench.http_client import LlamaCompletion


@dataclass(frozen=True)
class Chunk(Flag):
    """Tokens of one prefill step: what the scheduler takes (batch) and what is computed at once (ubatch) are two flags here."""

    def words(self, value: object) -> list[str]:
        return ["--batch-size", str(value), "--ubatch-size", str(value)]


FLAGS = FlagMap(
    server="llamacpp",
    knobs={
        "threads": Flag("--threads"),
        "chunked_prefill_size": Chunk(),
        "max_running_requests": Flag("--parallel"),
        # of all slots together
        "max_total_num_tokens": Flag("--ctx-size"),
        "batch_size": Flag("--batch-size"),
        "ubatch_size": Flag("--ubatch-size"),
        "n_gpu_layers": Flag("--n-gpu-layers"),
        # asked for with each request
        "radix_cache": switch(),
    },
    lanes={
        "plain": (),
        # the n-gram must not be longer than what may be drafted after it
        "lookup": ("--spec-type", "ngram-simple", "--spec-ngram-simple-size-n", "2", "--spec-ngram-simple-size-m", "{block_size}"),
        # these need a draft model: measure.server.flags gives its path (--spec-draft-model)
        "dspark": ("--spec-type", "draft-dspark", "--spec-draft-n-max", "{block_size}"),
        "dflash": ("--spec-type", "draft-dflash", "--spec-draft-n-max", "{block_size}"),
        "mtp": ("--spec-type", "draft-mtp", "--spec-draft-n-max", "{block_size}"),
    },
    choices={},
)
EVAL = re.compile(r"(?<!prompt) eval time =\s*([0-9.]+) ms /\s*(\d+) tokens")
NAMELESS = "b0-"
"""Build number of a server that was compiled outside its repository."""
DRAFTS = re.compile(r"draft acceptance = [0-9.]+ \(\s*(\d+) accepted /\s*(\d+) generated\)")


class LlamaCppBackend(ServerBackend):
    name = "llamacpp"
    flags = FLAGS
    signatures = "llamacpp"
    # no copy of prompts in host memory behind our back, and no clamping of what was asked for
    template = (
        *("llama-server", "--model", "{model}", "--host", "{host}", "--port", "{port}", "--metrics", "--no-ui"),
        *("--cache-ram", "0", "--fit", "off"),
    )
    split_by = "position"
    capabilities = frozenset({TOKEN_IDS})

    def __init__(self, config: ServerConfig, cpu: int | None = None, logs: Path | None = None, first: bool = True) -> None:
        super().__init__(config, cpu, logs, first)
        self.caches = bool(config.settings.get("radix_cache"))
        self.flushes = not self.caches

    def dialect(self) -> LlamaCompletion:
        return LlamaCompletion(cache_prompt=self.caches, drafts=self.config.lane != "plain")

    def flush(self) -> bool:
        """Nothing to empty: a request that asks for no cached prompt gets none. With the cache on, prompts carry a nonce."""
        return not self.caches

    def read_info(self) -> dict[str, Any]:
        """/props: slots, and the context that each of them has."""
        props = http_ask.document(f"{self.url}/props") or {}
        found: dict[str, Any] = {"notes": []}
        slots = props.get("total_slots")
        context = (props.get("default_generation_settings") or {}).get("n_ctx")
        if isinstance(slots, int):
            found["effective_max_running_requests"] = slots
            if isinstance(context, int):
                found["max_total_num_tokens"] = slots * context
        build = props.get("build_info")
        if isinstance(build, str) and build and not build.startswith(NAMELESS):
            found["server_version"] = build
        else:
            found["notes"].append(f"the server does not know its version ({build})")
        return found

    def step_log(self, lines: Sequence[str]) -> list[float]:
        """Steps of each request out of its closing lines: time over tokens that were not accepted drafts, the prefill's apart.

        A line a request, not one a step: every step of it gets their mean, so that requests weigh by their steps.
        """
        found: list[tuple[float, int]] = []
        for line in lines:
            if match := EVAL.search(line):
                found.append((float(match[1]), int(match[2]) - 1))
            elif (match := DRAFTS.search(line)) and found:
                milliseconds, steps = found.pop()
                found.append((milliseconds, steps - int(match[1])))
        return [milliseconds / steps for milliseconds, steps in found if steps > 0 for _ in range(steps)]
