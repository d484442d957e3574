"""Logits bit for bit: any batch, any window. Text alone would hide a difference in the last place."""

from __future__ import annotations

import pytest
import torch

from engine.model.tokenizer import Tokenizer

from .conftest import CLASSES, boot, held_out, prompts, requests


@torch.inference_mode()
def window_logits(engine, ids, width, rows):
    """Logits [requests, positions, V] of the prompts' last 8 tokens, in windows of `width` and batches of `rows`."""
    from engine.prompts import prefill_stretch
    from engine.sequence import Sequence
    from engine.types import RequestRecord

    out = []
    for start in range(0, len(ids), rows):
        group = []
        for i, prompt in enumerate(ids[start : start + rows]):
            sequence = Sequence(requests([prompt[:-8]])[0], RequestRecord(str(i), 0), max_tokens=16)
            engine.scheduler.waiting.append(sequence)
            (_, count), = engine.scheduler.schedule(0.0).prefill
            prefill_stretch(engine, sequence, count)
            engine.scheduler.prefilling.remove(sequence)
            sequence.pages += engine.kv.allocator.allocate(2)  # the tail is fed by hand, ahead of the scheduler
            group.append((sequence, prompt[-8:]))
        sequences = [sequence for sequence, _ in group]
        parts = []
        for at in range(0, 8, width):
            batch = engine.batches.build(sequences)
            tokens = torch.tensor([tail[at : at + width] for _, tail in group])
            logits, _ = engine.target.window(tokens, batch)
            if width > 1:
                engine.target.commit(batch, torch.full((len(group),), width - 1))
            parts.append(logits)
            for sequence in sequences:
                sequence.length += width
        out.append(torch.cat(parts, 1))
        for sequence in sequences:
            engine.scheduler.remove(sequence)
    return torch.cat(out)


def check(weights, ids):
    with boot(weights, max_running_requests=16) as engine:
        expected = window_logits(engine, ids, 1, 1)
        assert torch.equal(window_logits(engine, ids, 1, len(ids)), expected)
    for width in (2, 4, 8):
        with boot(weights, "dspark", width - 1, max_running_requests=16) as engine:
            for rows in (1, 3, len(ids)):
                assert torch.equal(window_logits(engine, ids, width, rows), expected), f"W={width}, batch {rows}"


def test_random_model(tiny):
    check(tiny, prompts(16, shortest=12))


@pytest.mark.parametrize("content", CLASSES)
def test_trained_model(shipped, content):
    check(shipped, held_out(Tokenizer.load(shipped), content, 12, length=40))
