"""What compilers say of the Triton kernels, and which device test sends a tensor where. Nothing here was run on a GPU."""

import hashlib

from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample
from workflow.derive.shown import OPERATORS, TARGETS

TESTS = {
    "version_cuda": "torch.version.cuda",
    "version_hip": "torch.version.hip",
    "available": "torch.cuda.is_available()",
    "device_type": 'tensor.device.type == "cuda"',
    "is_cuda": "tensor.is_cuda",
    "strict": "tensor.is_cuda and torch.version.cuda",
}
PLACES = {"nvidia": ("cuda", "cuda"), "amd": ("rocm", "cuda")}
"""Build of torch and device of the tensor: a tensor on either vendor's device."""


def compiled(read, **where) -> Rows:
    """Rows of kernels.csv. Raises Missing with the stage's own reason where it compiled nothing."""
    table = read.campaign.find("kernels", "kernels")
    if table is not None and not len(table):
        raise Missing((read.skipped(table.file) or ["kernels.csv has no row"])[0])
    return read.kernels(**where)


def answers(read, **where) -> Rows:
    """Rows of predicates.csv; a fact that rests on a build that was described and not run is simulated."""
    rows = read.predicates(**where)
    if rows.read("simulated").any():
        read.record.statuses.append("simulated")
    return rows


@fact("kernels.operators", kind="count", status="computed")
def operators(read):
    """operators of the registry with a Triton kernel that was compiled"""
    return len(set(compiled(read).texts("operator")))


@fact("kernels.kernels", kind="count", status="computed")
def kernels(read):
    """distinct kernel functions"""
    return len(set(compiled(read).texts("kernel")))


@fact("kernels.targets", kind="count", status="computed")
def targets(read):
    """GPU targets that were compiled for"""
    return len(set(compiled(read).texts("target")))


@fact("kernels.binaries", kind="count", status="computed")
def binaries(read):
    """compiled binaries: a kernel of an operator for a target"""
    return len(compiled(read).texts("bin_bytes"))


@fact("kernels.split", kind="count", status="computed")
def split(read):
    """kernels of an operator whose IR before target-specific passes differs between targets"""
    rows = compiled(read)
    texts: dict[tuple[str, str], set[str]] = {}
    for operator, kernel, sha in zip(rows.texts("operator"), rows.texts("kernel"), rows.texts("source_sha")):
        texts.setdefault((operator, kernel), set()).add(sha)
    return sum(len(found) > 1 for found in texts.values())


@fact("kernels.spilled", kind="count", status="computed")
def spilled(read):
    """binaries that keep some registers in memory"""
    return int((compiled(read).read("spills") > 0).sum())


@fact("kernels.spilled_{what}", kind="label", status="computed", what=("kernel", "target"))
def spilled_where(read, what):
    """of the binary with the largest spill count"""
    if read["kernels.spilled"].value == 0:
        raise Missing("no binary keeps registers in memory")
    rows = compiled(read)
    return rows.texts(what)[int(rows.read("spills").argmax())]


@fact("kernels.matrix", kind="count", status="computed")
def matrix(read):
    """kernel functions whose binaries use matrix units on every target"""
    rows = compiled(read)
    used: dict[str, list[bool]] = {}
    for kernel, count in zip(rows.texts("kernel"), rows.read("matrix_instructions")):
        used.setdefault(kernel, []).append(count > 0)
    return sum(all(found) for found in used.values())


@fact("kernels.{what}", kind="label", status="computed", what=("dispatch", "triton_version"))
def common(read, what):
    """the one text that all rows of kernels.csv agree on"""
    found = set(compiled(read).texts(what))
    if len(found) != 1:
        raise Missing(f"kernels.csv names several in column {what}: {', '.join(sorted(found))}")
    return found.pop()


@fact("kernels.{operator}.{target}.registers", kind="count", status="computed", operator=OPERATORS, target=TARGETS)
def registers(read, operator, target):
    """registers a thread (NVIDIA) or vector registers a lane (AMD), the operator's kernel with the most"""
    return compiled(read, operator=operator, target=target).read("registers").max()


@fact("kernels.{operator}.{target}.{what}", kind="count", status="computed", operator=OPERATORS, target=TARGETS, what=("spills", "matrix_instructions"))
def of_operator(read, operator, target, what):
    """over the operator's kernels: spilled bytes (NVIDIA) or registers (AMD), instructions on matrix units"""
    return compiled(read, operator=operator, target=target).read(what).sum()


@fact("kernels.all.{target}.{what}", kind="count", status="computed", target=TARGETS, what=("spills", "matrix_instructions"))
def in_all(read, target, what):
    """over all kernels of the registry: spilled bytes (NVIDIA) or registers (AMD), instructions on matrix units"""
    return compiled(read, target=target).read(what).sum()


@fact("kernels.source", kind="label", status="computed")
def source(read):
    """first digits of sha256 over operator, name and IR hash of each kernel, each text once: one that differs between targets counts as several"""
    rows = compiled(read)
    texts = sorted(set(zip(rows.texts("operator"), rows.texts("kernel"), rows.texts("source_sha"))))
    return hashlib.sha256("\n".join(map(" ".join, texts)).encode()).hexdigest()[:12]


@fact("kernels.all.{target}.shared", kind="bytes", unit="byte", status="computed", target=TARGETS)
def shared(read, target):
    """shared memory (NVIDIA) or LDS (AMD) a program, the kernel with the most"""
    return Sample(compiled(read, target=target).read("shared_bytes").max(), "byte")


@fact("kernels.all.{target}.size", kind="bytes", unit="byte", status="computed", target=TARGETS)
def size(read, target):
    """bytes of all binaries"""
    return Sample(compiled(read, target=target).read("bin_bytes").sum(), "byte")


@fact("kernels.predicate.{test}.{place}", kind="label", test=tuple(TESTS), place=tuple(PLACES))
def selects(read, test, place):
    """what a dispatcher built on this test runs for a tensor in this place"""
    build, device = PLACES[place]
    found = set(answers(read, predicate=TESTS[test], build=build, device=device).texts("selects"))
    if len(found) != 1:
        raise Missing(f"predicates.csv gives several answers for {TESTS[test]} under {build}")
    return found.pop()


@fact("kernels.vendors", kind="count")
def vendors(read):
    """builds of torch for a vendor's devices that answered"""
    return len(set(answers(read).texts("build")) - {"cpu"})


@fact("kernels.tests", kind="count")
def tests(read):
    """device tests compared"""
    return len(set(answers(read).texts("predicate")))


@fact("kernels.misrouting", kind="count")
def misrouting(read):
    """device tests that send some tensor elsewhere than the registry does"""
    rows = answers(read)
    return len({test for test, agrees in zip(rows.texts("predicate"), rows.read("agrees")) if not agrees})


@fact("kernels.misrouting_on_device", kind="count")
def misrouting_on_device(read):
    """device tests that send a tensor on a device elsewhere than the registry does"""
    rows = answers(read, device="cuda")
    return len({test for test, agrees in zip(rows.texts("predicate"), rows.read("agrees")) if not agrees})


@fact("kernels.misrouted_by_registry", kind="count")
def misrouted_by_registry(read):
    """tensors on a device that the registry keeps from the Triton kernel, or in main memory that it sends there"""
    rows = answers(read)
    pairs = zip(rows.texts("device"), rows.texts("registry_selects"))
    return sum((device == "cuda") != (chosen == "triton") for device, chosen in pairs)
