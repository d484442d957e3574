"""lm-eval's results: keys are `metric,filter`; the standard error may be the text "N/A". A limit makes the run a part of its task, and is said so."""

from __future__ import annotations

from workflow.importers.fields import Fields
from workflow.importers.formats.scores import name_of, share
from workflow.importers.result import Figure, Seen

NAME, TOOL = "lm-eval", "lm-eval"
SHARES = ("acc", "exact_match", "em", "f1", "pass@", "pass_at", "mc1", "mc2", "prompt_level", "inst_level", "multi_choice", "likelihood_diff_acc", "score")
"""Beginnings of the metrics that are shares; perplexities and counts are not, nor is a value above one (SQuAD's f1 runs to a hundred)."""


def matches(data: dict) -> bool:
    return isinstance(data.get("results"), dict) and bool({"versions", "n-shot", "configs", "n-samples", "task_hashes"} & data.keys())


def read(fields: Fields, seen: Seen):
    release = fields.text("lm_eval_version")
    seen.tools.add(f"{TOOL} {release}" if release else TOOL)
    if model := fields.text("model_name", "model_source"):
        seen.models.add(model)
    shots, samples = fields.section("n-shot"), fields.section("n-samples")
    for task, found in fields.raw("results").items():
        if not isinstance(found, dict):
            continue
        inner = Fields(found, fields.file, f"{fields.place} results.{task}".strip(), fields.report)
        conditions = said(task, shots, samples)
        inner.ignore("alias", "name", "sample_len", "sample_count")
        for key in sorted(found):
            metric, _, chosen = key.partition(",")
            if key in inner.used:
                continue
            value = inner.number(key, least=None)
            if value is None:
                continue
            error = metric.endswith("_stderr")
            note = f"{task}: {metric}" + (f" ({chosen})" if chosen not in ("", "none") else "") + conditions
            name = name_of("lmeval", task, metric, "" if chosen == "none" else chosen)
            if metric.startswith(SHARES) and abs(value) <= 1:
                yield share(inner.place, name, value, note + (", standard error" if error else ""))
            else:
                yield Figure(inner.place, name, value, None, note)


def said(task: str, shots: Fields, samples: Fields) -> str:
    """Shots and samples; fewer samples than the task has make another task."""
    count = shots.count(task)
    text = "" if count is None else f", {count} shots"
    sizes = samples.section(task)
    whole, part = sizes.count("original"), sizes.count("effective")
    if part is not None and whole is not None and part < whole:
        sizes.note(f"{task}: {part} of {whole} samples (a limit was set); not comparable with a whole run")
        return text + f", {part} of {whole} samples: not the whole task"
    return text + (f", {part} samples" if part is not None else "")
