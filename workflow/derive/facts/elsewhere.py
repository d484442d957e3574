"""What others found beside what this campaign finds, one ratio a question: external.csv has theirs, with what stops a comparison of sizes."""

from __future__ import annotations

from workflow.derive.registry import fact
from workflow.derive.sample import Sample

QUESTIONS = ("loaded", "context", "cap")
"""Speculation over plain decoding at the largest load; accept length at the longest over that at the shortest input; the default cap over another."""
SAME = {"loaded": "lanes.at_most.ratio", "cap": "walls.cap.rival.ratio"}
"""Question -> the fact that is its ratio here."""


@fact("elsewhere.{question}.here", kind="ratio", question=QUESTIONS)
def own(read, question):
    """speculative over plain throughput at the largest load, accept length at the longest over the shortest input, or throughput under the default cap over another"""
    if question == "context":
        return read["accept.at_longest"] / read["accept.at_shortest"]
    return read[SAME[question]]


@fact("elsewhere.{question}.there", kind="ratio", question=QUESTIONS)
def theirs(read, question):
    """the same as an outside observer found it, a mean of the ends of its range"""
    rows = read.external(id=f"ratio_{question}")
    return Sample((rows.sum("low").value + rows.sum("high").value) / 2)


@fact("elsewhere.{question}.hardware", kind="label", question=QUESTIONS)
def hardware(read, question):
    """what the outside observer measured on"""
    return read.external(id=f"ratio_{question}").texts("hardware")[0]
