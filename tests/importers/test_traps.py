"""Traps of foreign formats: what a number is not, whatever its name says."""

import json
import math

import pytest

from tests.importers.conftest import DATA, imported, rows, told


def write(tmp_path, data, name="x.json"):
    path = tmp_path / name
    path.write_text(json.dumps(data) if not isinstance(data, list) else "".join(json.dumps(one) + "\n" for one in data), "utf8")
    return path


def sglang(**changed) -> dict:
    return json.loads((DATA / "sglang_bench_serving.jsonl").read_text().splitlines()[1].replace("Infinity", '"inf"')) | changed


def vllm(**changed) -> dict:
    return json.loads((DATA / "vllm_serve.json").read_text()) | changed


def row_of(tmp_path, data) -> tuple[dict, str]:
    done = imported(write(tmp_path, data))
    return rows(done)[0], told(done)


def test_zero_completions_are_no_perfect_latencies():
    done = imported(DATA / "sglang_nothing_completed.jsonl")
    (row,) = rows(done)
    assert row["status"] == "rejected" and not any(name.endswith("_ms") or name.endswith("throughput") for name in row)
    assert "no request completed" in told(done, "dropped")


def test_a_lifetime_average_is_marked_and_one_ranks_too(tmp_path):
    row, _ = row_of(tmp_path, [sglang()])
    assert row["accept_scope"] == "lifetime"
    info = sglang()["server_info"] | {"dp_size": 8}
    row, said = row_of(tmp_path, [sglang(server_info=info)])
    assert row["accept_scope"] == "one_rank" and "first of 8" in said


@pytest.mark.parametrize("value", (1.0, -1, None, math.nan, "N/A", math.inf))
def test_accept_lengths_that_stand_for_unknown(tmp_path, value):
    row, _ = row_of(tmp_path, [sglang(accept_length=value)])
    assert "accept_length" not in row and row["lane"] == "dspark"


def test_an_accept_length_without_the_bonus_is_none(tmp_path):
    row, said = row_of(tmp_path, [sglang(accept_length=0.7)])
    assert "accept_length" not in row and "bonus" in said


def test_percent_and_fraction(tmp_path):
    row, _ = row_of(tmp_path, [sglang(cache_report={"cache_hit_rate_pct": 37.5})])
    assert row["cache_hit_rate"] == "0.375"
    done = imported(write(tmp_path, vllm()))
    assert done.report.checks["accepted over drafted"].passed == 1, "47 % and 0.47 are one number"


def test_infinity_is_a_closed_loop_and_a_trace_is_unknown(tmp_path):
    for rate in (math.inf, "inf", "Infinity"):
        assert row_of(tmp_path, [sglang(request_rate=rate)])[0]["request_rate"] == "inf"
    row, said = row_of(tmp_path, [sglang(request_rate="trace")])
    assert "request_rate" not in row and "trace" in said


def test_a_cap_of_zero_is_none(tmp_path):
    assert "max_concurrency" not in row_of(tmp_path, [sglang(max_concurrency=0)])[0]
    assert "max_concurrency" not in row_of(tmp_path, vllm(max_concurrency=None))[0]


def test_random_lengths_of_another_data_set_mean_nothing(tmp_path):
    row, _ = row_of(tmp_path, [sglang(dataset_name="sharegpt")])
    assert "isl" not in row and "osl" not in row


@pytest.mark.parametrize("changed", ({}, {"accept_length": None}, {"server_info": {"speculative_algorithm": None}}), ids=("spec", "unknown length", "plain"))
def test_itl_per_token_is_not_itl_per_chunk(tmp_path, changed):
    row, said = row_of(tmp_path, [sglang(backend="sglang-oai-chat", **changed)])
    assert "mean_itl_ms" not in row and row["mean_tpot_ms"] and "itl" in said


def test_guidellms_time_per_output_token_is_not_tpot():
    done = imported(DATA / "guidellm.json")
    source = json.loads((DATA / "guidellm.json").read_text())["benchmarks"][0]["metrics"]
    row = rows(done)[0]
    assert float(row["mean_tpot_ms"]) == pytest.approx(source["inter_token_latency_ms"]["successful"]["mean"])
    assert float(row["mean_tpot_ms"]) != source["time_per_output_token_ms"]["successful"]["mean"] and "mean_itl_ms" not in row
    assert row["mean_e2e_ms"] == "3900", "seconds beside milliseconds"
    assert "contains the time to the first token" in told(done, "dropped")


def test_requests_that_were_cut_count_in_the_rate_only():
    cut = rows(imported(DATA / "guidellm.json"))[1]
    whole = json.loads((DATA / "guidellm.json").read_text())["benchmarks"][1]["metrics"]["output_tokens_per_second"]
    assert float(cut["output_throughput"]) == pytest.approx(whole["total"]["mean"]) and "total_output_tokens" not in cut


def test_aiperfs_unit_is_read_not_assumed(tmp_path):
    data = json.loads((DATA / "aiperf.json").read_text())
    data["request_latency"] = {name: value / 1000 if isinstance(value, float) else value for name, value in data["request_latency"].items()} | {"unit": "s"}
    assert row_of(tmp_path, data)[0]["mean_e2e_ms"] == "3778"
    data["request_latency"]["unit"] = "fortnights"
    row, said = row_of(tmp_path, data)
    assert "mean_e2e_ms" not in row and "fortnights" in said
    del data["request_latency"]["unit"]
    row, said = row_of(tmp_path, data)
    assert "mean_e2e_ms" not in row and "no unit" in said


def test_failed_requests_leave_zeros_in_a_list_of_latencies(tmp_path):
    done = imported(write(tmp_path, vllm(completed=38)))
    assert "mean_e2e_ms" not in rows(done)[0] and "39 of requests that ended well, 38 completed" in told(done)


