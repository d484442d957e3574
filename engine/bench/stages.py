"""Parameters of each stage. The defaults are the preset `quick`; `smoke` runs the same code in seconds."""

from __future__ import annotations

from dataclasses import dataclass, replace

CONTENTS = ("arith", "code", "en", "zh")


@dataclass(frozen=True)
class Window:
    """Block size by content, one request at a time."""

    contents: tuple[str, ...] = CONTENTS
    lane: str = "dspark"
    """The lane that speculates: of a server that has no dspark, another one (`measure.server.drafts`)."""
    block_sizes: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7)
    mtp: bool = True
    lanes: tuple[str, ...] = ()
    """More lanes beside DSpark and MTP, at `block_size` of each: dflash, lookup."""
    isl: int = 128
    osl: int = 48
    num_prompts: int = 3
    repeats: int = 2
    modes: tuple[str, ...] = ()
    """Execution modes that are compared in a stage of their own, eager among them; none: that stage is not measured."""
    mode_contents: tuple[str, ...] = ("code",)
    mode_block_sizes: tuple[int, ...] = (1, 3)
    mode_repeats: int = 2


@dataclass(frozen=True)
class Isl:
    """Input length, nested by suffix, one request at a time: free-running, and teacher-forced from the same places at every length."""

    content: str = "code"
    lane: str = "dspark"
    block_size: int = 3
    ladder: tuple[int, ...] = (64, 128, 256, 512, 1024, 2048, 4096)
    osl: int = 40
    num_prompts: int = 2
    histories: int = 8
    """True histories of each length, shared out over the prompts' places, one round after each; 0: none."""
    repeats: int = 2


@dataclass(frozen=True)
class Concurrency:
    """The same requests at every number of requests in flight."""

    lane: str = "dspark"
    block_size: int = 3
    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    isl: int = 64
    range_ratio: float = 1.0
    """Input lengths are uniform in [ratio x isl, isl]."""
    file: str = ""
    """Prompts of a text file, between lines `---`, instead of held-out text; isl is then their longest."""
    osl: int = 24
    num_prompts: int = 32
    repeats: int = 2


@dataclass(frozen=True)
class Rate:
    """Arrivals on a timetable that waits for nobody: requests a second, Poisson, the same requests and gaps at every rate."""

    lane: str = "dspark"
    block_size: int = 3
    rates: tuple[int | str, ...] = (5, 10, 20, "inf")
    """Whole requests a second; inf: all at once."""
    isl: int = 64
    osl: int = 24
    num_prompts: int = 100
    """A p99 needs a hundred of them."""
    repeats: int = 2


@dataclass(frozen=True)
class Osl:
    """Output length, one request at a time; end of text is ignored, so that every request has its length."""

    content: str = "code"
    lane: str = "dspark"
    block_size: int = 3
    isl: int = 128
    ladder: tuple[int, ...] = (16, 32, 64, 128, 256, 512)
    num_prompts: int = 2
    repeats: int = 2


@dataclass(frozen=True)
class Content:
    """Acceptance by content: free-running, and teacher-forced on the text that goes on where the free-running prompts end."""

    contents: tuple[str, ...] = CONTENTS
    random_ids: bool = True
    lane: str = "dspark"
    block_size: int = 3
    isl: int = 128
    osl: int = 48
    num_prompts: int = 4
    histories: int = 32
    """True histories of each content, shared out over the prompts' places, one round after each."""
    repeats: int = 2


@dataclass(frozen=True)
class Acceptance:
    """Accept length against temperature, content and how long one looks."""

    temperatures: tuple[float, ...] = (0.0, 0.7, 1.0)
    contents: tuple[str, ...] = CONTENTS
    rounds: tuple[int, ...] = (48, 128, 512)
    """Rounds that a cell aims at; text that ends early gets more prompts until they are there, within bounds."""
    lane: str = "dspark"
    block_size: int = 3
    isl: int = 128
    osl: int = 48
    max_concurrency: int = 4
    repeats: int = 2


@dataclass(frozen=True)
class Batch:
    """Step latency against the positions of a step: requests in flight times the verify window."""

    lane: str = "dspark"
    block_sizes: tuple[int, ...] = (1, 3, 7)
    levels: tuple[int, ...] = (1, 4, 16, 32)
    isl: int = 64
    osl: int = 24
    num_prompts: int = 32
    repeats: int = 1


