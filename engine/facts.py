"""What a boot came to, as plain values for a server-info record."""

from __future__ import annotations

from collections import Counter
from typing import TYPE_CHECKING

import torch

if TYPE_CHECKING:
    from engine.engine import Engine


def row_invariance(engine: Engine) -> dict:
    """Outcome of the linears' self-test, of this boot or one whose stamp it trusts: is a row's result independent of the rows beside it.

    `native` means the library's kernel passed for every row count that is run; anything else names the
    fallback that was taken instead.
    """
    linears = [*engine.target.linears, *(engine.drafter.linears if engine.drafter else ())]
    shapes = Counter((p.out_features, p.in_features, p.mode) for p in linears)
    native = {"packed", "plain"}
    return {
        "ok": all(mode in native for _, _, mode in shapes),
        "shapes": [[n, k, "native" if mode in native else "padded", mode] for (n, k, mode) in sorted(shapes)],
    }


def notes(engine: Engine) -> list[str]:
    """What a reader of this boot's figures must know about its lane, one sentence each."""
    config, drafter, totals = engine.config, engine.drafter, engine.draft_totals
    if drafter is None:
        return []
    said = []
    if engine.gamma > drafter.gamma_trained:
        said.append(f"block size {engine.gamma} is beyond the trained block of {drafter.gamma_trained}")
    if not config.draft_prompt_kv:
        said.append("the head's own keys and values leave out the prompt (--draft-prompt-kv off)")
    if config.verify_mode != "static" and not config.sps_table:
        said.append("no SPS table: the length scheduler admits every draft")
    rounds, empty = totals["rounds"], totals["rounds_without_draft"]
    if rounds and empty == rounds:
        said.append(f"speculation is dead: nothing was proposed in {rounds} rounds")
    elif empty:
        said.append(f"no draft in {empty} of {rounds} rounds ({100 * empty / rounds:.1f} %)")
    return said


def server_info(engine: Engine) -> dict:
    """JSON-serialisable facts; sizes in bytes, capacities in tokens, slots or requests."""
    config, drafter, kv, states = engine.config, engine.drafter, engine.kv, engine.states
    draft_kv = sum(t.numel() * t.element_size() for t in (drafter.keys, drafter.values)) if drafter and drafter.kv_layers else 0
    cache = engine.cache
    return {
        "lane": config.lane,
        "mode": config.mode,
        "model": config.model,
        "instrument": config.instrument,
        **engine.target.mode_facts(),
        "accept_rule": config.accept_rule,
        "block_size": engine.gamma,
        "markov_head_type": config.markov_head_type if config.lane == "dspark" else None,
        "verify_mode": config.verify_mode if drafter else None,
        "draft_prompt_kv": config.draft_prompt_kv if config.lane == "mtp" else None,
        "untrained_gamma": bool(drafter and engine.gamma > drafter.gamma_trained),
        "draft": dict(engine.draft_totals),
        "notes": notes(engine),
        "gamma_trained": drafter.gamma_trained if drafter else 0,
        "threads": torch.get_num_threads(),
        "torch": torch.__version__,
        "max_running_requests": config.max_running_requests,
        "effective_max_running_requests": engine.effective_max_running_requests,
        "cap_reason": engine.pools.cap_reason,
        "boot_lines": list(engine.pools.lines),
        "device_memory": config.device_memory,
        "mem_fraction_static": config.mem_fraction_static,
        "memory_limit": "rlimit" if engine.memory and engine.memory.limit_bytes else "none",
        "available_mem_bytes": engine.available_mem_bytes,
        "activation_peak_bytes": engine.memory.peak_bytes() if engine.memory else None,
        "radix_cache": config.radix_cache,
        "radix_strategy": config.radix_strategy,
        "schedule_conservativeness": config.schedule_conservativeness,
        "mamba_ssm_dtype": config.mamba_ssm_dtype,
        "prefix_cache": cache
        and {
            "block_tokens": cache.block, "cached_pages": cache.cached_pages, "checkpoints": len(cache.checkpoints), "lookups": cache.lookups,
            "hits": cache.hits, "evicted_pages": cache.evicted_pages, "evicted_checkpoints": cache.evicted_checkpoints,
        },
        "new_token_ratio": engine.scheduler.ratio.value,
        "state_slots": states.slots,
        "state_slots_per_request": engine.pools.slots_per_request,
        "state_pool_bytes": states.bytes,
        "state_bytes_per_window": states.bytes_per_window,
        "enable_linear_replayssm_spec": config.enable_linear_replayssm_spec,
        "state_bytes_per_slot": states.bytes_per_slot,
        "max_total_num_tokens": kv.tokens,
        "page_size": kv.page_size,
        "kv_pool_bytes": kv.bytes - draft_kv,
        "draft_kv_bytes": draft_kv,
        "kv_bytes_per_token": kv.bytes_per_token,
        "context_length": config.context_length,
        "chunked_prefill_size": config.chunked_prefill_size,
        "parameters": engine._source.parameters,
        "weights_bytes": engine._source.bytes,
        "draft_parameters": drafter.parameters if drafter else 0,
        "draft_weights_bytes": drafter.bytes if drafter else 0,
        "boot_s": engine.boot_s,
        "row_invariance": row_invariance(engine),
        "running": len(engine.scheduler.running),
        "queued": len(engine.scheduler.waiting),
    }
