"""Turn the published rows of a live campaign into an archived one: a folder that no rule writes.

Rows and manifests are copied as they are, so their checksums and their column `campaign` still name the campaign that measured.
Row files above the size that a repository should carry are gzipped; a manifest's sha256 is that of the unpacked CSV.
"""

from __future__ import annotations

import gzip
import os
import shutil
import tempfile
from pathlib import Path

import yaml

from workflow.derive.schema import validate_csv, validate_manifest
from workflow.plan import CAMPAIGNS, Plan, PlanError, Stage

LARGEST = 1_000_000
"""Bytes above which a CSV is gzipped."""
KEPT_KEYS = ("authors", "backend", "hardware", "source")


def archive(plan: Plan, name: str, into: str, titles: dict[str, str], hardware: str | None = None) -> list[Path]:
    """Copy the measured stages of live campaign `name` into a new campaign folder `into`.

    Returns the files written. Raises PlanError when `name` is not live, measured nothing, or `into` exists; SchemaError when a row file or its manifest is
    not valid. Nothing is left behind in either case.
    """
    if name not in plan.live:
        raise PlanError(f"{name}: not a live campaign of workflow/config.yaml; there are: {', '.join(plan.live) or 'none'}")
    target = plan.root / CAMPAIGNS / into
    if target.exists():
        raise PlanError(f"{CAMPAIGNS / into}: exists already; choose another name or remove it")
    source = plan.root / CAMPAIGNS / name
    stages = [stage for stage in plan.listed(name) if measured(source, stage)]
    if not stages:
        raise PlanError(f"{CAMPAIGNS / name}: no measured stage to archive; run `snakemake --cores 1 measure` first")
    definition = plan.definition(name)
    beside = Path(tempfile.mkdtemp(prefix=f".{into}.", dir=target.parent))
    try:
        for file in [*(file for stage in stages for file in stage.files), *(Path(file).name for file in plan.beside(name))]:
            if not file.endswith(".csv"):
                shutil.copyfile(source / file, beside / file)
                continue
            validate_csv(source / file)
            validate_manifest(source / (file.removesuffix(".csv") + ".manifest.json"), source / file)
            _copy(source / file, beside)
        for file in plan.proof(name):
            shutil.copyfile(plan.root / file, beside / Path(file).name)
        kept = {key: definition[key] for key in KEPT_KEYS if key in definition}
        if hardware:
            kept["hardware"] = hardware
        _write_definition(beside / "campaign.yaml", {"name": into, "measured_as": name, "title": titles, **kept})
        beside.chmod(0o755)
        os.replace(beside, target)
    except BaseException:
        shutil.rmtree(beside, ignore_errors=True)
        raise
    return sorted(target.iterdir())


def measured(folder: Path, stage: Stage) -> bool:
    """Whether every file of a stage is published."""
    return all((folder / file).is_file() for file in stage.files)


def _copy(csv: Path, into: Path) -> None:
    if csv.stat().st_size <= LARGEST:
        shutil.copyfile(csv, into / csv.name)
        return
    # no time and no name in the header: the same rows give the same bytes
    with open(into / f"{csv.name}.gz", "wb") as raw, gzip.GzipFile(filename="", mode="wb", fileobj=raw, mtime=0) as packed:
        packed.write(csv.read_bytes())


def _write_definition(path: Path, definition: dict) -> None:
    head = "# Archived: rows and manifests are never written by a rule.\n"
    path.write_text(head + yaml.safe_dump(definition, allow_unicode=True, sort_keys=False), "utf8")
