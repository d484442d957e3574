from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace

import pytest

from engine.bench import plans
from engine.bench.cells import dspark
from engine.bench.stages import FULL, SMOKE, STAGES, Concurrency, Isl, Search, Window


@pytest.mark.parametrize("name", [name for name in STAGES if name not in ("gate", "kernels", "verify_cost")])
@pytest.mark.parametrize("smoke", [False, True])
def test_every_cell_has_its_arm_alive(name: str, smoke: bool) -> None:
    for block in plans.blocks_of(name, SMOKE[name] if smoke else STAGES[name]()):
        assert {cell.arm for cell in block.cells} == set(block.arms)
        assert len({arm.label for arm in block.arms}) == len(block.arms)


def test_window_runs_every_arm_on_every_content_in_each_repeat() -> None:
    stage = Window()
    for block in plans.window(stage):
        by_content = defaultdict(list)
        for cell in block.cells:
            assert cell.repeat == block.number
            by_content[cell.workload.content].append(cell.arm)
        assert set(by_content) == set(stage.contents)
        assert all(sorted(arms, key=str) == sorted(block.arms, key=str) for arms in by_content.values())


@pytest.mark.parametrize("sizes", [(3,), (1, 3, 7), (1, 2, 3, 4, 5, 6, 7)])
@pytest.mark.parametrize("named", [("eager", "graph"), ("eager", "graph", "fused")])
def test_every_block_size_runs_in_every_mode_beside_plain_decoding_of_all_of_them(sizes: tuple[int, ...], named: tuple[str, ...]) -> None:
    stage = replace(FULL["window"], modes=named, mode_block_sizes=sizes)
    blocks = plans.modes(stage)
    assert all(len(block.arms) <= plans.ALIVE for block in blocks)
    assert all({arm.mode for arm in block.arms if arm.lane == "plain"} == set(named) for block in blocks)
    cells = Counter((cell.arm.label, cell.workload.content, cell.repeat, cell.in_boot_pass) for block in blocks for cell in block.cells)
    assert set(cells.values()) == {1}
    measured = {(label, content, repeat) for label, content, repeat, _ in cells if not label.startswith("plain")}
    assert len(measured) == len(sizes) * len(named) * len(stage.mode_contents) * stage.mode_repeats
    assert {block.number for block in blocks} == {stage.repeats + repeat for repeat in range(stage.mode_repeats)}


def test_arms_do_not_keep_their_place_in_the_order() -> None:
    cells = [[cell.arm.label for cell in block.cells if cell.stage == "isl"] for block in plans.isl(Isl())]
    firsts = {tuple(labels[i : i + 2]) for labels in cells for i in range(0, len(labels), 2)}
    assert firsts == {("plain", "dspark-g3"), ("dspark-g3", "plain")}


def test_levels_and_lengths_share_their_workload() -> None:
    for blocks in (plans.isl(Isl()), plans.concurrency(Concurrency())):
        assert len({cell.workload for block in blocks for cell in block.cells if cell.stage != "teacher_forced"}) == 1


def test_each_candidate_has_a_base_cell_beside_it() -> None:
    stage = Search(mtp=True)
    blocks = plans.search_window(stage)
    assert len(blocks) == stage.window_repeats
    for block in blocks:
        labels = [cell.arm.label for cell in block.cells]
        assert labels[0] == labels[-1] == "base"
        assert all("base" in labels[max(0, i - 1) : i + 2] for i, label in enumerate(labels) if label != "base")
        assert sorted(label for label in labels if label != "base") == sorted(arm.label for arm in plans.candidates(stage))
        assert "dspark-g3" not in labels


def test_pairs_cancel_a_linear_drift() -> None:
    for block in plans.search_aa(Search(passes=2)):
        places = defaultdict(int)
        for place, cell in enumerate(block.cells):
            places[cell.arm.label] += place
        assert len(set(places.values())) == 1


def test_confirm_uses_prompts_of_its_own() -> None:
    stage = Search()
    seen = {cell.repeat for block in [*plans.search_aa(stage), *plans.search_window(stage)] for cell in block.cells}
    fresh = {cell.repeat for block in plans.search_confirm(stage, dspark(2)) for cell in block.cells}
    assert not seen & fresh
    assert {arm.label for block in plans.search_confirm(stage, dspark(2)) for arm in block.arms} == {"base", "candidate"}


def test_blocks_are_numbered_once() -> None:
    numbers = [block.number for block in plans.blocks_of("search", Search())]
    assert numbers == list(range(len(numbers)))
