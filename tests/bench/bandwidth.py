"""Read bandwidth of memory on one pinned thread, in GB/s: the bound of a decode step that reads every weight once."""

from __future__ import annotations

import argparse
import os
import sys
import time

# Far above any last-level cache, so that every pass comes from memory.
BYTES = 1 << 30
PASSES = 5


def best_read_gb_s(size_bytes: int = BYTES, passes: int = PASSES) -> float:
    """Best of several passes of two reading kernels (a sum and a dot product) over one buffer."""
    import torch

    torch.set_num_threads(1)
    buffer = torch.ones(size_bytes // 4)
    half = buffer.numel() // 2
    kernels = (buffer.sum, lambda: torch.dot(buffer[:half], buffer[half:]))
    times = []
    for _ in range(passes):
        for kernel in kernels:
            start = time.perf_counter()
            kernel()
            times.append(time.perf_counter() - start)
    return size_bytes / min(times) / 1e9


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cpu", type=int, help="processor to pin to")
    args = parser.parse_args()
    if args.cpu is not None:
        os.sched_setaffinity(0, {args.cpu})
    print(f"{best_read_gb_s():.3f}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
