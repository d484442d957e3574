"""Builds of one report by this project, MyST-NB and mystmd, side by side: cold, with nothing to do, and with one CSV edited.

Each build is asked whether the number that rests on the edited CSV is right afterwards. The others build our English page from a notebook with
its prose and its numbers (page_content.py); ours derives all numbers from the rows, draws the plates and writes two languages. Tools take turns.

    python -m venv MYST && MYST/bin/pip install myst-nb jupyter-server && npm install --prefix NPM mystmd
    python -m tests.bench.page_tools --campaign workflow/campaigns/xeon-2core --myst-python MYST/bin/python --mystmd NPM/node_modules/.bin/myst \\
        --out tests/bench/pages
"""

from __future__ import annotations

import argparse
import csv
import hashlib
import io
import json
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from tests.bench.page_content import CSV, KEY, SENTENCE, expected, write_notebook
from tests.derive.edit import scale
from workflow.derive.output import write_together
from workflow.derive.schema import validate_csv, validate_manifest
from workflow.derive.thresholds import thresholds_digest

ROOT = Path(__file__).resolve().parents[2]
NAME = "pages"
FACTOR = 0.8
"""What the edit multiplies the durations of DSpark's row by."""
GLUE = "from myst_nb import glue\nglue('checked', checked, display=False)\nfor i, text in enumerate(texts):\n    glue(f'n{i}', text, display=False)"
ASSIGN = "globals().update({f'n{i}': text for i, text in enumerate(texts)})"


@dataclass(frozen=True)
class Tool:
    """One way to build the page in a folder of its own."""

    name: str
    version: str
    prepare: Callable[[Path], int]
    """Fills the folder; returns how many numbers the document splices."""
    command: list[str]
    shown: Callable[[Path], float]
    """The checked ratio as the built page has it."""
    rows: str
    """The CSV in the folder."""
    environment: dict[str, str]


def git(*arguments: str) -> str:
    return subprocess.run(["git", *arguments], cwd=ROOT, capture_output=True, text=True).stdout.strip()


def run(tool: Tool, folder: Path) -> float:
    """Seconds of one build. What it leaves running (a server of notebooks) is ended with it."""
    start = time.perf_counter()
    with open(folder / "build.log", "ab") as log:
        process = subprocess.Popen(
            tool.command, cwd=folder, env={**os.environ, **tool.environment}, stdin=subprocess.DEVNULL, stdout=log, stderr=log, start_new_session=True
        )
        code = process.wait(timeout=900)
    seconds = time.perf_counter() - start
    try:
        os.killpg(process.pid, signal.SIGKILL)
    except ProcessLookupError:
        pass
    if code:
        raise SystemExit(f"{tool.name}: exit code {code}\n{(folder / 'build.log').read_text('utf8', errors='replace')[-1500:]}")
    return seconds


def sentence(path: str) -> Callable[[Path], float]:
    """The number after the checked sentence, whatever marks stand between."""

    def shown(folder: Path) -> float:
        text = re.sub(r"<[^>]*>", " ", (folder / path).read_text("utf8"))
        return float(re.search(rf"{SENTENCE}\s+([\d.]+\d)", text)[1])

    return shown


def spliced(folder: Path) -> float:
    """The checked number of our page, in its spans and cells."""
    return unrounded((folder / "site/index.html").read_text("utf8"), KEY)


def unrounded(text: str, key: str) -> float:
    """The one value that the elements of a key carry. Raises ValueError where there is none, or more than one."""
    found = {re.search(r'\bvalue="([^"]*)"', span)[1] for span in re.findall(r"<(?:data|td)\b[^>]*>", text) if f'data-key="{key}"' in span}
    if len(found) != 1:
        raise ValueError(f"{key} has {len(found)} values on the page; expected one")
    return float(found.pop())


def ours(campaign: Path) -> Tool:
    def prepare(folder: Path) -> int:
        for name in ("workflow", "templates", "engine", "kernels"):
            shutil.copytree(ROOT / name, folder / name, ignore=shutil.ignore_patterns("__pycache__", "build", "campaigns", "weights", "heldout"))
        shutil.copy(ROOT / "Snakefile", folder / "Snakefile")
        shutil.copytree(campaign, folder / "workflow/campaigns" / campaign.name)
        return 0

    command = [sys.executable, "-m", "snakemake", "--cores", "1", "site", "--config", f"campaigns=[{campaign.name}]", f"lead={campaign.name}"]
    return Tool("soundings", git("rev-parse", "HEAD")[:12], prepare, command, spliced, f"workflow/campaigns/{campaign.name}/{CSV}", {"PYTHONPATH": "."})


