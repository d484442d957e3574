"""A made-up campaign for tests of the page: values, one drawn plate, and a folder of templates to break."""

from __future__ import annotations

import hashlib
import json
import shutil
from dataclasses import dataclass, replace
from pathlib import Path

import html5lib

from workflow.derive.fact import Cell, Claim, Fact
from workflow.derive.values import Values
from workflow.page.site import Result, build
from workflow.plan import Plan

DATA = Path(__file__).parent / "data"
TEMPLATES = Path(__file__).resolve().parents[2] / "templates"
CELL = Cell("sweep_window.csv", "2-5", "mean_tpot_ms", "lane=plain")

FACTS = [
    Fact("w.plain.tpot_ms", 20.04, "ms", "duration", n=3, lo=19.9, hi=20.2, source=(CELL,), resampled="3 boots"),
    Fact("w.step_ms", 12.5, "ms", "duration", n=3, source=(CELL,)),
    Fact("w.accept_factor", 2.5149, "", "ratio", n=3, source=(CELL,)),
    Fact("w.step_factor", 1.4967, "", "ratio", n=3, source=(CELL,)),
    Fact(
        "w.speedup",
        2.5149 / 1.4967,
        "",
        "ratio",
        "computed",
        n=3,
        formula="accept_factor / step_factor",
        parents=("w.accept_factor", "w.step_factor"),
    ),
    Fact("w.accept", 2.51, "tokens/round", "length", n=3, source=(CELL,)),
    Fact("w.best_gamma", 3, "", "count", source=(CELL,)),
    Fact("w.boots", 2, "", "count", source=(CELL,)),
    Fact("w.unmeasured", None, "ms", "duration", reason="sweep_window.csv has no such rows"),
    Fact("machine.cpu", "Test CPU 9000", "", "label"),
    Fact("machine.threads", 1, "", "count"),
    Fact("software.python", "3.11.2", "", "label"),
    Fact("software.torch", "2.13.0", "", "label"),
    Fact("run.cells", 12, "", "count"),
    Fact("run.boots", 4, "", "count"),
    Fact("run.requests", 1440, "", "count"),
    Fact("run.failed", 0, "", "count"),
    *(Fact(f"origin.{name}", None, "", "label", reason="measured here") for name in ("publisher", "measured", "hardware", "model", "software")),
    *(Fact(key, None, "", "count", reason="measured here") for key in ("origin.rows", "audit.claims", "audit.wrong")),
    Fact("noise.floor", 1.27, "percent", "percent"),
    Fact("mutation.keys", 900, "", "count", "computed"),
    Fact("mutation.proven", 900, "", "count", "computed"),
    Fact("mutation.score", 100.0, "percent", "percent", "computed"),
    Fact("model.params", 8350000, "", "count"),
    Fact("model.kda_layers", 6, "", "count"),
    Fact("model.attention_layers", 2, "", "count"),
    Fact("prologue.best.accepted_per_step", 3.2, "tokens/step", "length"),
    Fact("prologue.best.step_ms", 16.0, "ms", "duration"),
    Fact("prologue.best.throughput", 200.0, "tokens/s", "rate"),
    Fact("prologue.worst_residual", 2.5, "percent", "percent", "computed"),
    Fact("prologue.win.lane", "dspark", "", "label"),
    Fact("prologue.win.content", "arith", "", "label"),
    Fact("prologue.loss.lane", None, "", "label", reason="nothing lost"),
    Fact("prologue.loss.content", None, "", "label", reason="nothing lost"),
    Fact("prologue.win.ratio", 1.6, "", "ratio"),
    Fact("prologue.win.accept_factor", 2.4, "", "ratio"),
    Fact("prologue.win.step_growth", 1.5, "", "ratio"),
    Fact("prologue.loss.ratio", None, "", "ratio", reason="nothing lost"),
    Fact("prologue.loss.accept_factor", None, "", "ratio", reason="nothing lost"),
    Fact("prologue.loss.step_growth", None, "", "ratio", reason="nothing lost"),
    Fact("prologue.best.lane", "dspark", "", "label"),
    Fact("prologue.best.content", "arith", "", "label"),
    Fact("prologue.best.distinct_4gram_share", 0.9, "", "probability"),
    Fact("prologue.best.plain_tpot_ms", 12.5, "ms/token", "duration"),
    Fact("lanes.best_at_one.plain_mode", None, "", "label", reason="one mode only"),
    Fact("lanes.best_at_one.plain_tpot_ms", None, "ms/token", "duration", reason="one mode only"),
    Fact("prologue.win.plain_tpot_ms", 12.5, "ms/token", "duration"),
    Fact("prologue.win.distinct_4gram_share", 0.9, "", "probability"),
    Fact("prologue.loss.plain_tpot_ms", 12.5, "ms/token", "duration"),
    Fact("prologue.loss.distinct_4gram_share", 0.9, "", "probability"),
]
CLAIMS = [
    Claim("w.wins", "holds", "superlative", "w.speedup is the largest of its set", 0.5, 0.02, "log ratio", ("w.speedup", "w.best_gamma"),
          says=("best", "holds.fastest", "fails.slowest", "holds.rise", "fails.fall")),
    Claim("prologue.fraction_closes", "holds", "product", evidence=("prologue.best.throughput",)),
    Claim("prologue.largest_win", "unresolved", "superlative"),
    Claim("prologue.largest_loss", "missing", "superlative"),
    Claim("lanes.best_absolute", "missing", "superlative"),
]
MANIFEST = {
    "sha256": "9f2c" * 16, "command": "python -m engine.sweep --sweep window", "commit": "0123456789abcdef0123", "dirty": True, "machine": {"cpu": "Test CPU 9000", "os": "Debian 13"},
    "versions": {"torch": "2.13.0"}, "threads": 1, "start": "2026-01-02T03:04:05Z", "end": "2026-01-02T03:05:05Z", "rows": 8,
}  # fmt: skip
SVG = (
    '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 720 120" data-plate="window" role="img" aria-labelledby="{0}-t {0}-d"><title id="{0}-t">@@title@@</title><desc id="{0}-d">@@alt@@</desc>'
    '<g data-lit="axis"><text x="9" y="99">1</text></g><text x="9" y="20">@@speedup@@</text><text x="9" y="40">@@n:w.speedup@@</text></svg>'
)
PLATE = {
    "id": "window", "claim": "w.wins", "wide": True, "code": "workflow/figures/plates/window.py", "keys": ["w.speedup"], "missing": None,
    "file": "window.svg", "narrow": "window.narrow.svg", "sources": ["sweep_window.csv"],
    "table": {"columns": [{"label": "gamma"}, {"label": "speedup"}], "rows": [[{"key": "w.best_gamma"}, {"key": "w.speedup"}], [{"lit": "7"}, None]]},
}  # fmt: skip


