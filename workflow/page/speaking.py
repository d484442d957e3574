"""Which variant speaks in a campaign, and what a text asks for that the campaign lacks.

A verdict is not always enough: a claim may be undecided before its evidence was complete, and its words then state a fact that does not exist. Such a
variant gives way to `missing`; a fact that is missing outside a claim takes its section (or its text) with it.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from workflow.page.lookup import Lookup
from workflow.page.tree import Block, Call, Claim, Node, uses

OF_FACTS = {"n", "between", "word", "ordinal", "plural", "label"}
"""Splice functions that ask for facts."""


def keys_of(call: Call) -> tuple[str, ...]:
    """The fact keys that a call asks for."""
    if call.function not in OF_FACTS:
        return ()
    return call.args if call.function == "between" else call.args[:1]


def absent(keys: Iterable[str], lookup: Lookup) -> list[str]:
    """Those of the keys whose facts are known and missing."""
    return [key for key in keys if lookup.known(key) and lookup.fact(key).missing]


def speaks(claim: Claim, lookup: Lookup) -> str:
    """The variant that a campaign shows. Raises UnknownKey."""
    verdict = lookup.claim(claim.key).verdict
    asked = (key for use in uses(claim.variants[verdict]) for key in keys_of(use.call))
    return "missing" if absent(asked, lookup) else verdict


def lacking(tree: Iterable[Node], lookup: Lookup, campaign: str) -> list[str]:
    """Keys that a text would state in this campaign although their facts are missing, in order and once each."""
    return list(dict.fromkeys(absent(_spoken(tree, lookup, campaign), lookup)))


def _spoken(tree: Iterable[Node], lookup: Lookup, campaign: str) -> Iterator[str]:
    for node in tree:
        match node:
            case Call():
                yield from keys_of(node)
            case Claim(key=key) if key in lookup.values.claims:
                yield from _spoken(node.variants[speaks(node, lookup)], lookup, campaign)
            case Block(tag="only", name=name) if name != campaign:
                pass
            case Block(tag=tag) if tag != "absent":
                yield from _spoken(node.body, lookup, campaign)
