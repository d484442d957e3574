"""sgl-eval: its metrics.json, whose scores are shares, and the block it prints, which are percentages."""

from __future__ import annotations

import re

from workflow.importers.fields import Fields
from workflow.importers.formats.scores import name_of, share
from workflow.importers.report import DROPPED
from workflow.importers.result import Seen
from workflow.importers.source import Source

NAME, TOOL = "sgl-eval", "sgl-eval"
TITLE = re.compile(r"== (?P<name>\S+) ==")
SIZE = re.compile(r"(?P<examples>\d+) examples(?: x (?P<repeats>\d+) repeats| \(single-shot\))\s+\|.*")
ROW = re.compile(r"[* ] (?P<key>\S+)\s+=\s+(?P<value>[\d.]+)%(?: \+/- (?P<std>[\d.]+)% \(SEM (?P<sem>[\d.]+)%\))?.*")


def matches(data: dict) -> bool:
    return isinstance(data.get("aggregate"), dict) and {"num_examples", "n_repeats"} <= data.keys()


def read(fields: Fields, seen: Seen):
    seen.tools.add(TOOL)
    task, examples, repeats = fields.text("name") or "task", fields.count("num_examples"), fields.count("n_repeats")
    if model := fields.text("model"):
        seen.models.add(model)
    if fields.raw("partial") is True:
        fields.note(f"{task}: the run was stopped early; not comparable with a whole one")
    scores = fields.section("aggregate")
    for key in sorted(scores.data):
        if repeats == 1 and key.endswith(("_std", "_sem")):
            scores.ignore(key)
            continue
        if key == "score" and "pass@1" in scores.data:
            scores.ignore(key)
            continue
        value = scores.number(key)
        if value is not None:
            yield share(fields.place, name_of("sgleval", task, key), value, conditions(task, key, examples, repeats))


def conditions(task: str, key: str, examples: int | None, repeats: int | None) -> str:
    return f"{task}: {key}" + (f", {examples} examples" if examples else "") + (f", {repeats} repeats" if repeats and repeats > 1 else "")


def begins(source: Source) -> bool:
    return any(TITLE.fullmatch(line.strip()) for line in source.head)


def parse(source: Source, seen: Seen):
    """Every block of a log; what is printed between them is passed over."""
    seen.tools.add(TOOL)
    task, examples, repeats, found = None, None, None, 0
    for number, line in source.lines():
        if title := TITLE.fullmatch(line.strip()):
            task, examples, repeats = title["name"], None, None
        elif task and (size := SIZE.fullmatch(line.strip())):
            examples, repeats = int(size["examples"]), int(size["repeats"] or 1)
        elif task and (row := ROW.fullmatch(line)):
            key = re.sub(r"\[avg-of-\d+\]", "", row["key"])
            for suffix, word in (("", "value"), ("_std", "std"), ("_sem", "sem")):
                if row[word] is not None:
                    found += 1
                    yield share(f"line {number}", name_of("sgleval", task, key + suffix), float(row[word]), conditions(task, key + suffix, examples, repeats), "%")
    if not found:
        source.report.say(DROPPED, source.name, "", "a title of sgl-eval without rows below it")

