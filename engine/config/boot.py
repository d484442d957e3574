"""Everything that defines one boot of the engine."""

from __future__ import annotations

import math
from dataclasses import dataclass
from pathlib import Path

from engine.config.checks import check
from engine.config.choices import ROUNDING_STRIDE
from engine.config.shapes import ModelConfig

WEIGHTS = Path(__file__).resolve().parent.parent / "weights"


@dataclass(frozen=True)
class EngineConfig:
    """Everything that defines one boot of the engine. Flags of the CLI carry the same names."""

    weights: Path = WEIGHTS
    lane: str = "dspark"
    block_size: int = 3
    """γ, drafted tokens a round; ignored by `plain`, must be 1 for `mtp`."""
    mode: str = "eager"
    fused_verify: str = "shared"
    """Mode `fused`: `shared` reads the weights once a window, `serial` once a position; the bits are the same."""
    cuda_graph_max_bs: int = 0
    """Mode `graph`: largest batch that is captured; 0 takes the effective `max_running_requests`."""
    instrument: bool = False
    """Clock the operator classes of every step; throughput runs leave it off."""
    model: str = "trained"
    """`random-*`: a cost-only model of random weights, made at first use; its text means nothing."""
    threads: int = 1
    device_memory: int = 0
    """Budget in bytes for weights, pools and activations; 0 sets no budget and sizes the pools by the counts below."""
    mem_fraction_static: float = 0.88
    """Share of the budget that weights and pools may take; activations live in the rest."""
    max_running_requests: int | None = None
    """Requests served together at most; None is 48 in a speculative lane and what the pools allow in the plain one."""
    max_total_num_tokens: int | None = None
    """Capacity of the KV pool in tokens, all requests together; None takes what the budget leaves."""
    max_mamba_cache_size: int | None = None
    """Recurrent states in the pool, apart from the cap on requests; None sizes it by the cap or by the budget."""
    mamba_full_memory_ratio: float = 0.9
    """State bytes to KV bytes where the budget sizes both pools."""
    mamba_ssm_dtype: str = "float32"
    """Storage of the temporal states; arithmetic stays in float32."""
    radix_cache: bool = True
    """Keep prompts' KV pages and state checkpoints for later prompts that begin alike."""
    radix_strategy: str = "no_buffer"
    """`no_buffer`: checkpoints where a slot is free; `extra_buffer`: two slots more a request keep them certain."""
    mamba_max_states_per_path: int = 0
    """State checkpoints on one path of the prefix tree at most; 0 sets no limit."""
    schedule_conservativeness: float = 1.0
    """Scales the share of a request's max_tokens that admission reserves KV for; without effect on ignore_eos requests."""
    context_length: int = 16384
    chunked_prefill_size: int = 2048
    """Prompt tokens a prefill turn takes at most; a multiple of the KDA chunk."""
    page_size: int = 16
    """Tokens a KV page holds."""
    accept_rule: str = "chain"
    """`chain` rejects by p/q; `coupled` draws drafts and target with one noise, and the text is the plain lane's."""
    markov_head_type: str = "vanilla"
    """Head of lane dspark."""
    verify_mode: str = "static"
    """`static` verifies γ + 1 positions of every request, `cap-accept` verifies them but accepts no more than a
    length scheduler admits, `compact` verifies only what it admits; the last two in lane dspark."""
    sps_table: tuple[tuple[int, float], ...] = ()
    """(positions in a step, steps per second) for the length scheduler, positions rising; empty admits everything."""
    draft_prompt_kv: bool = True
    """Lane mtp: write the prompt into the head's own keys and values; False reproduces a known fault."""
    enable_linear_replayssm_spec: bool = False
    """Keep a window's inputs instead of its states, and run the accepted ones again at the commit."""
    allow_untrained_gamma: bool = False
    """Let γ exceed the block the drafter was trained for; the run is marked."""
    seed: int = 0
    """Noise of requests that bring no seed of their own."""

    def check(self, model: ModelConfig) -> None:
        """Refuse what no boot could serve; raises `ConfigError` naming the flag."""
        check(self, model)

    def prefill_cut(self, model: ModelConfig) -> int:
        """Prompts are cut and checkpointed at absolute multiples of this, so that no cut changes a bit."""
        return model.kda_chunk if self.mamba_ssm_dtype == "float32" else math.lcm(model.kda_chunk, ROUNDING_STRIDE)
