"""What holds for all files: factors round trip, order and doubling change nothing, unknown never becomes zero."""

import json
import math
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.importers.conftest import DATA, imported, rows
from workflow.derive.schema import schema
from workflow.importers import units
from workflow.importers.salvage import salvage
from workflow.importers.values import NoNumber, clean, number

UNITS = [(ours, unit) for ours, known in units.TO.items() for unit in known]
FILES = ("sglang_bench_serving.jsonl", "sglang_one_batch.jsonl", "llama_bench.jsonl")
OBJECTS = ("vllm_serve.json", "aiperf.json", "genai_perf.json", "guidellm.json")
IDENTITY = {"run_id", "campaign", "backend", "stage", "label", "lane", "status", "family", "note", "accept_scope"}


@given(st.sampled_from(UNITS), st.floats(1e-6, 1e12))
def test_units_round_trip(pair, value):
    ours, unit = pair
    back = units.convert(value, unit, ours) / units.factor(unit, ours)
    assert math.isclose(back, value, rel_tol=1e-12)
    assert math.isclose(float(units.written(units.convert(value, unit, ours))), units.convert(value, unit, ours), rel_tol=1e-11)


@given(st.sampled_from(UNITS), st.floats(1e-3, 1e6), st.floats(1e-3, 1e6))
def test_units_keep_order(pair, a, b):
    ours, unit = pair
    assert (units.convert(a, unit, ours) <= units.convert(b, unit, ours)) == (a <= b)


def test_every_unit_of_the_points_schema_is_known():
    for name, rule in schema("points")["properties"].items():
        if rule.get("unit"):
            assert units.of_column(name, rule) == rule["unit"], name


def shuffled(value, order: random.Random):
    """The same JSON value with the keys of its objects in another order."""
    if isinstance(value, dict):
        items = [(key, shuffled(one, order)) for key, one in value.items()]
        order.shuffle(items)
        return dict(items)
    return [shuffled(one, order) for one in value] if isinstance(value, list) else value


@settings(max_examples=15)
@given(st.sampled_from(FILES), st.randoms(use_true_random=False), st.booleans(), st.dictionaries(st.from_regex(r"\Ax_[a-z]{1,6}\Z"), st.integers() | st.text(), max_size=4))
def test_order_doubling_and_unknown_keys_change_nothing(tmp_path_factory, file, order, doubled, extra):
    lines = [json.loads(line) for line in (DATA / file).read_text("utf8").splitlines()]
    changed = [shuffled(extra | line, order) for line in lines] * (2 if doubled else 1)
    order.shuffle(changed)
    path = tmp_path_factory.mktemp("p") / "x.jsonl"
    path.write_text("".join(json.dumps(line) + "\n" for line in changed), "utf8")
    assert rows(imported(path)) == rows(imported(DATA / file))


def leaves(value, path=()):
    if isinstance(value, dict):
        for key, one in value.items():
            yield from leaves(one, (*path, key))
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        yield from leaves(value[0], (*path, 0))
    else:
        yield path


def without(value, path, replaced):
    """A copy in which one leaf is gone or stands for unknown."""
    copy = json.loads(json.dumps(value))
    place = copy
    for step in path[:-1]:
        place = place[step]
    if replaced is KeyError:
        del place[path[-1]]
    else:
        place[path[-1]] = replaced
    return copy


@settings(max_examples=60)
@given(st.sampled_from(OBJECTS), st.data(), st.sampled_from((KeyError, None, math.nan, math.inf, "N/A", "")))
def test_unknown_never_becomes_zero(tmp_path_factory, file, data, replaced):
    """Take any one value out of a file: no cell becomes zero that was none."""
    whole = json.loads((DATA / file).read_text("utf8"))
    path = data.draw(st.sampled_from(list(leaves(whole))))
    target = tmp_path_factory.mktemp("u") / "x.json"
    target.write_text(json.dumps(without(whole, path, replaced)), "utf8")
    done = imported(target)
    before = {name for row in rows(imported(DATA / file)) for name, text in row.items() if text == "0"}
    for row in rows(done):
        zeros = {name for name, text in row.items() if name not in IDENTITY and text in ("0", "0.0", "-0")}
        assert zeros <= before, (path, zeros)


@given(st.none() | st.booleans() | st.integers() | st.floats() | st.text() | st.lists(st.integers()) | st.dictionaries(st.text(), st.integers()))
def test_a_value_is_a_finite_number_or_none_or_refused(value):
    try:
        found = number(value)
    except NoNumber:
        return
    assert found is None or math.isfinite(found)
    if found == 0:
        assert not isinstance(value, str) or "0" in value


@given(st.text())
def test_texts_of_cells_are_one_line_and_no_formula(text):
    found = clean(text)
    assert found is None or (found.isprintable() and found[0] not in "=@+-" and len(found) <= 201)


JSON = st.recursive(st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(), lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=5), inner, max_size=4), max_leaves=20)


@settings(max_examples=60)
@given(st.dictionaries(st.text(max_size=5), JSON, min_size=1, max_size=5), st.data())
def test_what_is_salvaged_of_a_cut_object_was_in_it(value, data):
    text = json.dumps(value)
    cut = data.draw(st.integers(0, len(text) - 1))
    found = salvage(text[:cut])
    assert found is None or part_of(found, value)


def part_of(found, value) -> bool:
    if isinstance(found, dict):
        return isinstance(value, dict) and all(key in value and part_of(one, value[key]) for key, one in found.items())
    if isinstance(found, list):
        return isinstance(value, list) and len(found) <= len(value) and all(part_of(a, b) for a, b in zip(found, value))
    return found == value


@pytest.mark.parametrize("text", ("", "   ", "{", "[", '{"a"', '{"a": 1', '{"a": [1, 2', '{"a": "b', "}", "]["))
def test_nothing_is_salvaged_of_nothing(text):
    assert not salvage(text)
