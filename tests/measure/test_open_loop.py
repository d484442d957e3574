"""The open loop and the workloads that are not plain held-out text."""

from __future__ import annotations

import itertools
import math
from pathlib import Path
from statistics import fmean

import pytest

from engine.bench import plans
from engine.bench.arrivals import poisson
from engine.bench.client import open_loop
from engine.bench.datasets import NONCE_TOKENS, nonced, with_nonce
from engine.bench.rows import plateau_columns, timetable_columns
from engine.bench.stages import SMOKE, Content, Isl
from engine.bench.workloads import Workload
from engine.config import ConfigError, EngineConfig, SamplingParams
from engine.types import Request
from tests.measure.fake_engine import FakeEngine
from tests.measure.test_workloads import draw, text  # noqa: F401 a fixture


def test_arrivals_are_a_fixed_poisson_stream() -> None:
    due = poisson(4.0, 4000, key=7)
    gaps = [b - a for a, b in zip([0.0, *due], due, strict=False)]
    assert due == poisson(4.0, 4000, key=7) and due != poisson(4.0, 4000, key=8)
    assert fmean(gaps) == pytest.approx(0.25, rel=0.06)
    assert fmean((gap - 0.25) ** 2 for gap in gaps) == pytest.approx(0.0625, rel=0.2)
    assert poisson(math.inf, 3, key=1) == [0.0, 0.0, 0.0]
    with pytest.raises(ValueError, match="above 0"):
        poisson(0.0, 3, key=1)


def requests(count: int) -> list[Request]:
    return [Request(f"r{i}", (1, 10 + i), SamplingParams(max_tokens=4)) for i in range(count)]


def test_nothing_is_sent_before_it_is_due_and_nothing_is_lost() -> None:
    due = [0.05, 0.0, 0.02]
    result = open_loop(FakeEngine(EngineConfig(lane="plain")), requests(3), due, max_concurrency=8)
    sent = {record.request_id: record.queued_s - result.start_s for record in result.requests}
    assert set(sent) == {"r0", "r1", "r2"}
    for number, at in enumerate(due):
        assert sent[f"r{number}"] >= at
        assert result.arrivals[f"r{number}"] == pytest.approx(result.start_s + at)
    with pytest.raises(ValueError, match="3 requests need as many due times"):
        open_loop(FakeEngine(EngineConfig(lane="plain")), requests(3), [0.0], 1)


def test_a_request_held_back_by_the_cap_waits_in_the_client() -> None:
    result = open_loop(FakeEngine(EngineConfig(lane="plain")), requests(6), [0.0] * 6, max_concurrency=1)
    records = [
        {"request_id": record.request_id, "queued_s": record.queued_s - result.start_s, "end_s": record.end_s - result.start_s}
        for record in result.requests
    ]
    columns = timetable_columns(records, dict.fromkeys(result.arrivals, 0.0))
    assert columns["client_lag_ms"] == pytest.approx(1000 * max(one["queued_s"] for one in records))
    assert columns["mean_scheduled_latency_ms"] >= columns["mean_client_queue_ms"] > 0
    assert timetable_columns(records, {}) == {}


def test_the_plateau_leaves_ramp_and_drain_out() -> None:
    moments = [(0.0, 8.0), (1.0, 9.0), (2.0, 10.0)]
    answer = {
        "duration_s": 10.0,
        "requests": [{"queued_s": a, "end_s": b} for a, b in moments],
        "steps": [{"start_s": i, "step_ms": 0.0, "emitted": 3 if 2 <= i < 8 else 1} for i in range(10)],
    }
    found = plateau_columns(answer, 3)
    assert found["plateau_share"] == pytest.approx(0.6)
    assert found["plateau_output_throughput"] == pytest.approx((5 * 3 + 1) / 6)
    assert plateau_columns(answer, 9) == {}


def test_the_plateau_of_a_server_counts_its_emissions() -> None:
    """The same row comes out of steps and of what the stream brought, and none where the stream does not tell its tokens."""
    moments = [(0.0, 8.0), (1.0, 9.0), (2.0, 10.0)]
    steps = [{"start_s": i, "step_ms": 0.0, "emitted": 3} for i in range(3, 8)]

    def record(begin: float, end: float, counts: list) -> dict:
        return {"queued_s": begin, "end_s": end, "emissions_s": [3.0, 4.0, 5.0, 6.0, 7.0], "emission_tokens": counts, "token_ids": list(range(5)), "finish_reason": "stop"}

    known = {"duration_s": 10.0, "steps": [], "requests": [record(*moment, [1] * 5) for moment in moments]}
    in_process = {**known, "steps": steps}
    assert plateau_columns(known, 3) == plateau_columns(in_process, 3) != {}
    assert plateau_columns({**known, "requests": [record(*moment, [None] * 5) for moment in moments]}, 3) == plateau_columns(known, 3)
    for lost in ([1, 1, 1, 1, 2], [1, 1, 1, 1], []):
        assert plateau_columns({**known, "requests": [*known["requests"][:2], record(*moments[2], lost)]}, 3) == {}


def test_random_ids_are_declared_and_the_same_for_every_arm(text) -> None:  # noqa: F811
    workload = Workload("cache", "random-ids", 4, 64, dataset="random-ids")
    prompts = draw(text, workload, 64)
    assert prompts == draw(text, workload, 64) and prompts != draw(text, workload, 64, repeat=1)
    assert {prompt.content for prompt in prompts} == {"random-ids"} and all(len(prompt.ids) == 64 for prompt in prompts)
    assert len({prompt.ids[:8] for prompt in prompts}) == 4, "no two share a prefix"
    assert all(4 <= one < 4096 for prompt in prompts for one in prompt.ids[1:])


