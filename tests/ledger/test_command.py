"""`soundings ledger` from figures, from a CSV and from a measured campaign."""

import json

import pytest

from tests.data.synthetic import Physics, Plan, write_campaign
from workflow.cli import main
from workflow.derive.evaluate import Derivation
from workflow.derive.ledger import measured
from workflow.derive.load import load


def run(capsys, *argv):
    code = main(["ledger", *map(str, argv)])
    shown = capsys.readouterr()
    return code, shown.out, shown.err


def test_from_figures(capsys):
    code, out, _ = run(capsys, "--decode-ms", 10, "--p", 0.5, "--draft-ms", 1, "--verify-ms", 12, "--measured-tok-s", 110, "--json")
    (case,) = json.loads(out)["cases"]
    assert code == 0 and case["verdict"] == "pays" and case["predicted_speedup"] == pytest.approx(15 / 13)
    assert case["gap_percent"] == pytest.approx((1500 / 13 / 110 - 1) * 100)
    code, out, _ = run(capsys, "--decode-ms", 10, "--p", 0.5, "--draft-ms", 1)
    assert code == 0 and "14.00 ms" in out and "never pay" in out


def test_from_a_csv_by_content(capsys, tmp_path):
    path = tmp_path / "cases.csv"
    path.write_text(
        "name,content,decode_ms,tau,gamma,draft_ms,verify_ms\na,code,10,2.5,3,1,14\nb,zh,10,1.2,3,1,14\nc,zh,10,1.2,3,1,60\n", "utf8"
    )
    code, out, _ = run(capsys, "--csv", path, "--json")
    cases = json.loads(out)["cases"]
    assert code == 0 and [case["verdict"] for case in cases] == ["pays", "loses", "never pays"] and cases[1]["content"] == "zh"
    clusters = tmp_path / "acceptance.csv"
    clusters.write_text(
        "prompt,content,rounds,accepted\n" + "".join(f"p{i},{'code' if i % 2 else 'zh'},20,{10 + i}\n" for i in range(12)), "utf8"
    )
    code, out, _ = run(capsys, "--csv", path, "--acceptance", clusters, "--json")
    contents = json.loads(out)["contents"]
    assert code == 0 and set(contents) == {"code", "zh"} and contents["code"]["by_cluster"]
    code, out, _ = run(capsys, "--csv", path, "--acceptance", clusters)
    assert code == 0 and "by prompt (6)" in out


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    plan = Plan(repeats=2, prompts=5, osl=24, isls=(64,), concurrencies=(1,))
    return write_campaign(tmp_path_factory.mktemp("campaign"), Physics(), plan)


def test_from_a_measured_campaign(capsys, folder):
    code, out, _ = run(capsys, "--campaign", folder, "--json")
    cases = {(case["content"], case["gamma"]): case for case in json.loads(out)["cases"]}
    assert code == 0 and ("code", 3) in cases
    derivation = Derivation(load(folder), resamples=0)
    fact = derivation.result("division.code.g3.gap").fact
    assert cases["code", 3]["gap_percent"] == pytest.approx(fact.value, rel=1e-6)
    found = cases["code", 3]["acceptance"]
    assert found["rate"] + 1 == pytest.approx(derivation.result("window.code.g3.accept_length").fact.value)
    assert found["clusters"] >= 5 and found["by_cluster"][0] <= found["rate"] <= found["by_cluster"][1]
    assert all(entry.acceptance is None for entry in measured.entries(derivation)[0] if entry.content == "all")


@pytest.mark.parametrize(
    "text, words",
    [
        ("name,decode_msec\na,1\n", ("line 1", "decode_msec")),
        ("name,decode_ms,p\na,1o,0.5\n", ("line 2", "column decode_ms", "1o")),
        ("name,decode_ms,p\na,10,\n", ("line 2", "one of p and tau")),
        ("name,decode_ms,tau,gamma\na,10,2,1.5\n", ("line 2", "column gamma", "whole")),
        ("name,decode_ms,p\n", ("no rows",)),
    ],
)
def test_a_bad_csv_is_one_line(capsys, tmp_path, text, words):
    (tmp_path / "cases.csv").write_text(text, "utf8")
    code, out, err = run(capsys, "--csv", tmp_path / "cases.csv")
    assert code == 2 and out == "" and err.count("\n") == 1 and all(word in err for word in words)


def test_bad_clusters_and_options(capsys, tmp_path):
    path = tmp_path / "clusters.csv"
    path.write_text("rounds,accepted\n10,11\n", "utf8")
    code, _, err = run(capsys, "--decode-ms", 10, "--p", 0.5, "--acceptance", path)
    assert code == 2 and "line 2" in err and "at most 10" in err
    code, _, err = run(capsys, "--decode-ms", 10, "--campaign", "xeon-2core")
    assert code == 2 and "--decode-ms" in err
    code, _, err = run(capsys, "--decode-ms", 10)
    assert code == 2 and "p and tau" in err


def test_from_the_figures_of_a_publication(capsys):
    code, out, _ = run(capsys, "--campaign", "m1max-mtp", "--json")
    cases = {case["name"]: case for case in json.loads(out)["cases"]}
    assert code == 0 and cases["as published"]["verdict"] == "never pays" and abs(cases["as published"]["gap_percent"]) < 2.5
    assert cases["as published"]["mismatches"] and cases["short run"]["acceptance"]["steps"] == 48


def test_a_campaign_without_anything_to_divide(capsys):
    code, _, err = run(capsys, "--campaign", "k3-mi355x")
    assert code == 2 and "no case to divide" in err and err.count("\n") == 1
