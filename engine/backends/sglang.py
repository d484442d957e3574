"""SGLang: `python -m sglang.launch_server`, asked through its native /generate, whose answers carry their own acceptance."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import Any

from engine.backends import http_ask, sglang_log
from engine.backends.base import TOKEN_IDS
from engine.backends.server import ServerBackend
from engine.backends.server_flags import Flag, FlagMap, switch
from engine.bench.http_client import SglangGenerate

# Names are those of 0.5.23, each looked up in its source; measure.server.flags has room for those of another release.
FLAGS = FlagMap(
    server="sglang",
    knobs={
        "mem_fraction_static": Flag("--mem-fraction-static"),
        "chunked_prefill_size": Flag("--chunked-prefill-size"),
        # older releases call it --cuda-graph-max-bs, which in 0.5.23 abbreviates two flags and is refused
        "cuda_graph_max_bs": Flag("--cuda-graph-max-bs-decode"),
        "max_running_requests": Flag("--max-running-requests"),
        "max_total_num_tokens": Flag("--max-total-tokens"),
        "context_length": Flag("--context-length"),
        "schedule_conservativeness": Flag("--schedule-conservativeness"),
        "page_size": Flag("--page-size"),
        "radix_cache": switch(off=("--disable-radix-cache",)),
        "radix_strategy": Flag("--mamba-radix-cache-strategy"),
        "mamba_ssm_dtype": Flag("--mamba-ssm-dtype"),
        "mamba_full_memory_ratio": Flag("--mamba-full-memory-ratio"),
        "max_mamba_cache_size": Flag("--max-mamba-cache-size"),
        "mamba_max_states_per_path": Flag("--mamba-max-states-per-path"),
    },
    lanes={
        "plain": (),
        "dspark": ("--speculative-algorithm", "DSPARK", "--speculative-dspark-block-size", "{block_size}"),
        # its block is the verify window, anchor included
        "dflash": ("--speculative-algorithm", "DFLASH", "--speculative-dflash-block-size", "{window}"),
        "mtp": (
            *("--speculative-algorithm", "NEXTN", "--speculative-num-steps", "{block_size}"),
            *("--speculative-eagle-topk", "1", "--speculative-num-draft-tokens", "{window}"),
        ),
        "lookup": ("--speculative-algorithm", "NGRAM", "--speculative-num-draft-tokens", "{window}"),
    },
    choices={"mode": {"graph": (), "eager": ("--disable-cuda-graph",)}},
)


class SglangBackend(ServerBackend):
    name = "sglang"
    flags = FLAGS
    signatures = "sglang"
    template = (
        *(sys.executable, "-m", "sglang.launch_server", "--model-path", "{model}", "--host", "{host}", "--port", "{port}"),
        *("--nnodes", "{nnodes}", "--node-rank", "{rank}", "--dist-init-addr", "{dist_init_addr}", "--enable-metrics"),
    )
    capabilities = frozenset({TOKEN_IDS})

    def dialect(self) -> SglangGenerate:
        return SglangGenerate()

    def read_info(self) -> dict[str, Any]:
        """/server_info, under its older name where that is not there: the cap that holds stands in `internal_states`, not at the top."""
        document = http_ask.document(f"{self.url}/server_info") or http_ask.document(f"{self.url}/get_server_info") or {}
        if isinstance(document.get("decode"), list) and document["decode"]:
            document = document["decode"][0]
        states = document.get("internal_states") or [{}]
        memory = states[0].get("memory_usage") or {}
        found = {
            "effective_max_running_requests": states[0].get("effective_max_running_requests_per_dp"),
            "max_total_num_tokens": memory.get("token_capacity"),
            "server_version": document.get("version"),
        }
        return {name: value for name, value in found.items() if value is not None}

    def read_log(self, lines: Sequence[str]) -> dict[str, Any]:
        return sglang_log.capacities(lines)

    def flush(self) -> bool:
        """Refused with 400 while requests run; also sets the server's own means back to nothing."""
        return http_ask.text(f"{self.url}/flush_cache", post=True) is not None

    def step_log(self, lines: Sequence[str]) -> list[float]:
        return sglang_log.step_ms(lines)
