"""The command line of a measuring rule, outside the rule.

Snakemake runs a rule again when the text of its shell command or its params have changed; a measurement may only be repeated
when somebody asks. So the rules call `python -m workflow.measure RULE` and never change, and what they run stands here.
"""

from __future__ import annotations

import argparse
import os
import sys

from workflow.plan import BUILD, CAMPAIGNS, STAGES


def command(rule: str, campaign: str, preset: str, log: str) -> list[str]:
    """Words after the interpreter. An interrupted measurement is gone on with; a finished one is measured anew."""
    stage = next(stage for stage in STAGES if stage.rule == rule)
    return [
        "-m",
        *stage.command.split(),
        *("--campaign", str(CAMPAIGNS / campaign / "campaign.yaml"), "--out", str(BUILD / "measured" / campaign)),
        *("--journal", str(BUILD / "journal" / campaign), "--resume", "interrupted", "--preset", preset, "--log", log),
    ]


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.measure", description=__doc__.splitlines()[0])
    parser.add_argument("rule", choices=[stage.rule for stage in STAGES], help="measuring rule to carry out")
    parser.add_argument("--campaign", required=True, help="name of a live campaign")
    parser.add_argument("--preset", required=True, help="sizes of the stages")
    parser.add_argument("--log", required=True, help="file for the progress lines")
    args = parser.parse_args(argv)
    sys.stdout.flush()
    # the measuring program takes this process over, so that signals and its exit code need no passing on
    os.execv(sys.executable, [sys.executable, *command(args.rule, args.campaign, args.preset, args.log)])


if __name__ == "__main__":
    sys.exit(main())
