"""Facts and claims of one campaign: calls the registered functions, records what they read, adds interval, status, verdict."""

from __future__ import annotations

import math
from functools import cached_property

import numpy as np

from workflow.derive import registry, units
from workflow.derive.fact import Cell, Claim, Fact, weakest
from workflow.derive.headline import TESTED
from workflow.derive.load import Campaign
from workflow.derive.reader import ClaimRead, Read, Unresolved, WrongRows
from workflow.derive.rows import Missing, Record
from workflow.derive.sample import Sample
from workflow.derive.stats import BOOTS_SHOWN, Resampling, Weights, interval, reach
from workflow.derive.thresholds import read_thresholds
from workflow.derive.values import Values

INTERVALS = "interval_level"
"""The one threshold of no claim: how sure intervals are, in percent."""


class Result:
    """A fact with what later facts need of it."""

    def __init__(self, fact: Fact, sample: Sample | None, record: Record):
        self.fact, self.sample, self.record = fact, sample, record


class Derivation:
    """Evaluates facts on demand, each once."""

    def __init__(
        self, campaign: Campaign, resamples: int | None = None, thresholds: dict | None = None, code: dict[str, str] | None = None
    ):
        import workflow.derive.claims
        import workflow.derive.facts  # noqa: F401  registers

        self.campaign = campaign
        self.thresholds = read_thresholds() if thresholds is None else thresholds
        self.code = code
        """Today's fingerprint of the measuring code, for a campaign that could be measured again."""
        settings = self.thresholds["bootstrap"]
        self.level, self.min_requests = settings["level"], settings["min_requests"]
        self.resampling = Resampling(settings["resamples"] if resamples is None else resamples, settings["seed"])
        self.results: dict[str, Result] = {
            f"threshold.{claim}": self._threshold(claim, entry, f"claims.{claim}.bound") for claim, entry in self.thresholds["claims"].items()
        }
        level = {"bound": 100 * self.level, "unit": "percent", "kind": "percent"}
        self.results[f"threshold.{INTERVALS}"] = self._threshold(INTERVALS, level, "bootstrap.level")
        self._open: list[str] = []
        self._weights: dict[str, Weights] = {}
        self._bits: dict[tuple, int] = {}
        self.shared: dict[str, object] = {}
        """What several facts compute together, once."""

    @cached_property
    def domains(self) -> dict[str, tuple]:
        """Values of the key fields: the declared ones and those this campaign measured."""
        return domains_of(self.campaign)

    @cached_property
    def definitions(self) -> dict[str, tuple]:
        return registry.expand(registry.FACTS, self.domains)

    @cached_property
    def claim_definitions(self) -> dict[str, tuple]:
        return registry.expand(registry.CLAIMS, self.domains)

    def weights(self, table):
        if table.file not in self._weights:
            self._weights[table.file] = self.resampling.weights(table, table.kind == "requests", self._bits)
        return self._weights[table.file]

    def _threshold(self, claim: str, entry: dict, place: str) -> Result:
        cell = Cell("workflow/derive/thresholds.yaml", place, "")
        fact = Fact(
            f"threshold.{claim}",
            entry["bound"],
            entry["unit"],
            entry["kind"],
            "transcribed",
            formula="fixed before measuring",
            source=(cell,),
        )
        return Result(fact, Sample(np.full(self.resampling.size, float(entry["bound"])), entry["unit"]), Record(statuses=["transcribed"]))

    def result(self, key: str) -> Result:
        """Evaluate one fact. Raises UnknownKey, and UnitError when the function's unit is not the declared one."""
        if key in self.results:
            return self.results[key]
        if key not in self.definitions:
            Values._find(self.definitions, key, "fact")
        if key in self._open:
            raise registry.DefinitionError(f"{key} depends on itself: {' -> '.join([*self._open, key])}")
        definition, arguments = self.definitions[key]
        read = Read(self, arguments)
        self._open.append(key)
        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                returned, reason = definition.function(read, **arguments), ""
        except Missing as error:
            returned, reason = None, str(error)
        except (WrongRows, units.UnitError) as error:
            raise located(error, key, definition) from None
        finally:
            self._open.pop()
        if returned is None and not reason:
            reason = "does not apply to what this campaign measured"
        self.results[key] = self._finish(key, definition, read.record, returned, reason)
        return self.results[key]

    def _finish(self, key: str, definition: registry.Definition, record: Record, returned, reason: str) -> Result:
        for parent in record.parents:
            inherit(record, self.result(parent))
        status = weakest([definition.status, *record.statuses])
        common = {
            "unit": definition.unit,
            "kind": definition.kind,
            "status": status,
            "formula": definition.formula,
            "parents": tuple(record.parents),
            "source": tuple(record.cells),
            "n": min(record.boots.values(), default=0),
        }
        if isinstance(returned, str):
            return Result(Fact(key, returned, **common), None, record)
        sample = None
        if returned is not None:
            try:
                sample = (returned if isinstance(returned, Sample) else Sample(float(returned))).to(definition.unit)
            except units.UnitError as error:
                raise located(error, key, definition) from None
            if sample.values.ndim == 0:
                sample = self._spread(sample, resampled=not record.boots)
            if not math.isfinite(sample.value):
                sample, reason = None, "the value is not finite"
        if sample is None:
            return Result(Fact(key, None, reason=reason, **common), None, record)
        value = sample.value + 0.0  # -0.0 becomes 0.0
        if definition.kind in ("count", "bytes"):
            if abs(value - round(value)) > 1e-6:
                raise registry.DefinitionError(f"{key}: a {definition.kind} of {value}; counts are whole")
            return Result(Fact(key, round(value), **common), sample, record)
        drawn = interval(sample.values, self.level) if self._resampled(record) else None
        if drawn and drawn[0] == drawn[1] and record.timed:
            drawn = None  # a difference of one measurement with itself: no resample can move it
        boots = common["n"]
        shown = sample.values[1 : 1 + min(boots, BOOTS_SHOWN)] if boots > 1 and len(set(record.boots.values())) == 1 else np.array([])
        fact = Fact(
            key,
            value,
            lo=drawn[0] if drawn else None,
            hi=drawn[1] if drawn else None,
            repeats=tuple(map(float, shown)) if np.isfinite(shown).all() else (),
            resampled=describe(record) if drawn else "",
            **common,
        )
        return Result(fact, sample, record)

    def _spread(self, sample: Sample, resampled: bool) -> Sample:
        """A single number as a sample: the same in every resample, or unknown there when it came from rows (no interval is made up)."""
        values = np.full(self.resampling.size, sample.value if resampled else np.nan)
        values[0] = sample.value
        return Sample(values, sample.unit)

    def _resampled(self, record: Record) -> bool:
        """Two boots at least; or counts, which no clock and no boot can move, over enough requests."""
        boots = min(record.boots.values(), default=0)
        return boots >= 2 or (boots == 1 and not record.timed and record.prompts.bit_count() >= self.min_requests)

    def claim(self, key: str) -> Claim:
        """Evaluate one claim."""
        definition, arguments = self.claim_definitions[key]
        read = ClaimRead(self)
        if key in TESTED:
            read.cite("headline.family", "headline.resolved", f"headline.{key}.adjusted")
        common = {"kind": definition.kind, "statement": definition.formula, "measure": definition.unit, "says": definition.says}

        def told(verdict: str, reason: str = "", **more) -> Claim:
            evidence = tuple(dict.fromkeys([*read.record.parents, *read.cited]))
            thresholds = tuple(parent for parent in read.used if parent.startswith("threshold."))
            return Claim(key, verdict, reason=reason, evidence=evidence, thresholds=thresholds, **common, **more)

        try:
            with np.errstate(divide="ignore", invalid="ignore"):
                margin, extra = split(definition.function(read, **arguments))
        except Missing as error:
            return told("missing", str(error))
        except Unresolved as error:
            return told("unresolved", str(error))
        if not math.isfinite(margin.value):
            return told("missing", "the margin is not finite")
        evidence = [
            parent for parent in read.record.parents if parent not in read.used and parent not in ("noise.floor", "noise.comparisons")
        ]
        results = [self.result(parent) for parent in evidence]
        weak = [r.fact.key for r in results if r.fact.status in ("computed", "simulated")]
        if definition.kind in registry.WINS and weak:
            return told("unresolved", f"rests on {weak[0]}, which is {self.result(weak[0]).fact.status}, not measured", margin=margin.value)
        clocked = [r for r in results if r.record.timed]
        noise = extra
        try:
            if clocked:
                noise = max(noise, self._clock_noise(definition, arguments, read, margin.value, clocked))
        except Unresolved as error:
            return told("unresolved", str(error), margin=margin.value, noise=None)
        if any(r.fact.n == 1 for r in clocked):
            return told("unresolved", "one boot only: no repeat says how far it may be off", margin=margin.value, noise=noise)
        if margin.values.ndim and all(self._resampled(r.record) for r in results if r.record.boots):
            drawn = interval(margin.values, self.level)
            if drawn and any(r.record.boots for r in results):
                noise = max(noise, reach(margin.value, drawn))
        verdict = "holds" if margin.value > noise else "fails" if margin.value < -noise else "unresolved"
        reason = "" if verdict != "unresolved" else "the margin is inside the noise"
        if verdict != "unresolved" and key in TESTED and self._one_of_many(key):
            verdict, reason = "unresolved", "alone it would leave the noise, but not among the headline claims together (Holm)"
        return told(verdict, reason, margin=margin.value, noise=noise)

    def _one_of_many(self, key: str) -> bool:
        """Whether a headline claim's adjusted p is too large. A claim that rests on no pairs of boots has none."""
        adjusted = self.result(f"headline.{key}.adjusted").sample
        return adjusted is not None and adjusted.value >= 1 - self.level

    def _clock_noise(self, definition, arguments, read: ClaimRead, margin: float, clocked: list[Result]) -> float:
        """What the margin moves when each time it rests on is off by the A/A noise, independently."""
        floor = math.log1p(read.floor)
        squares = 0.0
        for result in clocked:
            # The A/A noise is that of a ratio of two runs: a single run carries the share 1/sqrt 2 of it, a ratio of two all of it.
            size = floor if result.fact.unit in ("", "percent") else floor / math.sqrt(2)
            with np.errstate(divide="ignore", invalid="ignore"):
                moved = [
                    split(definition.function(ClaimRead(self, (result.fact.key, math.expm1(s * size))), **arguments))[0].value - margin
                    for s in (1, -1)
                ]
            squares += max(abs(m) for m in moved) ** 2
        return math.sqrt(squares)

    def values(self) -> Values:
        """Everything: facts, claims and the manifests they came from."""
        facts = {key: self.result(key).fact for key in [*self.definitions, *list(self.results)]}
        claims = {key: self.claim(key) for key in self.claim_definitions}
        return Values(self.campaign.name, facts, claims, self.campaign.manifests)


