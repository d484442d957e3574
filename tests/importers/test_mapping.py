"""CSVs by a mapping file: the published campaign's own tables as they are, and mappings that are wrong."""

import csv
import os
from pathlib import Path

import pytest

from tests.importers.conftest import imported, rows, told
from workflow.cli import main
from workflow.importers.mapping import Mapping, MappingError
from workflow.plan import CAMPAIGNS, ROOT

REFERENCE = os.environ.get("SOUNDINGS_REFERENCE")
SHIPPED = ROOT / "workflow/importers/mappings/k3-mi355x.yaml"
MAPPING = """
tool: a table
files:
  - name: "*.csv"
    stage: concurrency
    label: "{arm}"
    missing: ["?"]
    set: {backend: vllm, lane: plain}
    columns:
      max_concurrency: {from: c}
      mean_ttft_ms: {from: ttft, unit: s}
      cache_hit_rate: {from: hit, unit: "%"}
      available_mem_bytes: {from: free, unit: GB}
      status: {from: ok, values: {"yes": ok, "no": oom}}
    ignore: [host]
"""
TABLE = "arm,c,ttft,hit,free,ok,host,extra\na,4,0.25,40,12.81,yes,h,1\nb,8,?,,?,no,h,2\n"


def put(tmp_path, mapping=MAPPING, table=TABLE):
    (tmp_path / "m.yaml").write_text(mapping, "utf8")
    (tmp_path / "t.csv").write_text(table, "utf8")
    return tmp_path / "t.csv", tmp_path / "m.yaml"


def test_units_values_and_unknowns(tmp_path):
    table, mapping = put(tmp_path)
    done = imported(table, mapping=Mapping.load(mapping))
    first, second = rows(done)
    assert (first["mean_ttft_ms"], first["cache_hit_rate"], first["available_mem_bytes"], first["status"]) == ("250", "0.4", "12810000000", "ok")
    assert second["status"] == "oom" and not {"mean_ttft_ms", "cache_hit_rate", "available_mem_bytes"} & second.keys()
    assert first["label"] == "a" and set(next(iter(done.report.unused.values()))) == {"extra"}


WRONG = {
    "unknown column": (MAPPING.replace("mean_ttft_ms", "mean_ttft"), "did you mean 'mean_ttft_ms'"),
    "unknown unit": (MAPPING.replace("unit: s}", "unit: weeks}"), "unit 'weeks'; expected one of ms"),
    "no files": ("tool: x\n", "files"),
    "a key that is none": (MAPPING.replace("ignore", "ignored"), "ignored"),
    "no YAML": ("files: [", "not valid YAML"),
    "the import's own": (MAPPING.replace("max_concurrency:", "run_id:"), "run_id"),
}


@pytest.mark.parametrize("name", WRONG)
def test_a_mapping_that_is_wrong(tmp_path, name, capsys):
    content, said = WRONG[name]
    table, mapping = put(tmp_path, content)
    with pytest.raises(MappingError, match="m.yaml"):
        Mapping.load(mapping)
    assert main(["import", str(table), "--mapping", str(mapping), "--to", str(tmp_path / "c")]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and not (tmp_path / "c").exists()


def test_a_column_that_the_file_lacks_is_named(tmp_path):
    table, mapping = put(tmp_path, table=TABLE.replace("ttft", "ttft_s"))
    done = imported(table, mapping=Mapping.load(mapping))
    assert done.empty and "no column 'ttft', which m.yaml names; did you mean 'ttft_s'?" in told(done)


def test_a_day_column_that_the_file_lacks_is_named_too(tmp_path):
    table, mapping = put(tmp_path, MAPPING.replace("    stage:", "    date: day\n    stage:", 1))
    assert "no column 'day', which m.yaml names" in told(imported(table, mapping=Mapping.load(mapping)))


def test_rows_that_were_cut_are_read_as_far_as_they_go(tmp_path):
    table, mapping = put(tmp_path, table=TABLE + "c,16,0.5")
    done = imported(table, mapping=Mapping.load(mapping))
    last = rows(done)[-1]
    assert last["label"] == "c" and last["max_concurrency"] == "16" and "mean_ttft_ms" not in last, "the last cell may be cut as well"
    assert "3 cells where the header has 8" in told(done, "fault")


def test_a_mapped_campaign_is_read_with_the_shipped_formats_beside_it(tmp_path):
    """A file that no entry of the mapping fits is read by content."""
    from tests.importers.conftest import DATA

    table, mapping = put(tmp_path)
    done = imported(table, DATA / "vllm_serve.json", mapping=Mapping.load(mapping))
    assert [list(source.formats) for source in done.sources] == [["mapped-csv"], ["vllm-bench-serve"]]


@pytest.mark.skipif(not REFERENCE, reason="SOUNDINGS_REFERENCE names no folder with the published files")
def test_the_published_tables_are_the_archived_rows(tmp_path):
    """The archived campaign was restated by hand from these files; the mapping must give the same numbers."""
    folder = Path(REFERENCE) / "k3-mi355x" / "original"
    into = tmp_path / "k3"
    assert main(["import", *map(str, sorted(folder.glob("*.csv"))), "--mapping", str(SHIPPED), "--to", str(into)]) == 0
    for file in ("sweep_isl.csv", "sweep_osl.csv", "sweep_concurrency.csv", "search.csv"):
        ours, theirs = (list(csv.DictReader(open(path / file, encoding="utf8"))) for path in (into, ROOT / CAMPAIGNS / "k3-mi355x"))
        shared = ours[0].keys() & theirs[0].keys() - {"run_id", "campaign", "note", "chunked_prefill_size", "max_running_requests", "num_prompts", "mem_fraction_static", "cuda_graph_max_bs", "stage"}
        assert len(shared) > 10
        rows_ = {tuple(sorted((name, row[name]) for name in shared)) for row in ours}
        known = {tuple(sorted((name, row[name]) for name in shared)) for row in theirs}
        missing = rows_ - known
        assert len(missing) <= (0 if file != "search.csv" else len(rows_) - 40), sorted(missing)[:2]
    assert len(list(csv.DictReader(open(into / "figures.csv", encoding="utf8")))) == 10