KNOB_VALUES: tuple[tuple[str, int | float | bool | str], ...] = (
    ("chunked_prefill_size", 64),
    ("chunked_prefill_size", 1024),
    ("cuda_graph_max_bs", 2),
    ("schedule_conservativeness", 0.6),
    ("radix_cache", True),
    ("mamba_ssm_dtype", "bfloat16"),
)
"""Settings that are tried one at a time against the campaign's own."""


@dataclass(frozen=True)
class Capacity:
    """What single settings cost in room: pools sized by one budget, and a wave of prompts that fill a prefill chunk. Nothing here is compared in time."""

    values: tuple[tuple[str, int | float | bool | str], ...] = KNOB_VALUES
    graphed: tuple[str, ...] = ("cuda_graph_max_bs",)
    """Settings that only mode `graph` has a use for: they stand beside the base in that mode. The default holds where `values` has it."""
    lane: str = "dspark"
    block_size: int = 3
    device_bytes: int = 384 << 20
    mem_fraction_static: float = 0.6
    """Low enough that every setting's wave fits: what is asked is how much is left, not where it ends."""
    isl: int = 2048
    """Tokens of a prompt: a whole prefill chunk, which the base's is set to."""
    osl: int = 4
    max_concurrency: int = 2
    repeats: int = 2


@dataclass(frozen=True)
class Memory:
    """The memory ceiling of each lane, with a hostile probe at every fraction."""

    lanes: tuple[str, ...] = ("plain", "dspark")
    device_bytes: int = 384 << 20
    anchor: float = 0.85
    step: float = 0.01
    boots: int = 6
    """Per lane, at most."""
    isl: int = 1024
    """Tokens of a hostile prompt: a whole prefill chunk, which is set to it."""
    osl: int = 4
    max_concurrency: int = 8
    """Requests of the one wave; also the cap of these boots."""


@dataclass(frozen=True)
class Cache:
    """The prefix cache, off and on, on unique random prompts and on groups that share a system prompt."""

    device_bytes: int = 512 << 20
    extra_buffer: bool = False
    gsp_num_groups: int = 2
    gsp_prompts_per_group: int = 8
    gsp_system_prompt_len: int = 512
    gsp_question_len: int = 32
    gsp_output_len: int = 16
    max_concurrency: int = 8
    repeats: int = 2


@dataclass(frozen=True)
class Knobs:
    """One setting at a time against the base, at the matched load and in a regime in which it can bind."""

    values: tuple[tuple[str, int | float | bool | str], ...] = KNOB_VALUES
    binding: tuple[tuple[str, tuple[tuple[str, int | float | bool | str], ...]], ...] = (
        ("chunked_prefill_size", (("load_isl", 1024), ("load_osl", 8), ("load_num_prompts", 8))),
        ("cuda_graph_max_bs", (("mode", "graph"),)),
        ("schedule_conservativeness", (("max_total_num_tokens", 512), ("load_concurrency", 8))),
        ("radix_cache", (("load_isl", 512), ("load_osl", 8))),
    )
    """Knob -> settings and load (`load_*`) under which its mechanism has something to do."""
    repeats: int = 2


@dataclass(frozen=True)
class Factorial:
    """Request cap times block size under one memory budget, values below and above the default."""

    caps: tuple[int, ...] = (16, 32, 48)
    """Around the cap that campaigns have, 32."""
    block_sizes: tuple[int, ...] = (2, 3, 5)
    device_bytes: int = 256 << 20
    max_concurrency: int = 48
    """As many as the largest cap lets run: each of the others has to turn requests away."""
    num_prompts: int = 48
    repeats: int = 2


@dataclass(frozen=True)
class Heads:
    """Variants of the Markov head by content, one request at a time."""

    types: tuple[str, ...] = ("vanilla", "gated", "rnn")
    contents: tuple[str, ...] = ("arith", "code")
    isl: int = 128
    osl: int = 48
    num_prompts: int = 3
    repeats: int = 2


