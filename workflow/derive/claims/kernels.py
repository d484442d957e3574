"""One kernel text for two vendors, and the test that reaches it."""

from workflow.derive.claims.kinds import counted
from workflow.derive.registry import claim

ABOUT = ("kernels.operators", "kernels.kernels", "kernels.targets", "kernels.binaries", "kernels.triton_version")


@claim("kernels.one_source", kind="count", measure="kernels")
def one_source(read):
    """Every kernel has one and the same text, before target-specific passes, for all targets."""
    read.cite(*ABOUT, "kernels.source")
    if read["kernels.targets"].value < 2:
        read.unresolved("one target only")
    return counted(read["kernels.split"], 0)


@claim("kernels.no_spills", kind="count", measure="binaries")
def no_spills(read):
    """No compiled kernel keeps registers in memory, on any target."""
    read.cite("kernels.binaries", "kernels.spilled_kernel", "kernels.spilled_target")
    if read["kernels.targets"].value < 2:
        read.unresolved("one target only")
    return counted(read["kernels.spilled"], 0)


@claim("kernels.predicates", kind="count", measure="tensors")
def predicates(read):
    """The registry sends tensors of both vendors' devices to the kernel, and tensors in main memory to the path for the processor."""
    read.cite("kernels.tests", "kernels.misrouting", "kernels.dispatch")
    if read["kernels.vendors"].value < 2:
        read.unresolved("one vendor only")
    return counted(read["kernels.misrouted_by_registry"], 0)
