"""Many claims at once: a p value for each headline claim that rests on paired log ratios, and all of them adjusted together (Holm)."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from workflow.derive.evaluate import split
from workflow.derive.facts.search import aa_logs, confirmation
from workflow.derive.headline import CONFIRMED, GROUPS, TESTED
from workflow.derive.paired import Paired, holm, spread
from workflow.derive.reader import ClaimRead, Unresolved
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.stats import BOOTS_SHOWN


@dataclass(frozen=True)
class Margin:
    """What a claim stands by, of all its boots and of each alone."""

    value: float
    alone: tuple[float, ...]
    boots: int


def margin_of(read, claim: str) -> Margin:
    """The margin of a headline claim, with the facts that it rests on as parents."""
    derivation = read.derivation
    definition, arguments = derivation.claim_definitions[claim]
    inner = ClaimRead(derivation)
    try:
        margin, _ = split(definition.function(inner, **arguments))
    except Unresolved as error:
        raise Missing(str(error)) from None
    finally:
        read.present(inner.record.parents)
    boots = [count for parent in inner.record.parents for count in derivation.result(parent).record.boots.values()]
    if not boots or not margin.values.ndim or not math.isfinite(margin.value):
        raise Missing(f"{claim} rests on no pairs of boots")
    alone = margin.values[1 : 1 + min(*boots, BOOTS_SHOWN)]
    return Margin(margin.value, tuple(map(float, alone[np.isfinite(alone)])), min(boots))


def paired(read, claim: str) -> Paired:
    """A headline claim as a mean over boots, its spread pooled over the claims of its group, and no less than that of A/A pairs."""
    if claim == CONFIRMED:
        return confirmation(read)
    metric, group = next(one for one in GROUPS if claim in one[1])
    own, alone = margin_of(read, claim), []
    for other in group:
        try:
            alone.append(margin_of(read, other).alone)
        except Missing:
            continue
    sd, df = spread(alone, aa_logs(read, metric))
    return Paired(own.value, sd / math.sqrt(own.boots), df)


@fact("headline.{claim}.p", kind="probability", claim=TESTED)
def p_value(read, claim):
    """two-sided p of Student's t on the claim's margin over the boots; the spread is no less than the A/A pairs'"""
    found = paired(read, claim)
    if not found.known:
        raise Missing(f"nothing says how far the margin of {claim} may be off")
    return found.p


@fact("headline.{claim}.adjusted", kind="probability", claim=TESTED)
def adjusted(read, claim):
    """Holm's adjusted p over the headline claims that this campaign can judge: below 0.05 they hold together at 5 %"""
    own = read[f"headline.{claim}.p"].value
    family = [read[key].value for key in read.present(f"headline.{one}.p" for one in TESTED)]
    return holm(family)[family.index(own)]


@fact("headline.family", kind="count")
def family(read):
    """headline claims that rest on paired log ratios and that this campaign can judge"""
    return len(read.present(f"headline.{claim}.p" for claim in TESTED))


@fact("headline.resolved", kind="count")
def resolved(read):
    """headline claims whose adjusted p lies below one minus the level of the intervals"""
    keys = read.present(f"headline.{claim}.adjusted" for claim in TESTED)
    return sum(read[key].value < 1 - read.derivation.level for key in keys)
