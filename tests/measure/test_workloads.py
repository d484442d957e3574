from __future__ import annotations

import itertools
import json
from pathlib import Path

import pytest

from engine.bench.workloads import STRIDE, HeldOut, Workload
from engine.config import ConfigError


@pytest.fixture
def text(tmp_path: Path) -> HeldOut:
    """Documents whose tokens are their own indices, so that a prompt shows where it was cut."""
    for content in ("code", "en", "zh"):
        lines = [json.dumps({"id": f"{content}-{i}", "text": f"{i} 4000"}) for i in range(3)]
        (tmp_path / f"{content}.jsonl").write_text("\n".join(lines))
    problems = [json.dumps({"id": f"arith-{i}", "prompt": f"{i} {20 + i}"}) for i in range(12)]
    (tmp_path / "arith.jsonl").write_text("\n".join(problems))

    def encode(words: str) -> list[int]:
        start, size = map(int, words.split())
        return [start * 10_000 + i for i in range(size)]

    return HeldOut(encode, bos=1, folder=tmp_path)


def draw(text: HeldOut, workload: Workload, isl: int, repeat: int = 0, seed: int = 0, campaign: str = "local") -> list:
    return text.prompts(workload, isl, campaign=campaign, seed=seed, repeat=repeat)


def test_prompts_are_fixed_by_campaign_workload_and_repeat(text: HeldOut) -> None:
    workload = Workload("window", "code", 4, 128)
    first = draw(text, workload, 128)
    assert first == draw(text, workload, 128)
    assert len({prompt.prompt_id for prompt in first}) == 4
    assert all(len(prompt.ids) == 128 and prompt.ids[0] == 1 for prompt in first)
    assert first != draw(text, workload, 128, campaign="other")
    assert first != draw(text, workload, 128, seed=1)


def test_repeats_share_no_place(text: HeldOut) -> None:
    workload = Workload("window", "code", 4, 128)
    ids = [prompt.prompt_id for repeat in range(5) for prompt in draw(text, workload, 128, repeat)]
    assert len(set(ids)) == 20


def test_input_lengths_are_nested_by_suffix(text: HeldOut) -> None:
    workload = Workload("isl", "code", 3, 1024)
    ladder = [draw(text, workload, isl) for isl in (64, 256, 1024)]
    for short, long in itertools.pairwise(ladder):
        for a, b in zip(short, long, strict=True):
            assert a.prompt_id == b.prompt_id
            assert b.ids[-(len(a.ids) - 1) :] == a.ids[1:]


def test_mixed_is_a_round_robin(text: HeldOut) -> None:
    prompts = draw(text, Workload("search", "mixed", 6, 64), 64)
    assert [prompt.content for prompt in prompts] == ["arith", "code", "en", "zh", "arith", "code"]


def test_arithmetic_keeps_whole_questions(text: HeldOut) -> None:
    for prompt in draw(text, Workload("window", "arith", 3, 128), 128):
        assert 21 <= len(prompt.ids) <= 32


def test_too_long_a_reach_is_refused(text: HeldOut) -> None:
    assert 4000 // STRIDE > 4
    with pytest.raises(ConfigError, match="0 prompts of 9000 tokens, 2 are asked for"):
        draw(text, Workload("isl", "code", 2, 9000), 64)


def test_missing_and_broken_text_are_named(text: HeldOut) -> None:
    (text.folder / "en.jsonl").unlink()
    (text.folder / "zh.jsonl").write_text('{"id": "zh-0"}\n')
    with pytest.raises(ConfigError, match="en.jsonl: held-out text: No such file"):
        text.documents("en")
    with pytest.raises(ConfigError, match="zh.jsonl: line 1"):
        text.documents("zh")


def test_a_name_stands_for_one_prompt_in_every_dataset(text: HeldOut, tmp_path: Path) -> None:
    """Outputs are compared by name and length, so a name that two prompts share would accuse an engine that is right."""
    (tmp_path / "prompts.txt").write_text("0 40\n---\n1 40")
    shared = {"dataset": "shared-prefix", "gsp_num_groups": 2}
    workloads = [
        Workload("a", "code", 8, 192),
        Workload("b", "mixed", 8, 192),
        Workload("c", "en", 16, 192, **shared, gsp_system_prompt_len=64),
        Workload("d", "en", 16, 192, **shared, gsp_system_prompt_len=96),
        Workload("e", "en", 8, 192, dataset="random-ids"),
        Workload("f", "en", 4, 192, dataset="fixed", file=str(tmp_path / "prompts.txt")),
        Workload("g", "zh", 16, 192, dataset="histories", room=8, histories=8, stride=1),
    ]
    found: dict[tuple[str, int], tuple[int, ...]] = {}
    for workload, repeat in itertools.product(workloads, range(12)):
        for prompt in draw(text, workload, 128, repeat):
            assert found.setdefault((prompt.prompt_id, len(prompt.ids)), prompt.ids) == prompt.ids
