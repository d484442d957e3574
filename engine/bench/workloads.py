"""Prompts: real held-out text by content class, the same for every arm that is compared.

Which prompts a repeat gets is a hash of campaign, workload and repeat; neither lane nor block size, load or input length
enters it. Prompts of fixed length are the last tokens before a fixed point of a document, so that a longer prompt is a
shorter one with more history in front. `datasets.py` has the kinds that are not plain held-out text.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from engine.bench.stages import CONTENTS
from engine.config import ConfigError

HELDOUT = Path(__file__).resolve().parent.parent / "heldout"
# Distance between two places of a document where a prompt may end, in tokens.
STRIDE = 96


@dataclass(frozen=True)
class Workload:
    """What a set of prompts is drawn from.

    `reach` is the longest input length that shares these places; `content` may be `mixed`, a round robin over the classes.
    """

    name: str
    content: str
    num_prompts: int
    reach: int
    dataset: str = "heldout"
    """heldout, random-ids, shared-prefix, fixed or histories."""
    range_ratio: float = 1.0
    """Lengths are uniform in [ratio x ISL, ISL]; 1 gives every prompt the asked length."""
    gsp_num_groups: int = 0
    gsp_system_prompt_len: int = 0
    """Tokens that the prompts of one group share; the rest of the input length is the question. Names are SGLang's."""
    file: str | None = None
    """Prompts of dataset `fixed`, separated by a line `---`."""
    room: int = 0
    """Tokens of the document's own text that follow each place: what a history goes on with."""
    histories: int = 0
    """Dataset `histories`: of each place that the same workload gives as held-out text, how many; `num_prompts` counts all of them."""
    stride: int = 0
    """Dataset `histories`: tokens of the true continuation between one history and the next."""
    planned: int = 0
    """Of a set that may grow while it is measured: the prompts it begins with; 0: it does not grow."""
    repeats: int = 0
    """Of a set that may grow: its repeats, over which the places behind the planned ones are shared out."""

    @property
    def exact(self) -> bool:
        """Every prompt has the asked input length."""
        natural = self.dataset == "fixed" or (self.dataset == "heldout" and self.content in ("arith", "mixed"))
        return not natural and self.range_ratio == 1.0

    def parts(self) -> list[str]:
        """Content class of each prompt, in order."""
        return (
            [CONTENTS[i % len(CONTENTS)] for i in range(self.num_prompts)] if self.content == "mixed" else [self.content] * self.num_prompts
        )


@dataclass(frozen=True)
class Prompt:
    prompt_id: str
    """Document and the place where the prompt ends; the same in every arm."""
    content: str
    ids: tuple[int, ...]
    """[isl], <bos> first."""


@dataclass(frozen=True)
class Place:
    """A document of the held-out text and the token before which a prompt ends."""

    document: str
    end: int
    ids: tuple[int, ...]


def seed_of(campaign: str, seed: int, workload: str, content: str, repeat: int) -> int:
    """Seed of one prompt set, below 2**31."""
    text = f"{campaign}|{seed}|{workload}|{content}|{repeat}"
    return int.from_bytes(hashlib.sha256(text.encode("utf8")).digest()[:4], "big") >> 1


