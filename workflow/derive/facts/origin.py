"""Where transcribed rows come from, as their manifests say."""

from workflow.derive.fact import Cell
from workflow.derive.registry import fact
from workflow.derive.rows import Missing

FIELDS = ("title", "publisher", "address", "published", "measured", "hardware", "model", "software")


def own(read) -> dict[str, dict]:
    """Manifests by file, without that of what others observed: a campaign that cites it is not one that was transcribed."""
    return {file: manifest for file, manifest in sorted(read.campaign.manifests.items()) if manifest["kind"] != "external"}


@fact("origin.{field}", kind="label", field=FIELDS)
def origin(read, field):
    """what the manifests of transcribed files say about the publication"""
    found = {}
    for file, manifest in own(read).items():
        if (value := (manifest.get("origin") or {}).get(field)) is not None:
            found[file] = value
            read.record.cells[Cell(file.removesuffix(".csv") + ".manifest.json", f"origin.{field}", "")] = None
            read.record.statuses.append(manifest.get("status", "measured"))
    if not found:
        known = any(manifest.get("origin") for manifest in own(read).values())
        raise Missing(f"the publication does not state it ({field})" if known else "this campaign was measured here, not transcribed")
    if len(set(found.values())) > 1:
        raise Missing(f"the manifests disagree on origin.{field}")
    return next(iter(found.values()))


@fact("origin.rows", kind="count")
def rows(read):
    """rows of the transcribed files, claims of the publication left out"""
    if not any(manifest.get("status") == "transcribed" for manifest in own(read).values()):
        raise Missing("this campaign was measured here, not transcribed")
    total = 0
    for file, manifest in sorted(read.campaign.manifests.items()):
        if manifest.get("status") == "transcribed" and manifest["kind"] != "published":
            read.record.cells[Cell(file.removesuffix(".csv") + ".manifest.json", "rows", "")] = None
            read.record.statuses.append("transcribed")
            total += manifest["rows"]
    return total
