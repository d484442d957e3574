"""Lines of a boot log that a reader of the rows should know: settings that were not taken as asked for, capacities in words."""

from __future__ import annotations

import re
from collections.abc import Sequence


def notable(lines: Sequence[str], patterns: Sequence[re.Pattern[str]], stamp: re.Pattern[str]) -> list[str]:
    """The lines in which a pattern is found, in order and without their stamp; each once, since every rank of a node may print it."""
    return list(dict.fromkeys(stamp.sub("", line).strip() for line in lines if any(pattern.search(line) for pattern in patterns)))
