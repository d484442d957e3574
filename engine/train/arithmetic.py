"""Generated word problems of one to three steps with a worked answer.

Every intermediate result is an integer between 0 and ``LARGEST``; products stay inside a
6 x 6 table, what is added or taken away is at most ``LARGEST_CHANGE`` and divisions are exact,
so a correct answer is checkable character by character.  Whether a problem belongs to training or to the held-out set is decided by a
hash of its question, which makes the two sets disjoint by construction.
"""

from __future__ import annotations

import hashlib
import random
import re
from dataclasses import dataclass

LARGEST = 60
LARGEST_CHANGE = 12
TABLE = 6
HELD_OUT_SHARE = 64  # one question in this many is never trained on

NAMES = (
    "Ada", "Ben", "Chloe", "Dan", "Emma", "Finn", "Grace", "Hugo", "Iris", "Jack",
    "Kira", "Leo", "Mia", "Noah", "Olga", "Paul", "Rosa", "Sam", "Tina", "Yuki",
)
ITEMS = (
    "apples", "books", "cards", "coins", "cups", "eggs", "flowers", "keys", "lemons",
    "marbles", "nuts", "pears", "pens", "plums", "shells", "stamps", "stones", "tickets",
)
BOXES = ("bags", "baskets", "boxes", "crates", "jars", "trays")


@dataclass(frozen=True)
class Problem:
    """One problem: ``prompt`` ends with ``Answer:``, ``completion`` starts with a space."""

    prompt: str
    completion: str
    answer: int

    @property
    def held_out(self) -> bool:
        digest = hashlib.sha256(self.prompt.encode()).digest()
        return digest[0] % HELD_OUT_SHARE == 0


def _start(rng: random.Random, name: str, item: str) -> tuple[str, str | None, int]:
    """First sentence, its calculation (or None) and the amount it leaves."""
    kind = rng.random()
    if kind < 0.45:
        a = rng.randint(2, 40)
        return f"{name} has {a} {item}.", None, a
    if kind < 0.75:
        a, b = rng.randint(2, TABLE), rng.randint(2, TABLE)
        box = rng.choice(BOXES)
        return (f"{name} has {a} {box} with {b} {item} in each.", f"{a} * {b} = {a * b}.", a * b)
    a, b = rng.randint(2, 40), rng.randint(2, LARGEST_CHANGE)
    return (
        f"{name} finds {a} {item} on one day and {b} on the next.",
        f"{a} + {b} = {a + b}.",
        a + b,
    )


def _change(rng: random.Random, total: int, name: str, item: str) -> tuple[str, str, int]:
    """A sentence that changes ``total``, its calculation and the new total."""
    while True:
        kind = rng.choice(("buy", "give", "lose", "share", "double", "get"))
        if kind in ("buy", "get"):
            b = rng.randint(2, LARGEST_CHANGE)
            if total + b <= LARGEST:
                text = (
                    f"{name} buys {b} more." if kind == "buy" else f"A friend brings {b} {item}."
                )
                return text, f"{total} + {b} = {total + b}.", total + b
        elif kind in ("give", "lose"):
            if total >= 3:
                b = rng.randint(2, min(LARGEST_CHANGE, total - 1))
                text = f"{name} gives away {b}." if kind == "give" else f"{name} loses {b} of them."
                return text, f"{total} - {b} = {total - b}.", total - b
        elif kind == "share":
            parts = [d for d in range(2, TABLE + 1) if total % d == 0 and total // d <= TABLE]
            if parts:
                b = rng.choice(parts)
                text = f"All of them are shared equally among {b} children, and {name} is one."
                return text, f"{total} / {b} = {total // b}.", total // b
        elif total <= TABLE:
            b = rng.randint(2, TABLE)
            text = f"Then {name} makes it {b} times as many."
            return text, f"{total} * {b} = {total * b}.", total * b


def make_problem(rng: random.Random) -> Problem:
    """Draw one problem with one to three calculations."""
    name, item = rng.choice(NAMES), rng.choice(ITEMS)
    steps = rng.choices((1, 2, 3), weights=(3, 4, 3))[0]
    text, calculation, total = _start(rng, name, item)
    sentences = [text]
    work = [] if calculation is None else [calculation]
    while len(work) < steps:
        text, calculation, total = _change(rng, total, name, item)
        sentences.append(text)
        work.append(calculation)
    question = f"How many {item} does {name} have?"
    return Problem(
        prompt=f"Question: {' '.join(sentences)} {question}\nAnswer:",
        completion=f" {' '.join(work)} The answer is {total}.\n",
        answer=total,
    )


def problems(seed: int, count: int, held_out: bool) -> list[Problem]:
    """``count`` distinct problems of one side of the split, the same for the same seed."""
    rng = random.Random(seed)
    seen: set[str] = set()
    found: list[Problem] = []
    while len(found) < count:
        problem = make_problem(rng)
        if problem.held_out == held_out and problem.prompt not in seen:
            seen.add(problem.prompt)
            found.append(problem)
    return found


def read_answer(text: str) -> int | None:
    """The integer of the first ``The answer is N.`` in ``text``, or None."""
    match = re.search(r"The answer is (\d+)\.", text)
    return int(match.group(1)) if match else None
