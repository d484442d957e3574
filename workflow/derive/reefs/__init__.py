"""Reefs: hazards of measuring that do not announce themselves, one detector each. Importing this package registers all of them."""

from __future__ import annotations

from workflow.derive.load import Campaign
from workflow.derive.reefs import acceptance, arithmetic, machine, workload  # noqa: F401
from workflow.derive.reefs.evidence import Evidence
from workflow.derive.reefs.finding import REEFS, SEVERITIES, Finding


def findings(campaign: Campaign) -> list[Finding]:
    """Every finding of a campaign, the gravest first."""
    evidence = Evidence(campaign)
    found = [finding for reef in REEFS for finding in reef.findings(evidence)]
    return sorted(found, key=lambda one: (SEVERITIES.index(one.severity), one.reef, one.where))
