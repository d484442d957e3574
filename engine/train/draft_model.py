"""The two draft heads as torch modules; parameter names are the shipped names.

Both borrow the target's embedding and output head, which are therefore not stored here.
"""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file
from torch import Tensor, nn

from engine.train.model import Attention, MLP, RMSNorm, Target, TargetConfig, linear


@dataclass(frozen=True)
class DSparkConfig:
    """Shape of the block drafter beyond what it shares with the target."""

    block_size: int = 7
    markov_rank: int = 64
    markov_head_type: str = "vanilla"
    mask_token_id: int = 3
    target_layer_ids: tuple[int, ...] = (1, 4, 7)
    num_layers: int = 1

    def to_json(self) -> str:
        return json.dumps({"model_type": "soundings-dspark", **asdict(self)}, indent=1) + "\n"

    @classmethod
    def read(cls, path: Path) -> DSparkConfig:
        stored = json.loads(path.read_text("utf-8"))
        stored.pop("model_type", None)
        stored["target_layer_ids"] = tuple(stored["target_layer_ids"])
        return cls(**stored)


class DraftLayer(nn.Module):
    """norm1, attention, norm2, MLP: the parts of a target layer of type A."""

    def __init__(self, config: TargetConfig) -> None:
        super().__init__()
        self.norm1 = RMSNorm(config.hidden_size)
        self.attn = Attention(config)
        self.norm2 = RMSNorm(config.hidden_size)
        self.mlp = MLP(config)


class Markov(nn.Module):
    """Low-rank bigram term added to the draft logits."""

    def __init__(self, vocabulary: int, rank: int) -> None:
        super().__init__()
        self.w1 = nn.Embedding(vocabulary, rank)
        self.w2 = nn.Linear(rank, vocabulary, bias=False)
        nn.init.normal_(self.w1.weight, std=0.1)
        nn.init.normal_(self.w2.weight, std=0.1)

    def forward(self, ids: Tensor) -> Tensor:
        """ids [...] -> logits [..., V]."""
        return self.w2(self.w1(ids))


class DSpark(nn.Module):
    """Block drafter over one anchor and masks, reading the target's hidden states."""

    def __init__(self, config: DSparkConfig, target: TargetConfig) -> None:
        super().__init__()
        self.config = config
        d = target.hidden_size
        self.fc = linear(len(config.target_layer_ids) * d, d)
        self.hidden_norm = RMSNorm(d)
        self.w_last = linear(d, d)
        self.pos = nn.Embedding(config.block_size, d)
        nn.init.normal_(self.pos.weight, std=0.1)
        self.layer = DraftLayer(target)
        self.norm = RMSNorm(d)
        self.markov = Markov(target.vocab_size, config.markov_rank)

    def context(self, taps: tuple[Tensor, ...]) -> Tensor:
        """Taps [B, T, d] each -> context rows [B, T, d]."""
        return self.hidden_norm(self.fc(torch.cat(taps, -1)))

    def blocks(
        self, embed: nn.Embedding, context: Tensor, ids: Tensor, anchors: Tensor, gamma: int
    ) -> Tensor:
        """Final hidden rows of the blocks at ``anchors``.

        context [B, T, d], ids [B, T], anchors [B, A] with values in 1..T-1; a block sees
        the context rows before its anchor and, in both directions, its own ``gamma`` rows.
        Returns [B, A, gamma, d]; row j is the state that predicts position anchor + 1 + j.
        """
        batch, count = anchors.shape
        length, d = context.shape[1], context.shape[2]
        anchor_ids = ids.gather(1, anchors)
        tokens = anchor_ids.new_full((batch, count, gamma), self.config.mask_token_id)
        tokens[:, :, 0] = anchor_ids
        last = context.gather(1, (anchors - 1).unsqueeze(-1).expand(-1, -1, d))
        x = embed(tokens).float() + self.pos.weight[:gamma]
        x = (x + self.w_last(last).float().unsqueeze(2)).view(batch, count * gamma, d)
        normed = self.layer.norm1(x)
        q, k, v = self.layer.attn.queries(normed)
        context_k, context_v = self.layer.attn.keys(context)
        owner = torch.arange(count).repeat_interleave(gamma)
        own = (owner[:, None] == owner[None, :]).expand(batch, -1, -1)
        limit = anchors.repeat_interleave(gamma, 1).unsqueeze(-1)
        seen = torch.arange(length)[None, None, :] < limit
        mask = torch.cat([seen, own], -1).unsqueeze(1)
        x = x + self.layer.attn.attend(
            normed, q, torch.cat([context_k, k], 2), torch.cat([context_v, v], 2),
            mask, causal=False,
        ).float()
        x = x + self.layer.mlp(self.layer.norm2(x)).float()
        return self.norm(x).view(batch, count, gamma, d)

    def draft(self, target: Target, hidden: Tensor, anchor_ids: Tensor) -> Tensor:
        """Greedy draft tokens [B, A, gamma] from block rows and anchor tokens [B, A]."""
        base = target.lm_head(hidden).float()
        previous, drafted = anchor_ids, []
        for j in range(hidden.shape[2]):
            previous = (base[:, :, j] + self.markov(previous).float()).argmax(-1)
            drafted.append(previous)
        return torch.stack(drafted, -1)


class MTP(nn.Module):
    """Multi-token-prediction head of depth one: predicts x[t+2] from h[t] and x[t+1]."""

    def __init__(self, target: TargetConfig) -> None:
        super().__init__()
        d = target.hidden_size
        self.norm_h = RMSNorm(d)
        self.norm_e = RMSNorm(d)
        self.fc = linear(2 * d, d)
        self.layer = DraftLayer(target)
        self.norm = RMSNorm(d)

    def forward(self, embed: nn.Embedding, hidden: Tensor, ids: Tensor) -> Tensor:
        """hidden [B, T, d] (last residual), ids [B, T] = x[t+1] -> final rows [B, T, d]."""
        x = self.fc(torch.cat([self.norm_h(hidden), self.norm_e(embed(ids).float())], -1)).float()
        x = x + self.layer.attn(self.layer.norm1(x))[0].float()
        x = x + self.layer.mlp(self.layer.norm2(x)).float()
        return self.norm(x)


def load_dspark(path: Path | str) -> DSpark:
    """``dspark.safetensors`` with ``dspark.json`` and ``target.json`` beside it, float32."""
    path = Path(path)
    target = TargetConfig.read(path.with_name("target.json"))
    model = DSpark(DSparkConfig.read(path.with_suffix(".json")), target)
    model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
    return model.eval()


def load_mtp(path: Path | str) -> MTP:
    """``mtp.safetensors`` with ``target.json`` beside it, float32."""
    path = Path(path)
    model = MTP(TargetConfig.read(path.with_name("target.json")))
    model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
    return model.eval()
