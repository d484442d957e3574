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

from engine.train.model import MLP, Attention, RMSNorm, Target, TargetConfig, linear


@dataclass(frozen=True)
class DSparkConfig:
    """Shape of the block drafter beyond what it shares with the target."""

    block_size: int = 7
    markov_rank: int = 64
    markov_head_type: str = "vanilla"
    mask_token_id: int = 3
    target_layer_ids: tuple[int, ...] = (1, 4, 7)
    num_layers: int = 1
    sample_from_anchor: bool = True

    def to_json(self) -> str:
        kind = "dspark" if self.sample_from_anchor else "dflash"
        return json.dumps({"model_type": f"soundings-{kind}", **asdict(self)}, indent=1) + "\n"

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


class BlockDrafter(nn.Module):
    """The backbone that DSpark and DFlash share: one anchor and masks over the target's hidden states."""

    def __init__(self, config: DSparkConfig, target: TargetConfig) -> None:
        super().__init__()
        self.config = config
        d = target.hidden_size
        self.fc = linear(len(config.target_layer_ids) * d, d)
        self.hidden_norm = RMSNorm(d)
        self.w_last = linear(d, d)
        self.pos = nn.Embedding(config.block_size + (not config.sample_from_anchor), d)
        nn.init.normal_(self.pos.weight, std=0.1)
        self.layer = DraftLayer(target)
        self.norm = RMSNorm(d)

    def context(self, taps: tuple[Tensor, ...]) -> Tensor:
        """Taps [B, T, d] each -> context rows [B, T, d]."""
        return self.hidden_norm(self.fc(torch.cat(taps, -1)))

    def _rows(
        self, embed: nn.Embedding, context: Tensor, ids: Tensor, anchors: Tensor, width: int
    ) -> Tensor:
        """Final hidden rows [B, A, width, d] of blocks of one anchor and ``width - 1`` masks.

        context [B, T, d], ids [B, T], anchors [B, A] with values in 1..T-1; a block sees
        the context rows before its anchor and, in both directions, its own rows.
        """
        batch, count = anchors.shape
        length, d = context.shape[1], context.shape[2]
        anchor_ids = ids.gather(1, anchors)
        tokens = anchor_ids.new_full((batch, count, width), self.config.mask_token_id)
        tokens[:, :, 0] = anchor_ids
        last = context.gather(1, (anchors - 1).unsqueeze(-1).expand(-1, -1, d))
        x = embed(tokens).float() + self.pos.weight[:width]
        x = (x + self.w_last(last).float().unsqueeze(2)).view(batch, count * width, d)
        normed = self.layer.norm1(x)
        attn = self.layer.attn
        q, k, v = attn.queries(normed)
        context_k, context_v = attn.keys(context)
        seen = torch.arange(length) < anchors.repeat_interleave(width, 1).unsqueeze(-1)
        mixed = block_attend(q, context_k, context_v, k, v, seen, width)
        mixed = mixed.transpose(1, 2).reshape(batch, count * width, -1)
        x = x + attn.o(mixed * torch.sigmoid(attn.gate(normed).float())).float()
        x = x + self.layer.mlp(self.layer.norm2(x)).float()
        return self.norm(x).view(batch, count, width, d)


