"""Frozen configuration of the model, of one engine boot, and of sampling.

These dataclasses and `engine.types` are the only vocabulary that the engine's modules share.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

WEIGHTS = Path(__file__).resolve().parent / "weights"

LANES = ("plain", "dspark", "mtp")
MODES = ("eager",)
ACCEPT_RULES = ("chain",)

CHECKPOINT_KEYS = {
    "num_heads": ("kda_heads", "attention_heads"),
    "head_dim": ("kda_head_dim", "attention_head_dim"),
    "num_kv_heads": ("attention_kv_heads",),
    "intermediate_size": ("mlp_size",),
}
"""The checkpoint names KDA's and attention's shapes apart; this engine serves models where they agree."""


class ConfigError(ValueError):
    """A setting that cannot be served; the message names the flag and what would be right."""


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

    Source: `engine/weights/dspark.json` or `mtp.json`, written by `engine.train`.
    """

    block_size: int = 7
    """Widest block in training; a smaller γ uses the first rows."""
    markov_rank: int = 64
    target_layer_ids: tuple[int, ...] = (1, 4, 7)
    """Layers whose residual output is tapped, 0-based."""

    @classmethod
    def load(cls, path: Path) -> DraftConfig:
        if not path.is_file():
            raise ConfigError(f"{path}: drafter config not found; train that drafter with `python -m engine.train` or choose --lane plain")
        raw = _read_json(path)
        known = {name: raw[name] for name in cls.__dataclass_fields__ if name in raw}
        if "target_layer_ids" in known:
            known["target_layer_ids"] = tuple(known["target_layer_ids"])
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
    threads: int = 1
    max_running_requests: int = 48
    state_slots: int = 0
    """Recurrent states in the pool; 0 sizes it by `max_running_requests`, so that the cap is the only limit."""
    max_total_num_tokens: int = 65536
    """Capacity of the KV pool in tokens, all requests together."""
    context_length: int = 16384
    chunked_prefill_size: int = 2048
    """Prompt tokens a prefill turn takes at most; a multiple of the KDA chunk."""
    page_size: int = 16
    """Tokens a KV page holds."""
    accept_rule: str = "chain"
    seed: int = 0
    """Noise of requests that bring no seed of their own."""

    def check(self, model: ModelConfig) -> None:
        """Refuse what no boot could serve; raises `ConfigError` naming the flag."""
        if self.lane not in LANES:
            raise ConfigError(f"--lane {self.lane}: unknown lane; known are {', '.join(LANES)}")
        if self.mode not in MODES:
            raise ConfigError(f"--mode {self.mode}: unknown mode; known are {', '.join(MODES)}")
        if self.accept_rule not in ACCEPT_RULES:
            raise ConfigError(f"--accept-rule {self.accept_rule}: unknown rule; known are {', '.join(ACCEPT_RULES)}")
        for name in ("threads", "max_running_requests", "max_total_num_tokens", "context_length", "chunked_prefill_size", "page_size"):
            if getattr(self, name) < 1:
                raise ConfigError(f"--{name.replace('_', '-')} {getattr(self, name)}: must be at least 1")
        cores = os.cpu_count() or 1
        if self.threads > cores:
            raise ConfigError(f"--threads {self.threads}: this machine has {cores} processors")
        if self.state_slots < 0:
            raise ConfigError(f"--state-slots {self.state_slots}: must be 0 (as many as --max-running-requests) or more")
        if self.chunked_prefill_size % model.kda_chunk:
            raise ConfigError(f"--chunked-prefill-size {self.chunked_prefill_size}: must be a multiple of the KDA chunk, {model.kda_chunk}")
        if self.max_total_num_tokens < self.page_size:
            raise ConfigError(f"--max-total-num-tokens {self.max_total_num_tokens}: must hold at least one page of {self.page_size} tokens")
        if self.context_length > model.max_position:
            raise ConfigError(f"--context-length {self.context_length}: the model was built for at most {model.max_position} positions")
        if self.lane != "plain" and self.block_size < 1:
            raise ConfigError(f"--block-size {self.block_size}: a speculative lane drafts at least 1 token a round")


@dataclass(frozen=True)
class SamplingParams:
    """How one request picks tokens and when it ends."""

    temperature: float = 0.0
    top_k: int = 0
    """0 keeps the whole vocabulary."""
    top_p: float = 1.0
    max_tokens: int = 64
    ignore_eos: bool = False
    stop_token_ids: tuple[int, ...] = ()
    seed: int | None = None
    """Key of this request's noise; None takes the engine's seed."""

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
        if self.max_tokens < 1:
            return f"max_tokens {self.max_tokens} must be at least 1"
        return None
