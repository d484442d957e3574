"""The publication before this one: what `moved` compares with.

Named by `previous` of config.yaml (a path or `REF:PATH` of the git repository, `{campaign}` standing for the name); else the values that the site
shows now, if they are others than the new ones; else the copy that was kept when the site was last given new values. Values of another campaign, which
led the site before, are none of these.
"""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from pathlib import Path

from workflow.derive.output import write_together
from workflow.derive.values import Values
from workflow.page.inert import inert_document


@dataclass(frozen=True)
class Published:
    """Values that were published before, and where they were found."""

    values: Values
    source: str


def kept(build: Path, name: str) -> Path:
    return build / "previous" / name / "values.json"


def find(name: str, wanted: str, shown: Path, build: Path, root: Path) -> Published | None:
    """The publication to compare with, or None where there is none. `shown`: values.json below the site folder. Raises ValueError on one that cannot be read."""
    if wanted:
        return _named(wanted.replace("{campaign}", name), root)
    fresh = (build / name / "values.json").read_bytes() if (build / name / "values.json").is_file() else b""
    for file in (shown, kept(build, name)):
        if file.is_file() and (content := file.read_bytes()) != fresh:
            found = _published(content, str(file), "the last publication of this site")
            if found.values.campaign == name:
                return found
    return None


def keep(name: str, shown: Path, new: bytes, build: Path) -> None:
    """Before the site is given other values: keep those it shows, if they are this campaign's."""
    if shown.is_file() and (old := shown.read_bytes()) != new and _campaign(old) == name:
        write_together({kept(build, name): old})


def _campaign(content: bytes) -> str | None:
    """Whose values these are; None where they cannot be read."""
    try:
        return json.loads(content)["campaign"]
    except (KeyError, TypeError, ValueError):
        return None


def _named(name: str, root: Path) -> Published | None:
    path = root / name
    if path.is_file():
        return _published(path.read_bytes(), name, name)
    if ":" not in name:
        return None
    shown = subprocess.run(["git", "show", "--end-of-options", name], check=False, cwd=root, capture_output=True)
    return _published(shown.stdout, name, name) if shown.returncode == 0 else None


def _published(content: bytes, name: str, source: str) -> Published:
    try:
        values = Values.from_json(inert_document(content.decode("utf8")))
        ends = [str(run.get("end", "")) for run in values.runs.values()]
        return Published(values, f"{source}, measured until {max(ends)}" if any(ends) else source)
    except (KeyError, TypeError, AttributeError, ValueError) as error:
        raise ValueError(f"{name}: not a values.json ({error}); it is what `moved` compares with, see `previous` in workflow/config.yaml") from None
