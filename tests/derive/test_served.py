"""The facts of a foreign server: whichever lane drafts, and nothing where none does or more than one."""

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation

FILES = ("sweep_concurrency.csv", "requests_concurrency.csv")


def served(folder, lane="lookup", backend="llamacpp"):
    """The synthetic campaign as another server's, its drafting lane under another name."""

    def change(rows):
        for row in rows:
            row.update({"backend": backend} if "backend" in row else {})
            if row.get("lane") == "dspark":
                row["lane"] = lane
        return rows

    for file in FILES:
        rewrite(folder, file, change)
    return Derivation(load.load(folder))


def test_the_drafting_lane_is_found_by_what_it_is_not(scratch, derivation):
    found = served(scratch)
    facts = {key: found.result(key).fact for key in ("served.server", "served.lane", "served.gamma", "served.least.concurrency", "served.most.concurrency")}
    assert [facts[key].value for key in facts] == ["llamacpp synthetic", "lookup", derivation.result("lanes.gamma").fact.value, 1, 16]
    for ours, theirs in (("lanes.at_one", "served.least"), ("lanes.at_most", "served.most")):
        assert found.result(f"{theirs}.ratio").fact.value == pytest.approx(derivation.result(f"{ours}.ratio").fact.value)
        assert found.result(f"{theirs}.plain.tpot_ms").fact.value == pytest.approx(derivation.result(f"{ours}.plain.tpot_ms").fact.value)
        assert found.result(f"{theirs}.draft.output_throughput").fact.value == pytest.approx(derivation.result(f"{ours}.dspark.output_throughput").fact.value)
    assert found.result("served.least.accept_length").fact.value > 1


def test_without_a_server_or_a_second_lane_nothing_is_said(scratch, derivation):
    assert "no server over HTTP" in derivation.result("served.most.ratio").fact.reason
    assert "one lane beside plain is needed" in served(scratch, lane="plain").result("served.lane").fact.reason


@pytest.mark.parametrize(("verdict", "last"), [("holds", ""), ("fails", "!"), ("unresolved", None), ("missing", "gone")])
def test_text_stands_for_tokens_where_a_server_has_no_ids(scratch, verdict, last):
    """`last`: what the candidate's first greedy output ends with; None: nothing in common with the base; gone: no candidate."""

    def change(rows):
        own = [row for row in rows if row["role"] == "candidate" and row["task"] == "greedy"]
        for number, row in enumerate(own):
            row["output"] += (last or "") if number == 0 else ""
            row["problem"] += "-other" if last is None else ""
        for row in rows:
            row["output_ids"] = row["logprob_sha"] = ""
        return [row for row in rows if row["role"] != "candidate"] if last == "gone" else rows

    rewrite(scratch, "gate.csv", change)
    derivation = Derivation(load.load(scratch))
    assert derivation.claim("gate.same_text").verdict == verdict
    # tokens are never said to be equal where there are none
    assert derivation.claim("gate.lossless").verdict == ("missing" if last == "gone" else "unresolved")
    if last == "gone":
        return

    def unlearned(rows):
        for row in rows:
            row["correct"] = row["correct"] and "0"
        return rows

    rewrite(scratch, "gate.csv", unlearned)
    claim = Derivation(load.load(scratch)).claim("gate.non_inferior.sampled")
    assert claim.verdict == "unresolved" and "none can be lost" in claim.reason
    if last == "!":
        assert derivation.result("gate.candidate.texts.differing").fact.value == 1
