"""The client that measures, beside another one."""

from workflow.derive.claims.kinds import within
from workflow.derive.facts.instrument import QUANTITIES
from workflow.derive.registry import claim

SHOWN = ("ours", "theirs", "difference", "verdict", "definition")
LEAST_ALIKE = 3
"""Throughput, time per token, accept length."""


@claim("method.instrument_agrees", kind="bound", measure="share")
def agrees(read):
    """An independent client makes the same of the same streams, within the bound, of every quantity that both define alike."""
    read.cite("instrument.client", "instrument.runs", "instrument.requests", "instrument.concurrency")
    read.cite(*(f"instrument.{quantity}.{part}" for quantity in QUANTITIES for part in SHOWN))
    margin = within(read["instrument.worst"], read["instrument.bound"])
    if read["instrument.alike"].value < LEAST_ALIKE:
        read.unresolved("the independent client does not report every quantity")
    return margin