def test_more_accepted_than_predicted_is_no_accept_length(tmp_path):
    answers = [{"id": "a", "timings": {"prompt_n": 4, "prompt_ms": 1.0, "predicted_n": 8, "predicted_ms": 7.0, "draft_n": 20, "draft_n_accepted": 12}}]
    row, said = row_of(tmp_path, answers)
    assert "accept_length" not in row and "behind the stop" in said


def test_answers_that_report_as_they_grow_count_once(tmp_path):
    def grown(n):
        return {"id": "a", "timings": {"prompt_n": 4, "prompt_ms": 1.0, "predicted_n": n, "predicted_ms": 2.0 * (n - 1)}}

    done = imported(write(tmp_path, [grown(n) for n in range(1, 9)]))
    assert done.collected.request_rows == 1 and rows(done)[0]["total_output_tokens"] == "8" and rows(done)[0]["lane"] == "unknown"


def test_a_shadowed_key_is_no_number(tmp_path):
    row, said = row_of(tmp_path, vllm(output_throughput="fast"))
    assert "output_throughput" not in row and "'fast' is no number" in said


CHECKS = {
    "1 + sum of positions": {"spec_decode_per_position_acceptance_rates": [0.9, 0.44, 0.26]},
    "positions do not rise": {"spec_decode_per_position_acceptance_rates": [0.44, 0.71, 0.26]},
    "1 + accepted over rounds": {"spec_decode_num_drafts": 900},
    "accepted over drafted": {"spec_decode_acceptance_rate": 0.47},
    "total_output_tokens over duration": {"output_throughput": 1.0},
    "completed over duration": {"request_throughput": 1.0},
    "all tokens over duration": {"total_token_throughput": 1.0},
}


@pytest.mark.parametrize("name", CHECKS)
def test_each_checksum_fails_where_it_must(tmp_path, name):
    good, bad = imported(write(tmp_path, vllm())), imported(write(tmp_path, vllm(**CHECKS[name])))
    assert good.report.checks[name].failed == [] and good.report.checks[name].passed == 1
    assert len(bad.report.checks[name].failed) == 1 and bad.report.found_wrong


def test_littles_law_is_asked_of_the_files_own_numbers_only(tmp_path):
    assert "Little's law" not in imported(write(tmp_path, vllm())).report.checks, "what was computed here proves nothing"
    done = imported(write(tmp_path, [sglang(concurrency=2.0)]))
    assert done.report.checks["Little's law"].failed


def test_an_f1_that_runs_to_a_hundred_is_no_share(tmp_path):
    data = json.loads((DATA / "lm_eval.json").read_text())
    data["results"] = {"squadv2": {"f1,none": 81.3, "exact,none": 78.0}, "drop": {"f1,none": 0.6}}
    scores = imported(write(tmp_path, data)).collected.figures
    assert (scores["lmeval_squadv2_f1"]["value"], scores["lmeval_squadv2_f1"]["unit"]) == ("81.3", "")
    assert (scores["lmeval_drop_f1"]["value"], scores["lmeval_drop_f1"]["unit"]) == ("60", "%")


def test_what_a_declared_plain_lane_cannot_have_is_left_out_by_name(tmp_path):
    done = imported(write(tmp_path, vllm()), declared={"lane": "plain"})
    assert not {"accept_length", "rounds", "drafted"} & rows(done)[0].keys()
    assert "lane plain drafts nothing: accept_length" in told(done, "dropped")


def records(**changed) -> list[dict]:
    """The sample's records that are no warm-up, the first good one changed."""
    found = [json.loads(line) for line in (DATA / "aiperf_records.jsonl").read_text().splitlines()]
    found = [one for one in found if one["metadata"]["benchmark_phase"] == "profiling"]
    for name, value in changed.items():
        found[0][name] = found[0][name] | value
    return found


def test_a_record_that_was_cancelled_has_no_latency(tmp_path):
    row, _ = row_of(tmp_path, records(metadata={"was_cancelled": True}))
    assert (row["completed"], row["failed"], row["mean_e2e_ms"], row["total_output_tokens"]) == ("2", "2", "400", "32")


def test_a_records_unit_is_read_not_assumed(tmp_path):
    row, _ = row_of(tmp_path, records(metrics={"time_to_first_token": {"value": 0.05, "unit": "s"}}))
    assert row["mean_ttft_ms"] == "50"
    row, said = row_of(tmp_path, records(metrics={"time_to_first_token": {"value": 0.05}}))
    assert row["mean_ttft_ms"] == "50" and "no unit beside the number" in said
    row, said = row_of(tmp_path, records(metrics={"time_to_first_token": {"value": 1.0, "unit": "parsec"}}))
    assert row["mean_ttft_ms"] == "50" and "unit 'parsec'" in said


def test_requests_that_say_nothing_of_drafts_are_no_zero(tmp_path):
    found = records()
    del found[2]["spec_decode_acceptance"]
    row, said = row_of(tmp_path, found)
    assert float(row["accept_length"]) == pytest.approx(1 + 42 / 32) and "1 of 3 requests say nothing of their drafts" in said


def test_only_failed_records_are_no_perfect_latencies(tmp_path):
    row, _ = row_of(tmp_path, records()[3:])
    assert row["status"] == "rejected" and "mean_ttft_ms" not in row and "output_throughput" not in row


def test_a_rate_a_device_needs_the_number_of_devices(tmp_path):
    data = json.loads((DATA / "inferencex.json").read_text())
    row, said = row_of(tmp_path, data | {"tp": None})
    assert "total_throughput" not in row and "without tp the whole is unknown" in said
    assert "1 / TPOT" in said and row["mean_tpot_ms"] == "20"
