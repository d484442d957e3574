"""Ends the process groups of a server when the process that started it is gone, however it went.

Run as a script with the groups and, after `--`, the commands that stop containers by name, each as JSON. It reads its standard input:
the word `done` lets it end in peace; an end of the input without that word means that the parent died.
"""

from __future__ import annotations

import contextlib
import json
import os
import signal
import subprocess
import sys
import time

GRACE_S = 3.0
COMMAND_LIMIT_S = 30.0
"""How long a command that stops a container may take."""


def end_group(group: int, grace_s: float = GRACE_S) -> None:
    """SIGTERM to a process group, SIGKILL to what is left of it after the grace."""
    for number in (signal.SIGTERM, signal.SIGKILL):
        try:
            os.killpg(group, number)
        except (ProcessLookupError, PermissionError):
            return
        end = time.monotonic() + grace_s
        while number == signal.SIGTERM and alive(group) and time.monotonic() < end:
            time.sleep(0.02)


def alive(group: int) -> bool:
    """Whether a process of this group is left that is not a zombie."""
    try:
        os.killpg(group, 0)
    except (ProcessLookupError, PermissionError):
        return False
    return any(state != "Z" for state in states(group))


def states(group: int) -> list[str]:
    """State letters of the processes of a group, from /proc; one `?` where that does not exist."""
    found = []
    try:
        names = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return ["?"]
    for name in names:
        fields = stat(name)
        if fields and int(fields[2]) == group:
            found.append(fields[0])
    return found


def stat(process: str) -> list[str]:
    """Fields of a process in /proc from its state on; none where it is gone."""
    try:
        with open(f"/proc/{process}/stat", encoding="utf8", errors="replace") as file:
            return file.read().rpartition(")")[2].split()
    except OSError:
        return []


def started(process: int) -> int | None:
    """Clock ticks after the machine's at which a process began, which with its number names it; None where it is gone or /proc does not exist."""
    fields = stat(str(process))
    return int(fields[19]) if fields else None


def main(argv: list[str]) -> int:
    cut = argv.index("--") if "--" in argv else len(argv)
    groups, commands = [int(word) for word in argv[:cut]], [json.loads(word) for word in argv[cut + 1 :]]
    # its parent's terminal may interrupt the whole foreground group; this one stays until the work is done
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.stdin.read().strip() == "done":
        return 0
    for command in commands:
        # one that is not installed or hangs must not keep the ranks alive
        with contextlib.suppress(OSError, subprocess.TimeoutExpired):
            quiet = {"stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
            subprocess.run(command, check=False, timeout=COMMAND_LIMIT_S, **quiet)
    for group in groups:
        end_group(group)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
