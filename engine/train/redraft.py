"""Stage ``redraft``: DSpark goes on from its checkpoint, DFlash gets weights of its own, then the heads.

All four phases read one cache of the target's taps (:mod:`engine.train.tap_cache`) and draw hundreds of
anchors from a row. Half of the rows were written by the target itself. Every rank draws rows of its own; the gradients are summed.
"""

from __future__ import annotations

import json
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass, replace
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch import Tensor, nn

from engine.train import ranks, schedule
from engine.train.data import Rows
from engine.train.draft_model import DFlash, DSpark, DSparkConfig
from engine.train.drafters import (
    HARD_SHARE,
    MIX,
    POSITION_DECAY,
    QUESTION_WEIGHT,
    Drafters,
    answer_weights,
    choose_anchors,
    load_frozen_target,
)
from engine.train.markov_heads import Calibration, ConfidenceHead, GatedHead, RnnHead, fit_temperatures
from engine.train.optimizer import Optimizer
from engine.train.self_data import LENGTH, served_rows
from engine.train.self_data import MIX as SELF_MIX
from engine.train.tap_cache import SparseCrossEntropy, TappedRow, mixed_labels, sampled_vocabulary, tap
from engine.train.target import MAX_SKIPPED, TooManySkipped, save_atomically

WIDTHS = (1, 2, 3, 4, 5, 6, 7)
WIDTH_WEIGHTS = (0.22, 0.24, 0.24, 0.12, 0.07, 0.04, 0.07)
ANCHORS = 256  # of one row in one micro-batch
ROWS_PER_STEP = 4  # over all ranks
CALIBRATION_ANCHORS = 64  # of one row, for the confidence head
CONFIDENCE_ROWS = 240
GAMMA = 7  # block width that the confidence head is fitted at
SEED_STRIDE = 1 << 16
"""Between the seeds of two runs: more than there are ranks."""
SHARES = {"dspark": 0.56, "dflash": 0.27, "heads": 0.17}


@dataclass(frozen=True)
class RedraftRun:
    """Settings; times in seconds. ``rows`` of each half of the cache."""

    work: Path
    weights: Path
    budget: float
    generate: float
    rows: int = 600
    resume: bool = False
    again: tuple[str, ...] = ()  # phases to run although they are done; a backbone goes on from what it reached
    seed: int = 0


def stored_cache(run: RedraftRun) -> list[TappedRow]:
    """What :func:`build_cache` stored."""
    return [TappedRow(**row) for row in torch.load(run.work / "taps.pt", weights_only=True)]


def build_cache(run: RedraftRun, target: nn.Module, note: Callable[[dict], None]) -> None:
    """Rows alternate between the target's own and documents; the last tenth never trains the confidence head.

    A cache that is there is kept when the run is resumed and no rows are generated for it.
    """
    from tokenizers import Tokenizer

    stored = run.work / "taps.pt"
    if run.resume and run.generate == 0 and stored.exists():
        return
    tokenizer = Tokenizer.from_file(str(run.weights / "tokenizer.json"))
    answer, colon = tokenizer.encode("?\nAnswer:", add_special_tokens=False).ids[-2:]
    documents = Rows(run.work, seed=7300 + run.seed, mix=MIX)
    rng = np.random.default_rng(7400 + run.seed)
    parts = [np.load(path) for path in sorted(run.work.glob("self_*.npz"))]
    own = np.concatenate([part["rows"] for part in parts])
    first = np.concatenate([part["first"] for part in parts])
    picked = rng.permutation(len(own))[: run.rows]
    cache: list[TappedRow] = []
    started = time.perf_counter()
    for at in picked:
        ids = np.stack([own[at][:LENGTH], documents.row(LENGTH - 1)])
        weights = answer_weights(ids, answer, colon)
        weights[0, : first[at]] *= QUESTION_WEIGHT
        cache += tap(target, torch.from_numpy(ids), torch.from_numpy(weights), [True, False])
    save_atomically(stored, [vars(row) for row in cache])
    note({"event": "cache", "rows": len(cache), "own_rows": len(picked), "own_rows_on_disk": len(own),
          "seconds": round(time.perf_counter() - started, 1)})


