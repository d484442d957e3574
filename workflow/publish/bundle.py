"""A site as one archive whose bytes depend on the site's files alone."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import tarfile
from pathlib import Path

from workflow.derive.output import write_together

ARCHIVE = "soundings-site.tar.gz"
CHECKSUMS = "SHA256SUMS"
CRATE = "ro-crate-metadata.json"


class PublishError(ValueError):
    """A site that cannot be published; the message says what would be right."""


def site_content(site: Path) -> dict[str, bytes]:
    """Files below the site folder, path -> content, sorted. Raises PublishError on a folder that is no built site."""
    if not (site / "index.html").is_file():
        raise PublishError(f"{site}: no index.html; build the site first with `snakemake --cores 1 site`")
    # names that start with a dot are a build's or an editor's, never the site's
    files = {path.relative_to(site).as_posix(): path for path in site.rglob("*") if path.is_file()}
    return {name: files[name].read_bytes() for name in sorted(files) if not any(part.startswith(".") for part in name.split("/"))}


def archive(files: dict[str, bytes]) -> bytes:
    """A gzipped tar of the files: sorted, without times, owners or names of the machine."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w", format=tarfile.USTAR_FORMAT) as tar:
        for name, content in sorted(files.items()):
            entry = tarfile.TarInfo(f"site/{name}")
            entry.size, entry.mode = len(content), 0o644
            tar.addfile(entry, io.BytesIO(content))
    return gzip.compress(packed.getvalue(), mtime=0)


def checksums(files: dict[str, bytes]) -> str:
    """Lines of `sha256sum`, so that `sha256sum -c` checks what was downloaded."""
    return "".join(f"{hashlib.sha256(content).hexdigest()}  {name}\n" for name, content in sorted(files.items()))


def crate(files: dict[str, bytes], title: str, licence: str) -> str:
    """RO-Crate 1.1 metadata: the site as a dataset of files with checksums. `licence`: its SPDX identifier.

    Source: https://www.researchobject.org/ro-crate/specification/1.1/. The crate's date is left out: it would differ between two equal builds.
    """
    parts = [
        {"@id": name, "@type": "File", "contentSize": str(len(content)), "sha256": hashlib.sha256(content).hexdigest()}
        for name, content in sorted(files.items())
    ]
    root = {
        "@id": "./",
        "@type": "Dataset",
        "name": title,
        "license": {"@id": f"https://spdx.org/licenses/{licence}"},
        "hasPart": [{"@id": part["@id"]} for part in parts],
    }
    about = {
        "@id": CRATE,
        "@type": "CreativeWork",
        "conformsTo": {"@id": "https://w3id.org/ro/crate/1.1"},
        "about": {"@id": "./"},
    }
    return json.dumps({"@context": "https://w3id.org/ro/crate/1.1/context", "@graph": [about, root, *parts]}, indent=1) + "\n"


def write_bundle(site: Path, out: Path, title: str, licence: str) -> list[Path]:
    """Archive, checksums and metadata of a site, all of them or none. Returns the paths; raises OutputError."""
    files = site_content(site)
    packed = archive(files)
    metadata = crate(files, title, licence)
    listed = {ARCHIVE: packed, CRATE: metadata.encode(), **{f"site/{name}": content for name, content in files.items()}}
    written = {out / ARCHIVE: packed, out / CRATE: metadata.encode(), out / CHECKSUMS: checksums(listed).encode()}
    write_together(written)
    return list(written)
