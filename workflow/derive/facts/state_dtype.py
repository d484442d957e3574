"""The recurrent state kept in lower precision: what it gains in speed; the gate says what it costs in answers, facts/room.py what it frees."""

from __future__ import annotations

from workflow.derive.facts.gate import answers
from workflow.derive.facts.search import with_students_t
from workflow.derive.registry import fact

KNOB = "mamba_ssm_dtype"


@fact("gate.state.dtype", kind="label")
def dtype(read):
    """precision in which the gate's control keeps the recurrent state"""
    return answers(read, "numeric", "greedy").texts(KNOB)[0]


def setting(read) -> str:
    """Label under which the search tried that precision."""
    return f"{KNOB}={read.label('gate.state.dtype')}"


@fact("gate.state.speed", kind="ratio")
def speed(read):
    """time per token of the base / with the state in that precision, at the search's load; its interval is Student's t over the pairs of boots"""
    return with_students_t(read, "knobs", {"label": setting(read)})
