"""Two training processes, each pinned to one core with one thread.

One process with two threads waits at every OpenMP barrier for its slower thread; two
single-threaded ranks that meet only at the gradient sum lose far less to other load.
"""

from __future__ import annotations

import os
import socket
import subprocess
import sys
from datetime import timedelta

import torch
import torch.distributed as dist

RANK = "ENGINE_TRAIN_RANK"
RANKS = "ENGINE_TRAIN_RANKS"
PORT = "ENGINE_TRAIN_PORT"
# activations are allocated and freed every micro-batch: keep them on the heap instead of
# returning the pages to the system and faulting them in again
MALLOC = {
    "MALLOC_MMAP_THRESHOLD_": "4294967296",
    "MALLOC_TRIM_THRESHOLD_": "8589934592",
}


PATIENCE = timedelta(hours=12)
"""How long ranks wait at a barrier while one of them works alone."""


def is_rank() -> bool:
    """True inside a process started by :func:`launch`."""
    return RANK in os.environ


def launch(arguments: list[str], ranks: int) -> int:
    """Run ``python -m engine.train ARGUMENTS`` as ``ranks`` processes; worst exit code."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port = probe.getsockname()[1]
    processes = []
    for rank in range(ranks):
        environment = {
            **os.environ, **MALLOC,
            RANK: str(rank), RANKS: str(ranks), PORT: str(port),
            "OMP_NUM_THREADS": "1", "MKL_NUM_THREADS": "1",
        }
        processes.append(
            subprocess.Popen([sys.executable, "-m", "engine.train", *arguments], env=environment)
        )
    codes = [process.wait() for process in processes]
    return max(abs(code) for code in codes)


def join() -> tuple[int, int]:
    """Pin this process, use one thread, join the group; (rank, ranks). A process that nobody launched is the only rank."""
    rank, ranks = int(os.environ.get(RANK, "0")), int(os.environ.get(RANKS, "1"))
    if is_rank():
        cores = sorted(os.sched_getaffinity(0))
        os.sched_setaffinity(0, {cores[rank % len(cores)]})
    torch.set_num_threads(1)
    if ranks > 1:
        dist.init_process_group(
            "gloo",
            init_method=f"tcp://127.0.0.1:{os.environ[PORT]}",
            rank=rank,
            world_size=ranks,
            timeout=PATIENCE,
        )
    return rank, ranks


def wait() -> None:
    """Until all ranks are here."""
    if dist.is_initialized():
        dist.barrier()


def leave() -> None:
    """The end of a rank's work: all wait for one another and take the group apart."""
    if dist.is_initialized():
        dist.barrier()
        dist.destroy_process_group()
