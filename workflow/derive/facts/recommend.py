"""What to run: the fastest arm for each content and each band of concurrency."""

from workflow.derive.facts.compare import beyond_noise
from workflow.derive.facts.lanes import levels
from workflow.derive.facts.window import block_of, lane_of
from workflow.derive.registry import DECLARED, fact
from workflow.derive.rows import Missing

ARMS = ("plain", *DECLARED["arm"])
BANDS = ("one", "few", "many")


def fastest(read, content: str) -> str:
    return read.largest(f"window.{content}.{arm}.tokens_per_s" for arm in ARMS).split(".")[2]


@fact("run.{content}.lane", kind="label")
def lane(read, content):
    """lane of the arm with the largest tokens/s, one request at a time, plain decoding included"""
    arm = fastest(read, content)
    return lane_of(arm)


@fact("run.{content}.gamma", kind="count")
def gamma(read, content):
    """block size of that arm"""
    arm = fastest(read, content)
    if arm == "plain":
        raise Missing("the fastest arm is plain decoding, which drafts nothing")
    return block_of(read, arm)


@fact("run.{content}.speedup", kind="ratio")
def speedup(read, content):
    """plain time per token / time per token of that arm, same prompts"""
    return read[f"window.{content}.plain.tpot_ms"] / read[f"run.{content}.tpot_ms"]


@fact("run.{content}.tpot_ms", kind="duration", unit="ms/token")
def tpot(read, content):
    """time per token of that arm"""
    return read[f"window.{content}.{fastest(read, content)}.tpot_ms"]


@fact("run.{content}.plain_tpot_ms", kind="duration", unit="ms/token")
def plain_tpot(read, content):
    """time per token of plain decoding on the same prompts"""
    return read[f"window.{content}.plain.tpot_ms"]


@fact("run.band.{band}.concurrency", kind="count", band=BANDS)
def concurrency(read, band):
    """smallest, middle or largest concurrency at which both lanes were measured"""
    found = levels(read)
    if len(found) < 2 and band != "one" or len(found) < 3 and band == "few":
        raise Missing(f"{len(found)} concurrencies measured: no band of this name")
    return found[{"one": 0, "few": len(found) // 2, "many": -1}[band]]


@fact("run.band.{band}.ratio", kind="ratio", band=BANDS)
def ratio(read, band):
    """speculative output tokens/s / plain output tokens/s at that concurrency"""
    return read[f"lanes.c{round(read[f'run.band.{band}.concurrency'].value)}.ratio"]


@fact("run.band.{band}.lane", kind="label", band=BANDS)
def band_lane(read, band):
    """the speculative lane where it serves more than plain decoding by more than the noise, else plain decoding"""
    return "dspark" if beyond_noise(read, read[f"run.band.{band}.ratio"]) > 0 else "plain"


@fact("run.band.{band}.{lane}.{measure}", kind="duration", unit="ms/token", band=BANDS, measure=("tpot_ms",))
def band_tpot(read, band, lane, measure):
    """mean time per token of the lane at that concurrency"""
    return read[f"lanes.c{round(read[f'run.band.{band}.concurrency'].value)}.{lane}.{measure}"]
