"""The formats, and which of them a file or an object in it is: by content, never by name."""

from __future__ import annotations

from collections.abc import Iterator
from types import ModuleType

from workflow.importers import tables
from workflow.importers.fields import Fields
from workflow.importers.formats import (
    aiperf,
    aiperf_csv,
    aiperf_records,
    guidellm,
    guidellm_csv,
    inferencex,
    llama_bench,
    llamacpp_timings,
    lm_eval,
    sgl_eval,
    sglang_batch,
    sglang_serving,
    vllm_serving,
)  # fmt: skip
from workflow.importers.report import FAULT, Report
from workflow.importers.result import Figure, Result, Seen
from workflow.importers.source import Source, Unreadable

OBJECTS: tuple[ModuleType, ...] = (guidellm, aiperf, lm_eval, sgl_eval, llama_bench, sglang_batch, inferencex, vllm_serving, sglang_serving)
"""Formats that are a JSON object a result; the first that matches reads it."""
WHOLE: tuple[ModuleType, ...] = (guidellm_csv, aiperf_csv, sgl_eval)
"""Formats that are a whole file."""
NAMES = tuple(dict.fromkeys(module.NAME for module in (*OBJECTS, *WHOLE, aiperf_records, llamacpp_timings)))


def read(source: Source, report: Report, seen: Seen) -> Iterator[tuple[str, Result | Figure]]:
    """(format, what it yields) of everything in a file. Raises Unreadable when nothing of it is a known tool's."""
    names: set[str] = set()
    if source.is_json:
        found = objects(source, source.values(), report, seen, names)
    else:
        module = next((module for module in WHOLE if module.begins(source)), None)
        if module is not None:
            found = ((module.NAME, one) for one in module.parse(source, seen))
        else:
            found = objects(source, tables.objects(source), report, seen, names)
    count = 0
    for one in found:
        count += 1
        yield one
    if not count:
        raise Unreadable(f"{source.path}: {unknown(source)}; known formats: {', '.join(NAMES)}, or any CSV with --mapping")
    if len(names) > 1:
        report.say(FAULT, source.name, "", f"results of several tools in one file: {', '.join(sorted(names))}; all were read")


def objects(source: Source, values, report: Report, seen: Seen, names: set[str]) -> Iterator[tuple[str, Result | Figure]]:
    """Results of objects, each by its own format; answers with timings, and records of requests, are collected into one point."""
    answers = llamacpp_timings.Answers()
    records = aiperf_records.Records(seen)
    for place, value in values:
        if not isinstance(value, dict):
            report.say(FAULT, source.name, place, "no JSON object; skipped")
            continue
        fields = Fields(value, source.name, place, report)
        module = next((module for module in OBJECTS if module.matches(value)), None)
        if module is not None:
            names.add(module.NAME)
            for one in module.read(fields, seen):
                yield module.NAME, one
            report.left(source.name, module.NAME, fields.left())
        elif aiperf_records.matches(value):
            names.add(aiperf_records.NAME)
            records.add(fields)
            report.left(source.name, aiperf_records.NAME, fields.left())
        elif llamacpp_timings.matches(value):
            names.add(llamacpp_timings.NAME)
            answers.add(place, value)
        else:
            report.say(FAULT, source.name, place, f"no known tool's result (keys {shown(value)}); skipped")
    for one in records.results():
        yield aiperf_records.NAME, one
    for one in llamacpp_timings.collect(answers.fields(source.name, report), seen, source.name, report):
        yield llamacpp_timings.NAME, one


def shown(value: dict) -> str:
    names = sorted(str(name)[:30] for name in value)
    return ", ".join(names[:4]) + (", …" if len(names) > 4 else "") if names else "none"


def unknown(source: Source) -> str:
    first = " ".join(source.head[0].split())[:60]
    return f"nothing in it is a known tool's result (it begins with {first!r})"