class Phase:
    """The loop that all phases share: budget, steps, checks of the gradient, log."""

    def __init__(self, name: str, module: nn.Module, budget: float, peak: float, note: Callable[[dict], None], anchors: int = 0, place: tuple[int, int] = (0, 1)) -> None:
        """``anchors``: how many the module has had in this stage before; ``place``: this rank and how many there are."""
        self.name, self.budget, self.peak, self.note = name, budget, peak, note
        self.ranks = place[1]
        self.rows = max(1, ROWS_PER_STEP // self.ranks)
        self.optimizer = Optimizer(module, *place)
        self.anchors, self.steps, self.skipped = anchors, 0, 0

    def run(self, loss_of_next_row: Callable[[], tuple[Tensor, int]]) -> dict:
        """``loss_of_next_row`` -> (loss, anchors used); returns what the log should keep."""
        started = time.perf_counter()
        clock, next_check, total, count = 0.0, 60.0, 0.0, 0
        entry: dict = {}
        while clock < self.budget:
            for _ in range(self.rows):
                loss, anchors = loss_of_next_row()
                loss.backward()
                total, count = total + loss.item(), count + 1
                self.anchors += anchors * self.ranks
            norm, clock = self.optimizer.reduce(time.perf_counter() - started, self.rows)
            self.steps += 1
            if np.isfinite(norm):
                self.optimizer.step(norm, self.peak * schedule.rate(clock / self.budget))
            else:
                self.skipped += 1
                if self.skipped > max(3, MAX_SKIPPED * self.steps):
                    raise TooManySkipped(f"{self.skipped} of {self.steps} steps had a non-finite gradient")
            self.optimizer.zero()
            if clock >= next_check or clock >= self.budget:
                entry = {"event": "check", "phase": self.name, "used_s": round(clock, 1), "step": self.steps,
                         "anchors": self.anchors, "skipped": self.skipped, "loss": round(total / count, 4)}
                self.note(entry)
                total, count, next_check = 0.0, 0, clock + 120.0
        return entry


class Draws:
    """Rows in random order, own and document in turn, with a block width and anchors each."""

    def __init__(self, cache: list[TappedRow], seed: tuple[int, ...]) -> None:
        self.cache = cache
        self.rng = np.random.default_rng(seed)
        self.halves = [[r for r in cache if r.own], [r for r in cache if not r.own]]
        self.turn = 0

    def next(self) -> tuple[TappedRow, int, Tensor]:
        """(row, gamma, anchors int64 [1, A])."""
        half = self.halves[self.turn % 2]
        self.turn += 1
        row = half[int(self.rng.integers(len(half)))]
        gamma = int(self.rng.choice(WIDTHS, p=WIDTH_WEIGHTS))
        anchors = choose_anchors(row.weights.numpy()[None], gamma, ANCHORS, self.rng)
        return row, gamma, torch.from_numpy(anchors)


def kept_rows(row: TappedRow, anchors: Tensor, gamma: int) -> tuple[Tensor, Tensor]:
    """(positions int64 [A, gamma] of the rows, bool [A, gamma] which of them to learn from).

    A row is kept with the probability of its weight and then counts one: the same expectation
    as weighting every row, without computing the vocabulary for the light ones.
    """
    at = anchors[0, :, None] + torch.arange(gamma)
    weight = POSITION_DECAY ** torch.arange(gamma) * row.weights[at + 1]
    return at, torch.rand(at.shape) < weight


def block_loss(target: nn.Module, model: DSpark | DFlash, row: TappedRow, gamma: int, anchors: Tensor) -> Tensor:
    """Mean loss of the kept rows of the blocks at ``anchors`` of one cached row."""
    context = model.context((row.taps[None].float(),))
    hidden = model.blocks(target.embed, context, row.ids[None], anchors, gamma)[0]
    at, keep = kept_rows(row, anchors, gamma)
    labels, share = mixed_labels(row, at[keep], HARD_SHARE)
    some, log_weights, places = sampled_vocabulary(labels, target.config.vocab_size)
    logits = hidden[keep] @ target.lm_head.weight[some].T + log_weights
    if isinstance(model, DSpark):
        logits = logits + model.markov.w1(row.ids[at[keep]]) @ model.markov.w2.weight[some].T
    return SparseCrossEntropy.apply(logits, places, share).mean()


def heads_loss(
    target: nn.Module, dspark: DSpark, heads: nn.ModuleDict, row: TappedRow, gamma: int, anchors: Tensor
) -> Tensor:
    """Sum of both heads' losses on one base; previous tokens are the row's own (teacher forcing)."""
    at, keep = kept_rows(row, anchors, gamma)
    with torch.no_grad():
        context = dspark.context((row.taps[None].float(),))
        hidden = dspark.blocks(target.embed, context, row.ids[None], anchors, gamma)[0]
        base = target.lm_head(hidden[keep])
    labels = mixed_labels(row, at[keep], HARD_SHARE)
    loss = base.new_zeros(())
    for head in heads.values():
        state, biases = None, []
        for j in range(gamma):
            mine = keep[:, j]
            bias, state = head.step(row.ids[at[:, j]], hidden[:, j], state)
            biases.append(bias[mine])
        # rows of one position lie together here, but in anchor order in `keep`
        order = torch.cat([torch.nonzero(keep[:, j]).flatten() * gamma + j for j in range(gamma)]).argsort()
        loss = loss + SparseCrossEntropy.apply(base + torch.cat(biases)[order], *labels).mean()
    return loss


@torch.no_grad()
def confidence_rows(
    target: nn.Module, dspark: DSpark, row: TappedRow, gamma: int, anchors: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """(inputs hidden [A, gamma, d], embedded [A, gamma, r], right bool [A, gamma]) of greedy blocks as they are served."""
    context = dspark.context((row.taps[None].float(),))
    hidden = dspark.blocks(target.embed, context, row.ids[None], anchors, gamma)
    drafted = dspark.draft(target, hidden, row.ids[anchors])[0]
    at = anchors[0, :, None] + torch.arange(gamma)
    previous = torch.cat([row.ids[anchors[0], None], drafted[:, :-1]], 1)
    # a draft is accepted where it is the target's argmax; behind a text that is not, it cannot be known
    return hidden[0], dspark.markov.w1(previous), drafted == row.top_ids[at, 0].long()


def confidence_samples(
    target: nn.Module, dspark: DSpark, rows: list[TappedRow], rng: np.random.Generator
) -> tuple[Tensor, Tensor]:
    """(inputs [N, gamma, d + r], right bool [N, gamma]) of CALIBRATION_ANCHORS blocks of each row."""
    inputs, rights = [], []
    for row in rows:
        anchors = torch.from_numpy(choose_anchors(row.weights.numpy()[None], GAMMA, CALIBRATION_ANCHORS, rng))
        hidden, embedded, right = confidence_rows(target, dspark, row, GAMMA, anchors)
        inputs.append(torch.cat([hidden, embedded], -1))
        rights.append(right)
    return torch.cat(inputs), torch.cat(rights)


def train_confidence(
    target: nn.Module, dspark: DSpark, cache: list[TappedRow], count: int, seed: int
) -> tuple[ConfidenceHead, Calibration]:
    """Logistic regression on ``count`` rows, calibrated on rows that were kept apart: a tenth of the target's own.

    The problem is convex and small, so the blocks are drafted once and the fit runs on all of them.
    """
    rng = np.random.default_rng(seed)
    own = [row for row in cache if row.own]
    edge = max(1, len(own) // 10)
    known = own[:-edge] + [row for row in cache if not row.own]
    rows = [known[i] for i in rng.permutation(len(known))[:count]]
    inputs, right = confidence_samples(target, dspark, rows, rng)
    # a position counts where all before it were right: only there is the question ever asked
    reached = torch.cat([torch.ones(len(right), 1), right[:, :-1].long().cumprod(1)], 1)
    head = ConfidenceHead(dspark.norm.weight.shape[0], dspark.config.markov_rank)
    optimizer = torch.optim.LBFGS(head.parameters(), max_iter=60, line_search_fn="strong_wolfe")

    def closure() -> Tensor:
        optimizer.zero_grad()
        losses = F.binary_cross_entropy_with_logits(head.of(inputs), right.float(), reduction="none")
        loss = (losses * reached).sum() / reached.sum() + 1e-4 * head.linear.weight.square().sum()
        loss.backward()
        return loss

    optimizer.step(closure)
    inputs, right = confidence_samples(target, dspark, own[-edge:], rng)
    with torch.no_grad():
        return head, fit_temperatures(head.of(inputs), right)


def redraft(run: RedraftRun) -> None:
    """All phases; ``redraft.pt`` holds what is done, so that ``--resume`` goes on with the next phase."""
    rank, _ = place = ranks.join()
    torch.manual_seed(run.seed)  # every rank begins with the same weights
    log = (run.work / "redraft.jsonl").open("a" if run.resume else "w") if rank == 0 else None

    def note(entry: dict) -> None:
        if log is not None:
            print(json.dumps(entry), flush=True)
            log.write(json.dumps(entry) + "\n")
            log.flush()

    def store() -> None:
        if rank == 0:
            save_atomically(checkpoint, done)

    checkpoint = run.work / "redraft.pt"
    done: dict = torch.load(checkpoint, weights_only=True) if run.resume and checkpoint.exists() else {}
    target = load_frozen_target(run.work)
    if run.generate > 0:
        rows = Rows(run.work, seed=7100 + SEED_STRIDE * run.seed + rank, mix=SELF_MIX)
        made = served_rows(run.weights, rows, run.work / f"self_{2 + rank}.npz", run.generate, first_seed=run.seed << 24 | rank << 20)
        note({"event": "generated", "tokens_of_rank_0": made, "seconds": run.generate})
    ranks.wait()
    if rank == 0:
        build_cache(run, target, note)
    ranks.wait()
    cache = stored_cache(run)
    earlier = Drafters(target)
    earlier.load_state_dict(torch.load(run.work / "drafters.pt", weights_only=True)["model"])

    def backbone(name: str, model: DSpark | DFlash, peak: float, seed: tuple[int, int]) -> None:
        """Train one block drafter, from its stored weights if it has any, and store it."""
        known = done.get(f"{name}_log", {"anchors": 0})["anchors"]
        if name in done:
            model.load_state_dict(done[name])
        draws = Draws(cache, (*seed, known, rank))
        phase = Phase(name, model, SHARES[name] * run.budget, peak, note, known, place)

        def next_row() -> tuple[Tensor, int]:
            row, gamma, anchors = draws.next()
            return block_loss(target, model, row, gamma, anchors), anchors.numel()

        done[f"{name}_log"] = phase.run(next_row)
        done[name] = model.state_dict()
        store()

    dspark = earlier.dspark
    if "dspark" not in done or "dspark" in run.again:
        for name in ("heads", "confidence"):  # they stand on this backbone
            done.pop(name, None)
        backbone("dspark", dspark, 0.5, (8000, run.seed))
    dspark.load_state_dict(done["dspark"])
    dspark.requires_grad_(False)
    if "dflash" not in done or "dflash" in run.again:
        backbone("dflash", started_dflash(dspark, target), 0.7, (8100, run.seed))

    if "heads" not in done:
        heads = markov_heads(dspark, dspark.norm.weight.shape[0])
        draws = Draws(cache, (8200, run.seed, rank))
        phase = Phase("heads", heads, SHARES["heads"] * run.budget, 0.3, note, place=place)

        def heads_next() -> tuple[Tensor, int]:
            row, gamma, anchors = draws.next()
            return heads_loss(target, dspark, heads["markov"], row, gamma, anchors), anchors.numel()

        done["heads_log"] = phase.run(heads_next)
        done["heads"] = heads.state_dict()
        store()

    if rank == 0 and ("confidence" not in done or "confidence" in run.again):
        head, calibration = train_confidence(target, dspark, cache, CONFIDENCE_ROWS, 8300 + run.seed)
        done["confidence"], done["calibration"] = head.state_dict(), asdict(calibration)
        note({"event": "calibration", **asdict(calibration)})
        store()
    if log is not None:
        log.close()
    ranks.leave()


def rebuilt(done: dict, target: nn.Module) -> tuple[DSpark, DFlash, dict[str, nn.Module], ConfidenceHead]:
    """The modules of a finished ``redraft.pt``: DSpark, DFlash, Markov heads by name, confidence."""
    dspark = DSpark(DSparkConfig(), target.config)
    dspark.load_state_dict(done["dspark"])
    dflash = DFlash(replace(DSparkConfig(), sample_from_anchor=False), target.config)
    dflash.load_state_dict(done["dflash"])
    hidden = dspark.norm.weight.shape[0]
    heads = markov_heads(dspark, hidden)
    heads.load_state_dict(done["heads"])
    confidence = ConfidenceHead(hidden, dspark.config.markov_rank)
    confidence.load_state_dict(done["confidence"])
    return dspark.eval(), dflash.eval(), dict(heads["markov"].items()), confidence


def markov_heads(dspark: DSpark, hidden: int) -> nn.ModuleDict:
    """Both heads; the optimizer leaves names that begin with `markov.` to AdamW."""
    return nn.ModuleDict({"markov": nn.ModuleDict({
        "gated": GatedHead(dspark.markov, hidden), "rnn": RnnHead(dspark.markov, hidden),
    })})


def started_dflash(dspark: DSpark, target: nn.Module) -> DFlash:
    """DFlash with DSpark's backbone as its start; the row offsets move by the dropped anchor row."""
    model = DFlash(replace(DSparkConfig(), sample_from_anchor=False), target.config)
    stored = {n: t.clone() for n, t in dspark.state_dict().items() if not n.startswith("markov.")}
    positions = model.pos.weight.data.clone()
    positions[0] = 0.0
    positions[1:] = stored["pos.weight"]
    model.load_state_dict({**stored, "pos.weight": positions})
    return model.requires_grad_(True)
