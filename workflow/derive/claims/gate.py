"""Whether the fast configurations answer as plain decoding does."""

from workflow.derive.claims.kinds import above, counted
from workflow.derive.facts.gate import SCORED, TASKS
from workflow.derive.registry import claim

LEAST_TEXTS = 2


@claim("gate.non_inferior.{task}", kind="bound", measure="share of answers", task=tuple(TASKS))
def non_inferior(read, task):
    """The candidate loses fewer right answers to plain decoding than the margin that was declared before measuring."""
    read.cite(
        "gate.candidate",
        "gate.gamma",
        "gate.repeats",
        f"gate.problems.{task}",
        f"gate.candidate.{task}.lower",
        f"gate.candidate.{task}.would_resolve",
        *(f"gate.{role}.{task}.score" for role in SCORED),
    )
    if read[f"gate.base.{task}.score"].value == 0:
        read.unresolved("plain decoding answers no problem rightly, so none can be lost")
    difference = read[f"gate.candidate.{task}.difference"].to("")
    return difference + read[f"gate.margin.{task}"].to(""), read[f"gate.candidate.{task}.reach"].to("").value


@claim("gate.lossless", kind="count", measure="outputs")
def lossless(read):
    """Under greedy decoding every output of the candidate equals plain decoding's, token for token."""
    if read["gate.candidate.outputs.compared"].value == 0:
        read.unresolved("no output was compared")
    return counted(read["gate.candidate.outputs.differing"], 0)


@claim("gate.control_equal", kind="count", measure="outputs")
def control_equal(read):
    """Under greedy decoding plain decoding on another boot gives its own outputs back, token for token."""
    if read["gate.control.outputs.compared"].value == 0:
        read.unresolved("no output was compared")
    return counted(read["gate.control.outputs.differing"], 0)


@claim("gate.same_text", kind="count", measure="outputs")
def same_text(read):
    """Under greedy decoding every output of the candidate reads as plain decoding's; tokens are not compared."""
    if read["gate.candidate.texts.compared"].value == 0:
        read.unresolved("no output was compared")
    return counted(read["gate.candidate.texts.differing"], 0)


@claim("gate.silent_knobs", kind="count", measure="outputs")
def silent_knobs(read):
    """Settings that only decide where and when something runs change no token, no log probability and no accepted count."""
    read.cite("gate.silent.knobs")
    if read["gate.silent.compared"].value == 0:
        read.unresolved("no log probabilities were recorded")
    return counted(read["gate.silent.moved"], 0)


@claim("gate.state_moves", kind="count", measure="outputs")
def state_moves(read):
    """A recurrent state kept in lower precision changes log probabilities: the comparison of bits can see a change."""
    if read["gate.numeric.outputs.compared"].value == 0:
        read.unresolved("no log probabilities were recorded")
    return read["gate.numeric.outputs.moved"] - 0.5


@claim("gate.broken_caught", kind="count", measure="configurations")
def broken_caught(read):
    """The gate fails a configuration that was broken on purpose."""
    read.cite("gate.base.variety", "gate.broken.variety")
    if read["gate.broken.texts"].value < LEAST_TEXTS:
        read.unresolved("too few texts were sampled to see it")
    return counted(read["gate.broken.caught"], 1)


@claim("gate.state_dtype_worth_it", kind="bound", measure="log ratio, or share of answers where the gate refuses it")
def state_dtype_worth_it(read):
    """A recurrent state in lower precision takes less time per token at the search's load, and no half of the gate finds it inferior."""
    read.cite("gate.state.dtype", *(f"gate.numeric.{task}.lower" for task in TASKS))
    gain = above(read["gate.state.speed"])
    for task in TASKS:
        room = read[f"gate.numeric.{task}.difference"].to("") + read[f"gate.margin.{task}"].to("")
        reach = read[f"gate.numeric.{task}.reach"].to("").value
        if room.value < -reach:
            return room, reach
        if room.value <= reach:
            read.unresolved("the gate does not settle whether it loses answers")
    return gain
