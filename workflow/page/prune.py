"""Pages of a campaign that the site no longer has: removed by the build that leaves them out, since `publish` packs the whole folder."""

from __future__ import annotations

import json
from collections.abc import Collection
from pathlib import Path, PurePosixPath

from workflow.derive.output import write_together


def prune(files: Collection[str], site: Path, record: Path) -> list[str]:
    """Remove what the last recorded build wrote below the site and this one did not, and record this one; names of what went.

    A file that no build wrote stands in no record and stays. Raises OSError or OutputError where something cannot be removed or written.
    """
    gone = sorted(name for name in _recorded(record, site) if name not in files and (site / name).is_file())
    for name in gone:
        (site / name).unlink()
        for folder in list(PurePosixPath(name).parents)[:-1]:
            if any((site / folder).iterdir()):
                break
            (site / folder).rmdir()
    write_together({record: json.dumps({"site": str(site), "files": sorted(files)}, indent=0) + "\n"})
    return gone


def _recorded(record: Path, site: Path) -> set[str]:
    """Files of the last build of this site; none where there is no record that can be read."""
    try:
        about = json.loads(record.read_text("utf8"))
        names = {str(name) for name in about["files"]} if about["site"] == str(site) else set()
    except (OSError, ValueError, KeyError, TypeError):
        return set()
    return {name for name in names if not PurePosixPath(name).is_absolute() and ".." not in PurePosixPath(name).parts}
