"""What the machine is and how busy it was, read from the operating system."""

from __future__ import annotations

import hashlib
import os
import platform
import resource
import time
from dataclasses import dataclass
from pathlib import Path

CPUINFO = Path("/proc/cpuinfo")
STAT = Path("/proc/stat")
CPUS = Path("/sys/devices/system/cpu")
NODES = Path("/sys/devices/system/node")
# Instruction sets that decide which matrix kernels run.
ISA = ("avx2", "avx512f", "avx512_vnni", "avx512_bf16", "amx_bf16", "amx_int8", "avx_vnni", "asimd", "bf16", "i8mm", "sve")


@dataclass(frozen=True)
class Machine:
    """The part of a machine that does not change while it runs."""

    cpu: str
    cores: int
    memory_bytes: int
    os: str
    isa: tuple[str, ...]

    @classmethod
    def read(cls) -> Machine:
        fields: dict[str, str] = {}
        if CPUINFO.exists():
            for line in CPUINFO.read_text("utf8", errors="replace").splitlines():
                key, _, value = line.partition(":")
                fields.setdefault(key.strip(), value.strip())
        flags = set((fields.get("flags") or fields.get("Features") or "").split())
        return cls(
            cpu=fields.get("model name") or platform.processor() or platform.machine(),
            cores=os.cpu_count() or 1,
            memory_bytes=os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            os=f"{platform.system()} {platform.release()}",
            isa=tuple(name for name in ISA if name in flags),
        )

    @property
    def host(self) -> str:
        """Short hash, so that rows of two machines can be told apart without naming either."""
        text = f"{self.cpu}|{self.cores}|{self.memory_bytes}|{self.os}"
        return hashlib.sha256(text.encode("utf8")).hexdigest()[:8]


def node() -> str:
    """Short hash of which machine this is, so that two of one kind can be told apart without naming either."""
    identity = Path("/etc/machine-id")
    known = identity.read_text("utf8", errors="replace").strip() if identity.is_file() else ""
    return hashlib.sha256(f"{platform.node()}|{known}".encode()).hexdigest()[:8]


def load_average() -> list[float]:
    return [round(value, 2) for value in os.getloadavg()]


def clock_mhz(cpu: int | None, cpus: Path = CPUS, cpuinfo: Path = CPUINFO) -> float | None:
    """Clock of one processor now (of the first where none is named), in MHz; None where the system does not say. Virtual machines often say a nominal one."""
    number = cpu or 0
    current = cpus / f"cpu{number}" / "cpufreq" / "scaling_cur_freq"
    try:
        return int(current.read_text("utf8")) / 1000
    except (OSError, ValueError):
        pass  # no frequency driver: what /proc says is the next best
    try:
        clocks = [line.partition(":")[2] for line in cpuinfo.read_text("utf8", errors="replace").splitlines() if line.startswith("cpu MHz")]
        return float(clocks[number])
    except (OSError, ValueError, IndexError):
        return None


@dataclass(frozen=True)
class Ticks:
    """Processor time of one CPU since boot, or of all of them together, in seconds."""

    total_s: float
    busy_s: float
    steal_s: float

    @classmethod
    def read(cls, cpu: int | None) -> Ticks | None:
        """Of all processors where `cpu` names none; None where the system does not say."""
        if not STAT.exists():
            return None
        tick = os.sysconf("SC_CLK_TCK")
        for line in STAT.read_text("utf8").splitlines():
            name, *values = line.split()
            if name == f"cpu{'' if cpu is None else cpu}":
                user, nice, system, idle, iowait, irq, softirq, steal = (int(value) / tick for value in values[:8])
                busy = user + nice + system + irq + softirq
                return cls(busy + idle + iowait + steal, busy, steal)
        return None


def children_cpu_s() -> float:
    """Processor time of the child processes that have ended and been waited for, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime


def quietest_cpu(window_s: float = 0.3) -> int | None:
    """The allowed CPU that did least over a short window; None where CPUs cannot be pinned."""
    if not hasattr(os, "sched_getaffinity"):
        return None
    allowed = sorted(os.sched_getaffinity(0), reverse=True)
    before = {cpu: Ticks.read(cpu) for cpu in allowed}
    time.sleep(window_s)

    def busy(cpu: int) -> float:
        start, end = before[cpu], Ticks.read(cpu)
        return end.busy_s + end.steal_s - start.busy_s - start.steal_s if start and end else 0.0

    return min(allowed, key=busy)


def beside(cpu: int, nodes: Path = NODES) -> list[int]:
    """Other processors that this process may use, of the same memory as `cpu` where the system says which these are."""
    others = os.sched_getaffinity(0) - {cpu}
    same = {int(path.name.removeprefix("cpu")) for own in nodes.glob(f"node*/cpu{cpu}") for path in own.parent.glob("cpu[0-9]*")}
    return sorted(others & same if same else others)


def leave_cpu(cpu: int | None) -> None:
    """Move this process off the CPU that is measured on, where there is another."""
    if cpu is None:
        return
    others = os.sched_getaffinity(0) - {cpu}
    if others:
        os.sched_setaffinity(0, others)
