"""What is printed from the truth is never accused: every figure rounded as its author pleased, the claim computed before rounding."""

import math
from decimal import ROUND_HALF_EVEN, ROUND_HALF_UP, Decimal

from hypothesis import given, settings
from hypothesis import strategies as st

from workflow.derive.audit import printed, verdict
from workflow.derive.audit.enclosure import enclose, slope
from workflow.derive.audit.expand import expand
from workflow.derive.audit.formula import parse
from workflow.derive.audit.interval import Interval
from workflow.derive.audit.tables import Claim, Published, Row

FORMULAS = {
    "v('a','x') / v('b','x')": lambda a, b, c: a / b,
    "1000 * (1 + v('a','x')) / (v('b','x') + v('c','x'))": lambda a, b, c: 1000 * (1 + a) / (b + c),
    "(v('a','x') - v('b','x')) / v('b','x')": lambda a, b, c: (a - b) / b,
    "ln(v('a','x')) / (ln(v('a','x')) + ln(v('b','x') + 1))": lambda a, b, c: math.log(a) / (math.log(a) + math.log(b + 1)),
    "abs(v('a','x') / v('b','x') - 1) * 100": lambda a, b, c: abs(a / b - 1) * 100,
    "max(v('a','x'), v('b','x'), v('c','x')) / min(v('a','x'), v('b','x'), v('c','x'))": lambda a, b, c: max(a, b, c) / min(a, b, c),
    "sqrt(v('a','x')) - v('b','x') ** 2 * -v('c','x')": lambda a, b, c: math.sqrt(a) + b * b * c,
}
UNITS = {"x": lambda y: y, "% higher": lambda y: (y - 1) * 100, "% lower": lambda y: (1 - y) * 100, "% of": lambda y: y * 100}
truths = st.floats(1.5, 900.0)
places = st.integers(0, 4)
halves = st.sampled_from([ROUND_HALF_EVEN, ROUND_HALF_UP])


def rounded(value: float, decimals: int, rounding: str) -> str:
    return format(Decimal(value).quantize(Decimal(1).scaleb(-decimals), rounding=rounding), "f")


def published(cells: dict[str, str], said: str, unit: str, formula: str, kind: str = "ratio") -> Published:
    claim = Claim("c", said, unit, kind, "", formula, "", 2, parse(formula))
    return Published(None, {"c": claim}, {name: Row("m.csv", 2, {"id": name, "x": text}) for name, text in cells.items()}, {})


@given(
    st.sampled_from(sorted(FORMULAS)), st.sampled_from(sorted(UNITS)), st.tuples(truths, truths, truths), st.tuples(*[places] * 4), halves
)
@settings(max_examples=300)
def test_a_claim_rounded_from_the_truth_is_never_inconsistent(formula, unit, values, decimals, rounding):
    true = UNITS[unit](FORMULAS[formula](*values))
    cells = {name: rounded(value, n, rounding) for name, value, n in zip("abc", values, decimals)}
    said = rounded(true, decimals[3], rounding)
    found = verdict.examine(published(cells, said, unit, formula), published(cells, said, unit, formula).claims["c"])
    assert found.verdict in ("consistent", "edge", "unverifiable"), found


@given(
    st.tuples(truths, truths, truths),
    st.tuples(*[places] * 3),
    st.sampled_from(sorted(FORMULAS)),
    st.lists(st.floats(0, 1), min_size=3, max_size=3),
)
@settings(max_examples=300)
def test_the_enclosure_holds_every_value_that_rounds_to_what_is_printed(values, decimals, formula, where):
    cells = {name: rounded(value, n, ROUND_HALF_EVEN) for name, value, n in zip("abc", values, decimals)}
    text = published(cells, "1", "x", formula)
    tree = expand(text, "c").tree
    whole = {name: text.cell(name, "x") for name in cells}
    sharp = enclose(tree, lambda leaf: whole[leaf.row])
    if not sharp.bounded:
        return
    chosen = [whole[name].lo + share * (whole[name].hi - whole[name].lo) for name, share in zip("abc", where)]
    if min(chosen) <= 1:
        return
    true = FORMULAS[formula](*chosen)
    slack = 1e-9 * max(1.0, abs(true))
    assert sharp.lo - slack <= true <= sharp.hi + slack
    plain = slope(tree, lambda leaf: whole[leaf.row])[0]
    assert plain.lo <= sharp.lo and sharp.hi <= plain.hi


@given(truths, truths, st.integers(1, 3), st.floats(2.1, 50))
def test_a_claim_beyond_all_roundings_is_inconsistent(a, b, decimals, beyond):
    cells = {"a": rounded(a, 3, ROUND_HALF_EVEN), "b": rounded(b, 3, ROUND_HALF_EVEN)}
    formula = "v('a','x') / v('b','x')"
    text = published(cells, "1", "x", formula)
    whole = enclose(expand(text, "c").tree, lambda leaf: text.cell(*leaf.cell))
    said = rounded(whole.hi + beyond * 10.0**-decimals, decimals, ROUND_HALF_EVEN)
    text = published(cells, said, "x", formula)
    assert verdict.examine(text, text.claims["c"]).verdict == "inconsistent"


def test_the_last_printed_digit_tells_the_precision():
    assert printed.interval("1.68") == Interval(math.nextafter(1.675, 0), math.nextafter(1.685, 2))
    assert printed.interval("15").contains(14.5) and printed.interval("15").contains(15.5) and not printed.interval("15").contains(15.51)
    assert printed.interval("3.50").hi < 3.506 and printed.interval("3.5").hi > 3.549
    assert printed.interval("1,121") == printed.interval("1121")
    assert printed.interval("48", exact=True) == Interval.point(48)
    assert printed.is_exact("isl", "1024") and not printed.is_exact("accept_length", "3")
    assert printed.is_exact("value", "7", "tokens") and not printed.is_exact("value", "4.59", "tokens")


def test_a_cell_that_stands_twice_has_one_value():
    text = published({"a": "10.0", "b": "3"}, "1", "x", "(v('a','x') - v('b','x')) / v('a','x')")
    whole = enclose(expand(text, "c").tree, lambda leaf: text.cell(*leaf.cell))
    assert abs(whole.lo - (9.95 - 3.5) / 9.95) < 1e-12 and abs(whole.hi - (10.05 - 2.5) / 10.05) < 1e-12