def myst_nb(name: str, mode: str, python: Path, page: Path, rows: Path, more: tuple[str, ...] = ()) -> Tool:
    def prepare(folder: Path) -> int:
        (folder / "conf.py").write_text(f'extensions = ["myst_nb"]\nnb_execution_mode = "{mode}"\nnb_execution_timeout = 300\n')
        return write_notebook(page, rows, folder, lambda variable: f"{{glue:text}}`{variable}`", GLUE)

    asked = "import importlib.metadata as m; print(m.version('myst-nb'))"
    version = subprocess.run([python, "-c", asked], capture_output=True, text=True, check=True).stdout.strip()
    path = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}"}
    return Tool(name, version, prepare, [str(python), "-m", "sphinx", "-q", *more, "-b", "html", ".", "_o"], sentence("_o/index.html"), CSV, path)


def mystmd(program: Path, python: Path, page: Path, rows: Path) -> Tool:
    def prepare(folder: Path) -> int:
        (folder / "jupyter").mkdir()
        (folder / "jupyter/jupyter_server_config.py").write_text("c.ServerApp.allow_root = True\n")
        (folder / "myst.yml").write_text("version: 1\nproject: {title: Report}\n")
        return write_notebook(page, rows, folder, lambda variable: f"{{eval}}`{variable}`", ASSIGN)

    version = subprocess.run([program, "--version"], capture_output=True, text=True, check=True).stdout.strip().lstrip("v")
    environment = {"PATH": f"{python.parent}{os.pathsep}{os.environ['PATH']}", "JUPYTER_CONFIG_DIR": "jupyter"}
    command = [str(program), "build", "--execute", "--xml", "--ci", "index.md", "-o", "out.xml"]
    return Tool("mystmd", version, prepare, command, sentence("out.xml"), CSV, environment)


