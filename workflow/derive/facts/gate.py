"""The accuracy gate: what each configuration answered, against plain decoding. The margins are the manifest's, declared before measuring."""

import math
from collections import defaultdict
from statistics import NormalDist, fmean, stdev

from workflow.derive.paired import t_quantile
from workflow.derive.registry import fact
from workflow.derive.rows import Missing, Rows
from workflow.derive.sample import Sample
from workflow.derive.skips import SKIPPED

FILE = "gate.csv"
TASKS = {"greedy": "margin", "sampled": "sampled_margin"}
"""Half of the gate -> the manifest's name of its margin."""
SCORED = ("base", "candidate", "numeric")
COMPARED = ("candidate", "numeric")
HEALTH = {"truncated": tuple(TASKS), "degenerate": (*TASKS, "text")}
"""Column -> the tasks over which it counts."""
CONFIDENCE = 0.95


def answers(read, role: str, task: str) -> Rows:
    """Rows of the first configuration of a role, in the order in which they ran. Missing where that one failed: the next is no stand-in for it."""
    if (config := failed_first(read, role)) is not None:
        raise Missing(f"{config} gave the gate no answer")
    rows = read.gate(role=role, task=task)
    first = rows.texts("config")[0]
    return read.gate(role=role, task=task, config=first)


def failed_first(read, role: str) -> str | None:
    """The first configuration of a role where it failed; None where it answered, or was only skipped."""
    rest, table = read.campaign.skipped.get(FILE), read.campaign.tables.get(FILE)
    if rest is None or table is None:
        return None
    answered = min((line for line, one in zip(table.lines, table.columns["role"]) if one == role), default=math.inf)
    rows = zip(rest.lines, *(rest.columns[name] for name in ("role", "config", "status")))
    return next((config for line, one, config, status in rows if one == role and status != SKIPPED and line < answered), None)


def by_problem(rows: Rows, values) -> dict[str, list]:
    """Problem -> the values of its repeats, in order."""
    found: dict[str, list] = defaultdict(list)
    for _, problem, value in sorted(zip(map(int, rows.texts("repeat")), rows.texts("problem"), values), key=lambda one: one[0]):
        found[problem].append(value)
    return dict(found)


def greedy(read, role: str, *columns: str) -> dict[str, tuple]:
    """Problem -> the texts of some columns of a role's greedy answers."""
    rows = answers(read, role, "greedy")
    return dict(zip(rows.texts("problem"), zip(*(rows.texts(column) for column in columns))))


def shares(read, role: str, task: str) -> dict[str, float]:
    """Problem -> share of its repeats that were answered rightly."""
    rows = answers(read, role, task)
    return {problem: fmean(values) for problem, values in by_problem(rows, rows.read("correct")).items()}


def quantile(freedom: int) -> float:
    """One-sided quantile of Student's t."""
    return float(t_quantile(CONFIDENCE, freedom))


def pairs(read, role: str, task: str) -> list[tuple[float, float]]:
    """Share of repeats answered rightly by a role and by the base, problem by problem."""
    own, base = shares(read, role, task), shares(read, "base", task)
    common = [problem for problem in base if problem in own]
    if len(common) < 2:
        raise Missing(f"{FILE} has fewer than two {task} problems that both sides answered")
    return [(own[problem], base[problem]) for problem in common]


def differences(read, role: str, task: str) -> list[float]:
    """Right answers of a role less the base's, problem by problem."""
    return [own - base for own, base in pairs(read, role, task)]


@fact("gate.candidate", kind="label")
def candidate(read):
    """lane that is held against plain decoding: the gate's first candidate"""
    return answers(read, "candidate", "greedy").texts("lane")[0]


@fact("gate.gamma", kind="count")
def gamma(read):
    """block size of the candidate"""
    return int(answers(read, "candidate", "greedy").read("block_size")[0])


@fact("gate.problems.{task}", kind="count", task=tuple(TASKS))
def problems(read, task):
    """problems that the candidate answered in one half"""
    return len(set(answers(read, "candidate", task).texts("problem")))


