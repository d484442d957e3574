"""Labels, anchors and accept lengths of the draft heads' training."""

import numpy as np
import torch

from engine.train.acceptance import prefix_lengths
from engine.train.drafters import QUESTION_WEIGHT, answer_weights, choose_anchors, soft_loss

BOS, EOS, ANSWER, COLON = 1, 2, 50, 51


def test_questions_weigh_less_than_answers():
    problem = [BOS, 9, COLON, 8, ANSWER, COLON, 7, 7, EOS]
    ids = np.array([problem * 3, list(range(60, 87))])
    weights = answer_weights(ids, ANSWER, COLON)
    assert (weights[1] == 1).all()
    question = np.full(6, QUESTION_WEIGHT, dtype=np.float32)
    np.testing.assert_array_equal(weights[0], np.tile([*question, 1, 1, 1], 3).astype(np.float32))


def test_anchors_leave_room_for_the_block_and_prefer_answers():
    weights = np.full((2, 100), QUESTION_WEIGHT, dtype=np.float32)
    weights[:, 60:80] = 1.0
    drawn = [choose_anchors(weights, 7, 20, np.random.default_rng(s)) for s in range(50)]
    anchors = np.concatenate(drawn)
    assert anchors.min() >= 1 and anchors.max() + 7 <= 99
    assert all(len(set(row)) == 20 for row in anchors)
    share = np.isin(anchors + 1, np.arange(60, 80)).mean()
    assert share > 0.4  # 20 of 91 places without the weights


def test_loss_is_least_at_the_label_and_ignores_weight_zero():
    torch.manual_seed(0)
    wanted = torch.randn(3, 11) * 3
    weights = torch.tensor([1.0, 1.0, 0.0])
    best = soft_loss(wanted * 2, wanted, weights)
    assert best < soft_loss(torch.zeros(3, 11), wanted, weights)
    changed = (wanted * 2).clone()
    changed[2] = -changed[2]
    torch.testing.assert_close(soft_loss(changed, wanted, weights), best)


def test_prefix_length_stops_at_the_first_miss():
    right = torch.tensor([[True, True, False, True], [False, True, True, True], [True] * 4])
    assert prefix_lengths(right).tolist() == [2, 0, 4]
