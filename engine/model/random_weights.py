"""Random checkpoints with the right names and shapes: for tests, and for costing sizes nobody trained."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import torch
from safetensors.torch import save_file
from torch import Tensor

from engine.config import DraftConfig, ModelConfig


class _Maker:
    def __init__(self, seed: int, branch: float = 1.0) -> None:
        """`branch` scales what attention, KDA and MLP add to the residual."""
        self.branch = branch
        self.generator = torch.Generator().manual_seed(seed)
        self.tensors: dict[str, Tensor] = {}

    def matrix(self, name: str, rows: int, columns: int, scale: float = 1.0) -> None:
        """Entries of deviation scale / sqrt(columns): rows keep the size of their input."""
        self.tensors[name] = torch.randn(rows, columns, generator=self.generator) * (scale * columns**-0.5)

    def ones(self, name: str, size: int) -> None:
        self.tensors[name] = 1 + 0.1 * torch.randn(size, generator=self.generator)

    def normal(self, name: str, *shape: int, scale: float, mean: float = 0.0) -> None:
        self.tensors[name] = mean + scale * torch.randn(*shape, generator=self.generator)

    def attention(self, prefix: str, config: ModelConfig) -> None:
        d, inner, kv = config.hidden_size, config.inner_size, config.num_kv_heads * config.head_dim
        self.matrix(f"{prefix}attn.qkv.weight", inner + 2 * kv, d)
        self.ones(f"{prefix}attn.q_norm.weight", config.head_dim)
        self.ones(f"{prefix}attn.k_norm.weight", config.head_dim)
        self.matrix(f"{prefix}attn.gate.weight", inner, d)
        self.matrix(f"{prefix}attn.o.weight", d, inner, scale=self.branch)

    def kda(self, prefix: str, config: ModelConfig) -> None:
        d, inner, rank = config.hidden_size, config.inner_size, config.gate_rank
        self.matrix(f"{prefix}kda.qkv.weight", 3 * inner, d)
        self.normal(f"{prefix}kda.conv.weight", 3 * inner, config.conv_width, scale=0.5)
        self.matrix(f"{prefix}kda.f_a.weight", rank, d)
        self.matrix(f"{prefix}kda.f_b.weight", inner, rank)
        self.normal(f"{prefix}kda.dt_bias", inner, scale=1.0, mean=-3.0)
        self.normal(f"{prefix}kda.A_log", config.num_heads, scale=0.3)
        self.matrix(f"{prefix}kda.b.weight", config.num_heads, d)
        self.matrix(f"{prefix}kda.g_a.weight", rank, d)
        self.matrix(f"{prefix}kda.g_b.weight", inner, rank)
        self.ones(f"{prefix}kda.o_norm.weight", config.head_dim)
        self.matrix(f"{prefix}kda.o.weight", d, inner, scale=self.branch)

    def layer(self, prefix: str, config: ModelConfig, kind: str, experts: int = 0) -> None:
        d, f = config.hidden_size, config.intermediate_size
        self.ones(f"{prefix}norm1.weight", d)
        (self.kda if kind == "K" else self.attention)(prefix, config)
        self.ones(f"{prefix}norm2.weight", d)
        if experts:
            self.matrix(f"{prefix}mlp.router.weight", experts, d)
            self.normal(f"{prefix}mlp.experts.gate_up.weight", experts, 2 * f, d, scale=d**-0.5)
            self.normal(f"{prefix}mlp.experts.down.weight", experts, d, f, scale=self.branch * f**-0.5)
            return
        self.matrix(f"{prefix}mlp.gate_up.weight", 2 * f, d)
        self.matrix(f"{prefix}mlp.down.weight", d, f, scale=self.branch)

    def save(self, path: Path) -> None:
        save_file({name: tensor.bfloat16().contiguous() for name, tensor in self.tensors.items()}, path)


def write_random_weights(
    folder: Path, config: ModelConfig, draft: DraftConfig | None = None, seed: int = 0, branch: float = 1.0, agree: bool = False
) -> Path:
    """Write target and drafter checkpoints with their JSON configs into `folder`; returns `folder`.

    With a small `branch` the next token hangs mostly on the last one. With `agree` the drafters know that part
    exactly (the Markov head holds its table, so `draft.markov_rank` must be the vocabulary): they are right
    often but not always, which untrained drafters never are.
    """
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    draft = draft or DraftConfig(target_layer_ids=_taps(config))
    v, d = config.vocab_size, config.hidden_size
    if agree and draft.markov_rank != v:
        raise ValueError(f"agree: markov_rank {draft.markov_rank} must equal the vocabulary, {v}")

    target = _Maker(seed, branch)
    target.normal("embed.weight", v, d, scale=1.0)
    for i, kind in enumerate(config.layer_types):
        target.layer(f"layers.{i}.", config, kind, config.num_experts)
    target.ones("norm.weight", d)
    target.matrix("lm_head.weight", v, d, scale=3.0)
    target.save(folder / "target.safetensors")
    config.save(folder / "target.json")

    dspark = _Maker(seed + 1)
    dspark.matrix("fc.weight", d, len(draft.target_layer_ids) * d)
    dspark.ones("hidden_norm.weight", d)
    dspark.matrix("w_last.weight", d, d)
    dspark.normal("pos.weight", draft.block_size, d, scale=1.0)
    dspark.layer("layer.", config, "A")
    dspark.ones("norm.weight", d)
    dspark.normal("markov.w1.weight", v, draft.markov_rank, scale=1.0)
    dspark.matrix("markov.w2.weight", v, draft.markov_rank, scale=3.0)
    if agree:
        # not switched off: a little of the block's own logits makes lost drafter context visible
        dspark.tensors["norm.weight"] *= 0.3
        dspark.tensors["markov.w1.weight"] = torch.eye(v)
        dspark.tensors["markov.w2.weight"] = _next_logits(target, config).t()
    dspark.save(folder / "dspark.safetensors")
    draft.save(folder / "dspark.json")

    _write_dflash(folder, config, draft, seed + 3)
    _write_heads(folder, config, draft, dspark.tensors, seed + 4)

    mtp = _Maker(seed + 2, branch)
    mtp.ones("norm_h.weight", d)
    mtp.ones("norm_e.weight", d)
    mtp.matrix("fc.weight", d, 2 * d)
    mtp.layer("layer.", config, "A")
    mtp.ones("norm.weight", d)
    if agree:
        mtp.tensors["fc.weight"] = torch.cat([0.1 * torch.randn(d, d, generator=mtp.generator) * d**-0.5, torch.eye(d)], 1)
    mtp.save(folder / "mtp.safetensors")
    DraftConfig(block_size=1, target_layer_ids=(len(config.layer_types) - 1,)).save(folder / "mtp.json")
    return folder


def _write_dflash(folder: Path, config: ModelConfig, draft: DraftConfig, seed: int) -> None:
    """A DFlash drafter: its masks cannot know the token before them, so `agree` has no say here."""
    d = config.hidden_size
    dflash = _Maker(seed)
    dflash.matrix("fc.weight", d, len(draft.target_layer_ids) * d)
    dflash.ones("hidden_norm.weight", d)
    dflash.matrix("w_last.weight", d, d)
    dflash.normal("pos.weight", draft.block_size + 1, d, scale=1.0)
    dflash.layer("layer.", config, "A")
    dflash.ones("norm.weight", d)
    dflash.save(folder / "dflash.safetensors")
    replace(draft, sample_from_anchor=False).save(folder / "dflash.json")


def _write_heads(folder: Path, config: ModelConfig, draft: DraftConfig, dspark: dict[str, Tensor], seed: int) -> None:
    """Gated and recurrent Markov heads close to dspark's vanilla one, and a confidence head."""
    d, rank = config.hidden_size, draft.markov_rank
    w1, w2 = dspark["markov.w1.weight"], dspark["markov.w2.weight"]
    gated = _Maker(seed)
    gated.tensors |= {"w1.weight": w1, "w2.weight": w2}
    gated.matrix("gate.weight", rank, d + rank, scale=0.5)
    gated.normal("gate.bias", rank, scale=0.5, mean=2.0)
    gated.save(folder / "dspark_markov_gated.safetensors")

    rnn = _Maker(seed + 1)
    rnn.tensors |= {"w1.weight": w1, "w2.weight": w2}
    rnn.matrix("cell.weight", 3 * rank, 2 * rank + d, scale=0.2)
    rnn.tensors["cell.weight"][2 * rank :, rank : 2 * rank] += 2 * torch.eye(rank)
    rnn.normal("cell.bias", 3 * rank, scale=0.1)
    rnn.save(folder / "dspark_markov_rnn.safetensors")

    confidence = _Maker(seed + 2)
    confidence.matrix("linear.weight", 1, d + rank)
    confidence.normal("linear.bias", 1, scale=0.1)
    confidence.save(folder / "dspark_confidence.safetensors")


def _next_logits(target: _Maker, config: ModelConfig) -> Tensor:
    """[V, V] logits after each token for a target whose layers add nothing."""
    x = target.tensors["embed.weight"]
    x = x * torch.rsqrt(x.square().mean(-1, keepdim=True) + config.rms_eps) * target.tensors["norm.weight"]
    return x @ target.tensors["lm_head.weight"].t()


def _taps(config: ModelConfig) -> tuple[int, ...]:
    """Three layers spread over the depth, the last one included."""
    last = len(config.layer_types) - 1
    return tuple(sorted({last // 4, last // 2, last}))
