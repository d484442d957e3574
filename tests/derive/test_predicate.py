"""The compiled schemas agree with jsonschema on everything that is tried."""

import json

import jsonschema
import pytest
from hypothesis import given, strategies as st

from workflow.derive import schema
from workflow.derive.predicate import ANNOTATIONS, Compiler, NotCompiled

NAMES = ("values", "claims", "manifest", "campaign", "config")


@pytest.mark.parametrize("name", NAMES)
def test_every_schema_of_a_document_is_compiled(name):
    assert schema.compiled(name) is not None


@st.composite
def spoiled(draw, document):
    """The document with one part of it replaced."""
    path, place = [], document
    while isinstance(place, (dict, list)) and place and draw(st.integers(0, 4)):
        step = draw(st.sampled_from(sorted(place))) if isinstance(place, dict) else draw(st.integers(0, len(place) - 1))
        path.append(step)
        place = place[step]
    new = draw(st.sampled_from([None, True, 0, 1, -1, 1.5, "", "x", [], {}, ["x"], {"x": 1}, "measured", "0" * 64, "label"]))
    if not path:
        return new
    copy = json.loads(json.dumps(document))
    place = copy
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = new
    return copy


@given(data=st.data())
def test_values_are_judged_as_jsonschema_judges_them(values, data):
    facts = {key: values.facts[key].to_json() for key in ("window.code.g3.speedup", "dspark.round.7.token", "machine.cpu", "model.params")}
    claims = {key: values.claims[key].to_json() for key in ("window.narrow_wins",)}
    document = {"schema": 1, "campaign": "synthetic", "facts": facts, "claims": claims, "runs": {}}
    tried = data.draw(spoiled(document))
    assert schema.compiled("values")(tried) == schema.validator("values").is_valid(tried)


@given(data=st.data())
def test_manifests_are_judged_as_jsonschema_judges_them(values, data):
    tried = data.draw(spoiled(values.runs["search.csv"]))
    assert schema.compiled("manifest")(tried) == schema.validator("manifest").is_valid(tried)


def test_an_unknown_keyword_is_refused_not_passed_over():
    with pytest.raises(NotCompiled, match="contains"):
        Compiler({"a": {"contains": {}}}).document("a")
    assert "contains" not in ANNOTATIONS


def test_one_and_true_are_not_the_same():
    holds = Compiler({"a": {"const": 1}}).document("a")
    assert holds(1) and not holds(True)


@pytest.mark.parametrize(
    "rules",
    [
        {"allOf": [{"minimum": 1}, {"maximum": 3}]},
        {"exclusiveMaximum": 2},
        {"prefixItems": [{"type": "string"}, {"minimum": 1}]},
        {"prefixItems": [{"type": "string"}], "items": {"minimum": 1}},
    ],
)
@given(value=st.recursive(st.none() | st.booleans() | st.integers(-1, 4) | st.sampled_from(["", "a"]), lambda one: st.lists(one, max_size=3)))
def test_keywords_are_judged_as_jsonschema_judges_them(rules, value):
    assert Compiler({"a": rules}).document("a")(value) == jsonschema.Draft202012Validator(rules).is_valid(value)


@given(value=st.dictionaries(st.sampled_from(["a", "ab", "b", ""]), st.integers(0, 2), max_size=3) | st.integers(0, 1))
def test_names_of_properties_are_judged_as_jsonschema_judges_them(value):
    rules = {"propertyNames": {"enum": ["a", "ab"]}}
    assert Compiler({"a": rules}).document("a")(value) == jsonschema.Draft202012Validator(rules).is_valid(value)
