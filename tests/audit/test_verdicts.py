"""Each kind of claim through each verdict."""

import pytest

ROWS = [
    {"id": "old", "stage": "s", "rate": "238.05", "length": "2.999", "tpot": "170.98", "isl": "128"},
    {"id": "new", "stage": "s", "rate": "400.68", "length": "2.552", "tpot": "100.05", "isl": "1024"},
    {"id": "mid", "stage": "s", "rate": "300.00", "length": "2.7", "tpot": "120.00", "isl": "4096"},
    {"id": "gap", "stage": "t", "rate": "", "length": "2.5", "tpot": "1.0", "isl": "1"},
]
STEP = "v('{0}','length') * v('{0}','tpot')"


def claim(published, unit, formula, kind="ratio", name="c", group=""):
    return {"id": name, "published": published, "unit": unit, "kind": kind, "set": group, "formula": formula}


@pytest.mark.parametrize(
    "published, unit, formula, kind, verdict",
    [
        ("1.68", "x", "v('new','rate') / v('old','rate')", "ratio", "consistent"),
        ("1.69", "x", "v('new','rate') / v('old','rate')", "ratio", "inconsistent"),
        ("68", "% higher", "v('new','rate') / v('old','rate')", "ratio", "consistent"),
        ("41", "% lower", "v('old','rate') / v('new','rate')", "ratio", "consistent"),
        ("59", "% of", "v('old','rate') / v('new','rate')", "ratio", "consistent"),
        ("60", "% of", "v('old','rate') / v('new','rate')", "ratio", "inconsistent"),
        ("0.94", "x", "v('mid','length') / v('old','length') * 1.05", "ratio", "edge"),
        ("2.7", "% at most", "v('mid','length')", "bound", "consistent"),
        ("2.6", "% at most", "v('mid','length')", "bound", "edge"),
        ("2.5", "% at most", "v('mid','length')", "bound", "inconsistent"),
        ("2.7", "% at least", "v('mid','length')", "bound", "consistent"),
        ("2.8", "% at least", "v('mid','length')", "bound", "edge"),
        ("3.0", "% at least", "v('mid','length')", "bound", "inconsistent"),
        ("2", "rows", "count(rows('s','rate'), above=250)", "count", "consistent"),
        ("1", "rows", "count(rows('s','rate'), below=250)", "count", "consistent"),
        ("3", "rows", "count(rows('s','rate'))", "count", "consistent"),
        ("3", "rows", "count(rows('s','rate'), above=250)", "count", "inconsistent"),
        ("rises", "", "rows('s','isl')", "monotone", "consistent"),
        ("falls", "", "rows('s','isl')", "monotone", "inconsistent"),
        ("falls", "", "rows('s','tpot')", "monotone", "inconsistent"),
        ("flat", "", "rows('s','tpot')", "monotone", "inconsistent"),
        ("three / 三", "", "3 == count(rows('s','rate'))", "languages", "consistent"),
        ("three / 四", "", "count(rows('s','rate'))", "languages", "inconsistent"),
        ("four / 四", "", "count(rows('s','rate'))", "languages", "inconsistent"),
        ("2.0", "x", "v('gap','rate') * 2", "ratio", "unverifiable"),
        ("2.0", "x", "", "ratio", "unverifiable"),
        ("2.0", "x", "v('old','rate') / (v('new','isl') - 1024)", "ratio", "unverifiable"),
    ],
)
def test_one_claim(audited, published, unit, formula, kind, verdict):
    assert audited([claim(published, unit, formula, kind)], ROWS)["c"].verdict == verdict


def test_a_step_within_rounding_is_an_edge(audited):
    rows = [{"id": str(i), "stage": "s", "y": text} for i, text in enumerate(("3.0", "2.9", "2.9", "2.8"))]
    assert audited([claim("falls", "", "rows('s','y')", "monotone")], rows)["c"].verdict == "edge"
    assert audited([claim("falls", "", "rows('s','y')", "monotone")], rows[:2])["c"].verdict == "consistent"


def test_a_prediction_made_of_what_it_is_compared_with(audited):
    formula = f"1000 * v('new','length') / ({STEP.format('new')})"
    found = audited([claim("10", "tok/s", formula, "prediction"), claim("10", "tok/s", formula, "ratio", "plain")], ROWS)
    assert found["c"].verdict == "identity" and "length" in found["c"].why
    assert found["plain"].verdict == "consistent"  # the same arithmetic, sold as nothing more


