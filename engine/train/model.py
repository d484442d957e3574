"""The target model as a torch module for training; parameter names are the shipped names.

Eight pre-norm layers K K K A K K K A: K mixes tokens with the gated delta rule (a decay
per key channel), A with grouped-query attention without position encoding.
"""

from __future__ import annotations

import json
import math
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import load_file
from torch import Tensor, nn

from engine.train.kda_chunk import kda_chunk, kda_serial

EPS = 1e-6
SERIAL_UP_TO = 4  # positions below which a padded chunk would cost more


@dataclass(frozen=True)
class TargetConfig:
    """Shape of the target; sizes in elements."""

    vocab_size: int = 4096
    hidden_size: int = 256
    layer_types: str = "KKKAKKKA"
    kda_heads: int = 4
    kda_head_dim: int = 64
    conv_width: int = 4
    gate_rank: int = 32
    decay_floor: float = -3.0
    attention_heads: int = 4
    attention_kv_heads: int = 2
    attention_head_dim: int = 64
    mlp_size: int = 640
    rms_eps: float = EPS
    tap_layers: tuple[int, ...] = (1, 4, 7)
    pad_token_id: int = 0
    bos_token_id: int = 1
    eos_token_id: int = 2
    mask_token_id: int = 3

    def to_json(self) -> str:
        return json.dumps({"model_type": "soundings-kda", **asdict(self)}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> TargetConfig:
        stored = json.loads(path.read_text("utf-8"))
        stored.pop("model_type", None)
        stored["tap_layers"] = tuple(stored["tap_layers"])
        return cls(**stored)


class RMSNorm(nn.Module):
    """x / rms(x) * weight over the last dimension, in float32."""

    def __init__(self, size: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(size))

    def forward(self, x: Tensor) -> Tensor:
        x = x.float()
        return x * torch.rsqrt(x.square().mean(-1, keepdim=True) + EPS) * self.weight


def linear(inputs: int, outputs: int, zero: bool = False) -> nn.Linear:
    """A linear map without bias; ``zero`` for the last map of a residual branch."""
    layer = nn.Linear(inputs, outputs, bias=False)
    if zero:
        nn.init.zeros_(layer.weight)
    else:
        nn.init.normal_(layer.weight, std=0.6 * inputs**-0.5)
    return layer


class ShortConv(nn.Module):
    """Causal depthwise convolution; weight[:, width - 1] multiplies the current token."""

    def __init__(self, channels: int, width: int) -> None:
        super().__init__()
        weight = torch.randn(channels, width) * 0.2
        weight[:, -1] += 1.0
        self.weight = nn.Parameter(weight)

    def forward(self, x: Tensor, past: Tensor) -> Tensor:
        """x [B, T, C], past [B, width - 1, C] -> [B, T, C]."""
        padded = torch.cat([past.to(x.dtype), x], 1)
        # as a 2-d convolution whose memory order is channels-last already: a third of the
        # time of four shifted products, forward and backward
        image = padded.transpose(1, 2).unsqueeze(2)
        weight = self.weight.to(x.dtype)[:, None, None, :]
        return F.conv2d(image, weight, groups=weight.shape[0]).squeeze(2).transpose(1, 2)


def l2norm(x: Tensor) -> Tensor:
    return x * torch.rsqrt(x.square().sum(-1, keepdim=True) + EPS)


class KDA(nn.Module):
    """Token mixing by the gated delta rule."""

    def __init__(self, config: TargetConfig) -> None:
        super().__init__()
        self.config = config
        d, inner = config.hidden_size, config.kda_heads * config.kda_head_dim
        self.qkv = linear(d, 3 * inner)
        self.conv = ShortConv(3 * inner, config.conv_width)
        self.f_a = linear(d, config.gate_rank)
        self.f_b = linear(config.gate_rank, inner)
        # start with log-decays spread from -1 to -0.002 a token, short to long memories
        start = torch.exp(torch.empty(inner).uniform_(math.log(0.002), 0.0))
        share = start / -config.decay_floor
        self.dt_bias = nn.Parameter(torch.log(share / (1 - share)))
        self.A_log = nn.Parameter(torch.zeros(config.kda_heads))
        self.b = linear(d, config.kda_heads)
        self.g_a = linear(d, config.gate_rank)
        self.g_b = linear(config.gate_rank, inner)
        self.o_norm = RMSNorm(config.kda_head_dim)
        self.o = linear(inner, d, zero=True)

    def forward(
        self, x: Tensor, past: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """x [B, T, d]; ``past`` is (conv inputs [B, 3, 3 inner], state [B H, K, V])."""
        config = self.config
        heads, size = config.kda_heads, config.kda_head_dim
        batch, length, _ = x.shape
        packed = self.qkv(x)
        kept = config.conv_width - 1
        before = packed.new_zeros(batch, kept, packed.shape[-1]) if past is None else past[0]
        mixed = F.silu(self.conv(packed, before))
        conv_state = torch.cat([before.to(packed.dtype), packed], 1)[:, -kept:]

        def by_head(y: Tensor) -> Tensor:
            y = y.view(batch, length, heads, -1).transpose(1, 2)
            return y.reshape(batch * heads, length, -1)

        q, k, v = (by_head(y) for y in mixed.float().split(heads * size, -1))
        q, k = l2norm(q) * size**-0.5, l2norm(k)
        gate = self.f_b(self.f_a(x)).float() + self.dt_bias
        rate = self.A_log.exp().repeat_interleave(size)
        g = by_head(config.decay_floor * torch.sigmoid(rate * gate))
        beta = by_head(torch.sigmoid(self.b(x).float())).squeeze(-1)
        with torch.autocast("cpu", enabled=False):
            mix = kda_serial if length <= SERIAL_UP_TO else kda_chunk
            out, state = mix(q, k, v, g, beta, None if past is None else past[1])
        out = self.o_norm(out.view(batch, heads, length, size).transpose(1, 2))
        out = out.reshape(batch, length, heads * size)
        out = out * torch.sigmoid(self.g_b(self.g_a(x)).float())
        return self.o(out), (conv_state, state)


class Attention(nn.Module):
    """Grouped-query attention, RMS-normalised queries and keys, gated output, no positions."""

    def __init__(self, config: TargetConfig) -> None:
        super().__init__()
        self.config = config
        d, size = config.hidden_size, config.attention_head_dim
        heads, kv = config.attention_heads, config.attention_kv_heads
        self.qkv = linear(d, (heads + 2 * kv) * size)
        self.q_norm = RMSNorm(size)
        self.k_norm = RMSNorm(size)
        self.gate = linear(d, heads * size)
        self.o = linear(heads * size, d, zero=True)

    def queries(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """q [B, H, T, D], k and v [B, KV, T, D] of x [B, T, d], normalised."""
        config = self.config
        size, heads, kv = (
            config.attention_head_dim, config.attention_heads, config.attention_kv_heads
        )
        packed = self.qkv(x).view(x.shape[0], x.shape[1], heads + 2 * kv, size).transpose(1, 2)
        q, k, v = packed.split([heads, kv, kv], 1)
        return self.q_norm(q).to(v.dtype), self.k_norm(k).to(v.dtype), v

    def keys(self, x: Tensor) -> tuple[Tensor, Tensor]:
        """k and v alone [B, KV, T, D]: the rows of ``qkv`` after the queries'."""
        config = self.config
        size, kv = config.attention_head_dim, config.attention_kv_heads
        weight = self.qkv.weight[config.attention_heads * size :]
        packed = F.linear(x, weight).view(x.shape[0], x.shape[1], 2 * kv, size).transpose(1, 2)
        k, v = packed.split([kv, kv], 1)
        return self.k_norm(k).to(v.dtype), v

    def attend(
        self, x: Tensor, q: Tensor, k: Tensor, v: Tensor, mask: Tensor | None, causal: bool
    ) -> Tensor:
        """Softmax attention, output gate from x and projection -> [B, T, d]."""
        groups = self.config.attention_heads // self.config.attention_kv_heads
        k, v = k.repeat_interleave(groups, 1), v.repeat_interleave(groups, 1)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask, is_causal=causal)
        out = out.transpose(1, 2).reshape(x.shape[0], x.shape[1], -1)
        return self.o(out * torch.sigmoid(self.gate(x).float()))

    def forward(
        self, x: Tensor, past: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        """Causal attention over ``past`` keys and values and x."""
        q, k, v = self.queries(x)
        if past is None:
            return self.attend(x, q, k, v, None, causal=True), (k, v)
        k, v = torch.cat([past[0], k], 2), torch.cat([past[1], v], 2)
        length, total = q.shape[2], k.shape[2]
        mask = torch.ones(length, total, dtype=torch.bool).tril(total - length)
        return self.attend(x, q, k, v, mask, causal=False), (k, v)


class MLP(nn.Module):
    """SwiGLU with the gate rows first in the packed weight."""

    def __init__(self, config: TargetConfig) -> None:
        super().__init__()
        self.gate_up = linear(config.hidden_size, 2 * config.mlp_size)
        self.down = linear(config.mlp_size, config.hidden_size, zero=True)

    def forward(self, x: Tensor) -> Tensor:
        gate, up = self.gate_up(x).chunk(2, -1)
        return self.down(F.silu(gate) * up)


class Layer(nn.Module):
    """x += mix(norm1(x)); x += mlp(norm2(x)), the residual stream in float32."""

    def __init__(self, config: TargetConfig, kind: str) -> None:
        super().__init__()
        self.kind = kind
        self.norm1 = RMSNorm(config.hidden_size)
        if kind == "K":
            self.kda = KDA(config)
        else:
            self.attn = Attention(config)
        self.norm2 = RMSNorm(config.hidden_size)
        self.mlp = MLP(config)

    def forward(self, x: Tensor, past: tuple[Tensor, Tensor] | None = None):
        """(x [B, T, d], what the next call takes as ``past``)."""
        mixer = self.kda if self.kind == "K" else self.attn
        mixed, kept = mixer(self.norm1(x), past)
        x = x + mixed.float()
        return x + self.mlp(self.norm2(x)).float(), kept


class Target(nn.Module):
    """The whole model."""

    def __init__(self, config: TargetConfig) -> None:
        super().__init__()
        self.config = config
        self.embed = nn.Embedding(config.vocab_size, config.hidden_size)
        nn.init.normal_(self.embed.weight, std=0.3)
        self.layers = nn.ModuleList(Layer(config, kind) for kind in config.layer_types)
        self.norm = RMSNorm(config.hidden_size)
        self.lm_head = linear(config.hidden_size, config.vocab_size, zero=True)

    def run(
        self, ids: Tensor, past: list | None = None
    ) -> tuple[Tensor, tuple[Tensor, ...], list]:
        """ids [B, T] -> (last residual [B, T, d], taps [B, T, d] each, caches)."""
        x = self.embed(ids).float()
        taps, kept = [], []
        for i, layer in enumerate(self.layers):
            x, cache = layer(x, None if past is None else past[i])
            kept.append(cache)
            if i in self.config.tap_layers:
                taps.append(x)
        return x, tuple(taps), kept

    def forward(self, ids: Tensor) -> tuple[Tensor, tuple[Tensor, ...]]:
        """ids int64 [B, T] -> (logits [B, T, V], taps: residual after each tap layer)."""
        x, taps, _ = self.run(ids)
        return self.lm_head(self.norm(x)), taps


def load_target(path: Path | str) -> Target:
    """Shipped weights (the ``.safetensors`` file, its ``.json`` beside it) in float32."""
    path = Path(path)
    model = Target(TargetConfig.read(path.with_suffix(".json")))
    stored = load_file(path)
    model.load_state_dict({name: tensor.float() for name, tensor in stored.items()})
    return model.eval()
