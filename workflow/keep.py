"""Publish measured files into a campaign folder: all of them valid, or none of them moved.

`python -m workflow.keep FILE... --into workflow/campaigns/NAME` validates every CSV against its schema and its manifest,
keeps the previous content under `workflow/build/previous/NAME`, then renames the new files into place.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from workflow.derive.output import OutputError, write_together
from workflow.derive.schema import SchemaError, validate_csv, validate_manifest
from workflow.plan import BUILD


def keep(files: list[Path], into: Path, previous: Path) -> list[Path]:
    """Validate, back up, rename. Returns the published paths; raises SchemaError or OutputError before anything is touched."""
    for file in files:
        if file.name.endswith(".manifest.json"):
            manifest = validate_manifest(file, file.with_name(file.name.removesuffix(".manifest.json") + ".csv"))
            if manifest["campaign"] != into.name:
                raise SchemaError(f"{file}: campaign: {manifest['campaign']!r}; expected {into.name!r}, the campaign it is published into")
        else:
            validate_csv(file)
    published = {into / file.name: file.read_bytes() for file in files}
    # the copies of the old rows first: a disk that is full for one of them must not leave rows of two measurements side by side
    write_together({previous / target.name: target.read_bytes() for target in published if target.exists()})
    write_together(published)
    return list(published)


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.keep", description=__doc__.splitlines()[0])
    parser.add_argument("files", nargs="+", type=Path, help="measured CSVs and their manifests")
    parser.add_argument("--into", required=True, type=Path, help="campaign folder to publish into")
    args = parser.parse_args(argv)
    try:
        published = keep(args.files, args.into, BUILD / "previous" / args.into.name)
    except (SchemaError, OutputError, OSError) as error:
        print(f"keep: {error}; the published files are untouched", file=sys.stderr)
        return 2
    print(f"kept {len(published)} files in {args.into}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
