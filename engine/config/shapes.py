"""Shapes of the target and of a drafter, as the files beside their weights give them."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from functools import cached_property
from pathlib import Path

from engine.config.fault import ConfigError

CHECKPOINT_KEYS = {
    "num_heads": ("kda_heads", "attention_heads"),
    "head_dim": ("kda_head_dim", "attention_head_dim"),
    "num_kv_heads": ("attention_kv_heads",),
    "intermediate_size": ("mlp_size",),
}
"""The checkpoint names KDA's and attention's shapes apart; this engine serves models where they agree."""


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
