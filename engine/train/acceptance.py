"""Accept lengths of the draft heads per content class, teacher-forced and free-running.

An accept length counts the tokens one round yields: the accepted prefix plus the token
the target adds itself.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import torch
from tokenizers import Tokenizer
from torch import Tensor

from engine.train.corpora import CLASSES
from engine.train.data import BOS, EOS
from engine.train.draft_model import MTP, DSpark
from engine.train.generate import generate
from engine.train.model import Target
from engine.train.target import held_out_rows

GAMMAS = range(1, 8)


def prefix_lengths(right: Tensor) -> Tensor:
    """Leading True values along the last dimension."""
    return right.long().cumprod(-1).sum(-1)


@torch.inference_mode()
def drafts(
    target: Target, dspark: DSpark, ids: Tensor, taps: tuple[Tensor, ...], anchors: Tensor, gamma: int
) -> Tensor:
    """Greedy drafts [B, A, gamma] at ``anchors`` [B, A] of rows ids [B, T] with the target's taps of them."""
    hidden = dspark.blocks(target.embed, dspark.context(taps), ids, anchors, gamma)
    return dspark.draft(target, hidden, ids.gather(1, anchors))


@torch.inference_mode()
def teacher_forced(
    target: Target, dspark: DSpark, mtp: MTP, work: Path, name: str, rows: int = 8
) -> dict:
    """Agreement with the target's argmax on held-out documents, given their tokens."""
    ids = held_out_rows(work, name, rows, 256)[:, :256]
    hidden, taps, _ = target.run(ids)
    wanted = target.lm_head(target.norm(hidden)).argmax(-1)
    anchors = torch.arange(16, 256 - 8, 6).expand(rows, -1)
    batch = torch.arange(rows)[:, None, None]
    lengths, at_seven = {}, []
    for gamma in GAMMAS:
        at = anchors.unsqueeze(-1) + torch.arange(gamma)
        rows_of = dspark.blocks(target.embed, dspark.context(taps), ids, anchors, gamma)
        logits = target.lm_head(rows_of) + dspark.markov(ids[batch, at])
        right = logits.argmax(-1) == wanted[batch, at]
        lengths[str(gamma)] = round(1 + float(prefix_lengths(right).float().mean()), 3)
        at_seven = [round(float(x), 3) for x in right.float().mean((0, 1))]
    guess = target.lm_head(mtp(target.embed, hidden[:, :-1], ids[:, 1:])).argmax(-1)
    return {
        "accept_length": lengths,
        "agreement_at_position_1_to_7": at_seven,
        "mtp_agreement": round(float((guess == wanted[:, 1:]).float().mean()), 3),
        "target_top1": round(float((wanted[:, :-1] == ids[:, 1:]).float().mean()), 3),
    }


def prompts(tokenizer: Tokenizer, held_out: Path, name: str, count: int) -> list[list[int]]:
    """Token prompts: whole questions, or the first 96 tokens of document pieces."""
    lines = [
        json.loads(x) for x in (held_out / f"{name}.jsonl").read_text("utf-8").splitlines()
    ]
    if name == "arith":
        found = [
            [BOS, *tokenizer.encode(x["prompt"], add_special_tokens=False).ids]
            for x in lines[100 : 100 + count]
        ]
        return found
    found = []
    for piece in range(count):
        document = tokenizer.encode(lines[piece % len(lines)]["text"], add_special_tokens=False)
        at = (piece // len(lines)) * 700
        cut = document.ids[at : at + 95]
        if len(cut) == 95:
            found.append([BOS, *cut])
    return found


@torch.inference_mode()
def free_running(
    target: Target, dspark: DSpark, mtp: MTP, tokenizer: Tokenizer, held_out: Path, name: str,
    count: int = 16, new_tokens: int = 128,
) -> dict:
    """Rounds over the target's greedy continuation, pooled over the prompts.

    Greedy speculation emits exactly the plain greedy text, so the text is generated once
    and the rounds are walked over the drafts of all its positions.
    """
    emitted, rounds = dict.fromkeys(GAMMAS, 0), dict.fromkeys(GAMMAS, 0)
    mtp_right = mtp_all = 0
    distinct = total = 0
    for prompt in prompts(tokenizer, held_out, name, count):
        stop = EOS if name == "arith" else None
        ids = generate(target, torch.tensor([prompt]), new_tokens, stop=stop)
        first, length = len(prompt), ids.shape[1]
        new = ids[0, first:].tolist()
        grams = [tuple(new[i : i + 4]) for i in range(len(new) - 3)]
        distinct, total = distinct + len(set(grams)), total + len(grams)
        anchors = torch.arange(first, length - 1)[None]
        padded = torch.nn.functional.pad(ids, (0, 8))
        hidden, taps, _ = target.run(ids)
        for gamma in GAMMAS:
            guess = drafts(target, dspark, ids, taps, anchors, gamma)[0]
            wanted = torch.stack([padded[0, a + 1 : a + 1 + gamma] for a in anchors[0]])
            accepted = prefix_lengths(guess == wanted).tolist()
            at = 0
            while at < len(accepted):
                step = min(accepted[at] + 1, len(accepted) - at)
                emitted[gamma] += step
                rounds[gamma] += 1
                at += step
        guess = target.lm_head(mtp(target.embed, hidden[:, :-1], ids[:, 1:])).argmax(-1)
        right = guess[0, first - 1 : -1] == ids[0, first + 1 :]
        mtp_right, mtp_all = mtp_right + int(right.sum()), mtp_all + right.numel()
    return {
        "prompts": count,
        "accept_length": {
            str(g): round(emitted[g] / rounds[g], 3) for g in GAMMAS
        },
        "mtp_acceptance": round(mtp_right / mtp_all, 3),
        "distinct_4gram_share": round(distinct / total, 3),
    }


def report(
    target: Target, dspark: DSpark, mtp: MTP, tokenizer: Tokenizer, work: Path, held_out: Path
) -> dict:
    """Both tables for every class."""
    torch.manual_seed(0)
    np.random.seed(0)
    return {
        name: {
            "teacher_forced": teacher_forced(target, dspark, mtp, work, name),
            "free_running": free_running(target, dspark, mtp, tokenizer, held_out, name),
        }
        for name in CLASSES
    }
