"""Frozen configuration of the model, of one engine boot, and of sampling.

These dataclasses and `engine.types` are the only vocabulary that the engine's modules share.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

WEIGHTS = Path(__file__).resolve().parent / "weights"

LANES = ("plain", "dspark", "mtp")
MODES = ("eager",)


class ConfigError(ValueError):
    """A setting that cannot be served; the message names the flag and what would be right."""


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
    def load(cls, path: Path) -> "ModelConfig":
        """Read the keys this class knows from a JSON file; others (training notes) are ignored."""
        if not path.is_file():
            raise ConfigError(f"{path}: model config not found; run `python -m engine.train` or point --weights at a folder that has it")
        raw = json.loads(path.read_text("utf8"))
        known = {name: raw[name] for name in cls.__dataclass_fields__ if name in raw}
        return cls(**known)

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
class EngineConfig:
    """Everything that defines one boot of the engine. Flags of the CLI carry the same names."""

    weights: Path = WEIGHTS
    lane: str = "dspark"
    block_size: int = 3
    """γ, drafted tokens a round; ignored by `plain`, must be 1 for `mtp`."""
    mode: str = "eager"
    threads: int = 1
    max_running_requests: int = 48
    max_total_num_tokens: int = 65536
    """Capacity of the KV pool in tokens, all requests together."""
    context_length: int = 16384
    chunked_prefill_size: int = 2048
    """Prompt tokens a prefill turn takes at most; a multiple of the KDA chunk."""
    accept_rule: str = "chain"
    seed: int = 0
    record_steps: bool = True


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
    seed: int = 0

    @property
    def greedy(self) -> bool:
        return self.temperature == 0.0 or self.top_k == 1
