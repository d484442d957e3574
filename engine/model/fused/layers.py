"""The layers of an eager target as structs of the library: pointers into its own tensors, linears packed."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.config import ConfigError, ModelConfig
from engine.model.fused.pack import Packed
from engine.model.fused.structs import LayerStruct, LinearStruct, ModelStruct
from engine.model.layers import AttentionMixer, ExpertMlp, KdaMixer, Mlp

LANES = 16
GROUP_MAX = 8
PICKS_MAX = 8
EXPERTS_MAX = 256


def check_shapes(config: ModelConfig) -> None:
    """`ConfigError` on a model whose sizes the library's loops do not take."""
    for name, least in (("hidden_size", LANES), ("intermediate_size", LANES), ("gate_rank", LANES // 2)):
        if getattr(config, name) % least:
            raise ConfigError(f"--mode fused: {name} {getattr(config, name)} must be a multiple of {least}; use --mode eager")
    if config.head_dim not in (16, 32, 64, 128):
        raise ConfigError(f"--mode fused: head_dim {config.head_dim} must be 16, 32, 64 or 128; use --mode eager")
    if config.conv_width != 4:
        raise ConfigError(f"--mode fused: conv_width {config.conv_width} must be 4; use --mode eager")
    if config.num_heads // config.num_kv_heads > GROUP_MAX:
        raise ConfigError(f"--mode fused: at most {GROUP_MAX} query heads a KV head; use --mode eager")
    if config.num_experts > EXPERTS_MAX or config.num_experts_per_tok > PICKS_MAX:
        raise ConfigError(f"--mode fused: at most {EXPERTS_MAX} experts, {PICKS_MAX} a token; use --mode eager")


class Structs:
    """Builds layer structs in two passes: weights are queued, packed in one stretch, then pointed at."""

    def __init__(self) -> None:
        self.packed = Packed()
        self.kept: list[object] = []
        """Tensors and arrays that the structs point into."""

    def pointer(self, tensor: Tensor) -> int:
        if not tensor.is_contiguous():
            raise ValueError(f"a tensor {list(tensor.shape)} that the library reads must be contiguous")
        self.kept.append(tensor)
        return tensor.data_ptr()

    def queue(self, mixer: KdaMixer | AttentionMixer, mlp: Mlp | ExpertMlp) -> dict[str, LinearStruct | list[LinearStruct]]:
        """The linears of a layer, in the order a forward reads them."""
        add = self.packed.add
        linears = {"in_proj": add(mixer.in_proj.weight)}
        if isinstance(mixer, KdaMixer):
            linears["gates"] = add(mixer.gates.weight)
        linears["out"] = add(mixer.out.weight)
        if isinstance(mlp, ExpertMlp):
            linears["router"] = add(mlp.router.weight)
            pairs = [(add(up.weight), add(down.weight)) for up, down in zip(mlp.gate_ups, mlp.downs)]
            linears["expert_gate_up"], linears["expert_down"] = [up for up, _ in pairs], [down for _, down in pairs]
        else:
            linears["gate_up"], linears["down"] = add(mlp.gate_up.weight), add(mlp.down.weight)
        return linears

    def layer(self, mixer: KdaMixer | AttentionMixer, mlp: Mlp | ExpertMlp, linears: dict, place: int, tap: int) -> LayerStruct:
        """After `packed.place`."""
        kda = isinstance(mixer, KdaMixer)
        struct = LayerStruct(kind=0 if kda else 1, place=place, tap=tap, norm1=self.pointer(mixer.norm), norm2=self.pointer(mlp.norm))
        for name, value in linears.items():
            if isinstance(value, list):
                array = (LinearStruct * len(value))(*value)
                self.kept.append(array)
                setattr(struct, name, array)
                struct.experts = len(value)
            else:
                setattr(struct, name, value)
        if kda:
            struct.conv, struct.a_exp = self.pointer(mixer.conv), self.pointer(mixer.a_log.exp())
            struct.dt_bias, struct.o_norm = self.pointer(mixer.dt_bias), self.pointer(mixer.o_norm)
        else:
            struct.q_norm, struct.k_norm = self.pointer(mixer.q_norm), self.pointer(mixer.k_norm)
        return struct

    def model(self, config: ModelConfig, embed: Tensor, norm: Tensor, lm_head: LinearStruct, layers: list[LayerStruct], taps: int) -> ModelStruct:
        array = (LayerStruct * len(layers))(*layers)
        self.kept.append(array)
        return ModelStruct(
            vocab=config.vocab_size, hidden=config.hidden_size, inner=config.inner_size, heads=config.num_heads, dim=config.head_dim,
            kv_heads=config.num_kv_heads, rank=config.gate_rank, ffn=config.intermediate_size, layer_count=len(layers),
            kda_layers=len(config.kda_layers), tap_count=taps, experts_per_token=config.num_experts_per_tok, eps=config.rms_eps,
            decay_floor=config.decay_floor, embed=self.pointer(embed), norm=self.pointer(norm), lm_head=lm_head, layers=array,
        )


STATE_KINDS = {torch.float32: 0, torch.bfloat16: 1, torch.float16: 2}
