"""Models that nobody trained, with the acceptance of one that was: what speculation would be worth at another size, simulated."""

from workflow.derive.registry import fact
from workflow.derive.rows import Rows
from workflow.derive.sample import Sample

MODELS = {"m25": "random-25m", "m60": "random-60m", "moe": "random-moe"}
MODES = ("eager", "fused")
LANES = ("plain", "dspark")


def tokens(read, model: str, mode: str, lane: str) -> Rows:
    """Time per token of one request; what rests on a replayed acceptance is simulated."""
    shared = {"fused_verify": "shared"} if mode == "fused" else {}
    rows = read.costs(model=MODELS[model], mode=mode, quantity="token", lane=lane, batch=1, **shared)
    if lane != "plain":
        read.record.statuses.append("simulated")
    return rows


def token_time(rows: Rows) -> Sample:
    return Sample(rows.read("min_ms").min(), "ms/token")


@fact("replayed.{model}.{mode}.{lane}.tpot_ms", kind="duration", unit="ms/token", model=tuple(MODELS), mode=MODES, lane=LANES)
def tpot_ms(read, model, mode, lane):
    """step time / tokens a request got, least visit; the speculative lane with replayed accepted counts"""
    return token_time(tokens(read, model, mode, lane))


@fact("replayed.{model}.parameters", kind="count", model=tuple(MODELS))
def parameters(read, model):
    """parameters of the model with random weights, its embedding included"""
    return read.costs(model=MODELS[model], quantity="token", lane="plain").read("parameters").max()


@fact("replayed.{model}.{mode}.tokens_per_round", kind="length", unit="token/round", model=tuple(MODELS), mode=MODES)
def tokens_per_round(read, model, mode):
    """committed tokens / rounds, as replayed"""
    rows = tokens(read, model, mode, "dspark")
    return Sample(rows.read("tokens_per_round").min(), rows.unit("tokens_per_round"))


@fact("replayed.{model}.{mode}.speedup", kind="ratio", model=tuple(MODELS), mode=MODES)
def speedup(read, model, mode):
    """time per token of plain decoding / that of rounds with replayed accepted counts, one process"""
    return read[f"replayed.{model}.{mode}.plain.tpot_ms"] / read[f"replayed.{model}.{mode}.dspark.tpot_ms"]
