"""Whether what others found points the same way here. Sizes are not compared: model, hardware and prompts differ."""

import math

from workflow.derive.claims.kinds import above
from workflow.derive.facts.elsewhere import QUESTIONS
from workflow.derive.registry import claim


@claim("elsewhere.{question}.same_side", kind="bound", measure="ln of the ratio", question=QUESTIONS)
def same_side(read, question):
    """The ratio that answers this question lies on the same side of one here as an outside observer found it."""
    read.cite(f"elsewhere.{question}.hardware", "lanes.most", "lanes.gamma", "isl.longest", "isl.shortest", "walls.cap.default", "walls.cap.rival.cap")
    there = math.log(read.exact(f"elsewhere.{question}.there").value)
    if there == 0:
        read.unresolved("the outside observer found neither side")
    return above(read[f"elsewhere.{question}.here"]) * math.copysign(1.0, there)
