"""How a boot carves its pools: small ones while weights load and libraries warm up, then those that the budget allows."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch

from engine.config import SamplingParams
from engine.memory.budget import Costs, Pools
from engine.memory.prefix_cache import PrefixCache
from engine.memory.storage import renew
from engine.new_token_ratio import NewTokenRatio
from engine.scheduler import Scheduler
from engine.types import Request

if TYPE_CHECKING:
    from engine.engine import Engine

WARM_ROWS, WARM_SLOTS, WARM_TOKENS, WARM_PROMPT = 2, 10, 1024, 192
"""Sizes of the pools that exist while the weights are loaded, and of the prompts that warm the libraries up."""
EXTRA_BUFFERS = 2
"""State slots that strategy extra_buffer holds beside a request's own."""


def serve_from(engine: Engine, pools: Pools) -> None:
    """Carve the pools and start with empty queues."""
    config = engine.config
    engine.pools = pools
    with torch.inference_mode():
        carve(engine, pools)
    engine.cache = _prefix_cache(engine)
    engine.scheduler = Scheduler(
        engine.kv, engine.states, pools.cap, config.chunked_prefill_size, config.prefill_cut(engine.model), engine.gamma,
        NewTokenRatio(config.schedule_conservativeness), engine.cache,
        buffers=EXTRA_BUFFERS if config.radix_strategy == "extra_buffer" and engine.cache else 0,
    )


def warm_up(engine: Engine) -> None:
    """Serve two requests from small pools: what libraries keep from their first call must not count against the budget."""
    serve_from(engine, Pools(WARM_TOKENS, WARM_SLOTS, WARM_ROWS, "asked", 1, 0, ()))
    prompt = tuple(i % 7 + 4 for i in range(min(WARM_PROMPT, engine.config.context_length // 2)))
    engine.generate([Request(f"warm-up {i}", prompt[i:], SamplingParams(temperature=float(i), max_tokens=4, ignore_eos=True)) for i in range(WARM_ROWS)])
    engine.batch, engine.steps = None, 0
    engine.draft_totals.clear()
    with torch.inference_mode():
        carve(engine, Pools(engine.config.page_size, 1, 0, "asked", 1, 0, ()))


def boot_costs(engine: Engine) -> Costs:
    """Bytes of the weights that were loaded, and of one slot, window and token of the pools."""
    drafter = engine.drafter
    rows = sum(t[0].numel() * t.element_size() for t in drafter.slot_tensors) if drafter else 0
    return Costs(
        weights=engine._source.bytes + engine.target.repacked_bytes + (drafter.bytes if drafter else 0) + engine._fused_draft_bytes,
        slot=engine.states.bytes_per_slot + rows,
        window=engine.states.bytes_per_window,
        token=engine.kv.bytes_per_token,
    )


def carve(engine: Engine, pools: Pools) -> None:
    """Memory for the pools in place of the small ones that the weights were loaded beside."""
    engine.kv.carve(pools.tokens)
    engine.states.carve(pools.state_slots, pools.cap)
    for rows in engine.drafter.slot_tensors if engine.drafter else ():
        renew(rows, (pools.state_slots + 1, *rows.shape[1:]))
    engine.states.companions = engine.drafter.slot_tensors if engine.drafter else ()


def _prefix_cache(engine: Engine) -> PrefixCache | None:
    config = engine.config
    if not config.radix_cache:
        return None
    block = math.lcm(config.page_size, config.prefill_cut(engine.model))
    lookahead = engine.drafter.lookahead if engine.drafter else 0
    return PrefixCache(engine.kv.allocator, engine.states, config.page_size, block, lookahead, config.mamba_max_states_per_path)
