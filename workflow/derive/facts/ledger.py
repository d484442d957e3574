"""The division over the figures of a text: what speculation was going to gain, from times that existed before it ran."""

from workflow.derive import division
from workflow.derive.ledger import acceptance
from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

BLOCKS = ("linear", "full", "moe", "head", "rest")
TOKEN = Sample(1.0, "token")
SHORT = 48
"""Steps of the short run of acceptance."""


def figure(read, name: str) -> Sample:
    """A published figure; Missing in a campaign whose text does not give it."""
    if f"figure.{name}" not in read.derivation.definitions:
        raise Missing(f"the publication gives no figure {name}")
    return read[f"figure.{name}"]


def ms(read, name: str) -> Sample:
    return figure(read, name)


def token_ms(read, name: str) -> Sample:
    """Time a token of a published throughput."""
    return (TOKEN / figure(read, name)).to("ms")


def tau(read, name: str = "p") -> Sample:
    return figure(read, name) + 1


def speedup(read, decode: Sample, verify: Sample, draft: str, p: str) -> Sample:
    nothing = Sample(0.0, "ms")
    return division.speedup(tau(read, p), decode, nothing, ms(read, draft), verify, nothing)


@fact("ledger.decode_ms", kind="duration", unit="ms", status="computed")
def decode(read):
    """1 / throughput of plain decoding"""
    return token_ms(read, "plain_tok_s")


@fact("ledger.verify_ms", kind="duration", unit="ms")
def verify(read):
    """one verification by wall clock, as published"""
    return ms(read, "t_verify_ms")


@fact("ledger.{side}_rate", kind="rate", unit="token/s", side=("plain", "speculative"))
def rate(read, side):
    """published throughput without speculation, or with it"""
    return figure(read, "plain_tok_s" if side == "plain" else "spec_tok_s")


@fact("ledger.predicted", kind="rate", unit="token/s", status="computed")
def predicted(read):
    """(1 + p) / (T_verify + T_draft)"""
    return tau(read) * TOKEN / (ms(read, "t_verify_ms") + ms(read, "t_draft_ms"))


@fact("ledger.gap", kind="percent", unit="percent", status="computed", prediction=True)
def gap(read):
    """measured / predicted throughput - 1"""
    return figure(read, "spec_tok_s") / read["ledger.predicted"] - 1


@fact("ledger.slowdown", kind="percent", unit="percent")
def slowdown(read):
    """1 - throughput with speculation / throughput without"""
    return 1 - figure(read, "spec_tok_s") / figure(read, "plain_tok_s")


@fact("ledger.break_even_ms", kind="duration", unit="ms", status="computed")
def break_even(read):
    """(1 + p) T_decode - T_draft"""
    nothing = Sample(0.0, "ms")
    return division.break_even_verify(tau(read), read["ledger.decode_ms"], nothing, ms(read, "t_draft_ms"), nothing)


@fact("ledger.break_even_steps", kind="ratio", status="computed")
def break_even_steps(read):
    """break-even verification / T_decode"""
    return read["ledger.break_even_ms"] / read["ledger.decode_ms"]


@fact("ledger.verify_steps.{clock}", kind="ratio", status="computed", clock=("wall", "gpu"))
def verify_steps(read, clock):
    """T_verify by that clock / T_decode by wall clock"""
    return ms(read, "t_verify_ms" if clock == "wall" else "t_verify_gpu_ms") / read["ledger.decode_ms"]


@fact("ledger.bound", kind="ratio", status="computed")
def bound(read):
    """2 T_decode / (2 T_decode + T_draft): every guess right, two forwards to verify"""
    graph = token_ms(read, "july_graph_tok_s")
    return 2 * graph / (2 * graph + ms(read, "july_draft_ms"))


@fact("ledger.blocks_ms", kind="duration", unit="ms", status="computed")
def blocks(read):
    """blocks of a step, timed one by one and added up"""
    return sum((ms(read, f"july_{block}_ms") for block in BLOCKS), Sample(0.0, "ms"))


@fact("ledger.graph_ms", kind="duration", unit="ms", status="computed")
def graph(read):
    """1 / throughput of the whole graph"""
    return token_ms(read, "july_graph_tok_s")


@fact("ledger.left_out", kind="percent", unit="percent", status="computed")
def left_out(read):
    """whole step / sum of its blocks - 1"""
    return read["ledger.graph_ms"] / read["ledger.blocks_ms"] - 1


@fact("ledger.mixed", kind="ratio", status="computed")
def mixed(read):
    """(1 + p) T_graph / (2 T_blocks + T_draft): verification by the blocks, plain decoding by the graph"""
    verify = 2 * read["ledger.blocks_ms"]
    return speedup(read, read["ledger.graph_ms"], verify, "july_draft_ms", "july_p")


@fact("ledger.one_ruler", kind="ratio", status="computed")
def one_ruler(read):
    """(1 + p) T_graph / (2 T_graph + T_draft)"""
    verify = 2 * read["ledger.graph_ms"]
    return speedup(read, read["ledger.graph_ms"], verify, "july_draft_ms", "july_p")


@fact("ledger.short.{end}", kind="probability", status="computed", end=("lo", "hi"))
def short(read, end):
    """score interval of the acceptance over the short run, every step an independent trial"""
    interval = acceptance.wilson(figure(read, "p_48").value, SHORT)
    return interval[("lo", "hi").index(end)]


@fact("ledger.short.half", kind="points", unit="percent", status="computed")
def half(read):
    """half of the textbook interval of the acceptance over the short run"""
    return acceptance.wald(figure(read, "p_48").value, SHORT)


@fact("ledger.peer_gain", kind="ratio")
def peer_gain(read):
    """throughput of the other engine / plain decoding of the author's"""
    return figure(read, "peer_tok_s") / figure(read, "plain_tok_s")


@fact("ledger.peer_verify_share", kind="ratio", status="computed")
def peer_share(read):
    """longest whole round of the other engine / verification of as many positions in the author's"""
    return ms(read, "peer_round_ms_high") / ms(read, "own_verify8_ms")
