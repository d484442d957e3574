"""Stage ``drafters``: train the block drafter and the MTP head on the frozen target.

Both learn from one target pass: a batch of rows gives hidden states and next-token
distributions; the block drafter sees many anchors a row with a random block width, the
MTP head every position.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.train import precision, ranks, schedule
from engine.train.data import BOS, Rows
from engine.train.draft_model import MTP, DSpark, DSparkConfig
from engine.train.model import Target, TargetConfig
from engine.train.optimizer import Optimizer
from engine.train.self_data import LENGTH, write_rows
from engine.train.self_data import MIX as SELF_MIX
from engine.train.target import MAX_SKIPPED, TooManySkipped, save_atomically

MIX = {"arith": 0.30, "code": 0.28, "en": 0.27, "zh": 0.15}
WIDTHS = (1, 2, 3, 4, 5, 6, 7)
WIDTH_WEIGHTS = (0.07, 0.11, 0.20, 0.16, 0.16, 0.12, 0.18)
BLOCK_ROWS = 960  # draft rows of one micro-batch over all its anchors
POSITION_DECAY = 0.85  # a later position counts only if all earlier ones were accepted
HARD_SHARE = 0.5  # of the label on the target's argmax, the rest on its distribution
QUESTION_WEIGHT = 0.2  # of positions inside a question, which is never drafted


@dataclass(frozen=True)
class DrafterRun:
    """Settings of one run; times in seconds."""

    work: Path
    weights: Path  # for the tokenizer
    budget: float
    generate: float
    resume: bool = False
    seed: int = 0
    micro_batches: int = 2
    precision: str = "auto"


class Drafters(nn.Module):
    """Both heads as one module, so that one optimizer holds them."""

    def __init__(self, target: Target) -> None:
        super().__init__()
        self.dspark = DSpark(DSparkConfig(), target.config)
        self.mtp = MTP(target.config)
        self.dspark.norm.weight.data.copy_(target.norm.weight)
        self.mtp.norm.weight.data.copy_(target.norm.weight)


def load_frozen_target(work: Path) -> Target:
    """The target checkpoint rounded to the shipped bfloat16 values."""
    stored = torch.load(work / "target.pt", weights_only=True)["model"]
    model = Target(TargetConfig())
    model.load_state_dict({n: t.to(torch.bfloat16).float() for n, t in stored.items()})
    return model.eval().requires_grad_(False)


def answer_weights(ids: np.ndarray, answer: int, colon: int) -> np.ndarray:
    """Weight of predicting each token: low from <bos> to the ``:`` of ``Answer:``.

    Rows without an ``Answer:`` (text classes) have weight one everywhere.
    """
    weights = np.ones(ids.shape, dtype=np.float32)
    for row, line in zip(weights, ids, strict=True):
        ends = [i for i in np.flatnonzero(line == colon) if i and line[i - 1] == answer]
        if len(ends) < 3:
            continue
        inside = False
        for i, token in enumerate(line):
            if token == BOS:
                inside = True
            if inside or token == BOS:
                row[i] = QUESTION_WEIGHT
            if i in ends:
                inside = False
    return weights


def choose_anchors(
    weights: np.ndarray, gamma: int, count: int, rng: np.random.Generator
) -> np.ndarray:
    """int64 [B, count]: distinct anchors, drawn by the weight of the token they predict."""
    chosen = []
    for row in weights:
        allowed = row[2 : len(row) - gamma].astype(np.float64) ** 1.5
        picked = rng.choice(len(allowed), size=count, replace=False, p=allowed / allowed.sum())
        chosen.append(np.sort(picked) + 1)
    return np.stack(chosen)


def soft_loss(logits: Tensor, wanted: Tensor, weights: Tensor) -> Tensor:
    """Weighted cross entropy to the target's distribution mixed with its argmax.

    logits, wanted [N, V] (``wanted``: the target's logits), weights [N].
    """
    log_q = F.log_softmax(logits.float(), -1)
    soft = -(wanted.float().softmax(-1) * log_q).sum(-1)
    hard = -log_q.gather(-1, wanted.argmax(-1, keepdim=True)).squeeze(-1)
    mixed = HARD_SHARE * hard + (1 - HARD_SHARE) * soft
    return (mixed * weights).sum() / weights.sum()


class Source:
    """Micro-batches: half training documents, half rows written by the target."""

    def __init__(self, work: Path, weights: Path, rank: int, seed: int) -> None:
        from tokenizers import Tokenizer

        self.rows = Rows(work, seed, MIX)
        self.rng = np.random.default_rng(seed + 1)
        stored = np.load(work / f"self_{rank}.npz")
        self.own, self.first = stored["rows"], stored["first"]
        tokenizer = Tokenizer.from_file(str(weights / "tokenizer.json"))
        pair = tokenizer.encode("?\nAnswer:", add_special_tokens=False).ids
        self.answer, self.colon = pair[-2], pair[-1]

    def batch(self) -> tuple[np.ndarray, np.ndarray]:
        """(ids int64 [2, LENGTH], weights float32 [2, LENGTH])."""
        document = self.rows.row(LENGTH - 1)
        pick = int(self.rng.integers(len(self.own)))
        own = self.own[pick][:LENGTH]
        ids = np.stack([document, own])
        weights = answer_weights(ids, self.answer, self.colon)
        weights[1, : self.first[pick]] *= QUESTION_WEIGHT
        return ids, weights


def losses(
    target: Target, heads: Drafters, ids: Tensor, weights: Tensor, anchors: Tensor, gamma: int
) -> tuple[Tensor, Tensor]:
    """(block drafter loss, MTP loss) of one micro-batch."""
    with torch.no_grad():
        hidden, taps, _ = target.run(ids)
        logits = target.lm_head(target.norm(hidden)).float()
    dspark, mtp = heads.dspark, heads.mtp
    batch = torch.arange(len(ids))[:, None, None]
    # row j of a block stands at position anchor + j and predicts the token after it
    at = anchors.unsqueeze(-1) + torch.arange(gamma)
    rows = dspark.blocks(target.embed, dspark.context(taps), ids, anchors, gamma)
    drafted = target.lm_head(rows).float() + dspark.markov(ids[batch, at]).float()
    decay = POSITION_DECAY ** torch.arange(gamma)
    block = soft_loss(
        drafted.flatten(0, 2), logits[batch, at].flatten(0, 2),
        (decay * weights[batch, at + 1]).flatten(),
    )
    guessed = target.lm_head(mtp(target.embed, hidden[:, :-2], ids[:, 1:-1]))
    single = soft_loss(
        guessed.flatten(0, 1), logits[:, 1:-1].flatten(0, 1), weights[:, 2:].flatten()
    )
    return block, single


def train(run: DrafterRun) -> None:
    """Generate the target's own rows, then train both heads until the budget is used."""
    rank, count = ranks.join()
    torch.manual_seed(run.seed)
    mode = precision.measured_faster() if run.precision == "auto" else run.precision
    target = load_frozen_target(run.work)
    log = (run.work / "drafters.jsonl").open("a" if run.resume else "w") if rank == 0 else None

    def record(entry: dict) -> None:
        if log is not None:
            print(json.dumps(entry), flush=True)
            log.write(json.dumps(entry) + "\n")
            log.flush()

    if run.generate > 0:
        rows = Rows(run.work, seed=5000 + run.seed + rank, mix=SELF_MIX)
        made = write_rows(
            target, rows, run.work / f"self_{rank}.npz", run.generate, 4096, 31 * rank
        )
        record({"event": "generated", "tokens_of_rank_0": made, "seconds": run.generate})
    heads = Drafters(target)
    optimizer = Optimizer(heads, rank, count)
    used, skipped, attempt = 0.0, 0, 0
    if run.resume:
        stored = torch.load(run.work / "drafters.pt", weights_only=True)
        heads.load_state_dict(stored["model"])
        optimizer.load(stored["optimizer"])
        used, skipped, attempt = stored["used"], stored["skipped"], stored["attempt"]
    source = Source(run.work, run.weights, rank, seed=9000 + run.seed + 17 * attempt + rank)
    record({"event": "start", "precision": mode, "ranks": count, "budget_s": run.budget,
            "parameters": sum(p.numel() for p in heads.parameters())})
    started = time.perf_counter() - used
    clock, next_check = used, used + 60.0
    sums = np.zeros(3)
    while clock < run.budget:
        share = clock / run.budget
        for _ in range(run.micro_batches):
            ids, weights = source.batch()
            gamma = int(source.rng.choice(WIDTHS, p=WIDTH_WEIGHTS))
            anchors = choose_anchors(
                weights, gamma, min(BLOCK_ROWS // (gamma * len(ids)), 160), source.rng
            )
            with precision.autocast(mode):
                block, single = losses(
                    target, heads, torch.from_numpy(ids), torch.from_numpy(weights),
                    torch.from_numpy(anchors), gamma,
                )
            (block + single).backward()
            sums += (block.item(), single.item(), 1)
        norm, clock = optimizer.reduce(time.perf_counter() - started, run.micro_batches)
        attempt += 1
        if np.isfinite(norm):
            optimizer.step(norm, schedule.rate(share))
        else:
            skipped += 1
            record({"event": "skipped", "step": attempt, "skipped": skipped})
            if skipped > max(3, MAX_SKIPPED * attempt):
                raise TooManySkipped(f"{skipped} of {attempt} steps had a non-finite gradient")
        optimizer.zero()
        if clock >= next_check or clock >= run.budget:
            record({"event": "check", "used_s": round(clock, 1), "step": attempt,
                    "skipped": skipped, "grad_norm": round(norm, 3),
                    "dspark_loss": round(sums[0] / sums[2], 4),
                    "mtp_loss": round(sums[1] / sums[2], 4)})
            if rank == 0:
                save_atomically(run.work / "drafters.pt", {
                    "model": heads.state_dict(), "optimizer": optimizer.state(),
                    "used": time.perf_counter() - started, "skipped": skipped,
                    "attempt": attempt,
                })
            sums[:] = 0
            next_check = clock + 120.0
    if log is not None:
        log.close()
    ranks.leave()