def test_groups_share_their_system_prompt_and_nothing_else(text) -> None:  # noqa: F811
    workload = Workload("cache", "code", 6, 40, dataset="shared-prefix", gsp_num_groups=2, gsp_system_prompt_len=24)
    prompts = draw(text, workload, 40)
    heads = [prompt.ids[:24] for prompt in prompts]
    assert len(prompts) == 6 and sorted(heads.count(head) for head in set(heads)) == [3, 3]
    assert len({prompt.ids for prompt in prompts}) == 6 and all(len(prompt.ids) == 40 for prompt in prompts)
    with pytest.raises(ConfigError, match="gsp_num_groups that divides num_prompts"):
        draw(text, Workload("cache", "code", 5, 40, dataset="shared-prefix", gsp_num_groups=2, gsp_system_prompt_len=24), 40)


@pytest.mark.parametrize("repeat", [0, 1, 7])
@pytest.mark.parametrize("stage", [Content(num_prompts=3, histories=8, osl=40), Isl(num_prompts=2, ladder=(64, 256, 1024)), SMOKE["content"], SMOKE["isl"]])
def test_forced_text_goes_on_where_the_free_running_prompts_end(text, stage, repeat: int) -> None:  # noqa: F811
    """Same documents, same places, same lengths: the first history of a place is the free-running prompt, the others are true tokens further on."""
    cells = [cell for block in plans.blocks_of("", stage) for cell in block.cells]
    forced = [cell for cell in cells if cell.stage == "teacher_forced"]
    lengths = stage.ladder if isinstance(stage, Isl) else (stage.isl,)
    assert {cell.isl for cell in forced} == set(lengths)
    for cell in forced:
        of_text = (one for one in cells if one.stage != cell.stage and (one.workload.content, one.isl) == (cell.workload.content, cell.isl))
        free = draw(text, next(of_text).workload, cell.isl, repeat)
        prompts, each = draw(text, cell.workload, cell.isl, repeat), cell.workload.histories
        assert len(prompts) == len(free) * each >= stage.histories and prompts[::each] == free
        for start, other in itertools.product(range(0, len(prompts), each), range(1, each)):
            further = other * cell.workload.stride
            assert prompts[start + other].ids[1:-further] == prompts[start].ids[1 + further :], "true tokens further on"
            document, end = prompts[start].prompt_id.split("@")
            assert prompts[start + other].prompt_id == f"{document}@{int(end) + further}" and further < stage.osl


@pytest.mark.parametrize("fault", [{"histories": 0}, {"histories": 3}, {"content": "arith"}, {"content": "mixed"}, {"room": 2}])
def test_histories_that_no_document_has_are_refused(text, fault: dict) -> None:  # noqa: F811
    whole = {"name": "w", "content": "code", "num_prompts": 4, "reach": 64, "dataset": "histories", "room": 8, "histories": 2, "stride": 4}
    assert len(draw(text, Workload(**whole), 64)) == 4
    with pytest.raises(ConfigError, match="histories"):
        draw(text, Workload(**whole | fault), 64)


def test_lengths_are_exact_or_ranged(text) -> None:  # noqa: F811
    ranged = draw(text, Workload("w", "code", 4, 128, range_ratio=0.25), 128)
    lengths = [len(prompt.ids) for prompt in ranged]
    assert all(32 <= length <= 128 for length in lengths) and len(set(lengths)) > 1
    assert lengths == [len(prompt.ids) for prompt in draw(text, Workload("w", "code", 4, 128, range_ratio=0.25), 128)]


def test_fixed_prompts_come_from_their_file(text, tmp_path: Path) -> None:  # noqa: F811
    path = tmp_path / "prompts.txt"
    path.write_text("1 5\n---\n2 7\n")
    prompts = draw(text, Workload("w", "mixed", 3, 64, dataset="fixed", file=str(path)), 64)
    assert [len(prompt.ids) for prompt in prompts] == [6, 8, 6] and prompts[0].ids == prompts[2].ids
    path.write_text("1 5\n---\n\n")
    with pytest.raises(ConfigError, match="prompt 2 is empty"):
        draw(text, Workload("w", "mixed", 1, 64, dataset="fixed", file=str(path)), 64)
    with pytest.raises(ConfigError, match="No such file"):
        draw(text, Workload("w", "mixed", 1, 64, dataset="fixed", file=str(tmp_path / "none")), 64)
    with pytest.raises(ConfigError, match="does not exist; there are: heldout"):
        draw(text, Workload("w", "mixed", 1, 64, dataset="sharegpt"), 64)


def test_a_nonce_has_a_fixed_length_and_keeps_the_first_token() -> None:
    one, other = (with_nonce((1, 50, 51), key, 4096, 1) for key in ("a", "b"))
    assert len(one) == len(other) == 3 + NONCE_TOKENS and one[0] == 1 and one[-2:] == (50, 51) and one[1] != other[1]


def test_groups_share_their_system_prompt_behind_a_nonce_too(text) -> None:  # noqa: F811
    """And prompts that are to share nothing have a nonce each."""
    workload = Workload("cache", "code", 6, 40, dataset="shared-prefix", gsp_num_groups=2, gsp_system_prompt_len=24)
    for shared, kinds in ((True, 2), (False, 6)):
        prompts = nonced(draw(text, workload, 40), "n", text, shared)
        assert len({prompt.ids[: 24 + NONCE_TOKENS] for prompt in prompts}) == kinds
        assert all(len(prompt.ids) == 40 + NONCE_TOKENS for prompt in prompts)