def split(returned) -> tuple[Sample, float]:
    """(margin, noise that the claim names itself) of what a claim's function returned."""
    margin, extra = returned if isinstance(returned, tuple) else (returned, 0.0)
    margin = margin if isinstance(margin, Sample) else Sample(margin)
    return Sample(margin.number()), extra


def located(error: ValueError, key: str, definition: registry.Definition) -> ValueError:
    """The error with the fact in which it arose; facts that were waiting for that one add nothing."""
    if getattr(error, "located", False):
        return error
    new = type(error)(f"{key}: {error}; its function is {definition.place}")
    new.located = True
    return new


def inherit(record: Record, parent: Result) -> None:
    record.timed |= parent.record.timed
    record.statuses.append(parent.fact.status)
    record.prompts |= parent.record.prompts
    for place, boots in parent.record.boots.items():
        record.boots[place] = min(boots, record.boots.get(place, boots))


def describe(record: Record) -> str:
    boots = min(record.boots.values())
    text = f"{boots} boot{'s' if boots > 1 else ''}"
    text += f", {record.prompts.bit_count()} requests" if record.prompts else ""
    return text + (": too few boots for the stated level" if boots == 2 else "")


def domains_of(campaign: Campaign) -> dict[str, tuple]:
    found = {name: list(values) for name, values in registry.DECLARED.items()}
    for family, field, column in (
        ("concurrency", "concurrency", "max_concurrency"),
        ("isl", "isl", "isl"),
        ("osl", "osl", "osl"),
        ("batch", "level", "max_concurrency"),
    ):
        table = campaign.find("points", family)
        if table is not None:
            cells = zip(table.columns.get(column, ()), table.columns.get("stage", ("",) * len(table)))
            found[field] = sorted({*found[field], *(int(text) for text, stage in cells if text and stage != "sentinel")})
    found |= named(campaign)
    return {name: tuple(values) for name, values in found.items()}