def block_attend(
    q: Tensor, context_k: Tensor, context_v: Tensor, k: Tensor, v: Tensor, seen: Tensor, width: int
) -> Tensor:
    """Attention of block rows over the context they may see and over their own block.

    q [B, H, A width, D]; context_k, context_v [B, KV, T, D]; k, v [B, KV, A width, D];
    seen bool [B, A width, T]. A row's own block is a batch of its own, so that no score of
    one block against another is ever computed. Returns [B, H, A width, D].
    """
    batch, heads, rows, size = q.shape
    groups = heads // k.shape[1]
    context_k, context_v, k, v = (t.repeat_interleave(groups, 1) for t in (context_k, context_v, k, v))
    blocks = (batch, heads, rows // width, width)
    q = q.float() * size**-0.5
    far = (q @ context_k.float().transpose(2, 3)).masked_fill(~seen.unsqueeze(1), float("-inf"))
    near = q.view(*blocks, size) @ k.float().view(*blocks, size).transpose(3, 4)
    share = torch.cat([far, near.reshape(batch, heads, rows, width)], -1).softmax(-1)
    length = context_k.shape[2]
    own = share[..., length:].reshape(*blocks, width) @ v.float().view(*blocks, size)
    return share[..., :length] @ context_v.float() + own.view(batch, heads, rows, size)


class DSpark(BlockDrafter):
    """Row j of a block, its anchor row included, guesses the token after it; a Markov head links the guesses."""

    def __init__(self, config: DSparkConfig, target: TargetConfig) -> None:
        super().__init__(config, target)
        self.markov = Markov(target.vocab_size, config.markov_rank)

    def blocks(
        self, embed: nn.Embedding, context: Tensor, ids: Tensor, anchors: Tensor, gamma: int
    ) -> Tensor:
        """[B, A, gamma, d]; row j is the state that predicts position anchor + 1 + j."""
        return self._rows(embed, context, ids, anchors, gamma)

    def draft(
        self, target: Target, hidden: Tensor, anchor_ids: Tensor, head: nn.Module | None = None
    ) -> Tensor:
        """Greedy draft tokens [B, A, gamma] from block rows and anchor tokens [B, A].

        ``head`` takes the place of the shipped Markov head (see :mod:`engine.train.markov_heads`).
        """
        head = head or self.markov
        base = target.lm_head(hidden).float()
        previous, drafted, state = anchor_ids, [], None
        for j in range(hidden.shape[2]):
            if head is self.markov:
                bias = head(previous)
            else:
                bias, state = head.step(previous, hidden[:, :, j], state)
            previous = (base[:, :, j] + bias.float()).argmax(-1)
            drafted.append(previous)
        return torch.stack(drafted, -1)


class DFlash(BlockDrafter):
    """Each mask guesses the token at its own place, all at once; the anchor's row is dropped."""

    def blocks(
        self, embed: nn.Embedding, context: Tensor, ids: Tensor, anchors: Tensor, gamma: int
    ) -> Tensor:
        """[B, A, gamma, d]; row j is the state that predicts position anchor + 1 + j."""
        return self._rows(embed, context, ids, anchors, gamma + 1)[:, :, 1:]

    def draft(
        self, target: Target, hidden: Tensor, anchor_ids: Tensor, head: nn.Module | None = None
    ) -> Tensor:
        """Greedy draft tokens [B, A, gamma]; no guess knows another."""
        return target.lm_head(hidden).argmax(-1)


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


def _load(model: nn.Module, path: Path) -> nn.Module:
    model.load_state_dict({name: tensor.float() for name, tensor in load_file(path).items()})
    return model.eval()


def load_dspark(path: Path | str) -> DSpark:
    """``dspark.safetensors`` with ``dspark.json`` and ``target.json`` beside it, float32."""
    path = Path(path)
    config = DSparkConfig.read(path.with_suffix(".json"))
    return _load(DSpark(config, TargetConfig.read(path.with_name("target.json"))), path)


def load_dflash(path: Path | str) -> DFlash:
    """``dflash.safetensors`` with ``dflash.json`` and ``target.json`` beside it, float32."""
    path = Path(path)
    config = DSparkConfig.read(path.with_suffix(".json"))
    return _load(DFlash(config, TargetConfig.read(path.with_name("target.json"))), path)


def load_mtp(path: Path | str) -> MTP:
    """``mtp.safetensors`` with ``target.json`` beside it, float32."""
    path = Path(path)
    return _load(MTP(TargetConfig.read(path.with_name("target.json"))), path)
