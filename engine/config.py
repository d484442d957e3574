"""Frozen configuration of the model, of one engine boot, and of sampling.

These dataclasses and `engine.types` are the only vocabulary that the engine's modules share.
"""

from __future__ import annotations

import json
import math
import os
import re
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

WEIGHTS = Path(__file__).resolve().parent / "weights"

LANES = ("plain", "dspark", "dflash", "mtp", "lookup")
MODES = ("eager", "graph", "fused")
FUSED_VERIFY = ("shared", "serial")
MODELS = ("trained", "random-25m", "random-60m", "random-moe")
STATE_DTYPES = ("float32", "bfloat16", "float16")
RADIX_STRATEGIES = ("no_buffer", "extra_buffer")
SPECULATIVE_MAX_RUNNING = 48
"""What an unset cap becomes in a speculative lane (SGLang 0.5.23)."""
ROUNDING_STRIDE = 64
"""Prompt tokens between two roundings of a state that is stored in fewer than 32 bits."""
DEFAULT_TOTAL_TOKENS = 65536
"""KV tokens of a boot without a memory budget."""
SIZE_UNITS = {"": 1, "K": 1 << 10, "M": 1 << 20, "G": 1 << 30}
ACCEPT_RULES = ("chain", "coupled")
MARKOV_HEADS = ("vanilla", "gated", "rnn")
VERIFY_MODES = ("static", "cap-accept", "compact")
SEEDS = (-(2**63), 2**63 - 1)
"""Least and greatest seed: the noise is keyed by 64 bits."""

CHECKPOINT_KEYS = {
    "num_heads": ("kda_heads", "attention_heads"),
    "head_dim": ("kda_head_dim", "attention_head_dim"),
    "num_kv_heads": ("attention_kv_heads",),
    "intermediate_size": ("mlp_size",),
}
"""The checkpoint names KDA's and attention's shapes apart; this engine serves models where they agree."""


class ConfigError(ValueError):
    """A setting that cannot be served; the message names the flag and what would be right."""


def parse_size(text: str | int) -> int:
    """Bytes of a size such as 268435456, 256M or 1G (powers of 1024); `ConfigError` on anything else."""
    match = re.fullmatch(r"(\d+)([KMG]?)(?:i?B)?", str(text).strip(), re.IGNORECASE)
    if not match:
        raise ConfigError(f"--device-memory {text}: give bytes, or a number with K, M or G, such as 256M")
    return int(match[1]) * SIZE_UNITS[match[2].upper()]


def _read_json(path: Path) -> dict:
    try:
        raw = json.loads(path.read_text("utf8"))
    except json.JSONDecodeError as fault:
        raise ConfigError(f"{path}: line {fault.lineno} is not JSON ({fault.msg}); restore the file from the repository") from fault
    if not isinstance(raw, dict):
        raise ConfigError(f"{path}: must hold one JSON object; restore the file from the repository")
    return raw


@dataclass(frozen=True)
class ModelConfig:
    """Shape of the hybrid target: KDA layers with a minority of full attention.

    Source: `engine/weights/target.json`, written by `engine.train`.
    """

    vocab_size: int = 4096
    hidden_size: int = 256
    layer_types: str = "KKKAKKKA"
    num_heads: int = 4
    head_dim: int = 64
    num_kv_heads: int = 2
    conv_width: int = 4
    intermediate_size: int = 640
    gate_rank: int = 32
    num_experts: int = 0
    """Experts of every MLP, each of `intermediate_size`; 0 is a dense MLP."""
    num_experts_per_tok: int = 0
    decay_floor: float = -3.0
    rms_eps: float = 1e-6
    kda_chunk: int = 16
    max_position: int = 16384
    bos_token_id: int = 1
    eos_token_id: int = 2
    mask_token_id: int = 3

    @classmethod
    def load(cls, path: Path) -> ModelConfig:
        """Read the keys this class knows from a JSON file; others (training notes) are ignored."""
        if not path.is_file():
            raise ConfigError(f"{path}: model config not found; run `python -m engine.train` or point --weights at a folder that has it")
        raw = _read_json(path)
        for ours, theirs in CHECKPOINT_KEYS.items():
            values = {raw[name] for name in (ours, *theirs) if name in raw}
            if len(values) > 1:
                raise ConfigError(f"{path}: {', '.join(theirs)} must be equal for this engine, got {sorted(values)}")
            if values:
                raw[ours] = values.pop()
        known = {name: raw[name] for name in cls.__dataclass_fields__ if name in raw}
        return cls(**known)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "utf8")

    @cached_property
    def kda_layers(self) -> tuple[int, ...]:
        return tuple(i for i, kind in enumerate(self.layer_types) if kind == "K")

    @cached_property
    def attention_layers(self) -> tuple[int, ...]:
        return tuple(i for i, kind in enumerate(self.layer_types) if kind == "A")

    @property
    def inner_size(self) -> int:
        """Width of the concatenated query heads, `num_heads * head_dim`."""
        return self.num_heads * self.head_dim


