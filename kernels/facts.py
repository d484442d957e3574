"""What the compilers say about each Triton kernel, without a device; `python -m engine.kernel_facts` writes it to a file.

One row a kernel and target: one kernel text (`source_sha`, the hash of Triton's IR before any target-specific pass) becomes
four binaries. Nothing here is measured on a GPU; registers, spills and instruction counts are properties of the binaries.
"""

from __future__ import annotations

import hashlib
import importlib
import re
import subprocess
import tempfile
from collections.abc import Iterator
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from multiprocessing import get_context
from pathlib import Path

from kernels.aot import Variant
from kernels.registry import RULES, backends, operators

TARGETS = {
    "sm_90": ("cuda", 90, 32),
    "sm_100": ("cuda", 100, 32),
    "gfx942": ("hip", "gfx942", 64),
    "gfx950": ("hip", "gfx950", 64),
}
"""Hopper, Blackwell, MI300 and MI350: backend, architecture, lanes of a warp."""

NVIDIA_MATRIX = re.compile(r"^(HMMA|IMMA|QMMA|OMMA|BMMA|DMMA|HGMMA|QGMMA|IGMMA|UTC\w*MMA)", re.ASCII)
AMD_MATRIX = re.compile(r"^v_(mfma|smfmac)", re.ASCII)


@dataclass(frozen=True)
class KernelFacts:
    """One row of `kernels.csv`."""

    operator: str
    kernel: str
    target: str
    source_sha: str
    """First 16 hex digits of sha256 over Triton's IR before passes, locations removed; equal on all targets."""
    bin_bytes: int
    registers: int
    """Registers a thread (NVIDIA) or vector registers a lane (AMD)."""
    scalar_registers: int
    """Scalar registers a wave (AMD); 0 on NVIDIA, where they are not reported."""
    shared_bytes: int
    """Shared memory (NVIDIA) or LDS (AMD) a program."""
    spills: int
    """Spilled bytes (NVIDIA) or spilled registers (AMD)."""
    instructions: int
    matrix_instructions: int
    num_warps: int
    warp_size: int
    dispatch: str
    """The registry's test that sends a tensor of such a device to this kernel."""
    fallbacks: str
    """Other backends of the operator, taken by other tests."""
    triton_version: str


class FactsError(RuntimeError):
    """A binary without the facts that every binary of its vendor has."""


def kernel_variants() -> Iterator[tuple[str, Variant]]:
    """Every (operator, kernel) to compile, in the registry's order."""
    for op in operators():
        if "triton" in backends(op):
            for variant in importlib.import_module(f"kernels.{op}.triton").VARIANTS:
                yield op, variant


def compile_variant(variant: Variant, target: str):
    """Triton's compiled kernel for one of `TARGETS`; needs no device, no CUDA and no ROCm installation."""
    import triton
    from triton.backends.compiler import GPUTarget
    from triton.compiler import ASTSource

    source = ASTSource(
        variant.kernel,
        variant.signature,
        constexprs={(list(variant.signature).index(name),): value for name, value in variant.constexprs.items()},
        attrs={(i,): [["tt.divisibility", 16]] for i in variant.pointers},
    )
    return triton.compile(source, target=GPUTarget(*TARGETS[target]), options={"num_warps": variant.warps(TARGETS[target][0])})


def source_sha(compiled) -> str:
    """Hash of the IR before passes. Locations are dropped: they hold paths of the machine that compiled."""
    text = re.sub(r"\s*loc\([^)]*\)\)?|^#loc.*$", "", str(compiled.asm["source"]), flags=re.MULTILINE)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


def nvidia_tool(name: str) -> str:
    """Path of a tool that ships inside Triton's wheel."""
    import triton

    return str(Path(triton.knobs.nvidia.ptxas.path).parent / name)


def run_tool(command: list[str]) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise FactsError(f"{Path(command[0]).name} failed with {done.returncode}: {(done.stderr or done.stdout).strip().splitlines()[-1:]}")
    return done.stdout + done.stderr


def check_elf(binary: bytes, machine: int, target: str) -> None:
    """An ELF file for the vendor's machine: 190 NVIDIA CUDA, 224 AMD GPU."""
    found = int.from_bytes(binary[18:20], "little")
    if binary[:4] != b"\x7fELF" or found != machine:
        raise FactsError(f"the binary for {target} is no ELF file of machine {machine} (starts {binary[:4]!r}, machine {found})")


