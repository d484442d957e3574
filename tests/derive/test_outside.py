"""What others observed of the accept length, and whether it lies on both sides of the campaign's own."""

import csv
import hashlib
import json

import pytest

from workflow.derive import load
from workflow.derive.evaluate import Derivation
from workflow.derive.schema import schema

CLAIM = "accept.external_brackets"


def observe(folder, *ranges):
    """Add external.csv with one observation a range (low, high), as somebody who transcribes would leave it."""
    columns = list(schema("external")["properties"])
    path = folder / "external.csv"
    with path.open("w", encoding="utf8", newline="") as file:
        writer = csv.DictWriter(file, columns, lineterminator="\n")
        writer.writeheader()
        for place, (low, high) in enumerate(ranges):
            same = {"what": "accept length", "unit": "tokens", "context": 1000 * (place + 1), "source": "a report", "found": "no", "caveat": "other hardware"}
            writer.writerow(same | {"id": f"accept_{place}", "low": low, "high": high, "hardware": f"machine {place % 2}"})
    about = {"schema": 1, "file": path.name, "kind": "external", "campaign": "synthetic", "status": "transcribed", "command": "restated by hand", "rows": len(ranges)}
    about["origin"] = {"title": "t", "publisher": "p", "address": None, "published": None, "measured": None, "hardware": "h", "model": "m", "software": "s", "files": ["f"]}
    about["sha256"] = hashlib.sha256(path.read_bytes()).hexdigest()
    (folder / "external.manifest.json").write_text(json.dumps(about), "utf8")


@pytest.mark.parametrize(
    ("ranges", "verdict"),
    [
        (((0.25, 0.5), (0.5, 4.0)), "holds"),
        (((4.0, 5.0),), "fails"),
        (((0.2, 0.25),), "fails"),
        (((1.0001, 4.0),), "unresolved"),
        ((), "missing"),
    ],
)
def test_verdict(scratch, values, ranges, verdict):
    own = values.fact("accept.by_concurrency.max").value
    if ranges:
        observe(scratch, *((low * own, high * own) for low, high in ranges))
    claim = Derivation(load.load(scratch)).claim(CLAIM)
    assert claim.verdict == verdict, f"margin {claim.margin}, noise {claim.noise}, {claim.reason}"


def test_what_is_said_of_them(scratch):
    observe(scratch, (1.5, 2.0), (1.2, 3.0), (1.3, 1.4))
    derivation = Derivation(load.load(scratch))
    said = {name: derivation.result(f"accept.external.{name}").fact for name in ("low", "high", "context", "hardware")}
    assert [fact.value for fact in said.values()] == [1.2, 3.0, 3000, "machine 0, machine 1"]
    assert {fact.status for fact in said.values()} == {"transcribed"}


def test_an_observation_of_something_else_does_not_count(scratch):
    observe(scratch, (1.5, 2.0))
    text = (scratch / "external.csv").read_text("utf8").replace("accept_0", "speed_0")
    (scratch / "external.csv").write_text(text, "utf8")
    about = json.loads((scratch / "external.manifest.json").read_text("utf8"))
    (scratch / "external.manifest.json").write_text(json.dumps(about | {"sha256": hashlib.sha256(text.encode()).hexdigest()}), "utf8")
    fact = Derivation(load.load(scratch)).result("accept.external.low").fact
    assert fact.reason == "external.csv observes no accept length"


def test_a_campaign_that_cites_others_is_still_one_that_was_measured_here(scratch):
    observe(scratch, (1.5, 2.0))
    derivation = Derivation(load.load(scratch), resamples=0)
    for key in ("origin.hardware", "origin.publisher", "origin.rows"):
        assert derivation.result(key).fact.reason == "this campaign was measured here, not transcribed"
