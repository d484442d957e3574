"""`soundings import` from the command line: the folder it writes, what it says, and what follows from it."""

import hashlib
import json
import os
import shutil
import subprocess
import sys

import pytest

from tests.importers.conftest import DATA, imported
from tests.importers.test_formats import KINDS
from workflow.cli import main
from workflow.derive import load
from workflow.derive.evaluate import Derivation


@pytest.mark.parametrize("file", KINDS)
def test_every_sample_becomes_a_campaign_that_derives(tmp_path, capsys, file):
    assert main(["import", str(DATA / file), "--to", str(tmp_path / "c"), "--json"]) == 0
    said = json.loads(capsys.readouterr().out)
    campaign = load.load(tmp_path / "c")
    assert campaign.definition["backend"] == "imported" and said["sources"][0]["formats"] == {KINDS[file][0]: KINDS[file][1]}
    source = next(iter(campaign.manifests.values()))["import"]["sources"][0]
    assert source["sha256"] == hashlib.sha256((DATA / file).read_bytes()).hexdigest() and source["bytes"] == (DATA / file).stat().st_size
    derivation = Derivation(campaign, resamples=0)
    facts = [fact for key in derivation.definitions if key.startswith("imported.") if not (fact := derivation.result(key).fact).missing]
    assert len(facts) >= 5 and {fact.status for fact in facts} <= {"imported", "computed"}
    assert derivation.result("imported.rows").fact.value == KINDS[file][1]


def test_two_files_as_two_arms(tmp_path, capsys):
    one = DATA / "sglang_bench_serving.jsonl"
    two = tmp_path / "spec.jsonl"
    two.write_text(one.read_text().replace('"dspark-g3"', "null"), "utf8")
    assert main(["import", str(one), f"other={two}", "--to", str(tmp_path / "c"), "--set", "temperature=0", "--hardware", "one H200"]) == 0
    campaign = load.load(tmp_path / "c")
    table = campaign.tables["sweep_concurrency.csv"]
    assert table.distinct("label") == ["dspark-g3", "other"] and set(table.columns["temperature"]) == {"0"}
    assert campaign.manifests["sweep_concurrency.csv"]["import"]["declared"] == {"temperature": "0"}
    assert campaign.manifests["sweep_concurrency.csv"]["origin"]["hardware"] == "one H200"
    capsys.readouterr()
    assert main(["reefs", str(tmp_path / "c"), "--json"]) == 0, "the temperature was given, so nothing blocks"
    assert main(["reefs", str(tmp_path / "c"), "--strict"]) == 1, "lifetime averages warn"


def test_a_declaration_fills_what_is_open_and_overrides_no_number(tmp_path, capsys):
    assert main(["import", str(DATA / "vllm_serve.json"), "--to", str(tmp_path / "c"), "--set", "lane=dspark", "--set", "max_concurrency=99", "--set", "isl=500"]) == 0
    out = capsys.readouterr().out
    table = load.load(tmp_path / "c").tables["sweep_imported.csv"]
    assert (table.columns["lane"], table.columns["max_concurrency"], table.columns["isl"]) == (("dspark",), ("8",), ("500",))
    assert "the file says 8, so the given 99 is not used" in out


def test_reefs_of_an_imported_folder_exit_by_severity(tmp_path, capsys):
    assert main(["import", str(DATA / "sglang_bench_serving.jsonl"), "--to", str(tmp_path / "c")]) == 0
    capsys.readouterr()
    assert main(["reefs", str(tmp_path / "c")]) == 1
    out = capsys.readouterr().out
    assert "blocking: R29-temperature" in out and "warning: R16-lifetime" in out and "warning: R33-unknown-failures" in out
    assert "R31-dead-speculation" not in out, "an unknown count of drafts is no zero"


BAD = {
    "a column": (["--set", "speed=9"], "--set speed=9"), "a value": (["--set", "lane=warp"], "is not one of plain"), "its own": (["--set", "run_id=x"], "run_id"),
    "no mapping": (["--mapping", "nowhere.yaml"], "no such file"), "a formula": (["--set", "note==1+1"], "note"),
}  # fmt: skip