def test_a_comparison_that_no_input_of_the_prediction_moves(audited):
    prediction = claim("140.2", "tok/s", "v('new','rate') * v('mid','tpot') / 1000 * 35/12", "prediction", "p")
    gap = claim("0", "% higher", "claim('p') / (v('new','rate') * v('mid','tpot') / 1000 * 35/12)", "ratio", "gap")
    open_gap = claim("1.17", "x", "claim('p') / v('mid','tpot')", "ratio", "open")
    found = audited([prediction, gap, open_gap], ROWS)
    assert found["p"].verdict == "consistent"
    assert found["gap"].verdict == "identity"
    assert found["open"].verdict == "consistent"


def test_an_unused_maximum_is_not_a_cancelling_input(audited):
    formula = "max(rows('s','rate')) / min(rows('s','rate'))"
    assert audited([claim("1.683", "x", formula, "prediction")], ROWS)["c"].verdict == "consistent"


def superlatives():
    return [
        claim("1.68", "x", "v('new','rate') / v('old','rate')", name="big", group="win"),
        claim("1.26", "x", "v('mid','rate') / v('old','rate')", name="small", group="win"),
        claim("1.68", "x", "claim('big') >= max(claims('win'))", "superlative", "first"),
        claim("1.26", "x", "claim('small') >= max(claims('win'))", "superlative", "second"),
    ]


def test_two_superlatives_over_one_set_contradict_and_the_true_one_stands(audited):
    found = audited(superlatives(), ROWS)
    assert found["first"].verdict == "consistent"
    assert found["second"].verdict == "contradicts" and found["second"].other == "first" and "first" in found["second"].why


def test_a_superlative_alone_contradicts_the_larger_member(audited):
    found = audited([row for row in superlatives() if row["id"] != "first"], ROWS)
    assert found["second"].verdict == "contradicts" and found["second"].other == "big"


def test_a_superlative_with_another_subjects_figure(audited):
    claims = superlatives()
    claims[2]["published"] = "1.26"
    assert audited(claims, ROWS)["first"].verdict == "inconsistent"


def test_a_smallest_is_a_superlative_too(audited):
    claims = superlatives()[:2] + [claim("1.68", "x", "claim('big') <= min(claims('win'))", "superlative", "least")]
    found = audited(claims, ROWS)["least"]
    assert found.verdict == "contradicts" and found.other == "small"


def test_one_formula_with_two_figures(audited):
    formula = "v('new','rate') / v('old','rate')"
    found = audited(
        [claim("1.68", "x", formula, name="right"), claim("1.7", "x", formula, name="coarse"), claim("1.8", "x", formula, name="wrong")],
        ROWS,
    )
    assert found["right"].verdict == "consistent" and found["coarse"].verdict == "consistent"
    assert found["wrong"].verdict == "contradicts" and found["wrong"].other == "right"


def test_two_figures_of_an_unpublished_input(audited):
    claims = [claim(text, "tok/s", "v('gap','rate')", name=name) for name, text in (("a", "10"), ("b", "20"))]
    found = audited(claims, ROWS)
    assert {found["a"].verdict, found["b"].verdict} == {"contradicts"}


@pytest.mark.parametrize(
    "formula, words",
    [
        ("v('nwe','rate')", ("no row 'nwe'", "'new'", "claims.csv line 2")),
        ("v('new','rat')", ("row 'new'", "no column 'rat'", "'rate'")),
        ("rows('u','rate')", ("no row has stage 'u'",)),
        ("claim('nothing')", ("no claim 'nothing'",)),
        ("max(claims('win'))", ("no claim has set 'win'",)),
    ],
)
def test_a_missing_row_or_column_is_said(audited, formula, words):
    found = audited([claim("1", "x", formula)], ROWS)["c"]
    assert found.verdict == "unverifiable" and all(word in found.why for word in words)


def test_rows_without_the_figure_are_said(audited):
    rows = [*ROWS, {"id": "failed", "stage": "s", "rate": "", "length": "", "tpot": "", "isl": "9"}]
    found = audited([claim("3", "rows", "count(rows('s','rate'))", "count")], rows)["c"]
    assert found.verdict == "consistent" and "failed" in found.why
