"""What an independent client says of the same streams as this project's own; measured by tests/external/instrument.py."""

from statistics import fmean

from workflow.derive.registry import fact
from workflow.derive.rows import Missing
from workflow.derive.sample import Sample

FILE = "instrument.csv"
QUANTITIES = {
    "output_throughput": ("rate", "token/s"),
    "ttft_ms": ("duration", "ms"),
    "tpot_ms": ("duration", "ms/token"),
    "accept_length": ("length", "token/round"),
    "time_per_output_token_ms": ("duration", "ms/token"),
}
"""Quantity -> kind and unit."""
SAME = "same"


def pairs(read, **where) -> list[tuple[float, float]]:
    """(ours, theirs) of each run."""
    rows = read.instrument(**where)
    return list(zip(rows.read("ours").tolist(), rows.read("theirs").tolist(), strict=True))


def difference(found: list[tuple[float, float]]) -> float:
    """Largest |theirs / ours - 1|."""
    return max(abs(theirs / ours - 1.0) for ours, theirs in found)


for quantity, (kind, unit) in QUANTITIES.items():
    for place, side in enumerate(("ours", "theirs")):

        def figure(read, quantity=quantity, place=place, unit=unit):
            """mean over the runs of what that client makes of the same streams"""
            return Sample(fmean(pair[place] for pair in pairs(read, quantity=quantity)), unit)

        fact(f"instrument.{quantity}.{side}", kind=kind, unit=unit)(figure)


@fact("instrument.{quantity}.difference", kind="percent", unit="percent", quantity=tuple(QUANTITIES))
def apart(read, quantity):
    """largest |theirs / ours - 1| over the runs"""
    return Sample(difference(pairs(read, quantity=quantity)))


@fact("instrument.{quantity}.verdict", kind="label", quantity=tuple(QUANTITIES))
def verdict(read, quantity):
    """whether that difference stays within the bound"""
    return "within" if read[f"instrument.{quantity}.difference"].to("").value <= bound_of(read) else "over"


@fact("instrument.{quantity}.definition", kind="label", quantity=tuple(QUANTITIES))
def definition(read, quantity):
    """whether both clients mean the same by it"""
    found = set(read.instrument(quantity=quantity).texts("definition"))
    if len(found) != 1:
        raise Missing(f"{FILE} gives several definitions for one quantity")
    return found.pop()


def bound_of(read) -> float:
    return float(read.field(FILE, "config.bound"))


@fact("instrument.bound", kind="percent", unit="percent", status="computed")
def bound(read):
    """largest difference that counts as agreement, fixed before the runs"""
    return Sample(bound_of(read))


@fact("instrument.worst", kind="percent", unit="percent")
def worst(read):
    """largest |theirs / ours - 1| over the runs and the quantities that both define alike"""
    return Sample(difference(pairs(read, definition=SAME)))


@fact("instrument.alike", kind="count")
def alike(read):
    """quantities that both define alike"""
    return len(set(read.instrument(definition=SAME).texts("quantity")))


@fact("instrument.client", kind="label")
def client(read):
    """the independent client with its version"""
    rows = read.instrument()
    return " ".join([rows.texts("client")[0], rows.texts("client_version")[0]])


@fact("instrument.runs", kind="count")
def runs(read):
    """runs of the independent client"""
    return len(set(read.instrument().texts("repeat")))


@fact("instrument.requests", kind="count")
def requests(read):
    """requests of each run"""
    return int(read.instrument().texts("requests")[0])


@fact("instrument.concurrency", kind="count")
def concurrency(read):
    """requests in flight in each run"""
    return int(read.instrument().texts("max_concurrency")[0])
