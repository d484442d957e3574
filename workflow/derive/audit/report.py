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


def ordered(findings: list[Finding]) -> list[Finding]:
    """Wrong claims first, then what cannot be checked, then the rest."""
    order = [*WRONG, "unverifiable", "edge", "consistent"]
    return sorted(findings, key=lambda finding: order.index(finding.verdict))


def counted(findings: list[Finding]) -> list[tuple[str, int]]:
    """Verdicts that occur, with how many claims have them."""
    counts = Counter(finding.verdict for finding in findings)
    return [(name, counts[name]) for name in VERDICTS if counts[name]]


def as_text(findings: list[Finding], everything: bool = True) -> str:
    """Wrong claims first, then what cannot be checked, then the rest; each with its arithmetic."""
    shown = [finding for finding in ordered(findings) if everything or finding.verdict != "consistent"]
    width = max(len(f.id) for f in findings)
    lines = [f"{f.verdict:13} {f.id:{width}}  {f.why}" for f in shown]
    total = f"{len(findings)} claims: " + ", ".join(f"{count} {name}" for name, count in counted(findings))
    return "\n".join([*lines, total])


def found_wrong(findings: list[Finding]) -> bool:
    return any(f.verdict in WRONG for f in findings)
