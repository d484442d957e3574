"""What a command spent: boots, measuring, and what went into cells that were thrown away."""

from __future__ import annotations

from dataclasses import dataclass, field


@dataclass
class Share:
    """One stage's or one arm's part."""

    boots: int = 0
    boot_s: float = 0.0
    cells: int = 0
    cell_s: float = 0.0
    """Warm-up included."""

    def add(self, record: dict) -> None:
        """A journal record of kind `boot` or `cell`."""
        if record["kind"] == "boot":
            self.boots += 1
            self.boot_s += record["seconds"]
        else:
            self.cells += 1
            self.cell_s += record["seconds"]


@dataclass
class Cost:
    """What a command spent, in seconds and counts; attempts that were cut short by a crash are in it."""

    boots: int = 0
    boot_s: float = 0.0
    cells: int = 0
    cell_s: float = 0.0
    warmup_s: float = 0.0
    requests: int = 0
    failed: int = 0
    wasted_s: float = 0.0
    """Cells that a moving probe threw away, and blocks that were cut short."""
    by_stage: dict[str, Share] = field(default_factory=dict)
    by_arm: dict[str, Share] = field(default_factory=dict)

    def add(self, record: dict) -> None:
        """Book a journal record of kind `boot` or `cell`."""
        self.by_stage.setdefault(record["stage"], Share()).add(record)
        self.by_arm.setdefault(f"{record['stage']}/{record['label']}", Share()).add(record)
        if record["kind"] == "boot":
            self.boots += 1
            self.boot_s += record["seconds"]
            return
        point = record["point"]
        self.warmup_s += record["warmup_s"]
        if point["status"] == "ok":
            self.cells += 1
            self.cell_s += point["duration_s"]
            self.requests += point["completed"] + point["failed"]
            self.failed += point["failed"]
        elif record.get("discarded"):
            self.wasted_s += record["seconds"]
