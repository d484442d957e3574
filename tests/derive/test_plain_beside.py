"""Where plates set effects side by side, each ratio to plain decoding has the plain time that it was measured against."""

import pytest

from workflow.figures.plates import advice, noise


@pytest.mark.parametrize("plate", [advice, noise], ids=["advice", "noise"])
def test_each_effect_has_the_plain_time_under_its_own_ratio(values, plate):
    rows = {cells[1].value: cells[2].value for cells in plate.table(values).rows if cells[1].value in {fact for _, fact in plate.effects(values)}}
    assert len(rows) == len(plate.effects(values)) > 4

    def roots(key):
        """Keys of the facts that one comes from, itself included."""
        return {key}.union(*map(roots, values.facts[key].parents))

    for ratio, plain in rows.items():
        if ratio.startswith("cache."):
            continue  # its traffic was served with the cache and without, by the plain lane alone
        if ratio.startswith(("search.", "knobs.")):
            assert plain == "search.plain_tpot_ms"
            continue
        # a name such as at_longest stands for another key: the ratio rests on a cell of one of the times behind it
        cells = [key.removesuffix("tpot_ms") for key in roots(plain) if key.endswith(".plain.tpot_ms") and not key.startswith("run.")]
        assert any(key.startswith(cell) for cell in cells for key in roots(ratio)), f"{ratio} does not rest on {plain}"
