"""Edits of a campaign folder that keep its manifests in step, as a measuring program would have written it."""

import csv
import hashlib
import io
import json
from collections.abc import Callable
from pathlib import Path


def rewrite(folder: Path, file: str, change: Callable[[list[dict]], list[dict]], without: tuple[str, ...] = ()) -> None:
    """Pass the rows of one CSV through `change` and write it, some columns left out, with a manifest that fits."""
    path = folder / file
    reader = csv.DictReader(io.StringIO(path.read_text("utf8")))
    rows = change(list(reader))
    text = io.StringIO()
    header = [name for name in reader.fieldnames if name not in without]
    writer = csv.DictWriter(text, header, lineterminator="\n", extrasaction="ignore")
    writer.writeheader()
    writer.writerows(rows)
    path.write_text(text.getvalue(), "utf8")
    seal(path, len(rows))


def scale(folder: Path, file: str, column: str, factor: float, **where: str) -> None:
    """Multiply one column of the rows that match."""

    def change(rows: list[dict]) -> list[dict]:
        for row in rows:
            if row[column] and all(row[name] == value for name, value in where.items()):
                row[column] = repr(float(row[column]) * factor)
        return rows

    rewrite(folder, file, change)


def drop(folder: Path, family: str, unwanted: Callable[[dict], bool]) -> None:
    """Take points out of a family, and their request and step rows with them."""
    points = "search.csv" if family == "search" else f"sweep_{family}.csv"
    with (folder / points).open(encoding="utf8") as file:
        gone = {row["run_id"] for row in csv.DictReader(file) if unwanted(row)}
    for name in (points, f"requests_{family}.csv", f"steps_{family}.csv"):
        if (folder / name).exists():
            rewrite(folder, name, lambda rows: [row for row in rows if row["run_id"] not in gone])


def remove(folder: Path, *files: str) -> None:
    for file in files:
        (folder / file).unlink()
        manifest(folder / file).unlink()


def manifest(path: Path) -> Path:
    return path.with_name(path.name.removesuffix(".csv") + ".manifest.json")


def seal(path: Path, rows: int) -> None:
    """Make the manifest of a CSV say what the CSV is now."""
    data = json.loads(manifest(path).read_text("utf8"))
    data |= {"sha256": hashlib.sha256(path.read_bytes()).hexdigest(), "rows": rows}
    manifest(path).write_text(json.dumps(data), "utf8")
