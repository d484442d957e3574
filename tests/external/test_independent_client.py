"""guidellm drives `engine.serve`: what it says and what we say of the same requests agree, or the definition that differs is named."""

from __future__ import annotations

import json

import pytest

from engine.bench.http_client import Endpoint, OpenAICompletions, run_load
from tests.external import instrument
from tests.external.instrument import AGREES, DEFINITIONS, OSL, PROMPTS, QUANTITIES, STREAMS, compare, driven, flushed, ours
from tests.external.relay import Relay
from workflow.derive import load

pytestmark = [pytest.mark.external, pytest.mark.timeout(1800)]


@pytest.fixture(scope="module")
def guidellm() -> str:
    return instrument.installed()


@pytest.fixture(scope="module")
def prompts() -> instrument.Prompts:
    return instrument.drawn()


@pytest.fixture(scope="module")
def server():
    with instrument.serving() as url:
        yield url


def test_two_readings_of_the_same_streams_agree(guidellm, server, prompts, tmp_path):
    mine, theirs = compare(guidellm, server, prompts, tmp_path)
    found = {name: theirs[name] / mine[name] - 1.0 for name in mine}
    print(json.dumps({"ours": mine, "theirs": theirs, "difference": found}))
    assert {name for name in QUANTITIES if abs(found[name]) > AGREES} <= set(DEFINITIONS)
    # their clock begins earlier, by the same time in both latencies that have a beginning
    earlier = {name: theirs[name] - mine[name] for name in ("ttft_ms", "e2e_ms")}
    assert earlier["ttft_ms"] > 0 and earlier["e2e_ms"] == pytest.approx(earlier["ttft_ms"], abs=0.01 * mine["e2e_ms"])
    # the whole latency over all tokens, first token included: (TTFT + (n - 1) TPOT) / n
    expected = (mine["ttft_ms"] + (OSL - 1) * mine["tpot_ms"]) / OSL
    assert theirs["time_per_output_token_ms"] == pytest.approx(expected, rel=2 * AGREES)


def test_two_runs_of_the_same_prompts_accept_the_same(guidellm, server, prompts, tmp_path):
    """Greedy text does not depend on who asks: only the times of two runs may differ."""
    sampling = {"temperature": 0.0, "top_p": 1.0, "top_k": 0, "ignore_eos": True, "max_tokens": OSL, "seed": 1}
    requests = [{"request_id": f"r{number}", "prompt_ids": ids, "sampling": sampling} for number, (_, ids) in enumerate(prompts)]
    flushed(server)
    answer = run_load(Endpoint(server, "soundings"), OpenAICompletions(), requests, STREAMS, 600.0)
    mine = ours(answer["requests"])
    flushed(server)
    with Relay(server) as relay:
        driven(guidellm, relay.url, prompts, tmp_path)
    asked = {record["body"]["prompt"]: record for record in relay.records[-PROMPTS:]}
    assert [asked[text]["output_tokens"] for text, _ in prompts] == [record["output_tokens"] for record in answer["requests"]]
    assert ours(list(asked.values()))["accept_length"] == pytest.approx(mine["accept_length"], rel=AGREES)


def test_the_table_is_what_the_page_reads(tmp_path):
    assert instrument.main(["--out", str(tmp_path), "--name", "mine", "--runs", "1"]) == 0
    (tmp_path / "campaign.yaml").write_text("name: mine\nbackend: embedded\ntitle: {en: m, zh: m}\n", "utf8")
    table = load.load(tmp_path).find("instrument", "instrument")
    assert set(table.columns["quantity"]) == set(QUANTITIES)
