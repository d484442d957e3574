"""A number and the bound it is held against look alike only where they are."""

from hypothesis import example, given
from hypothesis import strategies as st

from workflow.derive.fact import Claim, Fact
from workflow.derive.values import Values
from workflow.page.apart import apart, compared
from workflow.page.closes import MOST_EXTRA
from workflow.page.format import Formatter
from workflow.page.words import Words

FORMAT = Formatter(Words.load())


def gate(lower: float, margin: float) -> Values:
    facts = [Fact("gate.candidate.greedy.lower", lower, kind="points"), Fact("gate.margin.greedy", margin, kind="points"),
             Fact("gate.candidate.greedy.score", margin, kind="percent"), Fact("gate.candidate", "dspark", kind="label")]  # fmt: skip
    claim = Claim("gate.non_inferior.greedy", "holds", "bound", evidence=tuple(fact.key for fact in facts))
    return Values("made", {fact.key: fact for fact in facts}, {claim.key: claim})


def shown(values: Values, language: str = "en") -> tuple[str, str]:
    formatter = apart(FORMAT, compared(values))
    return tuple(formatter(values.fact(key), language, "bare").lstrip("−") for key in ("gate.candidate.greedy.lower", "gate.margin.greedy"))


def test_a_bound_inside_the_margin_is_not_written_like_the_margin():
    assert shown(gate(-2.95, 3.0)) == shown(gate(-2.95, 3.0), "zh") == ("2.95", "3.00")
    assert shown(gate(-2.9996, 3.0)) == ("2.9996", "3.0000")


def test_no_digit_is_added_where_default_digits_tell_apart_or_nothing_differs():
    assert shown(gate(-1.5, 3.0)) == ("1.5", "3.0")
    assert shown(gate(-3.0, 3.0)) == ("3.0", "3.0")
    assert apart(FORMAT, compared(gate(-1.5, 3.0))).extra == {}


@given(st.floats(-20, 20), st.floats(0.5, 20))
@example(-2.95, 3.0)
@example(4.9999999, 5.0)
def test_what_differs_by_more_than_the_last_digit_that_may_be_added_looks_different(lower, margin):
    one, other = shown(gate(lower, margin))
    near = abs(abs(lower) - margin) < 10.0 ** -(1 + MOST_EXTRA)
    assert (one != other) or near


def test_bounds_of_other_kinds_and_labels_are_left_alone():
    pairs = [(bound.key, fact.key) for bound, fact in compared(gate(-2.95, 3.0))]
    assert pairs == [("gate.margin.greedy", "gate.candidate.greedy.lower")]
