"""Generated problems: right, small, checkable, and never on both sides of the split."""

import random
import re

from engine.train.arithmetic import LARGEST, make_problem, problems, read_answer

STEP = re.compile(r"(\d+) ([-+*/]) (\d+) = (\d+)\.")


def test_every_step_is_true_and_small():
    rng = random.Random(5)
    for _ in range(2000):
        problem = make_problem(rng)
        steps = STEP.findall(problem.completion)
        assert 1 <= len(steps) <= 3
        for left, sign, right, result in steps:
            a, b, c = int(left), int(right), int(result)
            assert {"+": a + b, "-": a - b, "*": a * b, "/": a / b}[sign] == c
            assert 0 <= c <= LARGEST
        assert int(steps[-1][3]) == problem.answer == read_answer(problem.completion)
        assert problem.prompt.endswith("\nAnswer:") and problem.completion.startswith(" ")


def test_the_split_is_disjoint_and_repeatable():
    training, held_out = problems(1, 3000, False), problems(2, 100, True)
    assert not {p.prompt for p in training} & {p.prompt for p in held_out}
    assert held_out == problems(2, 100, True)
    assert len({p.prompt for p in held_out}) == 100


def test_answer_of_a_malformed_text_is_none():
    assert read_answer(" 3 + 4 = 7. The answer is seven.") is None
    assert read_answer(" The answer is 12. The answer is 13.") == 12