def nvidia_facts(compiled, target: str) -> dict[str, int]:
    """Registers and stack from the cubin's resource usage, instructions from its disassembly.

    No kernel here calls a function or indexes a local array, so whatever is on the stack was spilled.
    """
    check_elf(compiled.asm["cubin"], 190, target)
    with tempfile.TemporaryDirectory() as folder:
        cubin = Path(folder, "k.cubin")
        cubin.write_bytes(compiled.asm["cubin"])
        sass = run_tool([nvidia_tool("nvdisasm"), "-c", str(cubin)])
        usage = run_tool([nvidia_tool("cuobjdump"), "--dump-resource-usage", str(cubin)])
    found = re.search(r"REG:(\d+) STACK:(\d+) .*?LOCAL:(\d+)", usage)
    if found is None:
        raise FactsError(f"no resource usage in the cubin for {target}")
    registers, stack, local = (int(number) for number in found.groups())
    mnemonics = re.findall(r"^\s+/\*[0-9a-f]{4,}\*/\s+(?:@!?U?P\d+\s+)?([A-Z][A-Z0-9_]*)", sass, flags=re.MULTILINE)
    if not mnemonics:
        raise FactsError(f"no instructions in the disassembly for {target}")
    return {
        "bin_bytes": len(compiled.asm["cubin"]),
        "registers": registers,
        "scalar_registers": 0,
        "spills": stack + local,
        "instructions": sum(name != "NOP" for name in mnemonics),
        "matrix_instructions": sum(bool(NVIDIA_MATRIX.match(name)) for name in mnemonics),
    }


def amd_facts(compiled, target: str) -> dict[str, int]:
    """Everything from the assembly's metadata and its mnemonics."""
    check_elf(compiled.asm["hsaco"], 224, target)
    text = compiled.asm["amdgcn"]

    def field(name: str) -> int:
        found = re.search(rf"\.{name}:\s*(\d+)", text)
        if found is None:
            raise FactsError(f"no .{name} in the assembly for {target}")
        return int(found.group(1))

    body = text.split(".section\t.rodata", 1)[0]
    mnemonics = re.findall(r"^\t([vsd][a-z0-9]*_[a-z0-9_]+|global_\w+|buffer_\w+|flat_\w+|scratch_\w+)", body, flags=re.MULTILINE)
    if not mnemonics:
        raise FactsError(f"no instructions in the assembly for {target}")
    return {
        "bin_bytes": len(compiled.asm["hsaco"]),
        "registers": field("vgpr_count"),
        "scalar_registers": field("sgpr_count"),
        "spills": field("vgpr_spill_count") + field("sgpr_spill_count"),
        "instructions": sum(name != "s_nop" for name in mnemonics),
        "matrix_instructions": sum(bool(AMD_MATRIX.match(name)) for name in mnemonics),
    }


def facts_of(op: str, variant: Variant, target: str) -> KernelFacts:
    """Compile one kernel for one target and read its binary."""
    import triton

    compiled = compile_variant(variant, target)
    vendor = nvidia_facts if TARGETS[target][0] == "cuda" else amd_facts
    rule = next(rule for rule in RULES if "triton" in rule.backends)
    return KernelFacts(
        operator=op,
        kernel=variant.name,
        target=target,
        source_sha=source_sha(compiled),
        shared_bytes=int(compiled.metadata.shared),
        num_warps=variant.warps(TARGETS[target][0]),
        warp_size=TARGETS[target][2],
        dispatch=rule.predicate,
        fallbacks=fallbacks(op),
        triton_version=triton.__version__,
        **vendor(compiled, target),
    )


def variant_facts(number: int, target: str) -> KernelFacts:
    """Facts of the `number`-th entry of `kernel_variants`: something that a worker process can be asked for."""
    op, variant = list(kernel_variants())[number]
    return facts_of(op, variant, target)


SHARE = 4
"""Kernels that a process is given at once."""


def collect(targets: tuple[str, ...] = tuple(TARGETS), ops: tuple[str, ...] = (), jobs: int = 1) -> list[KernelFacts]:
    """Facts of every kernel on every target, in a fixed order; `ops` narrows the operators, `jobs` processes share the work.

    An operator that launches another's kernel (coupled acceptance, say) has a row of its own; the kernel is compiled once.
    """
    variants = list(kernel_variants())
    first: dict[tuple, int] = {}
    source = {}
    for number, (op, variant) in enumerate(variants):
        key = (variant.kernel.__module__, variant.name, tuple(sorted(variant.constexprs.items())))
        if not ops or op in ops:
            source[number] = first.setdefault(key, number)
    work = [(number, target) for number in dict.fromkeys(source.values()) for target in targets]
    # a process starts for a whole share of the work: what it imports takes longer than a few kernels
    jobs = min(jobs, -(-len(work) // SHARE))
    if jobs <= 1:
        done = dict(zip(work, (variant_facts(*item) for item in work)))
    else:
        # Spawned, not forked: the workers start threads of their own inside LLVM.
        with ProcessPoolExecutor(jobs, mp_context=get_context("spawn")) as pool:
            done = dict(zip(work, pool.map(variant_facts, *zip(*work), chunksize=SHARE)))
    return [
        replace(done[source[number], target], operator=op, fallbacks=fallbacks(op))
        for number, (op, _) in enumerate(variants)
        if number in source
        for target in targets
    ]


def fallbacks(op: str) -> str:
    """Backends of an operator that other rules of the registry take."""
    return " ".join(name for name in backends(op) if name != "triton")
