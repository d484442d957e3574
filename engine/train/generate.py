"""Batched generation by the training module: drafter data and the arithmetic gate."""

from __future__ import annotations

import torch
from torch import Tensor

from engine.train.model import Target


@torch.inference_mode()
def generate(
    model: Target,
    prompts: Tensor,
    new_tokens: int,
    temperature: float = 0.0,
    seed: int = 0,
    stop: int | None = None,
) -> Tensor:
    """Continue prompts [B, P] by ``new_tokens``; returns [B, P + new_tokens].

    Temperature 0 takes the lowest id among the largest logits.  With ``stop`` set,
    generation ends once every row holds that token; what follows it has no meaning.
    """
    source = torch.Generator().manual_seed(seed)
    x, _, past = model.run(prompts)
    ids = [prompts]
    ended = torch.zeros(len(prompts), dtype=torch.bool)
    for step in range(new_tokens):
        logits = model.lm_head(model.norm(x[:, -1])).float()
        if temperature == 0.0:
            token = logits.argmax(-1, keepdim=True)
        else:
            token = torch.multinomial((logits / temperature).softmax(-1), 1, generator=source)
        ids.append(token)
        ended |= token[:, 0] == stop if stop is not None else False
        if step + 1 == new_tokens or bool(ended.all()):
            break
        x, _, past = model.run(token, past)
    return torch.cat(ids, 1)
