"""One logged round of DSpark, and what a round costs and keeps."""

from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

BLOCKS = ("draft_ms", "verify_ms", "commit_ms")


def shown_round(read) -> str:
    """The first logged round that accepted some of its drafts and refused some; else the first."""
    rows = read.trace(role="draft")
    accepted: dict[str, list[str]] = {}
    for number, taken in zip(rows.texts("round"), rows.texts("accepted")):
        accepted.setdefault(number, []).append(taken)
    mixed = [number for number, taken in accepted.items() if len(set(taken)) > 1]
    return (mixed or list(accepted))[0]


def position(read, slot: int):
    """The draft at one place of the shown round."""
    return read.trace(round=shown_round(read), role="draft", slot=slot)


@fact("dspark.rounds_traced", kind="count")
def rounds_traced(read):
    """rounds of the logged request"""
    return len(set(read.trace().texts("round")))


@fact("dspark.round.number", kind="count")
def number(read):
    """place of the shown round in the logged request, from 1: the first that accepted some of its drafts and refused some"""
    return int(shown_round(read)) + 1


@fact("dspark.round.tokens", kind="count")
def tokens(read):
    """tokens that the round gave the user"""
    return read.trace(round=shown_round(read)).read("emitted").sum()


@fact("dspark.round.drafted", kind="count")
def drafted(read):
    """drafts of the round"""
    return len(read.trace(round=shown_round(read), role="draft").texts("slot"))


@fact("dspark.round.accepted", kind="count")
def accepted(read):
    """drafts that the target accepted"""
    return read.trace(round=shown_round(read), role="draft").read("accepted").sum()


@fact("dspark.round.{block}", kind="duration", unit="ms", block=BLOCKS)
def block_time(read, block):
    """wall time of this part of the round"""
    return read.trace(round=shown_round(read), role="anchor").sum(block)


@fact("dspark.round.total_ms", kind="duration", unit="ms")
def total(read):
    """draft + verify + commit"""
    return sum((read[f"dspark.round.{block}"] for block in BLOCKS), Sample(0.0, "ms"))


@fact("dspark.{part}_share", kind="percent", unit="percent", part=("draft", "verify", "commit"))
def share(read, part):
    """mean time of this part / mean round, all contents at the block size of the concurrency sweep"""
    prefix = f"window.all.g{round(read['lanes.gamma'].value)}"
    return read[f"{prefix}.{part}_ms"] / read[f"{prefix}.step_ms"]


@fact("dspark.round.{slot}.token", kind="label")
def token(read, slot):
    """text of the draft"""
    return visible(position(read, slot).texts("text")[0])


@fact("dspark.round.{role}.token", kind="label", role=("anchor", "bonus"))
def end_token(read, role):
    """text of the token the round starts from (anchor) or the target adds itself (bonus)"""
    return visible(read.trace(round=shown_round(read), role=role).texts("text")[0])


def visible(text: str) -> str:
    if not text:
        raise Missing("the token has no text of its own")
    return text


@fact("dspark.round.{slot}.{which}", kind="probability", which=("p", "q"))
def probability(read, slot, which):
    """probability of the draft under the target (p) or the drafter (q)"""
    return position(read, slot).sum(which)


@fact("dspark.round.{slot}.accepted", kind="count")
def slot_accepted(read, slot):
    """1 accepted, 0 refused or never reached"""
    return position(read, slot).read("accepted")[0]


@fact("dspark.states_kept", kind="count", status="computed")
def states_kept(read):
    """block size + 1: one recurrent state for every position of the verify window, the committed one kept by index"""
    return int(read.trace(round=shown_round(read), role="anchor").texts("block_size")[0]) + 1


@fact("dspark.first_accept", kind="probability")
def first_accept(read):
    """share of rounds that accepted the first draft, all contents, largest block size"""
    return read["window.all.accept_at_pos.1"]


@fact("dspark.last_accept", kind="probability")
def last_accept(read):
    """share accepting the last draft among rounds that accepted all before it, all contents, largest block size"""
    return read[f"window.all.accept_at_pos.{round(read['window.widest_gamma'].value)}"]


@fact("dspark.plain_ms", kind="duration", unit="ms/step")
def plain_step(read):
    """mean plain decode step on the content of the logged request, wall clock of the engine"""
    return read[f"window.{read.trace(role='anchor').texts('content')[0]}.plain.step_ms"]
