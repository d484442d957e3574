"""The machine that measured."""

from workflow.derive.registry import claim
from workflow.derive.sample import Sample, least

BOUNDS = {
    "machine.load_beyond": "machine.load",
    "machine.taken": "machine.taken",
    "machine.probe_spread": "machine.steady",
    "machine.drift": "machine.steady",
}
"""Fact -> the bound it has to stay below."""


@claim("machine.uncrowded", kind="bound", measure="share of the bound")
def uncrowded(read):
    """Beside the measurement few tasks ran or waited: the load stays below the bound. All that can be asked where a server was measured."""
    read.cite("machine.watched", "run.load_average", "machine.cpu", "machine.cores", "machine.memory_bytes")
    margin = Sample(1.0) - (read.exact("machine.load_beyond") / read.threshold("machine.load")).to("")
    if margin.value > 0 and read.exact("machine.unwatched").value:
        read.unresolved("a command's rows do not say how busy the machine was")
    return margin


@claim("machine.quiet", kind="bound", measure="share of the bound")
def quiet(read):
    """Beside the measurement the machine was idle: load, time taken by others and drift of its speed each stay below the bound."""
    read.cite("machine.watched", "run.load_average")
    margin = least([1 - (read.exact(key) / read.threshold(bound)).to("") for key, bound in BOUNDS.items()])
    if margin.value > 0 and read.exact("machine.unwatched").value:
        read.unresolved("a command's rows do not say how busy the machine was")
    return margin