@fact("gate.repeats", kind="count")
def repeats(read):
    """samples of a problem in the sampled half"""
    return len(set(answers(read, "candidate", "sampled").texts("repeat")))


@fact("gate.margin.{task}", kind="points", unit="percent", task=tuple(TASKS))
def margin(read, task):
    """share of right answers that may be lost, declared in the campaign before measuring"""
    return Sample(read.field(FILE, f"gate.margins.{TASKS[task]}"))


@fact("gate.{role}.{task}.score", kind="percent", unit="percent", role=SCORED, task=tuple(TASKS))
def score(read, role, task):
    """right answers / answers"""
    return answers(read, role, task).mean("correct")


@fact("gate.{role}.{task}.difference", kind="points", unit="percent", role=COMPARED, task=tuple(TASKS))
def difference(read, role, task):
    """mean over the problems of the share answered rightly - the base's"""
    return Sample(fmean(differences(read, role, task)))


@fact("gate.candidate.{task}.pooled_sem", kind="points", unit="percent", task=tuple(TASKS))
def pooled_sem(read, task):
    """standard errors of both scores over the problems, added in squares: unpaired, as evaluation harnesses print it"""
    scores = zip(*pairs(read, "candidate", task))
    return Sample(math.hypot(*(stdev(one) / math.sqrt(len(one)) for one in scores)))


@fact("gate.candidate.{task}.sigma", kind="length", task=tuple(TASKS))
def sigma(read, task):
    """difference of the scores / their pooled standard error"""
    error = read[f"gate.candidate.{task}.pooled_sem"]
    if error.value == 0:
        raise Missing("neither score scatters over the problems, so there is no standard error to divide by")
    return read[f"gate.candidate.{task}.difference"] / error


@fact("gate.{role}.{task}.reach", kind="points", unit="percent", role=COMPARED, task=tuple(TASKS))
def reach(read, role, task):
    """one-sided reach of the difference: t times its standard error; where no problem differs, the share that could have stayed unseen"""
    found = differences(read, role, task)
    if not any(found):
        return Sample(1 - (1 - CONFIDENCE) ** (1 / len(found)))
    return Sample(quantile(len(found) - 1) * stdev(found) / math.sqrt(len(found)))


@fact("gate.{role}.{task}.lower", kind="points", unit="percent", role=COMPARED, task=tuple(TASKS))
def lower(read, role, task):
    """difference - its one-sided reach"""
    return read[f"gate.{role}.{task}.difference"] - read[f"gate.{role}.{task}.reach"]


@fact("gate.{role}.{task}.would_resolve", kind="count", role=COMPARED, task=tuple(TASKS))
def would_resolve(read, role, task):
    """problems whose one-sided reach would be no more than what lies between the difference and the margin, at the same scatter"""
    found = differences(read, role, task)
    room = abs(fmean(found) + read[f"gate.margin.{task}"].to("").value)
    if room == 0:
        raise Missing("the difference lies on the margin, where no number of problems tells them apart")
    if room > read[f"gate.{role}.{task}.reach"].to("").value:
        raise Missing("the problems that were asked tell the difference from the margin already")
    if not any(found):
        return math.ceil(math.log(1 - CONFIDENCE) / math.log(1 - room))
    scatter = stdev(found)
    count = max(len(found), math.ceil((NormalDist().inv_cdf(CONFIDENCE) * scatter / room) ** 2))  # t is no less than its limit
    while quantile(count - 1) * scatter / math.sqrt(count) > room:
        count += 1
    return count


@fact("gate.{role}.{column}", kind="percent", unit="percent", role=SCORED, column=tuple(HEALTH))
def health(read, role, column):
    """share of the answers of both halves that were cut at the limit; share of those and of the sampled texts, which all end there, that repeat themselves"""
    first = answers(read, role, "greedy").texts("config")[0]
    return read.gate(role=role, config=first, task=HEALTH[column]).mean(column)


