"""Shown factors give the shown result."""

import itertools
from dataclasses import replace
from decimal import Decimal

import html5lib
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from workflow.derive.fact import Fact
from workflow.page.closes import ClosesError, Equation, closed, sharing, widen
from workflow.page.format import Formatter, round_half_even
from workflow.page.words import Words

FORMAT = Formatter(Words.load())


def facts(**values):
    return {key.replace("_", "."): Fact(key.replace("_", "."), value) for key, value in values.items()}


@settings(max_examples=200)
@given(st.floats(0.2, 20), st.floats(0.2, 20))
@example(1.1224995482630824, 19.122499548263082)  # the product is a hair under a rounding tie
@example(3.0, 6.655)
def test_a_product_of_shown_factors_rounds_to_the_shown_product(a, b):
    table = facts(a_x=a, b_x=b, c_x=a * b)
    equation = Equation.parse("c.x = a.x * b.x")
    wide = widen(FORMAT, [equation], table.__getitem__)
    shown = {key: wide.number(fact) for key, fact in table.items()}
    decimals = -wide.step(table["c.x"]).as_tuple().exponent
    assert round_half_even(shown["a.x"] * shown["b.x"], decimals) == shown["c.x"]


def test_no_digit_is_added_where_none_is_needed():
    table = facts(a_x=1.5, b_x=2.0, c_x=3.0)
    assert widen(FORMAT, [Equation.parse("c.x = a.x * b.x")], table.__getitem__).extra == {}


def test_a_divisor_that_is_shown_as_zero_is_given_more_digits():
    table = facts(a_x=2.0, b_x=0.001, c_x=2000.0)
    wide = widen(FORMAT, [Equation.parse("c.x = a.x / b.x")], table.__getitem__)
    assert wide.number(table["b.x"]) == Decimal("0.001")


@settings(max_examples=60)
@given(st.floats(0.2, 20), st.floats(0.2, 20), st.floats(0.2, 20))
@example(5.5556, 0.4896, 1.0046)
def test_factors_are_given_no_more_digits_than_their_product_needs(a, b, d):
    table, equation = facts(a_x=a, b_x=b, d_x=d, c_x=a * b * d), Equation.parse("c.x = a.x * b.x * d.x")
    extra = widen(FORMAT, [equation], table.__getitem__).extra
    given = [extra.get(key, 0) for key in equation.terms]
    for more in itertools.product(range(max(given) + 1), repeat=len(given)):
        if sum(more) < sum(given):
            fewer = replace(FORMAT, extra=extra | dict(zip(equation.terms, more)))
            assert not closed(equation, fewer, table.__getitem__)


@settings(max_examples=300)
@given(st.floats(0.8, 8), st.floats(0.3, 1.5), st.floats(0.8, 1.3), st.floats(0.2, 20))
def test_equations_with_keys_in_common_close_together(accept, step, rest, other):
    """The masthead divides what the text multiplies: digits that one of the two needs must not open the other."""
    ratio = accept * step * rest
    table = facts(w_ratio=ratio, w_accept=accept, w_step=step, w_rest=rest, w_growth=accept / ratio, l_a=other, l_b=2 * other)
    texts = ("w.ratio = w.accept / w.growth", "l.b = l.a * 2", "w.ratio = w.accept * w.step * w.rest")
    equations = [Equation.parse(text) for text in texts]
    assert [len(group) for group in sharing(equations)] == [1, 2]
    wide = widen(FORMAT, equations, table.__getitem__)
    assert all(closed(equation, wide, table.__getitem__) for equation in equations)


def test_constants_parentheses_and_sums():
    table = facts(a_x=3.2, b_x=16.0, c_x=200.0, d_x=19.2)
    assert closed(Equation.parse("c.x = a.x / b.x * 1000"), FORMAT, table.__getitem__)
    assert Equation.parse("d.x = (a.x + b.x) - 0").evaluate(lambda key: Decimal(str(table[key].value))) == Decimal("19.2")


@pytest.mark.parametrize("text", ["a.x * b.x", "c.x == a.x", "c.x = a.x ** b.x &", "c.x = ", "c.x = 3 * 4"])
def test_what_is_not_an_equation(text):
    with pytest.raises(ClosesError):
        Equation.parse(text)


@pytest.mark.parametrize("text", ["c.x = (a.x * b.x", "c.x = a.x b.x", "c.x = a.x *"])
def test_what_cannot_be_evaluated(text):
    with pytest.raises(ClosesError):
        Equation.parse(text).evaluate(lambda key: Decimal(1))


def test_an_equation_that_does_not_hold_is_refused():
    table = facts(a_x=1.5, b_x=2.0, c_x=3.1)
    with pytest.raises(ClosesError, match="does not hold"):
        widen(FORMAT, [Equation.parse("c.x = a.x * b.x")], table.__getitem__)


@pytest.mark.parametrize(("throughput", "sign"), [(200.0, "="), (195.0, "≈")])
def test_a_fraction_of_the_masthead_says_equal_only_where_its_digits_do(workspace, throughput, sign):
    workspace.values(facts={"prologue.best.throughput": {"value": throughput}})
    page = html5lib.parse(workspace.build().files["index.html"].decode(), treebuilder="lxml", namespaceHTMLElements=False)
    assert page.xpath("string(//*[@data-run='best']//*[@class='equals'])") == sign
