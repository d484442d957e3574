"""Every check on a built site: what the page's build checks, that the site is what would be built now, the README's figures, and the browser's view.

python -m workflow.check --build workflow/build --site site [--campaign NAME ...]. Exit 0: all passed or said why they could not run. 1: something found.
"""

from __future__ import annotations

import argparse
import importlib.util
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from workflow.derive import load
from workflow.derive.schema import SchemaError
from workflow.plan import CAMPAIGNS, ROOT, read_config

README_CAMPAIGN = "xeon-2core"
"""The archived campaign whose figures the README splices."""
README_BENCHMARK = Path("tests/bench/pages")
"""Measured page builders, whose table the README splices."""
BROWSER = "chromium"


@dataclass(frozen=True)
class Outcome:
    name: str
    verdict: str
    """passed, failed, or skipped with the reason."""
    output: str = ""


def checks(build: Path, site: Path, flags: list[str]) -> Iterator[Outcome]:
    """One outcome a check, as they finish."""
    with tempfile.TemporaryDirectory(prefix="soundings-check-") as folder:
        fresh = Path(folder) / "site"
        # numbers, parity, Chinese, links, coverage, schemas: the build refuses to write when one finds something
        yield _run("page: numbers, claims, parity, links", "-m", "workflow.page", "--build", str(build), "--site", str(fresh), *flags)
        yield _same(site, fresh)
        yield schemas([flag.removeprefix("--campaign=") for flag in flags if flag.startswith("--campaign=")])
        yield from _readme(Path(folder))
    if shutil.which(BROWSER) is None:
        yield Outcome("browser", f"skipped: no {BROWSER}; on Debian `apt-get install chromium fonts-noto-cjk`")
    elif importlib.util.find_spec("pytest") is None:
        yield Outcome("browser", "skipped: no pytest; `pip install -e '.[test]'`")
    else:
        yield _run("browser", "-m", "pytest", "-m", "browser", "-o", "addopts=--strict-markers -q", "tests")


def schemas(names: list[str], root: Path = ROOT) -> Outcome:
    """Every CSV of the named campaigns (of the configured ones where none is named) against its schema and its manifest."""
    name, found, files = "rows: schemas, manifests, checksums", [], 0
    for campaign in names or read_config(root / "workflow/config.yaml")["campaigns"]:
        try:
            files += len(load.load(root / CAMPAIGNS / campaign).tables)
        except SchemaError as error:
            found.append(str(error))
    return Outcome(name, "failed" if found else "passed", "\n".join(found) or f"{files} files")


def _readme(folder: Path) -> Iterator[Outcome]:
    name = "README: spliced figures"
    places = {"readme": CAMPAIGNS / README_CAMPAIGN, "pages": README_BENCHMARK}
    for place, campaign in places.items():
        derived = _run(name, "-m", "workflow.derive", "--campaign", str(campaign), "--out", str(folder / place))
        if derived.verdict != "passed":
            yield derived
            return
    values, also = (str(folder / place / "values.json") for place in places)
    yield _run(name, "-m", "workflow.cli", "splice", "README.md", "--check", "--values", values, "--also", also)


def _same(site: Path, fresh: Path) -> Outcome:
    """Whether the site's files are what a build writes now."""
    name = "site: nothing stale"
    wanted = {path.relative_to(fresh): path.read_bytes() for path in fresh.rglob("*") if path.is_file()}
    stale = sorted(str(path) for path, content in wanted.items() if not (site / path).is_file() or (site / path).read_bytes() != content)
    if stale:
        return Outcome(name, "failed", f"{len(stale)} files differ from a build of now: {', '.join(stale[:5])}; run `snakemake --cores 1 site`")
    return Outcome(name, "passed" if wanted else "failed", "" if wanted else "nothing was built to compare with")


def _run(name: str, *arguments: str) -> Outcome:
    run = subprocess.run([sys.executable, *arguments], cwd=ROOT, capture_output=True, text=True, encoding="utf8")
    return Outcome(name, "passed" if run.returncode == 0 else "failed", (run.stdout + run.stderr).strip())


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.check", description=__doc__.splitlines()[0])
    parser.add_argument("--build", type=Path, default=Path("workflow/build"), help="folder of the derived values (default: %(default)s)")
    parser.add_argument("--site", type=Path, default=Path("site"), help="the built site (default: %(default)s)")
    options, flags = parser.parse_known_args(argv)  # the rest is the page's: --campaign, --lead, --site-url
    found = False
    for outcome in checks(options.build, options.site, flags):
        print(f"{outcome.name}: {outcome.verdict}", flush=True)
        if outcome.verdict == "failed":
            found = True
            print(outcome.output)
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
