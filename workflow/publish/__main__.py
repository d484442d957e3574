"""Pack a built site, and push it if a remote is named: python -m workflow.publish --site site --out dist [--remote URL --branch gh-pages]"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from workflow.derive.output import OutputError
from workflow.publish.bundle import PublishError, write_bundle
from workflow.publish.pages import push_site


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.publish", description="Pack a built site with checksums; push it to a Pages branch.")
    parser.add_argument("--site", type=Path, default=Path("site"), help="built site (default: %(default)s)")
    parser.add_argument("--out", type=Path, default=Path("dist"), help="folder of the archive (default: %(default)s)")
    parser.add_argument("--title", default="Soundings report", help="name of the data set in the crate (default: %(default)s)")
    parser.add_argument("--licence", default="MIT", help="SPDX identifier of the site's licence (default: %(default)s)")
    parser.add_argument("--remote", default="", help="git remote, address or path to push to (default: none, nothing is pushed)")
    parser.add_argument("--branch", default="gh-pages", help="branch that the host serves (default: %(default)s)")
    options = parser.parse_args(argv)
    try:
        for path in write_bundle(options.site, options.out, options.title, options.licence):
            print(f"{path}: {path.stat().st_size} bytes")
        if options.remote:
            pushed = push_site(options.site, options.remote, options.branch, "Publish the site")
            print(f"{options.remote} {options.branch}: {'pushed' if pushed else 'has this site already'}")
    except (PublishError, OutputError, OSError) as error:
        print(f"publish: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
