"""Which boots are refused, each with the flag and what would be right."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from engine.config.choices import (
    ACCEPT_RULES,
    FUSED_VERIFY,
    LANES,
    MARKOV_HEADS,
    MODES,
    RADIX_STRATEGIES,
    SEEDS,
    STATE_DTYPES,
    VERIFY_MODES,
)
from engine.config.fault import ConfigError

if TYPE_CHECKING:
    from engine.config.boot import EngineConfig
    from engine.config.shapes import ModelConfig


def check(config: EngineConfig, model: ModelConfig) -> None:
    """Refuse what no boot could serve; raises `ConfigError` naming the flag."""
    if config.lane not in LANES:
        raise ConfigError(f"--lane {config.lane}: unknown lane; known are {', '.join(LANES)}")
    if config.mode not in MODES:
        raise ConfigError(f"--mode {config.mode}: unknown mode; known are {', '.join(MODES)}")
    if config.fused_verify not in FUSED_VERIFY:
        raise ConfigError(f"--fused-verify {config.fused_verify}: unknown path; known are {', '.join(FUSED_VERIFY)}")
    if config.cuda_graph_max_bs < 0:
        raise ConfigError(f"--cuda-graph-max-bs {config.cuda_graph_max_bs}: must be 0 (as many as may run) or more")
    if config.accept_rule not in ACCEPT_RULES:
        raise ConfigError(f"--accept-rule {config.accept_rule}: unknown rule; known are {', '.join(ACCEPT_RULES)}")
    _check_lane(config)
    counts = ("threads", "max_running_requests", "max_total_num_tokens", "max_mamba_cache_size", "context_length", "chunked_prefill_size", "page_size")
    for name in counts:
        if getattr(config, name) is not None and getattr(config, name) < 1:
            raise ConfigError(f"--{name.replace('_', '-')} {getattr(config, name)}: must be at least 1")
    cores = os.cpu_count() or 1
    if config.threads > cores:
        raise ConfigError(f"--threads {config.threads}: this machine has {cores} processors")
    _check_memory(config)
    cut = config.prefill_cut(model)
    if config.chunked_prefill_size % cut:
        why = "the KDA chunk" if config.mamba_ssm_dtype == "float32" else f"the stride at which a prompt rounds {config.mamba_ssm_dtype} states"
        raise ConfigError(f"--chunked-prefill-size {config.chunked_prefill_size}: must be a multiple of {why}, {cut}")
    if config.max_total_num_tokens is not None and config.max_total_num_tokens < config.page_size:
        raise ConfigError(f"--max-total-num-tokens {config.max_total_num_tokens}: must hold at least one page of {config.page_size} tokens")
    if config.context_length > model.max_position:
        raise ConfigError(f"--context-length {config.context_length}: the model was built for at most {model.max_position} positions")
    if config.lane != "plain" and config.block_size < 1:
        raise ConfigError(f"--block-size {config.block_size}: a speculative lane drafts at least 1 token a round")
    if not SEEDS[0] <= config.seed <= SEEDS[1]:
        raise ConfigError(f"--seed {config.seed}: must fit into 64 bits, {SEEDS[0]} to {SEEDS[1]}")


def _check_lane(config: EngineConfig) -> None:
    if config.markov_head_type not in MARKOV_HEADS:
        raise ConfigError(f"--markov-head-type {config.markov_head_type}: unknown head; known are {', '.join(MARKOV_HEADS)}")
    if config.verify_mode not in VERIFY_MODES:
        raise ConfigError(f"--verify-mode {config.verify_mode}: unknown mode; known are {', '.join(VERIFY_MODES)}")
    if config.lane != "dspark" and config.markov_head_type != "vanilla":
        raise ConfigError(f"--markov-head-type {config.markov_head_type}: only lane dspark has a Markov head, this is {config.lane}")
    if config.lane != "dspark" and config.verify_mode != "static":
        raise ConfigError(f"--verify-mode {config.verify_mode}: only lane dspark has a confidence head, this is {config.lane}")
    if config.lane != "mtp" and not config.draft_prompt_kv:
        raise ConfigError(f"--draft-prompt-kv off: only lane mtp has this fault, this is {config.lane}")
    if config.enable_linear_replayssm_spec and (config.lane == "plain" or config.mode != "eager"):
        raise ConfigError("--enable-linear-replayssm-spec: only a speculative lane in mode eager has window states to do without")
    places = [positions for positions, _ in config.sps_table]
    if places != sorted(set(places)) or any(p < 1 or not 0 < rate < float("inf") for p, rate in config.sps_table):
        raise ConfigError("--sps-table: needs rising position counts of at least 1, each with a finite rate above 0")


def _check_memory(config: EngineConfig) -> None:
    if config.device_memory < 0:
        raise ConfigError(f"--device-memory {config.device_memory}: must be 0 (no budget) or a size in bytes")
    if not 0.0 < config.mem_fraction_static <= 1.0:
        raise ConfigError(f"--mem-fraction-static {config.mem_fraction_static}: must be above 0 and at most 1")
    if not 0.0 < config.mamba_full_memory_ratio < float("inf"):
        raise ConfigError(f"--mamba-full-memory-ratio {config.mamba_full_memory_ratio}: must be a finite number above 0")
    if not 0.0 <= config.schedule_conservativeness < float("inf"):
        raise ConfigError(f"--schedule-conservativeness {config.schedule_conservativeness}: must be a finite number of at least 0")
    if config.mamba_ssm_dtype not in STATE_DTYPES:
        raise ConfigError(f"--mamba-ssm-dtype {config.mamba_ssm_dtype}: unknown type; known are {', '.join(STATE_DTYPES)}")
    if config.radix_strategy not in RADIX_STRATEGIES:
        raise ConfigError(f"--radix-strategy {config.radix_strategy}: unknown strategy; known are {', '.join(RADIX_STRATEGIES)}")
    if config.mamba_max_states_per_path < 0:
        raise ConfigError(f"--mamba-max-states-per-path {config.mamba_max_states_per_path}: must be 0 (no limit) or more")
