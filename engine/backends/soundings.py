"""The engine of this repository as a server: `python -m engine.serve`, asked over HTTP like any other."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any

from engine.backends import http_ask
from engine.backends.base import CAPACITIES
from engine.backends.server import ServerBackend
from engine.backends.server_flags import Flag, FlagMap, switch
from engine.bench.http_client import OpenAICompletions

FLAGS = FlagMap(
    server="soundings",
    knobs={
        "mem_fraction_static": Flag("--mem-fraction-static"),
        "device_memory": Flag("--device-memory"),
        "max_running_requests": Flag("--max-running-requests"),
        "max_total_num_tokens": Flag("--max-total-num-tokens"),
        "chunked_prefill_size": Flag("--chunked-prefill-size"),
        "context_length": Flag("--context-length"),
        "schedule_conservativeness": Flag("--schedule-conservativeness"),
        "radix_cache": switch(off=("--disable-radix-cache",)),
        "radix_strategy": Flag("--radix-strategy"),
        "mamba_ssm_dtype": Flag("--mamba-ssm-dtype"),
        "max_mamba_cache_size": Flag("--max-mamba-cache-size"),
        "threads": Flag("--threads"),
    },
    lanes={
        "plain": ("--lane", "plain"),
        "dspark": ("--lane", "dspark", "--block-size", "{block_size}"),
        "dflash": ("--lane", "dflash", "--block-size", "{block_size}"),
        "mtp": ("--lane", "mtp", "--block-size", "1"),
        "lookup": ("--lane", "lookup", "--block-size", "{block_size}"),
    },
    choices={"mode": {mode: ("--mode", mode) for mode in ("eager", "graph", "fused")}},
)
ROUNDS, DRAFTED, ACCEPTED = (f"soundings_spec_{name}_total" for name in ("rounds", "draft_tokens", "accepted_tokens"))


class SoundingsBackend(ServerBackend):
    name = "soundings"
    flags = FLAGS
    signatures = "soundings"
    template = (sys.executable, "-m", "engine.serve", "--host", "{host}", "--port", "{port}")

    def dialect(self) -> OpenAICompletions:
        return OpenAICompletions()

    def read_info(self) -> dict[str, Any]:
        document = http_ask.document(f"{self.url}/server_info") or {}
        found = {name: document.get(name) for name in CAPACITIES} | {"notes": document.get("notes") or []}
        return {name: value for name, value in found.items() if value is not None}

    def flush(self) -> bool:
        return http_ask.text(f"{self.url}/flush_cache", post=True) is not None

    def acceptance(self, answer: Mapping[str, Any]) -> dict[str, float] | None:
        """Of ended requests; a load begins and ends with none in flight, so the growth is the load's."""
        grown = answer["counters"]
        if not grown.get(ROUNDS):
            return None
        return {"rounds": round(grown[ROUNDS]), "drafted": round(grown[DRAFTED]), "accepted": round(grown[ACCEPTED])}