@dataclass
class Workspace:
    """A folder that looks like the repository as far as the page is concerned."""

    root: Path
    name: str = "local"

    @classmethod
    def make(cls, root: Path) -> Workspace:
        templates = root / "templates"
        shutil.copytree(TEMPLATES, templates, ignore=shutil.ignore_patterns("content", "literals", "*plates.yaml", "facts.yaml"))
        shutil.copytree(DATA, templates, dirs_exist_ok=True)
        space = cls(root)
        campaign = root / "workflow/campaigns/local"
        campaign.mkdir(parents=True)
        (campaign / "campaign.yaml").write_text("name: local\n")
        (campaign / "sweep_window.csv").write_text("run_id,mean_tpot_ms\na,20.04\n")
        space.values()
        folder = root / "build/local/figures"
        folder.mkdir(parents=True)
        drawn = {f"window{suffix}.svg": SVG.format(id) for suffix, id in (("", "window-wide"), (".narrow", "window-narrow"))}
        for name, svg in drawn.items():
            (folder / name).write_text(svg)
        (folder / "share.png").write_bytes(png := b"\x89PNG\r\n\x1a\n")
        index = {"window": PLATE | {"sha256": hashlib.sha256("".join(drawn.values()).encode()).hexdigest()}}
        index["share.png"] = {"file": "share.png", "sha256": hashlib.sha256(png).hexdigest()}
        (folder / "index.json").write_text(json.dumps(index))
        return space

    def values(self, facts: dict | None = None, claims: dict | None = None) -> None:
        """Write values.json; `facts`: key -> changed fields, `claims`: key -> verdict."""
        table = {fact.key: replace(fact, **(facts or {}).get(fact.key, {})) for fact in FACTS}
        verdicts = {claim.key: replace(claim, verdict=(claims or {}).get(claim.key, claim.verdict)) for claim in CLAIMS}
        values = Values("local", table, verdicts, {"sweep_window.csv": MANIFEST})
        folder = self.root / "build/local"
        folder.mkdir(parents=True, exist_ok=True)
        (folder / "values.json").write_text(json.dumps(values.to_json()))

    def edit(self, file: str, old: str, new: str) -> None:
        """Replace one piece of a file below templates/; it must be there."""
        path = self.root / "templates" / file
        text = path.read_text("utf8")
        assert old in text, f"{file} has no {old!r}"
        path.write_text(text.replace(old, new, 1), "utf8")

    def build(self) -> Result:
        return build(Plan((self.name,), self.name, self.root), self.root / "build", self.root / "templates")


def html_errors(page: str) -> list[str]:
    """What a conforming HTML parser finds wrong with the text of a page, with line and column."""
    parser = html5lib.HTMLParser()
    parser.parse(page)
    return [f"{line}:{column}: {code} {detail.get('name', '')}" for (line, column), code, detail in parser.errors]