@dataclass(frozen=True)
class DraftConfig:
    """Shape of a drafter; the layer itself has the target's attention and MLP shapes.

    Source: `engine/weights/dspark.json`, `dflash.json` or `mtp.json`, written by `engine.train`.
    """

    block_size: int = 7
    """γ of the widest block in training; a smaller γ uses the first rows."""
    markov_rank: int = 64
    sample_from_anchor: bool = True
    """The anchor's row guesses too (DSpark); false: it is dropped and a block has a row more (DFlash)."""
    target_layer_ids: tuple[int, ...] = (1, 4, 7)
    """Layers whose residual output is tapped, 0-based."""

    @classmethod
    def load(cls, path: Path) -> DraftConfig:
        if not path.is_file():
            raise ConfigError(f"{path}: drafter config not found; train that drafter with `python -m engine.train` or choose --lane plain")
        raw = _read_json(path)
        known = {name: raw[name] for name in cls.__dataclass_fields__ if name in raw}
        layers = known.get("target_layer_ids", [])
        if not isinstance(layers, list) or not all(type(layer) is int and layer >= 0 for layer in layers):
            raise ConfigError(f"{path}: target_layer_ids must be a list of layer numbers, got {layers!r}")
        for name in ("block_size", "markov_rank"):
            if name in known and (type(known[name]) is not int or known[name] < 1):
                raise ConfigError(f"{path}: {name} must be an integer of at least 1, got {known[name]!r}")
        if "target_layer_ids" in known:
            known["target_layer_ids"] = tuple(layers)
        return cls(**known)

    def save(self, path: Path) -> None:
        path.write_text(json.dumps(asdict(self), indent=1) + "\n", "utf8")


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
        if self.lane not in LANES:
            raise ConfigError(f"--lane {self.lane}: unknown lane; known are {', '.join(LANES)}")
        if self.mode not in MODES:
            raise ConfigError(f"--mode {self.mode}: unknown mode; known are {', '.join(MODES)}")
        if self.fused_verify not in FUSED_VERIFY:
            raise ConfigError(f"--fused-verify {self.fused_verify}: unknown path; known are {', '.join(FUSED_VERIFY)}")
        if self.cuda_graph_max_bs < 0:
            raise ConfigError(f"--cuda-graph-max-bs {self.cuda_graph_max_bs}: must be 0 (as many as may run) or more")
        if self.accept_rule not in ACCEPT_RULES:
            raise ConfigError(f"--accept-rule {self.accept_rule}: unknown rule; known are {', '.join(ACCEPT_RULES)}")
        self._check_lane()
        counts = ("threads", "max_running_requests", "max_total_num_tokens", "max_mamba_cache_size", "context_length", "chunked_prefill_size", "page_size")
        for name in counts:
            if getattr(self, name) is not None and getattr(self, name) < 1:
                raise ConfigError(f"--{name.replace('_', '-')} {getattr(self, name)}: must be at least 1")
        cores = os.cpu_count() or 1
        if self.threads > cores:
            raise ConfigError(f"--threads {self.threads}: this machine has {cores} processors")
        self._check_memory()
        cut = self.prefill_cut(model)
        if self.chunked_prefill_size % cut:
            why = "the KDA chunk" if self.mamba_ssm_dtype == "float32" else f"the stride at which a prompt rounds {self.mamba_ssm_dtype} states"
            raise ConfigError(f"--chunked-prefill-size {self.chunked_prefill_size}: must be a multiple of {why}, {cut}")
        if self.max_total_num_tokens is not None and self.max_total_num_tokens < self.page_size:
            raise ConfigError(f"--max-total-num-tokens {self.max_total_num_tokens}: must hold at least one page of {self.page_size} tokens")
        if self.context_length > model.max_position:
            raise ConfigError(f"--context-length {self.context_length}: the model was built for at most {model.max_position} positions")
        if self.lane != "plain" and self.block_size < 1:
            raise ConfigError(f"--block-size {self.block_size}: a speculative lane drafts at least 1 token a round")
        if not SEEDS[0] <= self.seed <= SEEDS[1]:
            raise ConfigError(f"--seed {self.seed}: must fit into 64 bits, {SEEDS[0]} to {SEEDS[1]}")

    def _check_lane(self) -> None:
        if self.markov_head_type not in MARKOV_HEADS:
            raise ConfigError(f"--markov-head-type {self.markov_head_type}: unknown head; known are {', '.join(MARKOV_HEADS)}")
        if self.verify_mode not in VERIFY_MODES:
            raise ConfigError(f"--verify-mode {self.verify_mode}: unknown mode; known are {', '.join(VERIFY_MODES)}")
        if self.lane != "dspark" and self.markov_head_type != "vanilla":
            raise ConfigError(f"--markov-head-type {self.markov_head_type}: only lane dspark has a Markov head, this is {self.lane}")
        if self.lane != "dspark" and self.verify_mode != "static":
            raise ConfigError(f"--verify-mode {self.verify_mode}: only lane dspark has a confidence head, this is {self.lane}")
        if self.lane != "mtp" and not self.draft_prompt_kv:
            raise ConfigError(f"--draft-prompt-kv off: only lane mtp has this fault, this is {self.lane}")
        if self.enable_linear_replayssm_spec and (self.lane == "plain" or self.mode != "eager"):
            raise ConfigError("--enable-linear-replayssm-spec: only a speculative lane in mode eager has window states to do without")
        places = [positions for positions, _ in self.sps_table]
        if places != sorted(set(places)) or any(p < 1 or not 0 < rate < float("inf") for p, rate in self.sps_table):
            raise ConfigError("--sps-table: needs rising position counts of at least 1, each with a finite rate above 0")

    def prefill_cut(self, model: ModelConfig) -> int:
        """Prompts are cut and checkpointed at absolute multiples of this, so that no cut changes a bit."""
        return model.kda_chunk if self.mamba_ssm_dtype == "float32" else math.lcm(model.kda_chunk, ROUNDING_STRIDE)

    def _check_memory(self) -> None:
        if self.device_memory < 0:
            raise ConfigError(f"--device-memory {self.device_memory}: must be 0 (no budget) or a size in bytes")
        if not 0.0 < self.mem_fraction_static <= 1.0:
            raise ConfigError(f"--mem-fraction-static {self.mem_fraction_static}: must be above 0 and at most 1")
        if not 0.0 < self.mamba_full_memory_ratio < float("inf"):
            raise ConfigError(f"--mamba-full-memory-ratio {self.mamba_full_memory_ratio}: must be a finite number above 0")
        if not 0.0 <= self.schedule_conservativeness < float("inf"):
            raise ConfigError(f"--schedule-conservativeness {self.schedule_conservativeness}: must be a finite number of at least 0")
        if self.mamba_ssm_dtype not in STATE_DTYPES:
            raise ConfigError(f"--mamba-ssm-dtype {self.mamba_ssm_dtype}: unknown type; known are {', '.join(STATE_DTYPES)}")
        if self.radix_strategy not in RADIX_STRATEGIES:
            raise ConfigError(f"--radix-strategy {self.radix_strategy}: unknown strategy; known are {', '.join(RADIX_STRATEGIES)}")
        if self.mamba_max_states_per_path < 0:
            raise ConfigError(f"--mamba-max-states-per-path {self.mamba_max_states_per_path}: must be 0 (no limit) or more")


