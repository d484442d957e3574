"""What files hold, as one small file: python -S -m workflow.digests OUT [FILE ...]

Lines of `sha256sum`, which change when one of the files changes, comes or goes. A rule with many outputs takes such a file as its input in the place of
those whose checksums are in it. Started for every edited row, so it imports nothing that has to be installed.
"""

from __future__ import annotations

import hashlib
import sys
from pathlib import Path

from workflow.derive.output import OutputError, write_together


def lines(files: list[str]) -> str:
    """A line for each file. Raises OSError."""
    return "".join(f"{hashlib.sha256(Path(file).read_bytes()).hexdigest()}  {file}\n" for file in files)


def main(argv: list[str]) -> int:
    if not argv:
        print("workflow.digests: no file to write; expected OUT [FILE ...]", file=sys.stderr)
        return 2
    out, *files = argv
    try:
        write_together({Path(out): lines(files)})
    except OSError as error:
        print(f"workflow.digests: {error.filename}: cannot be read: {error.strerror}", file=sys.stderr)
        return 2
    except OutputError as error:
        print(f"workflow.digests: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
