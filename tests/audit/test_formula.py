"""The language of formulas is closed: nothing else is read, nothing is executed."""

import pytest

from workflow.derive.audit.formula import Apply, FormulaError, Number, parse


@pytest.mark.parametrize(
    "text",
    [
        "__import__('os').system('true')",
        "(lambda: 1)()",
        "[v('a','b')][0]",
        "v('a','b').real",
        "open('x')",
        "1 if 2 else 3",
        "'text'",
        "True",
        "2 ** 1000",
        "2 ** v('a','b')",
        "v(x, 'y')",
        "v('a')",
        "min()",
        "count(rows('a','b'), over=3)",
        "rows('a','b', *c)",
        "1 < 2 < 3",
        "a",
        "1 +",
        "",
        "1\x00",
        "(" * 400 + "1" + ")" * 400,
        "-" * 4000 + "1",
        "1+" * 3000 + "1",
    ],
)
def test_refused(text):
    with pytest.raises(FormulaError):
        parse(text)


def test_read():
    assert parse("1 + 2.50 * -3") == Apply("+", (Number("1"), Apply("*", (Number("2.5"), Apply("negative", (Number("3"),))))))
