"""Workloads that are not plain held-out text: random ids, shared prefixes, prompts from a file, true histories."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

from engine.bench.workloads import HeldOut, Place, Prompt, Workload, ranged, seed_of, shuffle_key
from engine.config import ConfigError
from engine.csvio import SCHEMAS

ROOT = SCHEMAS.parent.parent
# Ids below are special tokens.
FIRST_ID = 4
SEPARATOR = "---"
NONCE_TOKENS = 8


def stream(key: str, count: int, vocab: int) -> tuple[int, ...]:
    """`count` ids that a hash draws uniformly from the ordinary tokens, [count]."""
    ids: list[int] = []
    block = 0
    while len(ids) < count:
        digest = hashlib.sha256(f"{key}|{block}".encode()).digest()
        ids += [FIRST_ID + int.from_bytes(digest[i : i + 4], "big") % (vocab - FIRST_ID) for i in range(0, 32, 4)]
        block += 1
    return tuple(ids[:count])


def with_nonce(ids: tuple[int, ...], key: str, vocab: int, bos: int) -> tuple[int, ...]:
    """`NONCE_TOKENS` ids of this load between <bos> and the prompt: for a server whose cache cannot be flushed.

    The length is fixed, so that a prompt costs the same in every cell; the ids make its prefix new.
    """
    head, rest = ((bos,), ids[1:]) if ids[:1] == (bos,) else ((), ids)
    return (*head, *stream(f"nonce|{key}", NONCE_TOKENS, vocab), *rest)


def nonced(prompts: Sequence[Prompt], nonce: str, held_out: HeldOut, shared: bool) -> list[Prompt]:
    """Prompts of a load behind a nonce, each behind its own unless they are to share a prefix.

    It is in their names: outputs of equal names are compared, and after another nonce they may differ.
    """
    keys = [nonce if shared else f"{nonce}|{number}" for number in range(len(prompts))]
    return [
        replace(one, prompt_id=f"{one.prompt_id}+{nonce}", ids=with_nonce(one.ids, key, held_out.vocab, held_out.bos))
        for one, key in zip(prompts, keys, strict=True)
    ]


def without_nonce(answer: dict) -> dict:
    """An answer whose input lengths are those of the prompts that were drawn: the same for servers with and without a nonce."""
    return {**answer, "requests": [{**one, "isl": one["isl"] - NONCE_TOKENS} for one in answer["requests"]]}


def drawn(held_out: HeldOut, workload: Workload, isl: int, *, campaign: str, seed: int, repeat: int) -> list[Prompt]:
    """The prompt set of one repeat. Raises `ConfigError` for a dataset that does not exist or a shape that cannot be drawn."""
    if workload.dataset not in (*DATASETS, "histories"):
        raise ConfigError(f"workload {workload.name}: dataset {workload.dataset!r} does not exist; there are: heldout, histories, {', '.join(DATASETS)}")
    if workload.dataset == "histories":
        return histories(held_out, workload, isl, seed_of(campaign, seed, workload.name, workload.content, 0), repeat)
    key = seed_of(campaign, seed, workload.name, workload.dataset, repeat)
    return DATASETS[workload.dataset](held_out, workload, isl, key)


def random_ids(held_out: HeldOut, workload: Workload, isl: int, key: int) -> list[Prompt]:
    """Ids without meaning: no draft model was trained on such text, and their acceptance says nothing about any."""
    prompts = []
    for number in range(workload.num_prompts):
        length = ranged(isl, workload.range_ratio, key, number)
        ids = stream(f"{key}|{number}", length - 1, held_out.vocab)
        prompts.append(Prompt(f"random-{key}-{number}", "random-ids", (held_out.bos, *ids)))
    return prompts


def places(held_out: HeldOut, content: str, reach: int, key: int, count: int) -> list[Place]:
    """`count` different places of a class, in an order that a hash decides."""
    found = sorted(held_out.places(content, reach), key=lambda place: shuffle_key(key, place))
    if len(found) < count:
        raise ConfigError(f"{held_out.folder / content}.jsonl: {len(found)} places with {reach} tokens before them, {count} are asked for")
    return found[:count]


def shared_prefix(held_out: HeldOut, workload: Workload, isl: int, key: int) -> list[Prompt]:
    """Groups of prompts behind one system prompt each, in a shuffled order, all of held-out text."""
    groups, system_len = workload.gsp_num_groups, workload.gsp_system_prompt_len
    question_len = isl - system_len
    if groups < 1 or workload.num_prompts % groups or system_len < 2 or question_len < 1:
        raise ConfigError(
            f"workload {workload.name}: shared-prefix needs gsp_num_groups that divides num_prompts ({workload.num_prompts}) and"
            f" a gsp_system_prompt_len of 2 to {isl - 1}; it has {groups} and {system_len}"
        )
    content = "en" if workload.content == "mixed" else workload.content
    found = places(held_out, content, max(system_len, question_len) + 1, key, groups + workload.num_prompts)
    prompts = []
    for number in range(workload.num_prompts):
        group = number % groups
        system, question = found[group], found[groups + number]
        body = (*system.ids[system.end - system_len + 1 : system.end], *question.ids[question.end - question_len : question.end])
        # the whole prompt in its name: outputs of equal names are compared, also between repeats with other prefixes
        name = f"{system.document}@{system.end}-{system_len}+{question.document}@{question.end}"
        prompts.append(Prompt(name, content, (held_out.bos, *body)))
    return sorted(prompts, key=lambda prompt: hashlib.sha256(f"{key}|{prompt.prompt_id}".encode()).digest())


def read_prompts(path: Path) -> list[str]:
    """Texts of a prompt file. `ConfigError` names what is wrong with it."""
    try:
        text = path.read_text("utf8")
    except OSError as error:
        raise ConfigError(f"{path}: prompt file: {error.strerror}") from None
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}: prompt file: byte {error.start} is not UTF-8") from None
    parts = [part.strip("\n") for part in f"\n{text}\n".split(f"\n{SEPARATOR}\n")]
    for number, part in enumerate(parts, start=1):
        if not part.strip():
            raise ConfigError(f"{path}: prompt file: prompt {number} is empty; put text between the lines `{SEPARATOR}`")
    return parts


def fixed(held_out: HeldOut, workload: Workload, isl: int, key: int) -> list[Prompt]:
    """The prompts of a file in its order, over again when more are asked for than it has."""
    if not workload.file:
        raise ConfigError(f"workload {workload.name}: dataset fixed needs `file`, a text file with prompts between lines `{SEPARATOR}`")
    path = Path(workload.file) if Path(workload.file).is_absolute() else ROOT / workload.file
    texts = [tuple(held_out.encode(text)) for text in read_prompts(path)]
    return [
        Prompt(f"{path.name}#{number % len(texts)}", workload.content, (held_out.bos, *texts[number % len(texts)]))
        for number in range(workload.num_prompts)
    ]


def histories(held_out: HeldOut, workload: Workload, isl: int, order: int, repeat: int) -> list[Prompt]:
    """Teacher-forced: from each place at which a prompt of the same held-out workload ends, the document's own text goes on, one round after each.

    The first history of a place is that prompt itself; each further one ends `stride` true tokens later and has the same length.
    No prompt holds a token that the engine generated, so the acceptance after it is that of true text; free-running output from
    the same place drifts into loops that a draft guesses easily. `order`: seed of the class's places, as the held-out workload has it.
    """
    each, step = workload.histories, workload.stride
    if each < 1 or workload.num_prompts % each or workload.content in ("arith", "mixed") or (each - 1) * step > workload.room:
        raise ConfigError(
            f"workload {workload.name}: {workload.num_prompts} histories, {each} a place and {step} tokens apart, need a class of documents"
            f" and room for them; it has {workload.content} and {workload.room} tokens"
        )
    return [
        held_out.prompt(workload.content, replace(place, end=place.end + number * step), isl)
        for place in held_out.draw(workload, workload.content, workload.num_prompts // each, order, repeat)
        for number in range(each)
    ]


Draw = Callable[[HeldOut, Workload, int, int], list[Prompt]]
DATASETS: dict[str, Draw] = {"random-ids": random_ids, "shared-prefix": shared_prefix, "fixed": fixed}
