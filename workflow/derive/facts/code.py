"""Whether the rows of a live campaign came from the code that stands in the working tree."""

from workflow.derive.fact import Cell
from workflow.derive.measuring import taking_part
from workflow.derive.reader import manifest_name
from workflow.derive.registry import fact
from workflow.derive.rows import Missing


def fingerprints(read) -> dict[str, dict[str, str] | None]:
    """Measuring command -> fingerprint of its code (None: its manifest has none). Missing for a campaign that is not measured here."""
    if read.derivation.code is None:
        raise Missing("an archived campaign: its rows stay as they were measured, whatever the code is today")
    if not read.campaign.commands:
        raise Missing("this campaign has no manifest of a measuring command")
    found = {}
    for family, manifest in read.campaign.commands.items():
        read.record.cells[Cell(manifest_name(family), "fingerprint", "")] = None
        found[family] = manifest.get("fingerprint") or None
    return found


@fact("code.measured", kind="count", status="computed")
def measured(read):
    """measuring commands whose manifest names the code that measured"""
    return sum(known is not None for known in fingerprints(read).values())


@fact("code.unknown", kind="count", status="computed")
def unknown(read):
    """measuring commands whose manifest does not name the code that measured"""
    return sum(known is None for known in fingerprints(read).values())


@fact("code.other", kind="count", status="computed")
def other(read):
    """measuring commands whose code differs from the working tree's, comments and modules that their backend does not load aside"""
    backend = read.campaign.definition.get("backend", "")  # without one every module counts
    today = taking_part(read.derivation.code or {}, backend)
    return sum(known is not None and taking_part(known, backend) != today for known in fingerprints(read).values())
