"""Files that are cut, mixed, doubled, in another encoding or another tool's: one line each, and nothing lost of what was readable."""

import json
import subprocess
import sys

import pytest

from tests.importers.conftest import DATA, imported, rows, told
from workflow.cli import main


def lines(name="sglang_bench_serving.jsonl") -> list[str]:
    return (DATA / name).read_text("utf8").splitlines()


def put(tmp_path, content, name="x.json"):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


def test_a_cut_last_line_keeps_what_was_complete(tmp_path):
    text = "\n".join(lines())
    at = text.index('"mean_itl_ms"', text.rindex("\n"))
    done = imported(put(tmp_path, text[:at]))
    found = rows(done)
    assert len(found) == 3 and "mean_itl_ms" not in found[-1] and found[-1]["mean_ttft_ms"]
    assert told(done, "fault").count("\n") == 0 and "line 3: not a whole JSON value; its complete members were read" in told(done, "fault")


def test_a_broken_line_in_the_middle_is_skipped_alone(tmp_path):
    first, _, third = lines()
    done = imported(put(tmp_path, "\n".join([first, "#### crashed ####", third])))
    assert len(rows(done)) == 2 and "line 2" in told(done, "fault")


def test_a_cut_document_keeps_its_complete_benchmarks(tmp_path):
    text = (DATA / "guidellm.json").read_text()
    done = imported(put(tmp_path, text[: text.rindex('"request_totals"') + 20]))
    assert len(rows(done)) == 1 and "cut off or broken" in told(done, "fault")


def test_a_list_that_was_cut_is_left_out_whole(tmp_path):
    """The mean of half a list is another mean."""
    text = (DATA / "vllm_serve.json").read_text()
    data = json.loads(text)
    order = {name: value for name, value in data.items() if name != "latencies"} | {"latencies": data["latencies"]}
    full = json.dumps(order)
    done = imported(put(tmp_path, full[: full.index('"latencies"') + 60]))
    assert "mean_e2e_ms" not in rows(done)[0] and rows(done)[0]["accept_length"]


def test_a_killed_llama_bench_has_no_closing_bracket(tmp_path):
    text = (DATA / "llama_bench.json").read_text().rstrip().removesuffix("]")
    assert len(rows(imported(put(tmp_path, text)))) == 6


@pytest.mark.parametrize("encoding", ("utf-8-sig", "utf-16", "utf-16-be"))
def test_encodings_of_shells(tmp_path, encoding):
    text = "\r\n".join(lines())
    content = text.encode(encoding) if encoding != "utf-16-be" else b"\xfe\xff" + text.encode(encoding)
    done = imported(put(tmp_path, content))
    assert [row["max_concurrency"] for row in rows(done)] == ["1", "8", "32"] and told(done, "fault") == ""


def test_bytes_that_are_not_utf8_cost_their_text_only(tmp_path):
    content = "\n".join(lines()).encode().replace(b'"dspark-g3"', b'"dspark-\xff3"', 1)
    done = imported(put(tmp_path, content))
    assert len(rows(done)) == 3 and "line 1: not UTF-8 at byte" in told(done, "fault")


def test_duplicates_are_kept_once_and_said(tmp_path):
    done = imported(put(tmp_path, "\n".join(lines() + lines()[:1])))
    assert len(rows(done)) == 3 and "the same result stands at" in told(done, "dropped")


def test_several_tools_in_one_file(tmp_path):
    other = json.dumps(json.loads((DATA / "vllm_serve.json").read_text()))
    done = imported(put(tmp_path, "\n".join([*lines(), other])))
    assert len(rows(done)) == 4 and "several tools in one file" in told(done, "fault")


def test_versions_that_are_mixed_are_a_reef(tmp_path, capsys):
    data = json.loads((DATA / "guidellm.json").read_text())
    data["metadata"]["guidellm_version"] = "0.5.3"
    data["benchmarks"] = data["benchmarks"][:1]
    data["benchmarks"][0]["metrics"]["request_latency"]["successful"]["mean"] = 4.5
    old = put(tmp_path, json.dumps(data), "old.json")
    assert main(["import", str(old), str(DATA / "guidellm.json"), "--to", str(tmp_path / "mixed")]) == 1
    assert "several versions of guidellm (0.5.3, 0.8.1)" in capsys.readouterr().out
    assert main(["reefs", str(tmp_path / "mixed"), "--json"]) == 1
    assert {"R34-mixed-tools", "R41-failed-checksum"} <= {one["reef"] for one in json.loads(capsys.readouterr().out)["findings"]}


