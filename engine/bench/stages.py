"""Parameters of each stage. The defaults are the preset `quick`; `smoke` runs the same code in seconds."""

from __future__ import annotations

from dataclasses import dataclass

CONTENTS = ("arith", "code", "en", "zh")


@dataclass(frozen=True)
class Window:
    """Block size by content, one request at a time."""

    contents: tuple[str, ...] = CONTENTS
    block_sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    mtp: bool = True
    isl: int = 128
    osl: int = 48
    num_prompts: int = 3
    repeats: int = 2


@dataclass(frozen=True)
class Isl:
    """Input length, nested by suffix, one request at a time."""

    content: str = "code"
    block_size: int = 3
    ladder: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)
    osl: int = 40
    num_prompts: int = 2
    repeats: int = 2


@dataclass(frozen=True)
class Concurrency:
    """The same requests at every number of requests in flight."""

    block_size: int = 3
    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    isl: int = 64
    osl: int = 24
    num_prompts: int = 32
    repeats: int = 2


@dataclass(frozen=True)
class Search:
    """Base against base, the verify window at one matched load, then base and winner on fresh boots."""

    block_size: int = 3
    """The base: lane dspark at this block size."""
    block_sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    mtp: bool = False
    max_concurrency: int = 4
    isl: int = 64
    osl: int = 24
    num_prompts: int = 16
    aa_pairs: int = 4
    passes: int = 2
    window_repeats: int = 2
    confirm_pairs: int = 3


@dataclass(frozen=True)
class Gate:
    """Accuracy: greedy problems, sampled problems and sampled text, always together, against plain decoding.

    The margins are declared here, before anything is measured.
    """

    block_sizes: tuple[int, ...] = (3,)
    lanes: tuple[str, ...] = ()
    problems: int = 100
    sampled_problems: int = 50
    repeats: int = 4
    texts: int = 12
    max_tokens: int = 64
    text_tokens: int = 24
    max_concurrency: int = 32
    temperature: float = 1.0
    top_p: float = 0.95
    margin: float = 0.03
    """Share of the greedy problems that may be lost before a configuration counts as inferior."""
    sampled_margin: float = 0.06
    health_margin: float = 0.02
    """How much more truncation, silence or degeneration than the base's is tolerated."""
    accept_floor: float = 1.2
    silent: tuple[tuple[str, int | float | bool], ...] = (
        ("chunked_prefill_size", 32),
        ("max_running_requests", 8),
        ("schedule_conservativeness", 0.6),
    )
    """Settings that decide where tensors live and when requests run, and may not change one bit of the output."""


@dataclass(frozen=True)
class Kernels:
    """What the compilers say of the Triton kernels, for GPUs that need not be there."""

    operators: tuple[str, ...] = ()
    """Operators of the registry; empty: all."""
    targets: tuple[str, ...] = ()
    """sm_90, sm_100, gfx942, gfx950; empty: all."""


Stage = Window | Isl | Concurrency | Search | Gate | Kernels
STAGES: dict[str, type[Stage]] = {
    "search": Search,
    "window": Window,
    "isl": Isl,
    "concurrency": Concurrency,
    "gate": Gate,
    "kernels": Kernels,
}
SWEEPS = ("window", "isl", "concurrency")

SMOKE: dict[str, Stage] = {
    "search": Search(
        block_sizes=(1, 3), osl=8, isl=32, num_prompts=4, max_concurrency=2, aa_pairs=2, passes=1, window_repeats=2, confirm_pairs=2
    ),
    "window": Window(contents=("arith", "code"), block_sizes=(1, 3), isl=32, osl=12, num_prompts=1, repeats=1),
    "isl": Isl(ladder=(32, 64, 128), osl=8, num_prompts=1, repeats=1),
    "concurrency": Concurrency(levels=(1, 4), isl=32, osl=8, num_prompts=4, repeats=1),
    "gate": Gate(problems=12, sampled_problems=3, repeats=4, texts=3, max_tokens=48, text_tokens=12, max_concurrency=12),
    "kernels": Kernels(operators=("greedy_accept", "l2_norm")),
}