def edit(tool: Tool, folder: Path) -> None:
    """DSpark's row at one request took less time: the ratio rises by one over the factor."""
    where = {"lane": "dspark", "max_concurrency": "1"}
    path = folder / tool.rows
    if tool.name == "soundings":
        scale(path.parent, path.name, "duration_s", FACTOR, **where)
        return
    with open(path, newline="") as handle:
        rows = list(csv.DictReader(handle))
    for row in rows:
        if row["duration_s"] and all(row[name] == value for name, value in where.items()):
            row["duration_s"] = repr(float(row["duration_s"]) * FACTOR)
    with open(path, "w", newline="") as handle:
        writer = csv.DictWriter(handle, rows[0], lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def measure(tools: list[Tool], repeats: int, scratch: Path) -> list[dict]:
    """Rows of pages.csv: each repeat builds with every tool in a fresh folder, tools in turn forwards and backwards."""
    rows = []
    for repeat in range(repeats):
        for tool in tools if repeat % 2 == 0 else tools[::-1]:
            folder = scratch / f"{tool.name}-{repeat}"
            folder.mkdir()
            numbers = tool.prepare(folder)
            for build in ("cold", "noop", "edit"):
                if build == "edit":
                    edit(tool, folder)
                    time.sleep(1.1)  # a file system may tell times by the second
                load = os.getloadavg()[0]
                seconds = run(tool, folder)
                right, shown = expected(folder / tool.rows), tool.shown(folder)
                rows.append(
                    {"tool": tool.name, "version": tool.version, "repeat": repeat, "build": build, "seconds": round(seconds, 3), "numbers": numbers or "",
                     "shown": round(shown, 6), "expected": round(right, 6), "stale": int(abs(shown / right - 1) > 0.001), "load_average": round(load, 2)}
                )  # fmt: skip
                print(f"{tool.name} {tool.version} {build}: {seconds:.1f} s, {'stale' if rows[-1]['stale'] else 'right'}, load {load:.1f}", flush=True)
            shutil.rmtree(folder)
    return rows


def publish(rows: list[dict], out: Path, begun: datetime, command: list[str], cpu: str) -> None:
    text = io.StringIO()
    writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
    writer.writeheader()
    writer.writerows(rows)
    content = text.getvalue().encode("utf8")
    loads, commit, versions = os.getloadavg(), git("rev-parse", "HEAD"), {row["tool"]: row["version"] for row in rows}
    stamp = lambda moment: moment.astimezone(UTC).isoformat(timespec="seconds")  # noqa: E731
    manifest = {
        "schema": 1, "file": f"{NAME}.csv", "kind": NAME, "campaign": "page-tools", "command": " ".join(command), "rows": len(rows),
        "config": {"tools": versions, "checked": KEY, "factor": FACTOR}, "preset": "bench", "commit": commit, "dirty": bool(git("status", "--porcelain", "--untracked-files=no")),
        "code": commit[:12], "fingerprint": {}, "versions": {"python": platform.python_version(), **versions}, "threads": 1, "seeds": {},
        "thresholds_sha256": thresholds_digest(),
        "sha256": hashlib.sha256(content).hexdigest(), "start": stamp(begun), "end": stamp(datetime.now().astimezone()),
        "machine": {
            "host": "-", "cpu": cpu, "cores": os.cpu_count(), "memory_bytes": os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"),
            "os": f"{os.uname().sysname} {os.uname().release}", "load_average_start": [rows[0]["load_average"]] * 3, "load_average_end": [round(load, 2) for load in loads],
        },
    }  # fmt: skip
    write_together({out / f"{NAME}.csv": content, out / f"{NAME}.manifest.json": json.dumps(manifest, indent=1) + "\n"})
    validate_csv(out / f"{NAME}.csv")
    validate_manifest(out / f"{NAME}.manifest.json", out / f"{NAME}.csv")


def fault(options: argparse.Namespace) -> str | None:
    """What cannot be built or compared as it was asked for, as one line."""
    for name in ("campaign.yaml", CSV):
        if not (options.campaign / name).is_file():
            return f"--campaign {options.campaign}: no {name}; expected a measured campaign, as workflow/campaigns/xeon-2core"
    if options.repeats < 1:
        return f"--repeats {options.repeats}: expected at least 1"
    if options.mystmd and not options.myst_python:
        return "--mystmd: needs --myst-python beside it, whose Jupyter runs the notebook"
    for flag, program in (("--myst-python", options.myst_python), ("--mystmd", options.mystmd)):
        if program and not os.access(program, os.X_OK):
            return f"{flag} {program}: no such program"
    return None


def main(argv: list[str] | None = None) -> int:
    parser = argparse.ArgumentParser(prog="python -m tests.bench.page_tools", description=__doc__.splitlines()[0])
    parser.add_argument("--campaign", type=Path, required=True, help="archived campaign whose page is built")
    parser.add_argument("--myst-python", type=Path, help="interpreter of an environment with myst-nb and jupyter-server")
    parser.add_argument("--mystmd", type=Path, help="program of mystmd")
    parser.add_argument("--repeats", type=int, default=3, help="builds of each kind by each tool (default: %(default)s)")
    parser.add_argument("--out", type=Path, help="folder for pages.csv and its manifest (default: print only)")
    options = parser.parse_args(argv)
    if why := fault(options):
        print(f"page_tools: {why}", file=sys.stderr)
        return 2
    begun, campaign = datetime.now().astimezone(), options.campaign.resolve()
    cpu = next((line.partition(":")[2].strip() for line in Path("/proc/cpuinfo").read_text("utf8").splitlines() if line.startswith("model name")), "?")
    with tempfile.TemporaryDirectory(prefix="soundings-pages-") as folder:
        scratch = Path(folder)
        mine = ours(campaign)
        first = scratch / "first"
        first.mkdir()
        mine.prepare(first)
        run(mine, first)
        tools = [mine]
        if options.myst_python:
            python = options.myst_python.absolute()
            given = (python, first / "site/index.html", campaign / CSV)
            tools += [myst_nb("myst_nb_cache", "cache", *given), myst_nb("myst_nb_force", "force", *given), myst_nb("myst_nb_force_all", "force", *given, more=("-E",))]
            if options.mystmd:
                tools.append(mystmd(options.mystmd.absolute(), *given))
        rows = measure(tools, options.repeats, scratch)
    if options.out:
        # programs as the head of this file calls them: where they lie on a machine says nothing
        others = [word for flag, word in (("myst_python", "--myst-python MYST/bin/python"), ("mystmd", "--mystmd NPM/node_modules/.bin/myst")) if getattr(options, flag)]
        publish(rows, options.out, begun, ["python -m tests.bench.page_tools", "--campaign", str(options.campaign), *others, "--repeats", str(options.repeats)], cpu)
    return 0


if __name__ == "__main__":
    raise SystemExit(main())
