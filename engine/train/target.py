"""Stage ``target``: train the target model for a wall-clock budget."""

from __future__ import annotations

import json
import os
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.nn.functional as F

from engine.train import precision, ranks, schedule
from engine.train.corpora import CLASSES
from engine.train.data import MIX, Rows
from engine.train.model import Target, TargetConfig
from engine.train.optimizer import Optimizer

MICRO_BATCH = 1024  # tokens of one forward and backward pass
SHORT, LONG = 512, 2048
LONG_FROM = 0.85  # share of the budget after which every second step uses long rows
MAX_SKIPPED = 0.01


class TooManySkipped(RuntimeError):
    """More steps had a non-finite gradient than ``MAX_SKIPPED`` allows."""


@dataclass(frozen=True)
class TargetRun:
    """Settings of one run; times in seconds."""

    work: Path
    budget: float
    resume: bool = False
    seed: int = 0
    muon_rate: float = 0.02
    adam_rate: float = 3e-3
    micro_batches: int = 2  # per rank and step
    validate_every: float = 180.0
    precision: str = "auto"


def save_atomically(path: Path, content: dict) -> None:
    beside = path.with_suffix(".part")
    torch.save(content, beside)
    os.replace(beside, path)


def held_out_rows(work: Path, name: str, rows: int, length: int) -> torch.Tensor:
    """Evenly spaced held-out rows of one class, int64 [rows, length + 1]."""
    stored = np.load(work / f"held_{name}.npz")
    tokens = stored["tokens"]
    at = np.linspace(0, len(tokens) - length - 1, rows).astype(np.int64)
    if name == "arith":
        starts = stored["starts"]
        at = starts[np.minimum(np.searchsorted(starts, at), len(starts) - 12)]
    return torch.from_numpy(np.stack([tokens[a : a + length + 1].astype(np.int64) for a in at]))


@torch.no_grad()
def validate(model: Target, work: Path, rank: int, count: int, mode: str) -> dict[str, float]:
    """Held-out loss in nats/token of each class, the rows divided over the ranks."""
    losses = torch.zeros(len(CLASSES), 2)
    for i, name in enumerate(CLASSES):
        for row in held_out_rows(work, name, 12, SHORT)[rank::count]:
            with precision.autocast(mode):
                logits, _ = model(row[None, :-1])
            losses[i, 0] += F.cross_entropy(logits[0].float(), row[1:])
            losses[i, 1] += 1
    if count > 1:
        dist.all_reduce(losses)
    return {n: round(float(a / b), 4) for n, (a, b) in zip(CLASSES, losses, strict=True)}


def train(run: TargetRun) -> None:
    """Train until the budget is used; checkpoint, log and the final weights go to ``work``."""
    rank, count = ranks.join()
    torch.manual_seed(run.seed)
    mode = precision.measured_faster() if run.precision == "auto" else run.precision
    model = Target(TargetConfig())
    optimizer = Optimizer(model, rank, count, run.muon_rate, run.adam_rate)
    checkpoint = run.work / "target.pt"
    used, tokens, skipped, attempt = 0.0, 0, 0, 0
    if run.resume:
        stored = torch.load(checkpoint, weights_only=True)
        model.load_state_dict(stored["model"])
        optimizer.load(stored["optimizer"])
        used, tokens = stored["used"], stored["tokens"]
        skipped, attempt = stored["skipped"], stored["attempt"]
    rows = Rows(run.work, seed=1000 * run.seed + 17 * attempt + rank, mix=MIX)
    log = (run.work / "target.jsonl").open("a" if run.resume else "w") if rank == 0 else None

    def record(entry: dict) -> None:
        if log is not None:
            print(json.dumps(entry), flush=True)
            log.write(json.dumps(entry) + "\n")
            log.flush()

    record({"event": "start", "precision": mode, "ranks": count, "budget_s": run.budget,
            "parameters": sum(p.numel() for p in model.parameters()), "used_s": round(used, 1)})
    started = time.perf_counter() - used
    clock = used
    next_check = used + min(60.0, run.validate_every)
    since_tokens, since_time, since_loss, since_count = tokens, time.perf_counter(), 0.0, 0
    while clock < run.budget:
        share = clock / run.budget
        long_rows = share > LONG_FROM and attempt % 2 == 0
        length = LONG if long_rows else SHORT
        passes = max(1, run.micro_batches * MICRO_BATCH // max(MICRO_BATCH, length))
        for _ in range(passes):
            drawn, weighed = rows.batch(max(1, MICRO_BATCH // length), length)
            batch, weights = torch.from_numpy(drawn), torch.from_numpy(weighed).flatten()
            with precision.autocast(mode):
                logits, _ = model(batch[:, :-1])
                each = F.cross_entropy(
                    logits.float().flatten(0, 1), batch[:, 1:].flatten(), reduction="none"
                )
                loss = (each * weights).mean()
            loss.backward()
            tokens += count * length * batch.shape[0]
            since_loss += loss.item()
            since_count += 1
        norm, clock = optimizer.reduce(time.perf_counter() - started, passes)
        attempt += 1
        if np.isfinite(norm):
            optimizer.step(norm, schedule.rate(share))
        else:
            skipped += 1
            record({"event": "skipped", "step": attempt, "skipped": skipped})
            if skipped > max(3, MAX_SKIPPED * attempt):
                raise TooManySkipped(
                    f"{skipped} of {attempt} steps had a non-finite gradient "
                    f"(limit {MAX_SKIPPED:.0%})"
                )
        optimizer.zero()
        if clock >= next_check or clock >= run.budget:
            speed = (tokens - since_tokens) / (time.perf_counter() - since_time)
            held = validate(model, run.work, rank, count, mode)
            record({"event": "check", "used_s": round(clock, 1), "step": attempt,
                    "tokens": tokens, "tok_per_s": round(speed), "skipped": skipped,
                    "rate": round(schedule.rate(clock / run.budget), 4),
                    "grad_norm": round(norm, 3),
                    "train_loss": round(since_loss / max(1, since_count), 4), "held_out": held})
            if rank == 0:
                save_atomically(checkpoint, {
                    "model": model.state_dict(), "optimizer": optimizer.state(),
                    "used": time.perf_counter() - started, "tokens": tokens,
                    "skipped": skipped, "attempt": attempt,
                })
            since_tokens, since_time = tokens, time.perf_counter()
            since_loss, since_count = 0.0, 0
            next_check = clock + run.validate_every
    if log is not None:
        log.close()
    ranks.leave()