@dataclass(frozen=True)
class SamplingParams:
    """How one request picks tokens and when it ends."""

    temperature: float = 0.0
    top_k: int = 0
    """0 keeps the whole vocabulary."""
    top_p: float = 1.0
    min_p: float = 0.0
    """Keep tokens of at least this share of the likeliest one's probability, after top_k and top_p; 0 keeps all."""
    max_tokens: int = 64
    ignore_eos: bool = False
    stop_token_ids: tuple[int, ...] = ()
    stop: tuple[str, ...] = ()
    """Strings that end the text; the token that completes one is the last."""
    seed: int | None = None
    """Key of this request's noise; None takes the engine's seed."""
    logprobs: int | None = None
    """None keeps none, 0 each emitted token's own, n also the n likeliest; natural logarithms before temperature."""
    presence_penalty: float = 0.0
    frequency_penalty: float = 0.0
    repetition_penalty: float = 1.0
    logit_bias: tuple[tuple[int, float], ...] = ()
    """These four are refused unless neutral: see `fault`."""

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0 or self.top_k == 1

    def fault(self) -> str | None:
        """What is wrong with these values, as one line for the client, or None."""
        if not 0.0 <= self.temperature < float("inf"):
            return f"temperature {self.temperature} must be a finite number of at least 0"
        if self.top_k < 0:
            return f"top_k {self.top_k} must be at least 0 (0 keeps the whole vocabulary)"
        if not 0.0 < self.top_p <= 1.0:
            return f"top_p {self.top_p} must be in (0, 1]"
        if not 0.0 <= self.min_p <= 1.0:
            return f"min_p {self.min_p} must be in [0, 1] (0 keeps the whole vocabulary)"
        if self.max_tokens < 1:
            return f"max_tokens {self.max_tokens} must be at least 1"
        if self.seed is not None and not SEEDS[0] <= self.seed <= SEEDS[1]:
            return f"seed {self.seed} must fit into 64 bits, {SEEDS[0]} to {SEEDS[1]}"
        if isinstance(self.stop, str) or not all(isinstance(text, str) and text for text in self.stop):
            return "stop must be a list of strings that are not empty"
        if self.logprobs is not None and not 0 <= self.logprobs <= MOST_LOGPROBS:
            return f"logprobs {self.logprobs} must be 0 (the emitted token's own) to {MOST_LOGPROBS}"
        return self._unsupported()

    def _unsupported(self) -> str | None:
        """A law that hangs on the tokens before it differs at every verified position, which no lane here computes."""
        neutral = {"presence_penalty": 0.0, "frequency_penalty": 0.0, "repetition_penalty": 1.0}
        asked = [name for name, value in neutral.items() if getattr(self, name) != value]
        if self.logit_bias:
            asked.append("logit_bias")
        if asked:
            return f"{asked[0]} is not supported: verification cannot honour it at every position of a window; leave it out"
        return None


MOST_LOGPROBS = 20
