"""A Slurm cluster of one node, this machine, in one folder: munged, slurmctld and slurmd on ports of their own, ended with the block.

Debian: `apt-get install slurmctld slurmd slurm-client munge`. Needs root, as slurmd and munged do.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "sinfo", "sbatch", "squeue", "srun", "scontrol")
CONFIGURATION = """ClusterName=soundings
SlurmctldHost={host}(127.0.0.1)
SlurmUser=root
SlurmdUser=root
AuthType=auth/munge
AuthInfo=socket={root}/munge.socket
CryptoType=crypto/munge
SlurmctldPort={controller}
SlurmdPort={node}
SlurmctldPidFile={root}/slurmctld.pid
SlurmdPidFile={root}/slurmd.pid
StateSaveLocation={root}/state
SlurmdSpoolDir={root}/spool
SlurmctldLogFile={root}/slurmctld.log
SlurmdLogFile={root}/slurmd.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerParameters=sched_interval=2
ReturnToService=2
MinJobAge=3600
AccountingStorageType=accounting_storage/none
JobAcctGatherType=jobacct_gather/none
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} State=UNKNOWN
PartitionName=short Nodes={host} Default=YES MaxTime=60 State=UP
"""


def absent() -> str:
    """Why no cluster can be started here; empty where one can."""
    missing = [name for name in PROGRAMS if shutil.which(name) is None]
    if missing:
        return f"not installed: {', '.join(missing)}"
    return "" if os.geteuid() == 0 else "slurmd needs root"


def free_port() -> int:
    with socket.socket() as held:
        held.bind(("127.0.0.1", 0))
        return held.getsockname()[1]


def write(root: Path) -> dict[str, str]:
    """Key, folders and slurm.conf; returns the environment whose Slurm programs read them."""
    for name in ("state", "spool"):
        (root / name).mkdir(parents=True)
    root.chmod(0o755)  # munged refuses a socket in a folder that others may write
    key = root / "munge.key"
    key.write_bytes(os.urandom(128))
    key.chmod(0o400)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") // 2**20 - 256
    text = CONFIGURATION.format(
        host=socket.gethostname().split(".")[0], root=root, controller=free_port(), node=free_port(), cpus=os.cpu_count(), memory=memory
    )
    (root / "slurm.conf").write_text(text, "utf8")
    # A job that starts jobs drops every SLURM_ variable; elsewhere the file is in /etc.
    (root / "bin").mkdir()
    for name in PROGRAMS:
        shim = root / "bin" / name
        shim.write_text(f'#!/bin/sh\nSLURM_CONF={root}/slurm.conf exec {shutil.which(name)} "$@"\n', "utf8")
        shim.chmod(0o755)
    return {**os.environ, "PATH": f"{root / 'bin'}{os.pathsep}{os.environ['PATH']}"}


@contextlib.contextmanager
def cluster(root: Path) -> Iterator[dict[str, str]]:
    """Start the three daemons and wait until the node is idle; yields the environment of a user of this cluster."""
    environment = write(root)
    daemons = (
        ["munged", "--foreground", "--force", f"--key-file={root}/munge.key", f"--socket={root}/munge.socket",
         f"--pid-file={root}/munged.pid", f"--log-file={root}/munged.log", f"--seed-file={root}/munged.seed"],
        ["slurmctld", "-D", "-c"],
        ["slurmd", "-D", "-c"],
    )  # fmt: skip
    started: list[subprocess.Popen] = []
    try:
        for command in daemons:
            with open(root / f"{command[0]}.out", "wb") as out:
                started.append(subprocess.Popen(command, env=environment, stdin=subprocess.DEVNULL, stdout=out, stderr=out))
            if command[0] == "munged":
                wait(lambda: (root / "munge.socket").exists(), root, "munged made no socket")
        wait(lambda: state(environment) == "idle", root, "the node did not become idle")
        yield environment
    finally:
        for daemon in reversed(started):
            daemon.terminate()
            try:
                daemon.wait(timeout=20)
            except subprocess.TimeoutExpired:
                daemon.kill()


def state(environment: dict[str, str]) -> str:
    run = subprocess.run(["sinfo", "-h", "-o", "%T"], env=environment, capture_output=True, text=True, timeout=60)
    return run.stdout.strip()


def wait(ready, root: Path, why: str, seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not ready():
        if time.monotonic() > end:
            logs = "".join(f"\n{path.name}: {path.read_text(errors='replace')[-600:]}" for path in sorted((*root.glob("*.log"), *root.glob("*.out"))))
            raise RuntimeError(f"{why} in {seconds:g} s{logs}")
        time.sleep(0.5)
