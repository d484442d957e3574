"""Each tool's file: what it is recognised as, and the numbers that come out, against the numbers in the file by hand."""

import json

import pytest

from tests.importers.conftest import DATA, imported, rows, told
from workflow.importers.collect import REQUESTS
from workflow.importers.registry import NAMES
from workflow.importers.units import written

KINDS = {
    "sglang_bench_serving.jsonl": ("sglang-bench-serving", 3), "sglang_details.jsonl": ("sglang-bench-serving", 1), "sglang_one_batch.jsonl": ("sglang-bench-one-batch", 2),
    "sglang_nothing_completed.jsonl": ("sglang-bench-serving", 1), "vllm_serve.json": ("vllm-bench-serve", 1), "vllm_serve_older.json": ("vllm-bench-serve", 1),
    "vllm_sweep_summary.json": ("vllm-bench-serve", 3), "vllm_sweep_summary.csv": ("vllm-bench-serve", 3), "guidellm.json": ("guidellm", 2), "guidellm.csv": ("guidellm-csv", 2),
    "aiperf.json": ("aiperf", 1), "aiperf.csv": ("aiperf-csv", 1), "genai_perf.json": ("aiperf", 1), "genai_perf.csv": ("aiperf-csv", 1), "llama_bench.json": ("llama-bench", 6),
    "llama_bench.jsonl": ("llama-bench", 6), "llama_bench.csv": ("llama-bench", 3), "llamacpp_timings.jsonl": ("llamacpp-timings", 1), "lm_eval.json": ("lm-eval", 4),
    "aiperf_records.jsonl": ("aiperf-records", 1), "inferencex.json": ("inferencex", 1), "sgl_eval_metrics.json": ("sgl-eval", 6), "sgl_eval_block.txt": ("sgl-eval", 6),
}  # fmt: skip


def test_every_sample_and_every_format_is_here():
    assert {path.name for path in DATA.iterdir()} - {"README.md"} == set(KINDS)
    assert {name for name, _ in KINDS.values()} == set(NAMES)


@pytest.mark.parametrize("file", KINDS)
def test_recognised_by_content(file, tmp_path):
    """The name tells nothing: every file is given as `results.txt`."""
    copy = tmp_path / "results.txt"
    copy.write_bytes((DATA / file).read_bytes())
    done = imported(copy)
    name, count = KINDS[file]
    assert dict(done.sources[0].formats) == {name: count} and done.sources[0].rows == count
    assert told(done, "fault") == ""
    assert all(check.failed == [] for check in done.report.checks.values())


def one(file: str) -> dict[str, str]:
    (row,) = rows(imported(DATA / file))
    return row


def test_sglang_serving():
    found = rows(imported(DATA / "sglang_bench_serving.jsonl"))
    data = [json.loads(line.replace("Infinity", '"inf"')) for line in (DATA / "sglang_bench_serving.jsonl").read_text().splitlines()]
    assert [row["max_concurrency"] for row in found] == ["1", "8", "32"] and {row["stage"] for row in found} == {"concurrency"}
    for row, source in zip(found, data):
        assert row["lane"] == "dspark" and row["block_size"] == "3" and row["request_rate"] == "inf" and row["backend"] == "sglang"
        assert float(row["mean_e2e_ms"]) == pytest.approx(source["mean_e2e_latency_ms"]) and float(row["p99_ttft_ms"]) == pytest.approx(source["p99_ttft_ms"])
        assert (row["isl"], row["osl"], row["chunked_prefill_size"], row["radix_cache"], row["accept_scope"]) == ("512", "64", "8192", "off", "lifetime")
        assert "failed" not in row and "num_prompts" not in row


def test_sglang_details_become_requests():
    done = imported(DATA / "sglang_details.jsonl")
    (row,) = rows(done)
    assert (row["num_prompts"], row["failed"], done.collected.request_rows) == ("4", "1", 4)
    done.collected.spool.seek(0)
    first, _, third, _ = done.collected.spool.read().splitlines()
    assert f",{40}," in first and "640" in first and third.endswith("failed"), (first, third)


