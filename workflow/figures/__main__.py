"""python -m workflow.figures --values VALUES.json --out DIR: the plates of one campaign, language-neutral."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from workflow.collector import no_collections
from workflow.derive.values import Values
from workflow.figures.build import build


@no_collections()
def main(arguments: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m workflow.figures", description="Draw the plates of one campaign from its values.json.")
    parser.add_argument("--values", type=Path, required=True, help="values.json of `python -m workflow.derive`")
    parser.add_argument("--out", type=Path, required=True, help="folder for ID.svg, ID.narrow.svg, share.png and index.json")
    options = parser.parse_args(arguments)
    try:
        index = build(Values.load(options.values), options.out)
    except (OSError, ValueError) as error:
        print(f"figures: {error}", file=sys.stderr)
        return 2
    for plate, record in index.items():
        print(f"{plate}: {record['file'] or 'not drawn, ' + record['reason']}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