@pytest.mark.parametrize("name", BAD)
def test_options_that_cannot_be_used(tmp_path, capsys, name):
    options, said = BAD[name]
    assert main(["import", str(DATA / "vllm_serve.json"), "--to", str(tmp_path / "c"), *options]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and not (tmp_path / "c").exists()


def test_a_folder_that_is_there_is_never_touched(tmp_path, capsys):
    (tmp_path / "c").mkdir()
    (tmp_path / "c" / "mine").write_text("x")
    assert main(["import", str(DATA / "vllm_serve.json"), "--to", str(tmp_path / "c")]) == 2
    assert "exists already" in capsys.readouterr().err and sorted(path.name for path in tmp_path.iterdir()) == ["c"]
    assert main(["import", str(DATA / "vllm_serve.json"), "--to", str(tmp_path / "Not A Name")]) == 2
    assert main(["import", str(tmp_path / "nothing.json"), "--to", str(tmp_path / "d")]) == 2


def test_the_folder_one_stands_in_has_a_name_as_well(tmp_path, monkeypatch):
    (tmp_path / "mine").mkdir()
    monkeypatch.chdir(tmp_path / "mine")
    assert main(["import", str(DATA / "vllm_serve.json"), "--to", "."]) == 0
    assert load.load(tmp_path / "mine").definition["name"] == "mine" and [path.name for path in tmp_path.iterdir()] == ["mine"]


def test_more_remarks_than_a_manifest_keeps_are_all_counted(tmp_path):
    data = json.loads((DATA / "vllm_serve.json").read_text())
    file = tmp_path / "many.jsonl"
    file.write_text("".join(json.dumps(data | {"duration": 10.0 + i, "output_throughput": f"fast{i}"}) + "\n" for i in range(230)), "utf8")
    expected = len(imported(file).report.of("dropped"))
    main(["import", str(file), "--to", str(tmp_path / "c")])
    campaign = load.load(tmp_path / "c")
    kept = next(iter(campaign.manifests.values()))["import"]["dropped"]
    assert expected >= 230 and len(kept) == 201
    assert Derivation(campaign, resamples=0).result("imported.dropped").fact.value == expected


@pytest.mark.parametrize("files", [("vllm_sweep_summary.json", "lm_eval.json"), ("llama_bench.json",)])
def test_a_page_with_the_sections_that_the_data_support(tmp_path, files):
    from workflow.derive.__main__ import write
    from workflow.figures.__main__ import main as draw
    from workflow.page.listing import site_files
    from workflow.page.site import build
    from workflow.plan import CAMPAIGNS, ROOT, Plan

    own = tmp_path / CAMPAIGNS / "own"
    assert main(["import", *(str(DATA / file) for file in files), "--to", str(own)]) == 0
    folder = tmp_path / "build"
    write(Derivation(load.load(own), resamples=0).values(), folder / "own")
    assert draw(["--values", str(folder / "own" / "values.json"), "--out", str(folder / "own" / "figures")]) == 0
    plan = Plan(("own",), "own", root=tmp_path)
    result = build(plan, folder)
    assert result.problems == []
    shutil.copytree(ROOT / "templates", tmp_path / "templates")
    assert sorted(f"site/{name}" for name in result.files) == site_files(plan), "the site rule declares what is written"
    page = result.files["index.html"].decode()
    chinese = result.files["zh/index.html"].decode()
    served, scored = "llama_bench.json" not in files, "lm_eval.json" in files
    for text in (page, chinese):
        assert 'id="imported"' in text and 'class="absent"' not in text
        assert ('id="imported-serving"' in text) == served
        assert ('id="imported-acceptance"' in text) == served
        assert ('id="imported-scores"' in text) == scored
        assert 'id="prologue"' not in text and 'id="window"' not in text


@pytest.mark.slow
def test_snakemake_builds_an_imported_campaign(tmp_path):
    """In a copy of the repository: import into workflow/campaigns, then the one command of the README."""
    from workflow.plan import CAMPAIGNS, ROOT

    copy = tmp_path / "copy"
    shutil.copytree(ROOT, copy, ignore=shutil.ignore_patterns(".git", "site", "build", "dist", ".snakemake", "__pycache__", "*.safetensors"))
    environment = {**os.environ, "PYTHONPATH": str(copy)}
    into = copy / CAMPAIGNS / "foreign"
    made = subprocess.run([sys.executable, "-m", "workflow.cli", "import", str(DATA / "vllm_sweep_summary.json"), "--to", str(into)], cwd=copy, env=environment, capture_output=True, text=True)
    assert made.returncode == 0, made.stderr
    command = [sys.executable, "-m", "snakemake", "--cores", "1", "site", "--config", "campaigns=[foreign]", "lead=foreign"]
    done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    assert 'id="imported-serving"' in (copy / "site" / "index.html").read_text("utf8")
