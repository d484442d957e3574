"""Build the site: python -m workflow.page --build workflow/build --site site [--campaign NAME ...]

Exit 0: written. 1: a check found something, nothing was written. 2: an input is bad or missing.
"""

from __future__ import annotations

import argparse
import gc
import sys
import time
from pathlib import Path

from workflow import told
from workflow.derive.output import OutputError, write_together
from workflow.page import previous
from workflow.page.errors import PageError
from workflow.page.listing import site_files
from workflow.page.prune import prune
from workflow.page.routes import routes
from workflow.page.site import build, write
from workflow.page.words import TEMPLATES
from workflow.plan import ROOT, Plan, PlanError, check_config, read_config


def arguments() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="python -m workflow.page", description="Build the bilingual report from derived values and drawn plates."
    )
    parser.add_argument(
        "--build", type=Path, default=Path("workflow/build"), help="folder with NAME/values.json and NAME/figures (default: %(default)s)"
    )
    parser.add_argument("--site", type=Path, default=Path("site"), help="folder to write (default: %(default)s)")
    parser.add_argument(
        "--config", type=Path, default=Path("workflow/config.yaml"), help="campaigns, lead and site_url (default: %(default)s)"
    )
    parser.add_argument("--campaign", action="append", metavar="NAME", help="build these campaigns instead; the first one leads")
    parser.add_argument("--lead", metavar="NAME", help="the campaign at the root of the site, instead of the configured one")
    parser.add_argument("--preset", help="the preset whose stages the campaigns were measured at, instead of the configured one")
    parser.add_argument("--site-url", metavar="URL", help="absolute address of the published site, instead of the configured one")
    parser.add_argument("--list", action="store_true", help="print the files that a build writes, build nothing")
    parser.add_argument("--check", action="store_true", help="run every check, write nothing")
    parser.add_argument("--prune", action="store_true", help="remove files that the last build with --prune wrote and this one does not")
    return parser


def main(argv: list[str] | None = None) -> int:
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            stream.reconfigure(errors="backslashreplace")  # a terminal that knows ASCII only is no reason to fail
    options = arguments().parse_args(argv)
    try:
        config = read_config(options.config)
        if options.campaign:
            config = {**config, "campaigns": options.campaign, "lead": options.campaign[0]}
        config |= {name: given for name, given in (("lead", options.lead), ("preset", options.preset), ("site_url", options.site_url)) if given is not None}
        plan = Plan.from_config(check_config(options.config, config), ROOT)
        if options.list:
            print("\n".join(site_files(plan, str(options.site))))
            return 0
        start = time.perf_counter()
        gc.disable()  # one build, then the process ends: walking its many small objects again and again frees nothing
        shown = {name: options.site / f"{routes(name, plan.lead).prefix}values.json" for name in plan.names}
        wanted = config.get("previous") or ""
        before = {name: previous.find(name, wanted, file, options.build, ROOT) for name, file in shown.items()}
        result = build(plan, options.build, TEMPLATES, config.get("site_url") or "", before)
    except (PageError, PlanError, ValueError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 2
    for line in result.log:
        print(line)
    if result.problems:
        for problem in result.problems:
            print(problem, file=sys.stderr)
        print(f"{len(result.problems)} problems; nothing was written", file=sys.stderr)
        return 1
    if not options.check:
        try:
            texts = []
            for name, file in shown.items():
                new = result.files[file.relative_to(options.site).as_posix()]
                if before[name] and file.is_file() and file.read_bytes() != new:
                    texts.append(told.told(name, result.moves[name], str(previous.kept(options.build, name)), str(options.build / name / "values.json")))
                previous.keep(name, file, new, options.build)
            write(result.files, options.site)
            if options.prune:
                for name in prune(result.files, options.site, options.build / "site.json"):
                    print(f"{options.site / name}: removed, no campaign of this site has it")
            if texts:
                write_together({options.build / told.FILE: "".join(texts)})
        except OutputError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        except OSError as error:
            print(f"error: {error.filename or options.site}: cannot be written: {error.strerror}", file=sys.stderr)
            return 2
        print(
            f"{options.site}: {len(result.files)} files, {sum(map(len, result.files.values())) / 1e6:.1f} MB, {time.perf_counter() - start:.1f} s"
        )
    return 0


if __name__ == "__main__":
    sys.exit(main())
