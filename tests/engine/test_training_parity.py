"""The inference forward against the training module: another implementation, in float32."""

from __future__ import annotations

import pytest
import torch

from engine.config import WEIGHTS, SamplingParams
from engine.model.tokenizer import Tokenizer
from engine.types import Request

from .conftest import CLASSES, boot, held_out


@pytest.mark.parametrize("content", CLASSES)
def test_logits_agree_with_training(content):
    """bf16 rounding only: close logits, and the same best token wherever training's margin exceeds the error."""
    model = pytest.importorskip("engine.train.model")
    path = WEIGHTS / "target.safetensors"
    if not path.is_file():
        pytest.skip("no trained weights in engine/weights")
    ids = held_out(Tokenizer.load(WEIGHTS), content, 1, length=70)[0]
    with torch.inference_mode():
        expected = model.load_target(path)(torch.tensor([ids]))[0][0]
    with boot(WEIGHTS) as engine:
        prefill, decode = logits_both_ways(engine, ids, len(ids) // 2)
    half = len(ids) // 2
    for ours, rows in ((prefill, expected[-1:]), (decode, expected[half:])):
        error = (ours.float() - rows).abs()
        spread = rows.std()
        assert error.max() < 0.25 * spread and error.mean() < 0.03 * spread
        top = rows.topk(2).values
        sure = (top[:, 0] - top[:, 1]) > 2 * error.max()
        assert torch.equal(ours.float().argmax(-1)[sure], rows.argmax(-1)[sure])


@torch.inference_mode()
def logits_both_ways(engine, ids, cut):
    """Logits of the last position by prefill alone, and of positions from `cut` on by decode after a short prefill."""
    from engine.prompts import prefill_stretch
    from engine.sequence import Sequence
    from engine.types import RequestRecord

    def begin(prompt):
        sequence = Sequence(Request("x", prompt), RequestRecord("x", len(prompt)), max_tokens=64)
        engine.scheduler.waiting.append(sequence)
        (_, count), = engine.scheduler.schedule(0.0).prefill
        return sequence, prefill_stretch(engine, sequence, count)

    sequence, last = begin(ids)
    engine.scheduler.remove(sequence)
    sequence, _ = begin(ids[:cut])
    # the rest is fed by hand, ahead of the scheduler
    sequence.pages += engine.kv.allocator.allocate(engine.kv.pages_for(len(ids) + 1) - len(sequence.pages) + 1)
    rows = []
    for token in ids[cut:]:
        sequence.anchor = token
        batch = engine.batches.build([sequence])
        rows.append(engine.target.window(batch.anchors[:, None], batch)[0][0, 0])
        sequence.length += 1
    engine.scheduler.remove(sequence)
    return last[None], torch.stack(rows)


@pytest.mark.parametrize("lane, gamma", [("dspark", 3), ("dspark", 7), ("dflash", 3), ("mtp", 1)])
def test_drafters_agree_with_training_in_every_round(lane, gamma):
    """Draft logits in mid-generation against the training module over the whole text so far.

    A drafter that lost context on the way (prompt, accepted drafts, the token before the anchor) would still
    give lossless text; only its logits show it.
    """
    drafts = pytest.importorskip("engine.train.draft_model")
    models = pytest.importorskip("engine.train.model")
    if not (WEIGHTS / f"{lane}.safetensors").is_file():
        pytest.skip(f"no trained {lane} drafter")
    target = models.load_target(WEIGHTS / "target.safetensors")
    head = getattr(drafts, f"load_{lane}")(WEIGHTS / f"{lane}.safetensors")
    prompt = held_out(Tokenizer.load(WEIGHTS), "code", 1, length=37)[0]
    seen = []
    with boot(WEIGHTS, lane, gamma, chunked_prefill_size=16) as engine:
        # the block drafters have their logits from one method, MTP from the target with a norm of its own
        owner, name = (engine.target, "logits") if lane == "mtp" else (engine.drafter, "_logits")
        base = getattr(owner, name)

        def record(*arguments):
            logits = base(*arguments)
            if lane != "mtp" or arguments[-1] is engine.drafter.norm:
                sequence = engine.scheduler.running[0]
                seen.append(((*prompt, *sequence.record.token_ids), logits.float().view(gamma, -1)))
            return logits

        setattr(owner, name, record)
        result = engine.generate([Request("a", prompt, SamplingParams(max_tokens=20, ignore_eos=True))])[0]
    assert result.accepted > 0 and len(seen) == result.rounds
    for ids, ours in seen[:: max(1, len(seen) // 5)]:
        expected = training_logits(target, head, lane, ids, gamma)
        error = (ours - expected).abs()
        assert error.max() < 0.25 * expected.std() and error.mean() < 0.03 * expected.std()


@torch.inference_mode()
def training_logits(target, head, lane, ids, gamma):
    """Base logits of the draft after the last token of `ids`, in float32."""
    tokens = torch.tensor([ids])
    last, taps, _ = target.run(tokens)
    if lane == "mtp":
        return target.lm_head(head(target.embed, last[:, :-1], tokens[:, 1:]))[0, -1:]
    rows = head.blocks(target.embed, head.context(taps), tokens, torch.tensor([[len(ids) - 1]]), gamma)
    return target.lm_head(rows)[0, 0]
