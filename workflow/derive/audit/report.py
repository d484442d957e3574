"""The verdicts of a folder as text and as JSON."""

from __future__ import annotations

import json
from collections import Counter

from workflow.derive.audit.verdict import VERDICTS, WRONG, Finding


def as_json(findings: list[Finding]) -> str:
    rows = []
    for finding in findings:
        row = {name: getattr(finding, name) for name in ("id", "verdict", "low", "high", "published", "why")}
        rows.append(row | ({"contradicts": finding.other} if finding.other else {}))
    return json.dumps({"claims": rows}, indent=1, ensure_ascii=False)


def as_text(findings: list[Finding], everything: bool = True) -> str:
    """Wrong claims first, then what cannot be checked, then the rest; each with its arithmetic."""
    order = [*WRONG, "unverifiable", "edge", "consistent"]
    shown = sorted((f for f in findings if everything or f.verdict != "consistent"), key=lambda f: order.index(f.verdict))
    width = max(len(f.id) for f in findings)
    lines = [f"{f.verdict:13} {f.id:{width}}  {f.why}" for f in shown]
    counts = Counter(f.verdict for f in findings)
    total = f"{len(findings)} claims: " + ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name])
    return "\n".join([*lines, total])


def found_wrong(findings: list[Finding]) -> bool:
    return any(f.verdict in WRONG for f in findings)
