"""Time of the report side on one campaign: CSVs -> facts -> page in two languages, without drawing. Printed, never asserted.

    python -m tests.bench.page_speed [--campaign FOLDER]
"""

from __future__ import annotations

import argparse
import gzip
import tempfile
import time
from pathlib import Path

from tests.data.synthetic import write_campaign
from workflow.derive.__main__ import derive, write
from workflow.figures.build import build as draw
from workflow.page.site import build
from workflow.plan import Plan

GOAL_S = 3.0


def measure(folder: Path, repeats: int = 3) -> dict[str, float]:
    """Processor seconds of derive and of render (one thread, so wall time on an idle machine), the least of some repeats (the first pays for imports and caches), and the weight of the English page."""
    with tempfile.TemporaryDirectory() as scratch:
        root = Path(scratch)
        (root / "workflow/campaigns").mkdir(parents=True)
        (root / "workflow/campaigns" / folder.name).symlink_to(folder.resolve())
        plan, out = Plan((folder.name,), folder.name, root), root / "build"
        write(values := derive(folder), out / folder.name)
        draw(values, out / folder.name / "figures")
        times: dict[str, list[float]] = {"derive": [], "render": []}
        for _ in range(repeats):
            start = time.process_time()
            write(derive(folder), out / folder.name)
            times["derive"].append(time.process_time() - start)
            start = time.process_time()
            result = build(plan, out)
            times["render"].append(time.process_time() - start)
    page = result.files["index.html"]
    return {
        **{name: min(found) for name, found in times.items()},
        "raw_kb": len(page) / 1000,
        "gzip_kb": len(gzip.compress(page, 9)) / 1000,
        "problems": len(result.problems),
    }


def main() -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.page_speed", description=__doc__.splitlines()[0])
    parser.add_argument("--campaign", type=Path, help="campaign folder with CSVs (default: a synthetic one)")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        found = measure(arguments.campaign or write_campaign(Path(scratch) / "synthetic"))
    total = found["derive"] + found["render"]
    print(f"derive {found['derive']:.2f} s + render in two languages {found['render']:.2f} s = {total:.2f} s (goal: {GOAL_S:g} s, warm)")
    print(f"English page: {found['raw_kb']:.0f} KB, {found['gzip_kb']:.0f} KB gzipped (budget: 480 KB, 110 KB)")
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
