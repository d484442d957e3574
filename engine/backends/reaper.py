"""Ends the process groups of a server when the process that started it is gone, however it went.

Run as a script with the groups and, after `--`, the commands that stop containers by name, each as JSON. It reads its standard input:
the word `done` lets it end in peace; an end of the input without that word means that the parent died.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time

GRACE_S = 3.0


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
        try:
            with open(f"/proc/{name}/stat", encoding="utf8", errors="replace") as file:
                fields = file.read().rpartition(")")[2].split()
        except OSError:
            continue
        if int(fields[2]) == group:
            found.append(fields[0])
    return found


def main(argv: list[str]) -> int:
    cut = argv.index("--") if "--" in argv else len(argv)
    groups, commands = [int(word) for word in argv[:cut]], [json.loads(word) for word in argv[cut + 1 :]]
    # its parent's terminal may interrupt the whole foreground group; this one stays until the work is done
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    if sys.stdin.read().strip() == "done":
        return 0
    for command in commands:
        subprocess.run(command, check=False, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    for group in groups:
        end_group(group)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