def test_one_batch_rates_are_not_those_of_serving():
    single, batch = rows(imported(DATA / "sglang_one_batch.jsonl"))
    assert float(batch["decode_throughput"]) == pytest.approx(320.0 * 15 / 16)
    assert float(batch["output_throughput"]) == pytest.approx(128 / 0.9) and float(batch["duration_s"]) == 0.9
    assert single["mean_ttft_ms"] == "80" and "mean_ttft_ms" not in batch
    assert "accept_length" not in single and single["lane"] == "unknown" and batch["accept_length"] == "2.2"


def test_vllm_serving():
    row = one("vllm_serve.json")
    source = json.loads((DATA / "vllm_serve.json").read_text())
    good = [value for value in source["latencies"] if value]
    assert (row["completed"], row["failed"], row["num_prompts"], row["request_rate"]) == ("39", "1", "40", "inf")
    assert float(row["mean_e2e_ms"]) == pytest.approx(1000 * sum(good) / 39)
    assert float(row["concurrency"]) == pytest.approx(sum(good) / source["duration"])
    assert (row["rounds"], row["drafted"], row["block_size"], row["accept_scope"], row["lane"]) == ("1035", "3105", "3", "window", "spec")
    assert row["model"] == "org/model-8b" and row["mean_client_queue_ms"] == "12"


def test_an_older_vllm_says_less_and_nothing_is_invented():
    row = one("vllm_serve_older.json")
    assert row["lane"] == "unknown"
    assert not {"failed", "accept_length", "mean_e2e_ms", "concurrency", "mean_client_queue_ms"} & row.keys()


def test_a_sweeps_json_and_csv_give_the_same_rows():
    drop = {"run_id"}
    both = [[{k: v for k, v in row.items() if k not in drop} for row in rows(imported(DATA / f"vllm_sweep_summary.{ext}"))] for ext in ("json", "csv")]
    assert both[0] == both[1]


def test_guidellm_json_and_csv_agree():
    from_json, from_csv = (rows(imported(DATA / f"guidellm.{ext}")) for ext in ("json", "csv"))
    for a, b in zip(from_json, from_csv):
        same = a.keys() & b.keys() - {"run_id"}
        assert {name: a[name] for name in same} == {name: b[name] for name in same}
        assert {"mean_e2e_ms", "mean_ttft_ms", "mean_tpot_ms", "p99_e2e_ms", "completed", "duration_s", "max_concurrency"} <= same


def test_aiperf_and_genai_perf():
    full, rounded, older, grouped = (one(f"{name}.{ext}") for name in ("aiperf", "genai_perf") for ext in ("json", "csv"))
    for row in (full, rounded, older, grouped):
        assert (row["mean_e2e_ms"], row["mean_ttft_ms"], row["output_throughput"]) == ("3778", "250", "132.54")
        assert float(row["p99_tpot_ms"]) == pytest.approx(56 * 1.3) and float(row["median_ttft_ms"]) == pytest.approx(245)
    assert (full["accept_length"], full["accept_scope"], full["mean_itl_ms"], full["failed"], full["isl"]) == ("2.41", "requests", "130", "1", "512")
    assert older["max_concurrency"] == "8" and "failed" not in older and older["label"] == "genai-perf" == grouped["label"]


def test_llama_bench():
    found = rows(imported(DATA / "llama_bench.json"))
    decode = [row for row in found if row["label"] == "tg64"]
    assert len(decode) == 2 and {row["in_boot_pass"] for row in decode} == {"0", "1"}
    assert sum(float(row["decode_throughput"]) for row in decode) / 2 == pytest.approx(80.0)
    assert float(decode[0]["step_ms"]) == pytest.approx(1000 / float(decode[0]["decode_throughput"]), rel=1e-6)
    assert not any("output_throughput" in row for row in found)
    (prefill,) = {row["label"] for row in found if row.get("total_input_tokens")}
    assert prefill == "pp512"
    assert {row["label"] for row in rows(imported(DATA / "llama_bench.csv"))} == {"tg64", "pp512", "pp512+tg64"}


