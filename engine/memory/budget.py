"""How a memory budget becomes pools: state slots, KV tokens and the cap on requests. Arithmetic only.

    rest = device_memory * mem_fraction_static - weights
    states: as many as asked for; or the cap where no prefix cache needs more; or a share of the rest
    KV:     whatever the states leave, in whole pages

The formulas and their three branches are those of SGLang 0.5.23 (hybrid models, no data parallelism), with this
engine's byte counts. Activations live outside: in `device_memory * (1 - mem_fraction_static)`.
"""

from __future__ import annotations

from dataclasses import dataclass

from engine.config import DEFAULT_TOTAL_TOKENS, SPECULATIVE_MAX_RUNNING, ConfigError, EngineConfig

PLAIN_CAP = (2048, 4096)
"""Bounds of the cap that a plain lane takes when none is asked for; between them 512 a context of KV."""
BUFFERS = {"no_buffer": 3, "extra_buffer": 5}


@dataclass(frozen=True)
class Costs:
    """Bytes of one boot's parts."""

    weights: int
    slot: int
    """One committed state: temporal, convolution and the drafter's rows."""
    window: int
    """States of one request's open verify window, 0 in a lane that never speculates."""
    token: int
    """Keys and values of one token in every layer, the drafter's included."""


@dataclass(frozen=True)
class Pools:
    """What a boot gets."""

    tokens: int
    """KV tokens, whole pages."""
    state_slots: int
    cap: int
    """Requests served together: the effective max_running_requests."""
    cap_reason: str
    """asked, default, state_slots or kv_tokens: what set the cap."""
    slots_per_request: int
    bytes: int
    """All pools with their padding rows."""
    lines: tuple[str, ...]
    """What a boot should say about its own settings."""


def slots_per_request(config: EngineConfig) -> int:
    """State slots that the pool provides for each request it lets run: its own, and those of the prefix cache."""
    return BUFFERS[config.radix_strategy] if config.radix_cache else 1


def size_pools(config: EngineConfig, costs: Costs) -> Pools:
    """Pools of a boot. `ConfigError` names the flag when they cannot serve a single request."""
    ratio = slots_per_request(config)
    lines = []
    asked = config.max_running_requests
    reason = "asked"
    if asked is None:
        reason = "default"
        if costs.window or not config.device_memory:
            asked = SPECULATIVE_MAX_RUNNING
        if costs.window:
            lines.append(
                f"max_running_requests is not set and becomes {asked}, the default of speculative lanes; --max-running-requests overrides it"
            )
    slots = _state_slots(config, costs, ratio, asked)
    tokens = _kv_tokens(config, costs, ratio, asked, slots)
    cap, reason, more = _cap(config, ratio, asked, reason, slots, tokens)
    lines += more
    if config.schedule_conservativeness != 1.0:
        lines.append("schedule_conservativeness has no effect on requests that ignore EOS: their whole max_tokens is reserved")
    used = (slots + 1) * costs.slot + (min(cap, slots // ratio) + 1) * costs.window + tokens * costs.token
    return Pools(tokens, slots, cap, reason, ratio, used, tuple(lines))


def rest_bytes(config: EngineConfig, costs: Costs) -> float:
    """What the budget leaves for pools; `ConfigError` when that is nothing."""
    rest = config.device_memory * config.mem_fraction_static - costs.weights
    if rest <= 0:
        least = costs.weights / config.device_memory
        fix = f"raise it above {least:.3f}" if least < 1 else "raise --device-memory"
        raise ConfigError(
            f"--mem-fraction-static {config.mem_fraction_static}: weights of {costs.weights} bytes leave nothing for the pools in "
            f"--device-memory {config.device_memory}; {fix}"
        )
    return rest


def _state_slots(config: EngineConfig, costs: Costs, ratio: int, asked: int | None) -> int:
    if config.max_mamba_cache_size is not None:
        slots = config.max_mamba_cache_size
    elif not config.device_memory:
        slots = asked * ratio
    elif not config.radix_cache and asked is not None:
        slots = asked
    else:
        share = config.mamba_full_memory_ratio / (1 + config.mamba_full_memory_ratio)
        budget = rest_bytes(config, costs) * share
        slots = int((budget - costs.slot - costs.window) // (costs.slot + costs.window / ratio))
    if slots < ratio:
        raise ConfigError(
            f"the state pool would have {max(slots, 0)} slots and a request needs {ratio}; raise --max-mamba-cache-size, "
            f"--mem-fraction-static or --device-memory{', or --disable-radix-cache' if ratio > 1 else ''}"
        )
    return slots


def _kv_tokens(config: EngineConfig, costs: Costs, ratio: int, asked: int | None, slots: int) -> int:
    page = config.page_size
    limit = config.max_total_num_tokens
    if not config.device_memory:
        return (limit or DEFAULT_TOTAL_TOKENS) // page * page
    rows = slots // ratio if asked is None else min(asked, slots // ratio)
    left = rest_bytes(config, costs) - (slots + 1) * costs.slot - (rows + 1) * costs.window
    tokens = max(0, int(left // costs.token)) // page * page
    if tokens < page:
        raise ConfigError(
            f"--device-memory {config.device_memory}: weights and {slots} state slots leave room for {max(0, int(left // costs.token))} KV tokens, "
            f"less than a page of {page}; lower --max-running-requests or --max-mamba-cache-size, or raise the budget"
        )
    return tokens if limit is None else min(tokens, limit // page * page)


def _cap(
    config: EngineConfig, ratio: int, asked: int | None, reason: str, slots: int, tokens: int
) -> tuple[int, str, list[str]]:
    if asked is None:
        low, high = PLAIN_CAP
        asked = min(max(tokens * 512 // config.context_length, low), high)
    cap, lines = asked, []
    if slots // ratio < cap:
        cap, reason = slots // ratio, "state_slots"
        lines.append(
            f"max_running_requests is capped from {asked} to {cap}: the state pool has {slots} slots and a request takes {ratio}; "
            "--max-mamba-cache-size, --mamba-full-memory-ratio or --disable-radix-cache raise it"
        )
    if max(1, tokens // 2) < cap:
        lines.append(f"max_running_requests is reduced from {cap} to {max(1, tokens // 2)}: the KV pool has {tokens} tokens")
        cap, reason = max(1, tokens // 2), "kv_tokens"
    return cap, reason, lines


def check_machine(pools: Pools, config: EngineConfig) -> None:
    """Refuse pools that this machine cannot hold, before the allocator does it with a traceback."""
    available = available_machine_bytes()
    if available is not None and pools.bytes > available:
        raise ConfigError(
            f"pools for --max-running-requests {config.max_running_requests or pools.cap} ({pools.state_slots} state slots) and {pools.tokens} KV tokens "
            f"take {pools.bytes / 2**30:.1f} GiB, this machine has {available / 2**30:.1f} GiB free; lower --max-running-requests, "
            "--max-mamba-cache-size or --max-total-num-tokens"
        )


def available_machine_bytes() -> int | None:
    """MemAvailable of /proc/meminfo; None where there is no such file."""
    try:
        with open("/proc/meminfo", encoding="ascii") as file:
            for line in file:
                if line.startswith("MemAvailable:"):
                    return int(line.split()[1]) * 1024
    except OSError:
        return None
    return None