def named(campaign: Campaign) -> dict[str, list]:
    """Field values that only a campaign with such files has: names of claims, figures and observations, caps of a cap sweep."""
    from workflow.derive.facts.figure import CLASSES, units_of

    found: dict[str, list] = {}
    for kind, field in (("published", "audited"), ("external", "observation")):
        if (table := campaign.find(kind, "")) is not None:
            found[field] = list(table.columns["id"])
    if (table := campaign.find("figures", "")) is not None:
        rows = list(zip(table.columns["id"], table.columns["unit"]))
        found |= {name: [row for row, unit in rows if unit in units_of(name)] for name in CLASSES}
    if (table := campaign.find("points", "rate")) is not None:
        found["arrival"] = sorted(int(text) for text in table.distinct("request_rate") if text.isdigit())
    if (table := campaign.find("noise", "")) is not None:
        least = registry.DECLARED["comparison"]
        found["comparison"] = [*least, *range(len(least) + 1, len(table.distinct("comparison")) + 1)]
    if (table := campaign.find("points", "search")) is not None and "effective_max_running_requests" in table.columns:
        rows = zip(table.columns["stage"], table.columns["effective_max_running_requests"])
        found["cap"] = sorted({int(text) for stage, text in rows if stage == "cap" and text})
    return found
