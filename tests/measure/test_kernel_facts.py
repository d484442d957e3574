"""The stage `kernels`: what the compilers say, written as measured files."""

import hashlib
import json

import pytest
import yaml

from engine import csvio, kernel_facts
from engine.bench import campaign
from engine.bench.stages import Kernels
from engine.csvio import SCHEMAS
from kernels.facts import TARGETS
from kernels.predicates import PREDICATES
from kernels.registry import operators
from workflow.keep import keep

LOCAL = SCHEMAS.parent / "campaigns/local/campaign.yaml"
SMOKE = campaign.load(LOCAL, "smoke").stage("kernels")


def run(tmp_path, *more: str) -> int:
    return kernel_facts.main(["--campaign", str(LOCAL), "--out", str(tmp_path / "out"), "--preset", "smoke", "--jobs", "1", "--quiet", *more])


def test_the_files_are_what_the_report_keeps(tmp_path):
    assert run(tmp_path) == 0
    out = tmp_path / "out"
    rows = csvio.read("kernels", out / "kernels.csv")
    assert SMOKE.operators and {(row["operator"], row["target"]) for row in rows} == {(op, target) for op in SMOKE.operators for target in TARGETS}
    assert {row["predicate"] for row in csvio.read("predicates", out / "predicates.csv")} == set(PREDICATES)
    note = json.loads((out / "kernels.manifest.json").read_text())
    assert note["sha256"] == hashlib.sha256((out / "kernels.csv").read_bytes()).hexdigest() and note["rows"] == len(rows)
    assert "kernels/facts.py" in note["fingerprint"]
    kept = keep(sorted(out.iterdir()), tmp_path / "local", tmp_path / "previous")
    assert [path.name for path in kept] == ["kernels.csv", "kernels.manifest.json", "predicates.csv", "predicates.manifest.json"]


def test_without_triton_the_only_row_says_why(tmp_path, monkeypatch):
    monkeypatch.setattr(kernel_facts, "find_spec", lambda name: None)
    assert run(tmp_path) == 0
    (row,) = csvio.read("kernels", tmp_path / "out/kernels.csv")
    assert {name: value for name, value in row.items() if value is not None} == {"status": "skipped", "note": kernel_facts.WITHOUT_TRITON}
    assert csvio.read("predicates", tmp_path / "out/predicates.csv")


def test_an_unknown_operator_is_named_and_nothing_is_written(tmp_path, capsys):
    definition = yaml.safe_load(LOCAL.read_text("utf8"))
    definition["measure"]["stages"]["kernels"] = {"operators": ["kda_verfy"]}
    (tmp_path / "campaign.yaml").write_text(yaml.safe_dump(definition), "utf8")
    arguments = ["--campaign", str(tmp_path / "campaign.yaml"), "--out", str(tmp_path / "out"), "--preset", "quick", "--quiet"]
    assert kernel_facts.main(arguments) == 2
    assert "measure.stages.kernels.operators: 'kda_verfy' is unknown; there are: accept_mixed" in capsys.readouterr().err
    assert list((tmp_path / "out").iterdir()) == []


def test_a_stage_that_names_nothing_compiles_everything():
    assert Kernels() == Kernels(operators=(), targets=())


def test_the_quick_preset_compiles_the_kernels_of_a_round_for_every_target():
    stage = campaign.load(LOCAL, "quick").stage("kernels")
    assert stage.targets == () and set(stage.operators) <= set(operators())
    assert {"markov_greedy", "chain_accept", "kda_verify", "verify_attention", "state_commit"} <= set(stage.operators)


@pytest.mark.parametrize("jobs", ["0", "-1"])
def test_jobs_below_one_are_refused(tmp_path, jobs, capsys):
    with pytest.raises(SystemExit) as ended:
        run(tmp_path, "--jobs", jobs)
    assert ended.value.code == 2
    assert f"--jobs {jobs}: expected at least 1" in capsys.readouterr().err
