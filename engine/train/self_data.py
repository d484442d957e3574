"""Rows written by the target itself, on which the draft heads are trained as well.

What a drafter meets at run time is the target's own greedy or sampled text, which after
a few hundred tokens looks unlike the training documents.
"""

from __future__ import annotations

import os
import time
from pathlib import Path

import numpy as np
import torch

from engine.config import EngineConfig, SamplingParams
from engine.train.data import Rows
from engine.train.generate import generate
from engine.train.model import Target
from engine.types import Request

LENGTH = 512
BATCH = 64
PROMPTS = (32, 96, 160, 288)
TEMPERATURES = (0.0, 0.8, 0.0)
# arithmetic greedy output is close to its training text: text classes need the rows
MIX = {"arith": 0.25, "code": 0.30, "en": 0.27, "zh": 0.18}


def write_rows(
    model: Target, rows: Rows, path: Path, seconds: float, deadline_rows: int, seed: int
) -> int:
    """Generate until ``seconds`` are used or ``deadline_rows`` exist; tokens generated.

    Stores ``rows`` int64 [N, LENGTH + 1] and ``first`` [N], the first generated position.
    """
    started = time.perf_counter()
    kept: list[np.ndarray] = []
    first: list[int] = []
    made = 0
    turn = 0
    while len(kept) < deadline_rows and time.perf_counter() - started < seconds:
        prompt = PROMPTS[turn % len(PROMPTS)]
        prompts = torch.from_numpy(np.stack([rows.row(prompt - 1) for _ in range(BATCH)]))
        out = generate(
            model, prompts, LENGTH + 1 - prompt, TEMPERATURES[turn % 3], seed + 7919 * turn
        )
        kept.extend(out.numpy())
        first.extend([prompt] * BATCH)
        made += BATCH * (LENGTH + 1 - prompt)
        turn += 1
    np.savez(path, rows=np.stack(kept), first=np.array(first))
    return made


def served_rows(weights: Path, rows: Rows, path: Path, seconds: float, threads: int = 1, batch: int = BATCH, first_seed: int = 0) -> int:
    """As :func:`write_rows`, but written by the serving engine, plain lane, in its fastest mode.

    Prompt lengths and temperatures are mixed inside a batch; seeds count up from ``first_seed``. Stores the same two arrays; returns the tokens generated.
    """
    from engine.engine import Engine

    kept: list[np.ndarray] = []
    first: list[int] = []
    made = 0
    started = time.perf_counter()
    config = EngineConfig(
        weights=weights, lane="plain", mode="fused", threads=threads, max_running_requests=batch,
        max_total_num_tokens=batch * (LENGTH + 32), context_length=LENGTH + 32,
    )
    with Engine(config) as engine:
        while time.perf_counter() - started < seconds:
            prompts = [rows.row(PROMPTS[i % len(PROMPTS)] - 1) for i in range(batch)]
            asked = [
                Request(str(i), tuple(prompt.tolist()), SamplingParams(
                    temperature=TEMPERATURES[i // len(PROMPTS) % 3], seed=first_seed + len(kept) + i, ignore_eos=True,
                    max_tokens=LENGTH + 1 - len(prompt),
                ))
                for i, prompt in enumerate(prompts)
            ]
            for record, prompt in zip(engine.generate(asked), prompts, strict=True):
                kept.append(np.concatenate([prompt, np.array(record.token_ids, dtype=np.int64)]))
                first.append(len(prompt))
                made += record.osl
    beside = path.with_suffix(".part.npz")
    np.savez(beside, rows=np.stack(kept), first=np.array(first))
    os.replace(beside, path)
    return made