def compared(read, role: str, against: str, *columns: str) -> tuple[int, int]:
    """(problems both answered, those whose texts in the columns differ)."""
    own, other = greedy(read, role, *columns), greedy(read, against, *columns)
    common = [problem for problem in own if problem in other and all((*own[problem], *other[problem]))]
    return len(common), sum(own[problem] != other[problem] for problem in common)


for role, against in (("candidate", "base"), ("control", "base")):
    for place, what in enumerate(("compared", "differing")):

        def outputs(read, role=role, against=against, place=place):
            """greedy outputs held token by token against the base's, and those that differ"""
            return compared(read, role, against, "output_ids")[place]

        fact(f"gate.{role}.outputs.{what}", kind="count")(outputs)


@fact("gate.candidate.texts.{what}", kind="count", what=("compared", "differing"))
def texts(read, what):
    """greedy outputs held as text against the base's, which needs no token ids, and those that read differently"""
    own, other = greedy(read, "candidate", "output"), greedy(read, "base", "output")
    common = [problem for problem in own if problem in other]
    return len(common) if what == "compared" else sum(own[problem] != other[problem] for problem in common)


@fact("gate.skipped.configs", kind="count")
def skipped_configs(read):
    """configurations of the gate that the server could not be booted as, or that could not be made of it"""
    rows = read.campaign.skipped.get(FILE)
    if rows is None or not (count := sum(bool(config) and status == SKIPPED for config, status in zip(rows.columns["config"], rows.columns["status"]))):
        raise Missing("does not apply to what this campaign measured")
    read.skipped(FILE)
    return count


@fact("gate.numeric.outputs.{what}", kind="count", what=("compared", "moved"))
def state(read, what):
    """greedy outputs whose log probabilities were held against the base's bit by bit, and those in which they differ"""
    return compared(read, "numeric", "base", "logprob_sha")[what == "moved"]


def silent(read) -> list[tuple[str, int, int]]:
    """(knob, outputs compared, outputs of which a token, a log probability or an accepted count differs)."""
    columns = ("output_ids", "logprob_sha", "accepted_histogram")
    other = greedy(read, "candidate", *columns)
    found = []
    for knob in dict.fromkeys(read.gate(role="silent").texts("config")):
        rows = read.gate(role="silent", config=knob, task="greedy")
        own = dict(zip(rows.texts("problem"), zip(*(rows.texts(column) for column in columns))))
        common = [problem for problem in own if problem in other and own[problem][1] and other[problem][1]]
        found.append((knob, len(common), sum(own[problem] != other[problem] for problem in common)))
    return found


@fact("gate.silent.knobs", kind="count")
def silent_knobs(read):
    """settings that may not change one bit of the output, each in a boot of its own"""
    return len(silent(read))


@fact("gate.silent.compared", kind="count")
def silent_compared(read):
    """outputs held bit by bit against the candidate's, all those settings together"""
    return sum(outputs for _, outputs, _ in silent(read))


@fact("gate.silent.moved", kind="count")
def silent_moved(read):
    """of them, outputs of which a token, a log probability or an accepted count differs"""
    return sum(moved for _, _, moved in silent(read))


@fact("gate.{role}.variety", kind="percent", unit="percent", role=("base", "candidate", "broken"))
def variety(read, role):
    """distinct outputs / samples of a text, mean over the sampled texts"""
    rows = answers(read, role, "text")
    groups = by_problem(rows, rows.texts("output_ids")).values()
    return Sample(fmean(len(set(one)) / len(one) for one in groups))


@fact("gate.broken.caught", kind="count")
def caught(read):
    """1 when the gate failed the configuration that was broken on purpose, 0 when it let it pass or left it open"""
    return int(read.field(FILE, "gate.controls.broken_fails"))


@fact("gate.broken.texts", kind="count")
def broken_texts(read):
    """texts that the configuration broken on purpose wrote several times"""
    return len(set(answers(read, "broken", "text").texts("problem")))