@dataclass(frozen=True)
class Lanes:
    """Every lane with its own best block size at the search's load, then all of them over some levels."""

    block_sizes: tuple[tuple[str, tuple[int, ...]], ...] = (("dspark", (1, 2, 3, 4)), ("dflash", (1, 2, 4)), ("mtp", (1,)), ("lookup", (2, 4)))
    levels: tuple[int, ...] = (1, 4, 16)
    num_prompts: int = 16
    repeats: int = 2


@dataclass(frozen=True)
class Curve:
    """The winner and plain decoding up the concurrency curve."""

    levels: tuple[int, ...] = (1, 2, 4, 8, 16, 32)
    repeats: int = 2


@dataclass(frozen=True)
class Search:
    """Base against base, the verify window at one matched load, then base and winner on fresh boots.

    The stages that are None are not measured.
    """

    lane: str = "dspark"
    block_size: int = 3
    """The base, which competes: lane dspark at this block size."""
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
    memory: Memory | None = None
    cache: Cache | None = None
    knobs: Knobs | None = None
    factorial: Factorial | None = None
    heads: Heads | None = None
    lanes: Lanes | None = None
    curve: Curve | None = None


@dataclass(frozen=True)
class Gate:
    """Accuracy: greedy problems, sampled problems and sampled text, always together, against plain decoding.

    The margins are declared here, before anything is measured.
    """

    block_sizes: tuple[int, ...] = (3,)
    lane: str = "dspark"
    """The lane of those block sizes."""
    lanes: tuple[str, ...] = ()
    problems: int = 100
    sampled_problems: int = 50
    repeats: int = 2
    texts: int = 16
    text_repeats: int = 6
    """Samples of each text: a broken verifier shows in how few of them differ."""
    control_problems: int = 40
    """Greedy problems of the controls and of the silent settings, whose outputs must equal another's bit by bit."""
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


@dataclass(frozen=True)
class VerifyCost:
    """T_verify(k), T_decode, T_draft and the rest on one clock, by mode and model size, with block timers beside them."""

    models: tuple[str, ...] = ("trained",)
    modes: tuple[str, ...] = ("eager",)
    widths: tuple[int, ...] = (1, 2, 3, 4, 5, 6, 7, 8)
    batches: tuple[int, ...] = (1, 4)
    context: int = 128
    repeats: int = 5
    inner: int = 3
    acceptance: str = ""
    """Campaign whose rounds the models with random weights replay; none: their acceptance is not simulated."""
    larger: tuple[str, ...] = ()
    """Models timed after the others, in a process of their own, at fewer widths and batches: a forward of theirs is long."""
    larger_widths: tuple[int, ...] = (1, 2, 4, 8)
    larger_batches: tuple[int, ...] = (1, 8)

    def processes(self) -> list[VerifyCost]:
        """One stage a measuring process; what is compared stands in the same one."""
        rest = replace(self, larger=())
        return [rest, replace(rest, models=self.larger, widths=self.larger_widths, batches=self.larger_batches)] if self.larger else [rest]

    @property
    def variants(self) -> int:
        return (len(self.models) + len(self.larger)) * len(self.modes)

    @property
    def cells(self) -> int:
        """Forwards that are timed, by variant, batch and width."""
        return sum(len(one.models) * len(one.modes) * len(one.batches) * len(one.widths) for one in self.processes())


Stage = Window | Isl | Osl | Concurrency | Rate | Content | Acceptance | Batch | Capacity | VerifyCost | Search | Gate | Kernels
STAGES: dict[str, type[Stage]] = {
    "search": Search,
    "window": Window,
    "isl": Isl,
    "osl": Osl,
    "concurrency": Concurrency,
    "rate": Rate,
    "content": Content,
    "acceptance": Acceptance,
    "batch": Batch,
    "capacity": Capacity,
    "verify_cost": VerifyCost,
    "gate": Gate,
    "kernels": Kernels,
}
SWEEPS = ("window", "isl", "osl", "concurrency", "rate", "content", "acceptance", "batch", "capacity", "verify_cost")
PARTS: dict[str, type] = {
    "memory": Memory,
    "cache": Cache,
    "knobs": Knobs,
    "factorial": Factorial,
    "heads": Heads,
    "lanes": Lanes,
    "curve": Curve,
}
"""Stages of the search that a campaign may leave out, by their key."""

