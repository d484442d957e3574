"""Stage ``gate``: exact answers on held-out word problems, greedy, from shipped weights."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path

import torch
from tokenizers import Tokenizer

from engine.train.arithmetic import read_answer
from engine.train.data import BOS, EOS
from engine.train.generate import generate
from engine.train.model import Target

LONGEST_ANSWER = 56


@dataclass(frozen=True)
class GateScore:
    """Counts over ``problems``: right answer, whole worked text right, an answer at all."""

    problems: int
    exact: int
    whole_text: int
    in_format: int

    def to_dict(self) -> dict[str, int]:
        return asdict(self)


def score(model: Target, tokenizer: Tokenizer, path: Path, count: int) -> GateScore:
    """Greedy completions of the first ``count`` held-out problems."""
    problems = [json.loads(line) for line in path.read_text("utf-8").splitlines()[:count]]
    groups: dict[int, list[tuple[list[int], dict]]] = {}
    for problem in problems:
        ids = [BOS, *tokenizer.encode(problem["prompt"], add_special_tokens=False).ids]
        groups.setdefault(len(ids), []).append((ids, problem))
    exact = whole = formatted = 0
    for length, group in sorted(groups.items()):
        prompts = torch.tensor([ids for ids, _ in group])
        out = generate(model, prompts, LONGEST_ANSWER, stop=EOS)[:, length:].tolist()
        for row, (_, problem) in zip(out, group, strict=True):
            text = tokenizer.decode(row[: row.index(EOS)] if EOS in row else row)
            answer = read_answer(text)
            exact += answer == problem["answer"]
            whole += text == problem["completion"]
            formatted += answer is not None
    return GateScore(len(problems), exact, whole, formatted)
