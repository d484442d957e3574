"""The command line of a measuring rule, outside the rule.

Snakemake runs a rule again when the text of its shell command or its params have changed; a measurement may only be repeated
when somebody asks. So the rules call `python -m workflow.measure RULE` and never change, and what they run stands here.
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Sequence

from workflow.at import root_of
from workflow.plan import BUILD, CAMPAIGNS, STAGES

RULES = [stage.rule for stage in STAGES] + [stage.gather for stage in STAGES if stage.has_parts]


def command(rule: str, campaign: str, preset: str, log: str, part: str = "", parts: Sequence[str] = ()) -> list[str]:
    """Words after the interpreter. An interrupted measurement is gone on with; a finished one is measured anew.

    `part`: K/N, where this job measures a part of the sweep. `parts`: the files to gather, where it measures nothing.
    """
    stage = next(stage for stage in STAGES if rule in (stage.rule, stage.gather))
    # rows go where the log goes, which is where Snakemake looks for them; the definition is the checkout's
    out = root_of(log) / BUILD / ("parts" if part else "measured") / campaign
    words = ["-m", *stage.command.split(), "--campaign", str(CAMPAIGNS / campaign / "campaign.yaml"), "--out", str(out), "--preset", preset, "--log", log]
    if rule == stage.gather:
        return [*words, "--gather", *parts]
    return [*words, "--journal", str(BUILD / "journal" / campaign), "--resume", "interrupted", *(["--part", part] if part else [])]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.measure", description=__doc__.splitlines()[0])
    parser.add_argument("rule", choices=RULES, help="measuring rule to carry out")
    parser.add_argument("files", nargs="*", metavar="PART", help="parts to gather, where the rule gathers")
    parser.add_argument("--campaign", required=True, help="name of a live campaign")
    parser.add_argument("--preset", required=True, help="sizes of the stages")
    parser.add_argument("--log", required=True, help="file for the progress lines")
    parser.add_argument("--part", default="", metavar="K/N", help="part of the sweep that this job measures (default: all of it)")
    args = parser.parse_intermixed_args(argv)
    try:
        words = command(args.rule, args.campaign, args.preset, args.log, args.part, args.files)
    except ValueError as error:
        print(f"workflow.measure: --log {error}", file=sys.stderr)
        return 2
    sys.stdout.flush()
    # the measuring program takes this process over, so that signals and its exit code need no passing on
    os.execv(sys.executable, [sys.executable, *words])


if __name__ == "__main__":
    sys.exit(main())
