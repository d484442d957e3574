"""The search: pairs of one boot, and labels that need no confirmation."""

import math

import pytest

from tests.derive.edit import rewrite
from workflow.derive import load
from workflow.derive.evaluate import Derivation


def test_the_confirmed_ratio_is_the_mean_of_paired_logarithms(derivation, measured):
    table = measured.find("points", "search")
    times = table.numbers("mean_tpot_ms")
    logs: dict[tuple[str, str], list[float]] = {}
    for i in table.select({"stage": "confirm", "status": "ok"}):
        logs.setdefault((table.columns["boot"][i], table.columns["label"][i]), []).append(math.log(times[i]))
    means = {key: sum(values) / len(values) for key, values in logs.items()}
    boots = sorted({boot for boot, _ in means})
    expected = math.exp(sum(means[boot, "base"] - means[boot, "candidate"] for boot in boots) / len(boots))
    assert derivation.result("search.confirm_ratio").fact.value == pytest.approx(expected)


def test_without_a_confirmation_base_and_winner_still_have_names(scratch):
    gone: set[str] = set()

    def unconfirmed(rows):
        gone.update(row["run_id"] for row in rows if row.get("stage") == "confirm")
        return [row for row in rows if row["run_id"] not in gone]

    for file in ("search.csv", "requests_search.csv", "steps_search.csv"):
        if (scratch / file).exists():
            rewrite(scratch, file, unconfirmed)
    derivation = Derivation(load.load(scratch), resamples=0)
    assert derivation.result("search.base_label").fact.kind == "label"
    assert not derivation.result("search.base_label").fact.missing and not derivation.result("search.winner_label").fact.missing
    assert derivation.result("search.confirm_ratio").fact.missing
