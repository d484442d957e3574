"""Student's t over pairs of boots: as scipy has it, and as the search judges."""

import math
import random

import numpy as np
import pytest
from scipy import stats

from engine.bench.compare import Spread, compare
from engine.bench.multiplicity import holm as holm_of_search
from workflow.derive.paired import Paired, holm, spread, t_quantile, two_sided


@pytest.mark.parametrize("df", [1, 2, 5, 15, 60])
def test_the_distribution_is_students(df):
    for probability in (0.6, 0.9, 0.975, 0.995):
        assert t_quantile(probability, df) == pytest.approx(stats.t.ppf(probability, df), rel=1e-4)
    for t in (0.0, 0.3, 2.0, -4.0, 12.0):
        assert two_sided(t, df) == pytest.approx(2 * stats.t.sf(abs(t), df), rel=1e-2, abs=1e-12)


CASES = [
    (pairs, boots, scale, mean) for pairs in (0, 2, 16) for boots in (1, 2, 6) for scale in (0.2, 3.0) for mean in (0.0, 0.03, -0.2)
]  # fmt: skip


@pytest.mark.parametrize(("pairs", "boots", "scale", "mean"), CASES)
def test_the_page_judges_pairs_as_the_search_does(pairs, boots, scale, mean):
    draw = random.Random(f"{pairs} {boots} {scale} {mean}")
    aa = [draw.gauss(0, 0.02) for _ in range(pairs)]
    logs = [draw.gauss(mean, 0.02 * scale) for _ in range(boots)]
    search, page = compare(logs, Spread.floored([logs], aa)), Paired.of(logs, spread([logs], aa))
    if search.p is None:
        assert not page.known
        return
    assert page.p == pytest.approx(search.p, rel=1e-2, abs=1e-9)
    reach = page.reach(0.95)
    verdict = "better" if page.mean > reach else "worse" if page.mean < -reach else "not resolved"
    assert verdict == search.verdict and math.exp(page.mean) == pytest.approx(search.ratio)
    if search.lo is not None:
        drawn = np.quantile(page.drawn(500), [0.025, 0.975])
        assert np.exp(drawn) == pytest.approx([search.lo, search.hi], rel=2e-3)


def test_equal_pairs_have_no_doubt_and_no_pairs_have_nothing_else():
    assert Paired.of([0.1, 0.1], (0.0, 1)).p == 0.0 and Paired.of([0.0, 0.0], (0.0, 1)).p == 1.0
    assert not Paired.of([0.1], spread([[0.1]], [])).known
    assert np.isnan(Paired.of([0.1], spread([[0.1]], [])).drawn(500)).all()


def test_holm_is_that_of_the_search():
    p = [0.04, 0.001, 0.03, 0.5, 0.0001]
    assert holm(p) == pytest.approx(holm_of_search(p))
    assert holm([]) == [] and holm([0.02]) == [0.02]
