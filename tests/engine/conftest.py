"""Small random models for the engine's tests, and the shipped weights where they are there."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from engine.config import WEIGHTS, DraftConfig, EngineConfig, ModelConfig, SamplingParams
from engine.engine import Engine
from engine.model.random_weights import write_random_weights
from engine.model.tokenizer import Tokenizer
from engine.types import Request

HELDOUT = WEIGHTS.parent / "heldout"
CLASSES = ("arith", "code", "en", "zh")

TINY = ModelConfig(
    vocab_size=64, hidden_size=64, layer_types="KKAK", num_heads=2, head_dim=32, num_kv_heads=1, intermediate_size=96,
    gate_rank=16, max_position=1024,
)
TINY_DRAFT = DraftConfig(block_size=7, markov_rank=64, target_layer_ids=(0, 2, 3))


@pytest.fixture(autouse=True, scope="session")
def one_thread():
    torch.set_num_threads(1)


@pytest.fixture(scope="session")
def tiny(tmp_path_factory) -> Path:
    """A model of four small layers whose drafters are right about half of the time."""
    return write_random_weights(tmp_path_factory.mktemp("tiny"), TINY, TINY_DRAFT, seed=3, branch=0.3, agree=True)


@pytest.fixture(scope="session")
def shipped() -> Path:
    if not (WEIGHTS / "dspark.safetensors").is_file() or not (WEIGHTS / "target.safetensors").is_file():
        pytest.skip("no trained weights in engine/weights")
    return WEIGHTS


def boot(weights: Path, lane: str = "plain", block_size: int = 1, **settings) -> Engine:
    defaults = {"max_running_requests": 8, "max_total_num_tokens": 4096, "context_length": 512, "chunked_prefill_size": 256, "radix_cache": False}
    return Engine(EngineConfig(weights=weights, lane=lane, block_size=block_size, **(defaults | settings)))


def prompts(count: int, vocab: int = 64, shortest: int = 5, seed: int = 0) -> list[tuple[int, ...]]:
    """Random prompts of different lengths, some of them across KDA chunks."""
    generator = torch.Generator().manual_seed(seed)
    return [tuple(torch.randint(4, vocab, (shortest + 9 * i,), generator=generator).tolist()) for i in range(count)]


def requests(ids: list[tuple[int, ...]], **sampling) -> list[Request]:
    params = {"max_tokens": 24, "ignore_eos": True} | sampling
    seeded = "seed" in params
    return [
        Request(f"r{i}", prompt, SamplingParams(**(params if seeded else params | {"seed": 100 + i})))
        for i, prompt in enumerate(ids)
    ]


def held_out(tokenizer: Tokenizer, content: str, count: int, length: int = 48) -> list[tuple[int, ...]]:
    """First tokens of held-out texts of one content class; arithmetic takes whole questions."""
    rows = [json.loads(line) for line in (HELDOUT / f"{content}.jsonl").read_text("utf8").splitlines()[:count]]
    if content == "arith":
        return [tokenizer.encode(row["prompt"]) for row in rows]
    return [tokenizer.encode(row["text"])[:length] for row in rows]
