"""What is special about a lane: lookup's proposals, the length scheduler, the prompt's keys in MTP, marks and notes."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings, strategies as st

from engine.config import ConfigError, SamplingParams
from engine.draft.lengths import LengthScheduler
from engine.draft.lookup import continuation
from engine.model.operators import Operators
from engine.types import Request

from .conftest import boot, prompts, requests

OPS = Operators.resolve(torch.zeros(1))


@pytest.mark.parametrize(
    "tokens, count, expected",
    [
        ([1, 2, 3, 9, 1, 2, 3], 4, [9, 1, 2, 3]),
        ([1, 2, 3, 9, 1, 2, 3], 2, [9, 1]),
        ([5, 1, 2, 7, 4, 1, 2, 8, 1, 2], 3, [8, 1, 2]),  # the newest of two places
        ([3, 1, 2, 7, 9, 1, 2, 8, 3, 1, 2], 1, [7]),  # three equal tokens beat a newer place of two
        ([4, 4, 4], 5, [4]),
        ([1, 2, 3, 4], 3, []),
        ([1], 3, []),
    ],
)
def test_lookup_proposes_what_followed(tokens, count, expected):
    assert continuation(np.array(tokens), count).tolist() == expected


@given(st.lists(st.integers(0, 4), min_size=1, max_size=40), st.integers(1, 7))
def test_lookup_proposals_stood_in_the_text(tokens, count):
    found = continuation(np.array(tokens), count).tolist()
    assert len(found) <= count
    if found:
        joined = tokens[-2:] + found
        assert any(tokens[i : i + len(joined)] == joined for i in range(len(tokens)))


def test_lookup_windows_are_as_wide_as_its_proposals(tiny):
    """A text that repeats itself is proposed from; one that does not costs a position a round."""
    repeating = Request("a", (5, 6, 7, 8) * 4, SamplingParams(max_tokens=12, ignore_eos=True))
    fresh = Request("b", tuple(range(4, 40)), SamplingParams(max_tokens=2, ignore_eos=True))
    with boot(tiny, "lookup", 4) as engine:
        (record,) = engine.generate([repeating])
        assert record.drafted > 0
        engine.flush_cache()
        engine.add_request(fresh)
        steps = []
        while engine.has_work:
            steps.append(engine.step())
        (silent,) = engine.pop_finished()
        notes = engine.server_info()["notes"]
    rounds = [step for step in steps if step.kind == "round"]
    assert silent.drafted == 0 and silent.rounds == silent.rounds_without_draft == len(rounds)
    assert all(step.positions == 1 for step in rounds)
    assert silent.accepted_histogram == [silent.rounds, 0, 0, 0, 0]
    assert notes == [f"speculation is dead: nothing was proposed in {silent.rounds} rounds"]


confidences = st.lists(
    st.lists(st.floats(0.01, 0.99), min_size=3, max_size=3), min_size=1, max_size=4
)


@settings(deadline=None, max_examples=60)
@given(confidences, st.floats(0.5, 20.0), st.data())
def test_length_scheduler_does_not_look_ahead(rows, fixed, data):
    """Whether a draft is verified hangs on nothing that comes after it in its own request."""
    scheduler = LengthScheduler(OPS, tuple((n, 1 / (fixed + n)) for n in range(1, 40)))
    before = scheduler.widths(torch.tensor(rows))
    row = data.draw(st.integers(0, len(rows) - 1))
    position = data.draw(st.integers(1, 2))
    changed = [list(r) for r in rows]
    changed[row][position] = data.draw(st.floats(0.01, 0.99))
    after = scheduler.widths(torch.tensor(changed))
    # the confidence at `position` speaks of draft `position`; drafts before it keep their fate
    assert min(int(before[row]) - 1, position) == min(int(after[row]) - 1, position)


def test_length_scheduler_maximises_throughput_up_to_its_first_drop():
    confidence = torch.tensor([[0.9, 0.9, 0.2], [0.5, 0.5, 0.5]])
    dear = LengthScheduler(OPS, tuple((n, 1 / (1 + n)) for n in range(1, 10)))
    # survivals .9 .81 .5 ...; (2 + .9) / 4 > 2 / 3, (2.9 + .81) / 5 > 2.9 / 4, (3.71 + .5) / 6 < 3.71 / 5
    assert dear.budget(confidence) == 4 and dear.widths(confidence).tolist() == [3, 1]
    free = LengthScheduler(OPS, ((1, 5.0),))
    assert free.widths(confidence).tolist() == [4, 4]
    assert LengthScheduler(OPS, ()).widths(confidence).tolist() == [4, 4]


def test_a_table_from_measured_steps(tmp_path, capsys):
    from engine.csvio import columns, render
    from engine.draft.flags import read_sps_table
    from engine.sps import main, table

    blank = {column.name: None for column in columns("steps")}
    made = [(1, 10.0), (1, 14.0), (1, 12.0), (4, 10.0), (8, 20.0)]
    rows = [
        {**blank, "run_id": "a", "step": i, "kind": "round", "start_s": 0.0, "step_ms": ms, "running": 1, "queued": 0, "positions": n,
         "committed": 1, "emitted": 1, "draft_ms": 0.0, "verify_ms": ms, "commit_ms": 0.0}
        for i, (n, ms) in enumerate(made)
    ]
    rows.append({**rows[0], "step": 9, "kind": "prefill", "positions": 100})
    # four positions were measured faster than one: they take its rate
    assert table(rows) == [(1, 83.333), (4, 83.333), (8, 50.0)]
    steps, out = tmp_path / "steps_x.csv", tmp_path / "t.json"
    steps.write_bytes(render("steps", rows, "x"))
    assert main(["--steps", str(steps), "--out", str(out)]) == 0
    assert read_sps_table(out) == ((1, 83.333), (4, 83.333), (8, 50.0))
    assert main(["--steps", str(tmp_path / "none.csv"), "--out", str(out)]) == 2
    steps.write_bytes(render("steps", rows[-1:], "x"))
    capsys.readouterr()
    assert main(["--steps", str(steps), "--out", str(out)]) == 2
    assert capsys.readouterr().err.count("\n") == 1


def test_lookup_traces_its_rounds(tiny):
    """Rounds of any width, those without a draft too; what was copied has q = 1."""
    ask = Request("a", (5, 6, 7, 8) * 4, SamplingParams(max_tokens=16, ignore_eos=True, temperature=0.8, seed=3), trace=True)
    with boot(tiny, "lookup", 4) as engine:
        (record,) = engine.generate([ask])
    assert len(record.trace) == record.rounds and {len(r.drafted) for r in record.trace} > {0}
    for r in record.trace:
        assert len(r.drafted) == len(r.target_probs) and r.draft_probs == (1.0,) * len(r.drafted)


def test_cap_and_compact_verify_what_they_say(tiny):
    table = tuple((n, 1 / (3 + n)) for n in range(1, 80))
    found = {}
    for mode in ("static", "cap-accept", "compact"):
        with boot(tiny, "dspark", 5, verify_mode=mode, sps_table=table) as engine:
            for request in requests(prompts(6)):
                engine.add_request(request)
            steps = []
            while engine.has_work:
                steps.append(engine.step())
            found[mode] = ([s for s in steps if s.kind == "round"], engine.pop_finished())
    for mode in ("static", "cap-accept"):
        assert all(step.positions == step.running * 6 for step in found[mode][0])
    ragged = found["compact"][0]
    assert any(step.running <= step.positions < step.running * 6 for step in ragged)
    records = found["compact"][1]
    assert sum(r.drafted for r in records) == sum(s.positions - s.running for s in ragged)
    assert sum(r.trimmed for r in found["cap-accept"][1]) > 0 == sum(r.trimmed for r in records)


@pytest.mark.parametrize("lane, gamma, changed", [("dflash", 3, {}), ("lookup", 4, {}), ("dspark", 3, {"markov_head_type": "rnn"})])
def test_a_retracted_request_says_the_same(tiny, lane, gamma, changed):
    """Out of pages and replayed, sampled and greedy rows mixed: same text, same accepted counts."""
    tight = {"max_total_num_tokens": 160, "max_running_requests": 6, "schedule_conservativeness": 0.05, "max_mamba_cache_size": 18}
    ids = prompts(5, shortest=8)
    ask = [
        Request(f"r{i}", prompt, SamplingParams(max_tokens=60, seed=i, temperature=0.9 if i % 2 else 0.0, top_k=20 if i == 3 else 0))
        for i, prompt in enumerate(ids)
    ]
    with boot(tiny, lane, gamma, **changed) as engine:
        expected = [(r.token_ids, r.accepted_histogram) for r in engine.generate(ask)]
    with boot(tiny, lane, gamma, **tight, **changed) as engine:
        records = engine.generate(ask)
    assert [(r.token_ids, r.accepted_histogram) for r in records] == expected
    assert sum(r.retractions for r in records) > 0


@pytest.mark.parametrize("lane, gamma, changed", [("lookup", 4, {}), ("dspark", 4, {"verify_mode": "compact", "markov_head_type": "gated"})])
def test_graph_mode_runs_windows_of_unequal_width(tiny, lane, gamma, changed):
    table = tuple((n, 1 / (30 + n)) for n in range(1, 80))
    wanted = requests(prompts(5))
    with boot(tiny, mode="graph") as engine:
        expected = [r.token_ids for r in engine.generate(wanted)]
    with boot(tiny, lane, gamma, mode="graph", sps_table=table, **changed) as engine:
        assert [r.token_ids for r in engine.generate(wanted)] == expected


def test_mtp_without_the_prompt_in_its_keys_guesses_worse(shipped):
    from engine.model.tokenizer import Tokenizer

    from .conftest import held_out

    ids = held_out(Tokenizer.load(shipped), "arith", 6)
    accepted = {}
    for kv in (True, False):
        with boot(shipped, "mtp", 1, draft_prompt_kv=kv) as engine:
            records = engine.generate(requests(ids, max_tokens=24))
            accepted[kv] = sum(r.accepted for r in records) / sum(r.rounds for r in records)
            assert ("leave out the prompt" in " ".join(engine.server_info()["notes"])) == (not kv)
    assert accepted[False] < accepted[True]


def test_a_width_beyond_the_trained_block_is_marked(tiny):
    with pytest.raises(ConfigError, match="--allow-untrained-gamma"):
        boot(tiny, "dspark", 8)
    with boot(tiny, "dspark", 8, allow_untrained_gamma=True) as engine:
        info = engine.server_info()
    assert info["untrained_gamma"] and "beyond the trained block of 7" in info["notes"][0]
    with pytest.raises(ConfigError, match="must be 1 to 15"):
        boot(tiny, "dflash", 16, allow_untrained_gamma=True)


@pytest.mark.parametrize(
    "lane, changed, flag",
    [
        ("dspark", {"markov_head_type": "lstm"}, "--markov-head-type lstm"),
        ("dflash", {"markov_head_type": "rnn"}, "--markov-head-type rnn: only lane dspark"),
        ("dspark", {"verify_mode": "ragged"}, "--verify-mode ragged"),
        ("mtp", {"verify_mode": "compact"}, "--verify-mode compact: only lane dspark"),
        ("dspark", {"draft_prompt_kv": False}, "--draft-prompt-kv off"),
        ("dspark", {"verify_mode": "compact", "sps_table": ((4, 1.0), (2, 2.0))}, "--sps-table"),
        ("dspark", {"seed": 2**63}, "--seed 9223372036854775808"),
    ],
)
def test_settings_that_no_lane_can_serve(tiny, lane, changed, flag):
    with pytest.raises(ConfigError, match=flag):
        boot(tiny, lane, 1, **changed)


@pytest.mark.parametrize(
    "name, content, line",
    [
        ("dspark.json", '{"block_size": "x"}', "block_size must be an integer of at least 1"),
        ("dspark.json", '{"target_layer_ids": 3}', "target_layer_ids must be a list"),
        ("dspark_confidence.json", "{}", "needs a list `temperatures`"),
        ("dspark_confidence.json", '{"temperatures": [0.0]}', "temperatures must be finite and above 0"),
    ],
)
def test_broken_files_of_a_drafter_are_one_line(tiny, tmp_path, name, content, line):
    for path in tiny.iterdir():
        if path.name != name:
            (tmp_path / path.name).symlink_to(path)
    (tmp_path / name).write_text(content)
    with pytest.raises(ConfigError, match=line) as fault:
        boot(tmp_path, "dspark", 3, verify_mode="compact")
    assert "\n" not in str(fault.value) and name in str(fault.value)


def test_heads_that_were_not_trained_are_named(tiny, tmp_path):
    for path in tiny.iterdir():
        if "markov" not in path.name and "confidence" not in path.name:
            (tmp_path / path.name).symlink_to(path)
    with pytest.raises(ConfigError, match="dspark_markov_rnn.safetensors not found"):
        boot(tmp_path, "dspark", 3, markov_head_type="rnn")
    with pytest.raises(ConfigError, match="dspark_confidence.safetensors not found"):
        boot(tmp_path, "dspark", 3, verify_mode="compact")