class HeldOut:
    """The held-out text, tokenised when first asked for."""

    def __init__(self, encode: Callable[[str], Sequence[int]], bos: int, folder: Path = HELDOUT, vocab: int = 4096) -> None:
        self.encode = encode
        self.bos = bos
        self.folder = folder
        self.vocab = vocab
        self._documents: dict[str, list[tuple[str, tuple[int, ...]]]] = {}

    @classmethod
    def from_weights(cls, weights: Path, bos: int = 1) -> HeldOut:
        from engine.model.tokenizer import Tokenizer

        tokenizer = Tokenizer.load(weights)
        return cls(lambda text: tokenizer.encode(text, bos=False), bos)

    def documents(self, content: str) -> list[tuple[str, tuple[int, ...]]]:
        """(id, token ids) of a class. Arithmetic documents are the questions alone."""
        if content not in self._documents:
            path = self.folder / f"{content}.jsonl"
            try:
                lines = path.read_text("utf8").splitlines()
            except OSError as error:
                raise ConfigError(f"{path}: held-out text: {error.strerror}") from None
            found = []
            for number, line in enumerate(lines, start=1):
                try:
                    record = json.loads(line)
                    found.append((record["id"], tuple(self.encode(record["prompt"] if content == "arith" else record["text"]))))
                except (json.JSONDecodeError, KeyError) as error:
                    raise ConfigError(
                        f"{path}: line {number}: expected an object with id and {'prompt' if content == 'arith' else 'text'}: {error}"
                    ) from None
            self._documents[content] = found
        return self._documents[content]

    def places(self, content: str, reach: int, room: int = 0) -> list[Place]:
        """Where prompts of a class may end, with `room` tokens of text behind. Arithmetic prompts are whole questions whatever these say."""
        if content == "arith":
            return [Place(name, len(ids), ids) for name, ids in self.documents(content)]
        return [Place(name, end, ids) for name, ids in self.documents(content) for end in range(reach, len(ids) - room, STRIDE)]

    def prompts(self, workload: Workload, isl: int, *, campaign: str, seed: int, repeat: int) -> list[Prompt]:
        """The prompt set of one repeat, [num_prompts]. Repeats do not share places until these run out."""
        if isl > workload.reach:
            raise ConfigError(f"workload {workload.name}: input length {isl} is above its reach of {workload.reach} tokens")
        if workload.dataset != "heldout":
            from engine.bench.datasets import drawn

            return drawn(self, workload, isl, campaign=campaign, seed=seed, repeat=repeat)
        parts = workload.parts()
        drawn: dict[str, list[Place]] = {}
        for content in dict.fromkeys(parts):
            order = seed_of(campaign, seed, workload.name, content, 0)
            drawn[content] = self.draw(workload, content, parts.count(content), order, repeat)
        key = seed_of(campaign, seed, workload.name, "length", repeat)
        lengths = [ranged(isl, workload.range_ratio, key, number) for number in range(len(parts))]
        return [self.prompt(content, drawn[content].pop(0), length) for content, length in zip(parts, lengths, strict=True)]

    def most(self, workload: Workload) -> int:
        """Prompts of one class that a repeat can have without having one twice."""
        return len(self.places(workload.content, workload.reach, workload.room))

    def draw(self, workload: Workload, content: str, count: int, order: int, repeat: int) -> list[Place]:
        """`count` places of a class for one repeat, in the order that the seed `order` decides."""
        places = sorted(self.places(content, workload.reach, workload.room), key=lambda place: shuffle_key(order, place))
        if len(places) < count:
            raise ConfigError(f"{self.folder / content}.jsonl: {len(places)} prompts of {workload.reach} tokens, {count} are asked for")
        numbers = growing(workload, len(places), repeat) if workload.planned else [(repeat * count + i) % len(places) for i in range(count)]
        return [places[number] for number in numbers[:count]]

    def prompt(self, content: str, place: Place, isl: int) -> Prompt:
        body = place.ids if content == "arith" else place.ids[place.end - isl + 1 : place.end]
        return Prompt(f"{place.document}@{place.end}", content, (self.bos, *body))

    @cached_property
    def warmup_ids(self) -> tuple[int, ...]:
        """Ids of one long document for warm-up; no measured prompt starts with them."""
        return max((ids for _, ids in self.documents("en")), key=len)[::-1]


def growing(workload: Workload, places: int, repeat: int) -> list[int]:
    """Numbers of all places in the order in which a repeat of a set that may grow takes them, however far it grows.

    First its own planned ones, where a set that does not grow has them; then its share of those that no repeat planned; the other
    repeats' only when these run out, from the end that they reach last.
    """
    first = [(repeat * workload.planned + i) % places for i in range(workload.planned)]
    own = range(workload.repeats * workload.planned + repeat, places, workload.repeats)
    return list(dict.fromkeys((*first, *own, *reversed(range(places)))))


def ranged(isl: int, ratio: float, key: int, number: int) -> int:
    """Length of one prompt, uniform in [ratio x isl, isl] and at least 2; the same in every arm and at every load."""
    if ratio >= 1.0:
        return isl
    least = max(2, round(ratio * isl))
    draw = int.from_bytes(hashlib.sha256(f"{key}|{number}".encode()).digest()[:8], "big") / 2**64
    return least + int(draw * (isl - least + 1))


def shuffle_key(order: int, place: Place) -> bytes:
    """A fixed shuffle that does not depend on the random module's algorithm."""
    return hashlib.sha256(f"{order}|{place.document}|{place.end}".encode()).digest()
