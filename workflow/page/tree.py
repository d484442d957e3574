"""What a source of content is once it is parsed: texts, splice calls and blocks, and ways to walk them."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field

VERDICTS = ("holds", "fails", "unresolved", "missing")
FUNCTIONS = {"n": (1, 2), "between": (2, 2), "word": (1, 1), "ordinal": (1, 1), "plural": (1, 1), "label": (1, 1), "sec": (1, 1), "ref": (1, 1), "lit": (1, 1),
             "term": (1, 1), "plate": (1, 1), "table": (1, 1)}  # fmt: skip
"""Splice functions and how many arguments they take; plural also takes its forms by name."""


def fits(function: str, count: int, named: bool) -> bool:
    """Whether a splice function takes so many arguments, and forms by name."""
    least, most = FUNCTIONS[function]
    return least <= count <= most and (not named or function == "plural")


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Call:
    """One splice call."""

    function: str
    args: tuple[str, ...]
    line: int
    forms: dict[str, str] = field(default_factory=dict)
    """plural's one=, few=, other="""


@dataclass(frozen=True)
class Claim:
    key: str
    variants: dict[str, tuple[Node, ...]]
    line: int


@dataclass(frozen=True)
class Block:
    """absent, only or define."""

    tag: str
    name: str
    body: tuple[Node, ...]
    line: int


Node = Text | Call | Claim | Block


@dataclass(frozen=True)
class Use:
    """A splice call with the blocks around it, whether its variant is chosen or not."""

    call: Call
    claim: str | None = None
    verdict: str | None = None
    absent: bool = False


def uses(tree: tuple[Node, ...], claim: str | None = None, verdict: str | None = None, absent: bool = False) -> Iterator[Use]:
    """Every call of a tree, in all variants."""
    for node in tree:
        match node:
            case Call():
                yield Use(node, claim, verdict, absent)
            case Claim():
                for name, body in node.variants.items():
                    yield from uses(body, node.key, name, absent)
            case Block():
                yield from uses(node.body, claim, verdict, absent or node.tag == "absent")


def running(tree: Iterable[Node], but: str) -> Iterator[str]:
    """Text that no verdict governs, without that of blocks of the tag `but`."""
    for node in tree:
        if isinstance(node, Text):
            yield node.text
        elif isinstance(node, Block) and node.tag != but:
            yield from running(node.body, but)


def claims(tree: tuple[Node, ...]) -> Iterator[Claim]:
    """Every claim block of a tree."""
    for node in tree:
        if isinstance(node, Claim):
            yield node
        elif isinstance(node, Block):
            yield from claims(node.body)
