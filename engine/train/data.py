"""Stage ``data``: tokenizer, packed training tokens and the shipped held-out files.

A training document is ``<bos> text <eos>``; the documents of a class lie one after the
other in one ``uint16`` array, with the positions of the ``<bos>`` tokens beside it.
"""

from __future__ import annotations

import json
import os
import random
from pathlib import Path

import numpy as np
from tokenizers import Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

from engine.train import arithmetic, corpora

VOCABULARY = 4096
SPECIAL = ("<pad>", "<bos>", "<eos>", "<mask>")
PAD, BOS, EOS, MASK = range(4)
# share of the training rows of each class
MIX = {"arith": 0.40, "code": 0.24, "en": 0.20, "zh": 0.16}
# loss weights inside a problem: a question is drawn at random, only its answer can be learned
QUESTION, ANSWER = 0.1, 2.0
TRAIN_PROBLEMS = 160_000
HELD_OUT_PROBLEMS = 400


def train_tokenizer(texts: list[str]) -> Tokenizer:
    """Byte-level BPE of ``VOCABULARY`` entries; every decimal digit is a token of its own."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.Sequence(
        [
            pre_tokenizers.Split(Regex(r"\d"), "isolated"),
            pre_tokenizers.ByteLevel(add_prefix_space=False),
        ]
    )
    tokenizer.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=VOCABULARY,
        special_tokens=list(SPECIAL),
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train_from_iterator(texts, trainer)
    return tokenizer


def pack(tokenizer: Tokenizer, texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """(tokens uint16 [N], positions of the documents' <bos> int64 [documents])."""
    parts: list[np.ndarray] = []
    starts: list[int] = []
    size = 0
    for first in range(0, len(texts), 512):
        for encoding in tokenizer.encode_batch(
            texts[first : first + 512], add_special_tokens=False
        ):
            starts.append(size)
            parts.append(np.array([BOS, *encoding.ids, EOS], dtype=np.uint16))
            size += len(parts[-1])
    return np.concatenate(parts), np.array(starts, dtype=np.int64)


def answer_mask(tokenizer: Tokenizer, problems: list[arithmetic.Problem]) -> np.ndarray:
    """bool [N] over the packed problems: the tokens of completions and their <eos>."""
    parts = []
    for first in range(0, len(problems), 512):
        some = problems[first : first + 512]
        heads = tokenizer.encode_batch([p.prompt for p in some], add_special_tokens=False)
        wholes = tokenizer.encode_batch(
            [p.prompt + p.completion for p in some], add_special_tokens=False
        )
        for head, whole in zip(heads, wholes, strict=True):
            mask = np.ones(len(whole.ids) + 2, dtype=bool)
            mask[: len(head.ids) + 1] = False
            parts.append(mask)
    return np.concatenate(parts)


def write_text(path: Path, text: str) -> None:
    """Write beside the target and move, so that a reader never sees half a file."""
    beside = path.with_name(path.name + ".part")
    beside.write_text(text, "utf-8")
    os.replace(beside, path)


def build(work: Path, weights: Path, held_out: Path, keep_tokenizer: bool = False) -> None:
    """Read the sources and write tokens into ``work``, tokenizer and held-out files.

    ``keep_tokenizer``: the one in ``weights`` is used, as weights that go on training need.
    """
    for folder in (work, weights, held_out):
        folder.mkdir(parents=True, exist_ok=True)
    rng = random.Random(0)
    training = arithmetic.problems(1, TRAIN_PROBLEMS, held_out=False)
    checking = arithmetic.problems(2, HELD_OUT_PROBLEMS, held_out=True)
    texts = {"arith": [p.prompt + p.completion for p in training]}
    held: dict[str, list[str]] = {"arith": [p.prompt + p.completion for p in checking]}
    lines = [
        json.dumps(
            {"id": f"arith-{i:03d}", "prompt": p.prompt, "completion": p.completion,
             "answer": p.answer}
        )
        for i, p in enumerate(checking)
    ]
    write_text(held_out / "arith.jsonl", "\n".join(lines) + "\n")
    for content, documents in corpora.all_documents().items():
        train, checked = corpora.split(content, documents)
        rng.shuffle(train)
        texts[content] = [d.text for d in train]
        held[content] = [d.text for d in checked]
        lines = [
            json.dumps(
                {"id": f"{content}-{i:03d}", "source": d.source, "licence": d.licence,
                 "text": d.text},
                ensure_ascii=False,
            )
            for i, d in enumerate(checked)
        ]
        write_text(held_out / f"{content}.jsonl", "\n".join(lines) + "\n")
    stored = weights / "tokenizer.json"
    if keep_tokenizer:
        tokenizer = Tokenizer.from_file(str(stored))
    else:
        tokenizer = train_tokenizer(
            [t for c in ("code", "en", "zh") for t in texts[c]] + texts["arith"][:12_000]
        )
        tokenizer.save(str(stored))
    summary = {}
    for content in corpora.CLASSES:
        tokens, starts = pack(tokenizer, texts[content])
        answer = answer_mask(tokenizer, training) if content == "arith" else np.zeros(0, bool)
        np.savez(work / f"train_{content}.npz", tokens=tokens, starts=starts, answer=answer)
        checked_tokens, checked_starts = pack(tokenizer, held[content])
        np.savez(work / f"held_{content}.npz", tokens=checked_tokens, starts=checked_starts)
        size = sum(len(t.encode()) for t in texts[content])
        longest = int(np.diff(np.append(checked_starts, len(checked_tokens))).max())
        summary[content] = {
            "documents": len(texts[content]),
            "bytes": size,
            "tokens": len(tokens),
            "bytes_per_token": round(size / len(tokens), 3),
            "held_out_documents": len(held[content]),
            "held_out_bytes": sum(len(t.encode()) for t in held[content]),
            "held_out_tokens": len(checked_tokens),
            "held_out_longest_tokens": longest,
        }
        print(content, json.dumps(summary[content]), flush=True)
    write_text(work / "data.json", json.dumps(summary, indent=1) + "\n")


class Rows:
    """Random training rows of ``length + 1`` tokens, one content class a row.

    Arithmetic rows always begin at a problem; text rows begin at a document one time in
    four and anywhere in the class's tokens otherwise.
    """

    def __init__(self, work: Path, seed: int, mix: dict[str, float] = MIX) -> None:
        self.rng = np.random.default_rng(seed)
        self.names = list(mix)
        self.weights = np.array([mix[n] for n in self.names]) / sum(mix.values())
        self.tokens: dict[str, np.ndarray] = {}
        self.starts: dict[str, np.ndarray] = {}
        self.answer: dict[str, np.ndarray] = {}
        for name in self.names:
            stored = np.load(work / f"train_{name}.npz")
            self.tokens[name], self.starts[name] = stored["tokens"], stored["starts"]
            self.answer[name] = stored["answer"] if "answer" in stored else np.zeros(0, bool)

    def _place(self, length: int) -> tuple[str, int]:
        """Class and first position of the next row."""
        name = self.names[self.rng.choice(len(self.names), p=self.weights)]
        tokens, starts = self.tokens[name], self.starts[name]
        last = len(tokens) - length - 1
        if name == "arith" or self.rng.random() < 0.25:
            at = min(int(starts[self.rng.integers(len(starts))]), last)
        else:
            at = int(self.rng.integers(last))
        return name, at

    def row(self, length: int) -> np.ndarray:
        """One row, int64 [length + 1]."""
        name, at = self._place(length)
        return self.tokens[name][at : at + length + 1].astype(np.int64)

    def batch(self, rows: int, length: int) -> tuple[np.ndarray, np.ndarray]:
        """(ids int64 [rows, length + 1], loss weights float32 [rows, length] of ids[1:])."""
        ids = np.empty((rows, length + 1), dtype=np.int64)
        weights = np.ones((rows, length), dtype=np.float32)
        for i in range(rows):
            name, at = self._place(length)
            ids[i] = self.tokens[name][at : at + length + 1]
            if name == "arith":
                mask = self.answer[name][at + 1 : at + length + 1]
                weights[i] = np.where(mask, ANSWER, QUESTION)
        return ids, weights