FOREIGN = {
    "empty": (b"", "nothing stands in it"), "binary": (b"\x7fELF\x00\x00", "NUL bytes"), "prose": (b"hello\nthere\n", "known formats"), "json": (b'{"a": 1}', "keys a"),
    "cut": (b'{"a', "not JSON"), "csv": (b"a,b\n1,2\n", "any CSV with --mapping"), "number": (b"[1, 2]", "no JSON object"), "deep": (b"[" * 100_000, "nested too deep"),
}  # fmt: skip


@pytest.mark.parametrize("name", FOREIGN)
def test_nothing_importable_is_one_line_and_no_folder(tmp_path, capsys, name):
    content, said = FOREIGN[name]
    assert main(["import", str(put(tmp_path, content)), "--to", str(tmp_path / "c")]) == 2
    err = capsys.readouterr().err
    assert said in err and err.count("\n") == 1 and "x.json" in err
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_another_tools_file_does_not_stop_the_others(tmp_path, capsys):
    bad = put(tmp_path, b'{"a": 1}', "other.json")
    assert main(["import", str(bad), str(DATA / "vllm_serve.json"), "--to", str(tmp_path / "c")]) == 1
    assert "fault: other.json" in capsys.readouterr().out and (tmp_path / "c" / "campaign.yaml").is_file()


GENERATE = """
import json, sys
line = json.loads(open(sys.argv[1], encoding="utf8").readline().replace("Infinity", '"inf"'))
with open(sys.argv[2], "w", encoding="utf8") as out:
    for i in range(int(sys.argv[3])):
        n = 50
        lists = {"input_lens": [512] * n, "output_lens": [64] * n, "ttfts": [0.04] * n, "itls": [[0.02] * 30] * n, "errors": [""] * n, "generated_texts": ["word " * 300] * n}
        out.write(json.dumps({**line, "mean_ttft_ms": 40.0 + i, **lists}) + "\\n")
"""
MEASURE = """
import resource, sys
from pathlib import Path
from workflow.importers.run import import_files
before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
done = import_files([(None, Path(sys.argv[1]))])
print(len(done.collected.points), done.collected.request_rows, resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before)
"""


def grown_by(tmp_path, count: int) -> tuple[int, int, int, int]:
    """(bytes of the file, rows, requests, KiB that the process grew by)."""
    path = tmp_path / f"{count}.jsonl"
    subprocess.run([sys.executable, "-c", GENERATE, str(DATA / "sglang_bench_serving.jsonl"), str(path), str(count)], check=True)
    out = subprocess.run([sys.executable, "-c", MEASURE, str(path)], check=True, capture_output=True, text=True).stdout
    return (path.stat().st_size, *map(int, out.split()))


def test_lines_are_streamed(tmp_path):
    """The memory of an import does not grow with the file: one line at a time, requests go to a file of their own."""
    size, count, requests, grown = grown_by(tmp_path, 400)
    assert size > 30_000_000 and (count, requests) == (400, 20_000)
    assert grown * 1024 < size / 2, f"{grown} KiB for {size} bytes"


NAMED = """
import json, sys
line = json.loads(open(sys.argv[1], encoding="utf8").read().splitlines()[1])
with open(sys.argv[2], "w", encoding="utf8") as out:
    about = line["metadata"] if "metadata" in line else line
    about["x_request_id" if "metadata" in line else "id"] = "NAME"
    text = json.dumps({**line, "content": "word " * 200})
    for i in range(int(sys.argv[3])):
        out.write(text.replace("NAME", f"r{i}") + "\\n")
"""


@pytest.mark.parametrize("file", ["aiperf_records.jsonl", "llamacpp_timings.jsonl"])
def test_requests_that_make_one_point_are_streamed(tmp_path, file):
    """Formats with a line a request keep a few numbers of each, not the line."""
    path, count = tmp_path / "x.jsonl", 12_000
    subprocess.run([sys.executable, "-c", NAMED, str(DATA / file), str(path), str(count)], check=True)
    out = subprocess.run([sys.executable, "-c", MEASURE, str(path)], check=True, capture_output=True, text=True).stdout
    points, requests, grown = map(int, out.split())
    assert (points, requests) == (1, count)
    assert grown * 1024 < path.stat().st_size / 2, f"{grown} KiB for {path.stat().st_size} bytes"


@pytest.mark.slow
def test_gigabytes_are_streamed(tmp_path):
    size, count, _, grown = grown_by(tmp_path, 24_000)
    assert size > 2_000_000_000 and count == 24_000 and grown < 200_000