def test_llamacpp_timings():
    done = imported(DATA / "llamacpp_timings.jsonl")
    (row,) = rows(done)
    assert (row["completed"], row["drafted"], row["accepted"], row["accept_scope"]) == ("3", "180", "80", "estimated")
    assert float(row["accept_length"]) == pytest.approx(128 / (128 - 80))
    assert row["mean_tpot_ms"] == "12.5", "the clock of predicted_ms starts at the first token"
    assert done.collected.request_rows == 3


def test_scores():
    scores = imported(DATA / "lm_eval.json").collected.figures
    assert scores["lmeval_gsm8k_exact_match_flexible_extract"]["value"] == "71" and scores["lmeval_gsm8k_exact_match_flexible_extract"]["unit"] == "%"
    assert scores["lmeval_wikitext_word_perplexity"]["value"] == "12.5" and scores["lmeval_wikitext_word_perplexity"]["unit"] == ""
    assert "not the whole task" in scores["lmeval_gsm8k_exact_match_flexible_extract"]["note"]
    assert "lmeval_gsm8k_exact_match_stderr_strict_match" not in scores


def test_a_printed_block_says_what_its_file_says():
    file, block = (imported(DATA / name).collected.figures for name in ("sgl_eval_metrics.json", "sgl_eval_block.txt"))
    assert file == block
    assert file["sgleval_aime25_pass_1"]["value"] == "78.96" and file["sgleval_aime25_pass_1_sem"]["value"] == "0.3"


def test_aiperf_records_become_a_point_and_its_requests():
    """Three good requests, one that failed, and one of the warm-up that counts nowhere."""
    done = imported(DATA / "aiperf_records.jsonl")
    (row,) = rows(done)
    assert (row["completed"], row["failed"], row["num_prompts"], row["duration_s"]) == ("3", "1", "4", "1")
    assert (row["total_input_tokens"], row["total_output_tokens"], row["output_throughput"]) == ("300", "73", "73")
    assert (row["mean_ttft_ms"], row["median_tpot_ms"], row["mean_e2e_ms"]) == ("50", "20", written((450 + 460 + 340) / 3)) and "p99_ttft_ms" not in row
    # steps 20 + 12 + 10, accepted 24 + 18 + 0: a mean over requests would be another length
    assert (row["rounds"], row["drafted"], row["accepted"], row["accept_scope"], row["lane"]) == ("42", "126", "42", "window", "spec")
    assert row["accept_length"] == "2"
    assert "1 records of the warm-up" in told(done, "dropped")
    done.collected.spool.seek(0)
    kept = [dict(zip(REQUESTS, line.split(","), strict=True)) for line in done.collected.spool.read().splitlines()]
    assert [one["status"] for one in kept] == ["ok", "ok", "ok", "failed"] and [one["queued_s"] for one in kept] == ["0", "0.25", "0.5", "0.75"]
    assert (kept[1]["accepted"], kept[1]["drafted"], kept[3]["ttft_ms"], kept[3]["osl"]) == ("18", "36", "", "0")


def test_inferencex_is_in_seconds_and_a_device():
    row = one("inferencex.json")
    assert (row["mean_ttft_ms"], row["p99_tpot_ms"], row["median_e2e_ms"]) == ("250", "30", "5243")
    assert (row["total_throughput"], row["output_throughput"], row["max_concurrency"]) == ("3200", "640", "16")
    assert (row["lane"], row["backend"], row["isl"], row["osl"], row["label"]) == ("plain", "vllm", "1024", "256", "h200 vllm fp8")