SMOKE: dict[str, Stage] = {
    "search": Search(
        block_sizes=(1, 3),
        osl=8,
        isl=32,
        num_prompts=4,
        max_concurrency=2,
        aa_pairs=2,
        passes=1,
        # two pairs of boots of the base are the least that have a spread; it stands in for the repeats that the others lack
        window_repeats=1,
        confirm_pairs=1,
        memory=Memory(lanes=("plain",), isl=256, max_concurrency=2, boots=2),
        cache=Cache(gsp_prompts_per_group=2, gsp_system_prompt_len=64, gsp_question_len=16, gsp_output_len=4, max_concurrency=2, repeats=1),
    ),
    "window": Window(
        contents=("arith", "code"), block_sizes=(1, 3), isl=32, osl=12, num_prompts=1, repeats=1, modes=("eager", "graph"), mode_block_sizes=(1,), mode_repeats=1
    ),
    "isl": Isl(ladder=(32, 64, 128), osl=8, num_prompts=1, histories=2, repeats=1),
    "osl": Osl(ladder=(8, 16), isl=32, num_prompts=1, repeats=1),
    "concurrency": Concurrency(levels=(1, 4), isl=32, osl=8, num_prompts=4, repeats=1),
    "rate": Rate(rates=(20, "inf"), isl=32, osl=8, num_prompts=4, repeats=1),
    "content": Content(contents=("arith", "code"), random_ids=False, isl=32, osl=12, num_prompts=1, histories=4, repeats=1),
    "acceptance": Acceptance(temperatures=(0.0, 1.0), contents=("code",), rounds=(8,), isl=32, osl=12, max_concurrency=1, repeats=1),
    "batch": Batch(block_sizes=(3,), levels=(1, 4), isl=32, osl=8, num_prompts=4),
    "capacity": Capacity(values=(("radix_cache", True),), isl=256, osl=2, max_concurrency=1, repeats=1),
    "verify_cost": VerifyCost(widths=(1, 4), batches=(1,), repeats=1, inner=1),
    # judges the search's base, its winner wherever so few pairs of boots resolve nothing: then that is not one boot more
    "gate": Gate(
        block_sizes=(3,), problems=8, sampled_problems=2, repeats=4, texts=2, text_repeats=4, control_problems=4, max_tokens=48, text_tokens=12, max_concurrency=8,
        silent=(("chunked_prefill_size", 32),),
    ),
    "kernels": Kernels(operators=("greedy_accept",)),
}
FULL: dict[str, Stage] = {
    "search": Search(
        aa_pairs=12,
        window_repeats=4,
        confirm_pairs=6,
        mtp=True,
        memory=Memory(boots=8),
        cache=Cache(extra_buffer=True, gsp_num_groups=4, repeats=4),
        knobs=Knobs(repeats=3),
        factorial=Factorial(),
        heads=Heads(contents=CONTENTS),
        lanes=Lanes(),
        curve=Curve(),
    ),
    "window": Window(
        repeats=4, lanes=("dflash", "lookup"), modes=("eager", "graph", "fused"), mode_contents=("arith", "code"),
        mode_block_sizes=(1, 2, 3, 4, 5, 6, 7), mode_repeats=3,
    ),
    "isl": Isl(ladder=(64, 128, 256, 512, 1024, 2048, 4096, 8192), repeats=3),
    "osl": Osl(repeats=3),
    "concurrency": Concurrency(repeats=3),
    "rate": Rate(),
    "content": Content(repeats=3),
    "acceptance": Acceptance(),
    "batch": Batch(block_sizes=(1, 3, 7), levels=(1, 2, 4, 8, 16, 32), repeats=2),
    "capacity": Capacity(),
    "verify_cost": VerifyCost(
        models=("trained", "random-25m"), modes=("eager", "fused-shared"), widths=tuple(range(1, 17)), batches=(1, 4, 16), acceptance="xeon-2core",
        larger=("random-60m", "random-moe"),
    ),
    # the search's winner is judged as well
    "gate": Gate(problems=200, sampled_problems=60, repeats=8, text_repeats=8, control_problems=200, lanes=("mtp",), sampled_margin=0.05),
    "kernels": Kernels(),
}
