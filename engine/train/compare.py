"""Drafters beside each other on the same held-out texts: what the shipped ones gained, and what each head is worth."""

from __future__ import annotations

import json
from collections import defaultdict
from pathlib import Path

import torch
from tokenizers import Tokenizer
from torch import Tensor, nn

from engine.train.acceptance import prefix_lengths, prompts
from engine.train.corpora import CLASSES
from engine.train.data import EOS
from engine.train.draft_model import BlockDrafter
from engine.train.generate import generate
from engine.train.model import Target
from engine.train.target import held_out_rows

GAMMAS = (1, 3, 5, 7)
PROMPTS, NEW_TOKENS = 16, 96
DOCUMENT_ROWS, DOCUMENT_LENGTH = 12, 256

Drafters = dict[str, tuple[BlockDrafter, nn.Module | None]]
"""Name -> backbone and the Markov head in place of its own, if any."""


def texts(target: Target, tokenizer: Tokenizer, held_out: Path, name: str) -> list[tuple[Tensor, int]]:
    """(ids [1, T], first generated position) of greedy continuations; prompts of one length are run together."""
    found = prompts(tokenizer, held_out, name, PROMPTS)
    by_length = defaultdict(list)
    for prompt in found:
        by_length[len(prompt)].append(prompt)
    made = []
    for length, group in sorted(by_length.items()):
        out = generate(target, torch.tensor(group), NEW_TOKENS, stop=EOS if name == "arith" else None)
        for ids in out:
            if name == "arith":
                end = (ids[length:] == EOS).nonzero()
                ids = ids[: length + int(end[0]) + 1] if len(end) else ids
            made.append((ids[None], length))
    return made


def walked(accepted: list[int]) -> tuple[int, int]:
    """(tokens, rounds) of greedy speculation over positions whose drafts would have had `accepted` right."""
    at = rounds = 0
    while at < len(accepted):
        at += min(accepted[at] + 1, len(accepted) - at)
        rounds += 1
    return at, rounds


@torch.inference_mode()
def compare(target: Target, drafters: Drafters, tokenizer: Tokenizer, work: Path, held_out: Path) -> dict:
    """{class: {drafter: {"free_running": {gamma: accept length}, "documents": {gamma: accept length}}}}.

    Free-running: rounds over the target's own greedy text, as it is served, pooled over the prompts. Documents:
    drafts at evenly spaced places of held-out texts against the target's argmax.
    """
    torch.manual_seed(0)
    found: dict = {}
    for name in CLASSES:
        written = []
        for ids, first in texts(target, tokenizer, held_out, name):
            _, taps, _ = target.run(ids)
            written.append((ids, first, taps))
        rows = held_out_rows(work, name, DOCUMENT_ROWS, DOCUMENT_LENGTH)[:, :DOCUMENT_LENGTH]
        hidden, row_taps, _ = target.run(rows)
        wanted = target.lm_head(target.norm(hidden)).argmax(-1)
        found[name] = {
            label: {
                "free_running": {str(g): _free_running(target, model, head, written, g) for g in GAMMAS},
                "documents": {str(g): _documents(target, model, head, rows, row_taps, wanted, g) for g in GAMMAS},
            }
            for label, (model, head) in drafters.items()
        }
        print(json.dumps({name: found[name]}), flush=True)
    return found


def _drafted(target: Target, model: BlockDrafter, head: nn.Module | None, ids: Tensor, taps: tuple, anchors: Tensor, gamma: int) -> Tensor:
    hidden = model.blocks(target.embed, model.context(taps), ids, anchors, gamma)
    return model.draft(target, hidden, ids.gather(1, anchors), head)


def _free_running(target: Target, model: BlockDrafter, head: nn.Module | None, written: list, gamma: int) -> float:
    tokens = rounds = 0
    for ids, first, taps in written:
        anchors = torch.arange(first, ids.shape[1] - 1)[None]
        if not anchors.numel():
            continue
        guess = _drafted(target, model, head, ids, taps, anchors, gamma)[0]
        padded = torch.nn.functional.pad(ids[0], (0, gamma))
        right = torch.stack([guess[:, j] == padded[anchors[0] + 1 + j] for j in range(gamma)], 1)
        more = walked(prefix_lengths(right).tolist())
        tokens, rounds = tokens + more[0], rounds + more[1]
    return round(tokens / rounds, 3)


def _documents(
    target: Target, model: BlockDrafter, head: nn.Module | None, rows: Tensor, taps: tuple, wanted: Tensor, gamma: int
) -> float:
    anchors = torch.arange(16, rows.shape[1] - 8, 6).expand(len(rows), -1)
    guess = _drafted(target, model, head, rows, taps, anchors, gamma)
    at = anchors.unsqueeze(-1) + torch.arange(gamma)
    right = guess == wanted[torch.arange(len(rows))[:, None, None], at]
    return round(1 + float(prefix_lengths(right).float().mean()), 3)
