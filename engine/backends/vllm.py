"""vLLM: `vllm serve`, asked through OpenAI completions with token ids; acceptance is what /metrics grew by over a load.

Flags are those of its documentation; no release was at hand to look them up in.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engine.backends import http_ask, vllm_log
from engine.backends.base import TOKEN_IDS
from engine.backends.server import ServerBackend
from engine.backends.server_flags import Flag, FlagMap, switch
from engine.bench.http_client import OpenAICompletions

SPECULATE = "--speculative-config"
FLAGS = FlagMap(
    server="vllm",
    knobs={
        "mem_fraction_static": Flag("--gpu-memory-utilization"),
        "chunked_prefill_size": Flag("--max-num-batched-tokens"),
        "max_running_requests": Flag("--max-num-seqs"),
        "context_length": Flag("--max-model-len"),
        "page_size": Flag("--block-size"),
        "cuda_graph_max_bs": Flag("--max-cudagraph-capture-size"),
        "radix_cache": switch(on=("--enable-prefix-caching",), off=("--no-enable-prefix-caching",)),
        "mamba_ssm_dtype": Flag("--mamba-ssm-cache-dtype"),
    },
    lanes={
        "plain": (),
        # num_speculative_tokens counts the drafts, as the block size here does
        "mtp": (SPECULATE, '{"method": "mtp", "num_speculative_tokens": {block_size}}'),
        "lookup": (SPECULATE, '{"method": "ngram", "num_speculative_tokens": {block_size}, "prompt_lookup_max": 4}'),
    },
    choices={"mode": {"graph": (), "eager": ("--enforce-eager",)}},
)
ROUNDS = "vllm:spec_decode_num_drafts_total"
DRAFTED = "vllm:spec_decode_num_draft_tokens_total"
ACCEPTED = "vllm:spec_decode_num_accepted_tokens_total"
PER_POSITION = "vllm:spec_decode_num_accepted_tokens_per_pos_total"


@dataclass(frozen=True)
class VllmCompletions(OpenAICompletions):
    """OpenAI completions; the ids of what was generated come on request."""

    def body(self, request: dict, model: str | None) -> dict:
        return {**super().body(request, model), "return_token_ids": True}


class VllmBackend(ServerBackend):
    name = "vllm"
    flags = FLAGS
    signatures = "vllm"
    # the last flag: else the model's own defaults (top_k, penalties) fill what a request does not name, and sample otherwise than was asked for
    template = ("vllm", "serve", "{model}", "--host", "{host}", "--port", "{port}", "--generation-config", "vllm")
    split_by = "position"
    capabilities = frozenset({TOKEN_IDS})

    def dialect(self) -> VllmCompletions:
        return VllmCompletions()

    def read_info(self) -> dict[str, Any]:
        version = (http_ask.document(f"{self.url}/version") or {}).get("version")
        return {"server_version": version} if version else {}

    def read_log(self, lines: Sequence[str]) -> dict[str, Any]:
        return vllm_log.capacities(lines)

    def flush(self) -> bool:
        """Only a server in development mode (VLLM_SERVER_DEV_MODE=1) has this route; without it prompts carry a nonce."""
        return http_ask.text(f"{self.url}/reset_prefix_cache", post=True) is not None

    @property
    def flushes(self) -> bool:
        return dict(self.config.environment).get("VLLM_SERVER_DEV_MODE") == "1"

    def step_log(self, lines: Sequence[str]) -> list[float]:
        return vllm_log.step_ms(lines)

    def acceptance(self, answer: Mapping[str, Any]) -> dict[str, float] | None:
        """Growth of the counters over the load, all engines together; None without speculation, or where they do not add up."""
        grown = answer["counters"]
        rounds = grown.get(ROUNDS)
        if not rounds or DRAFTED not in grown or ACCEPTED not in grown:
            return None
        positions = [value for name, value in grown.items() if name.startswith(f"{PER_POSITION}:")]
        if positions and round(sum(positions)) != round(grown[ACCEPTED]):
            # acceptances by position are shares of the drafts: they sum to the accepted ones, or something else was counted
            return None
        return {"rounds": round(rounds), "drafted": round(grown[DRAFTED]), "accepted": round(grown[ACCEPTED])}
