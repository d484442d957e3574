"""Bad input: one ValueError that names the argument, its shape and the shape it should have."""

import pytest
import torch

from kernels.contract import Contract
from kernels.registry import backends, load

Z = torch.zeros


def kda_window(**change):
    arguments = dict(
        q=Z(2, 3, 4, 8), k=Z(2, 3, 4, 8), v=Z(2, 3, 4, 8), g=Z(2, 3, 4, 8), beta=Z(2, 3, 4), state=Z(2, 4, 8, 8), scale=1.0
    )
    return arguments | change


def paged(**change):
    arguments = dict(
        q=Z(1, 2, 4, 8),
        k_cache=Z(16, 2, 8),
        v_cache=Z(16, 2, 8),
        block_table=Z(1, 4, dtype=torch.int64),
        lengths=torch.tensor([3]),
        page_size=4,
        scale=1.0,
    )
    return arguments | change


def chain(**change):
    third = torch.full((1, 3, 3), 1 / 3)
    arguments = dict(p=third, q=third[:, :2], drafts=torch.tensor([[0, 1]]), u=Z(1, 2), u_final=Z(1))
    return arguments | change


CASES = [
    ("kda_verify", kda_window(k=Z(2, 3, 4, 6)), r"k has shape \[2, 3, 4, 6\], expected \[2, 3, 4, 8\]"),
    ("kda_verify", kda_window(v=Z(2, 3, 3, 8)), r"v has shape \[2, 3, 3, 8\], expected \[2, 3, 4, V\]"),
    ("kda_verify", kda_window(state=Z(5, 4, 8, 8)), r"state has shape \[5, 4, 8, 8\], expected \[2, 4, 8, 8\] without slots"),
    ("kda_verify", kda_window(state=Z(2, 4, 8, 8).double()), r"state \[2, 4, 8, 8\] has dtype torch.float64"),
    ("kda_verify", kda_window(snapshots=Z(2, 3, 4, 8, 8)), r"snapshots has shape \[2, 3, 4, 8, 8\], expected \[3, 2, 4, 8, 8\]"),
    ("kda_verify", kda_window(snapshots=Z(2, 3, 4, 8, 8).transpose(0, 1)), r"snapshots \[3, 2, 4, 8, 8\] .*must be contiguous"),
    ("kda_gate", dict(f=Z(3, 8), b=Z(3, 3), a_log=Z(3), dt_bias=Z(8)), r"f .*\[3, 8\].*multiple"),
    ("rms_norm", dict(x=Z(3, 8), weight=Z(6)), r"weight has shape \[6\], expected \[8\]"),
    ("rms_norm_gated", dict(x=Z(3, 8), gate=Z(3, 4), weight=Z(8)), r"gate has shape \[3, 4\], expected \[3, 8\]"),
    ("l2_norm", dict(x=Z(8, 3).T), r"x \[3, 8\] has strides \[1, 3\]"),
    ("silu_mul", dict(gate_up=Z(3, 7)), r"gate_up has shape \[3, 7\], expected an even last dimension"),
    ("short_conv_window", dict(x=Z(2, 3, 8), weight=Z(3, 8), state=Z(2, 3, 8)), r"weight has shape \[3, 8\], expected \[4, 8\]"),
    ("short_conv_window", dict(x=Z(2, 3, 8), weight=Z(4, 8), state=Z(4, 3, 8)), r"state has shape \[4, 3, 8\], expected \[2, 3, 8\]"),
    ("short_conv_prefill", dict(x=Z(0, 8), weight=Z(4, 8), state=Z(3, 8)), r"x has shape \[0, 8\], expected \[T, D\] with T >= 1"),
    ("verify_attention", paged(q=Z(1, 2, 3, 8)), r"q has 3 heads, expected a multiple of the 2"),
    ("verify_attention", paged(page_size=5), r"page_size = 5 does not divide the 16 token slots"),
    ("verify_attention", paged(lengths=torch.tensor([15])), r"request 0 needs 17 tokens, block_table \[1, 4\] holds 16"),
    ("verify_attention", paged(lengths=torch.tensor([3], dtype=torch.int32)), r"lengths \[1\] has dtype torch.int32, expected torch.int64"),
    ("chain_accept", chain(q=torch.full((1, 3, 3), 1 / 3)), r"q has shape \[1, 3, 3\]|drafts has shape \[1, 2\], expected \[1, 3\]"),
    ("chain_accept", chain(p=torch.full((1, 3, 3), 0.5), debug=True), r"p \[3, 3\] has rows that do not sum to one, worst off by 0.5"),
    ("chain_accept", chain(q=torch.full((1, 2, 3), -1.0), debug=True), r"q \[2, 3\] has negative or non-finite probabilities"),
    ("chain_accept", chain(verify_lens=torch.tensor([4])), r"verify_lens \[1\] holds lengths outside 1..3"),
    ("chain_accept", chain(u_final=Z(1, 2)), r"u_final has shape \[1, 2\], expected \[1\] or \[1, 3\]"),
    ("short_conv_window", dict(x=Z(2, 3, 8), weight=Z(4, 8), state=Z(2, 3, 8), buffer=Z(2, 5, 8)), r"buffer has shape \[2, 5, 8\] .*expected \[2, 6, 8\]"),
    ("block_attention", paged(q=Z(1, 16, 4, 8), k_block=Z(1, 16, 2, 8), v_block=Z(1, 16, 2, 8)), r"γ = 16 is outside 1..15"),
    ("greedy_accept", dict(drafts=Z(1, 16).long(), target_ids=Z(1, 17).long()), r"γ = 16 is outside 1..15"),
    ("greedy_accept", dict(drafts=Z(1, 0).long(), target_ids=Z(1, 1).long()), r"γ = 0 is outside 1..15"),
    ("greedy_accept", dict(drafts=Z(1, 3).long(), target_ids=Z(1, 3).long()), r"3 target rows for drafts \[B, 3\], expected \[B, 4\]"),
    ("verify_lens", dict(confidence=Z(2, 3), budget=4, min_len=5), r"min_len = 5, expected 1..4 for confidence \[2, 3\]"),
    ("verify_lens", dict(confidence=Z(2, 16), budget=4), r"γ = 16 is outside 1..15"),
    ("top_p_renorm", dict(probs=torch.full((1, 2), 0.5), top_p=Z(1)), r"top_p\[0\] = 0.0, expected a value in \(0, 1\]"),
    ("gumbel_sample", dict(logits=Z(2, 4), temperature=-torch.ones(2), seeds=Z(2).long(), positions=Z(2).long(), stream=0), r"temperature .*negative"),
    (
        "state_commit",
        dict(pool=Z(2, 5, 4), snapshots=Z(2, 3, 2, 5), slots=Z(2).long(), steps=Z(2).long()),
        r"snapshots has shape \[2, 3, 2, 5\], expected \[2, W, 2, 4\] for pool \[2, 5, 4\]",
    ),
    ("kv_write", dict(k=Z(1, 2, 4), v=Z(1, 2, 4), k_cache=Z(8, 2, 4), v_cache=Z(8, 2, 4), slots=torch.tensor([8])), r"8, outside|= 8 is outside"),
    ("verify_window_build", dict(anchor=Z(1).long(), drafts=Z(1, 2).long(), verify_lens=torch.tensor([0])), r"lengths outside 1..3"),
    ("verify_window_scatter", dict(values=Z(2, 4), rows=Z(3).long(), offsets=Z(3).long(), batch=1, window=3), r"values has shape \[2, 4\], expected \[3, ...\]"),
]


SERVED = [(case, backend) for case in CASES for backend in ("reference", "cpu") if backend in backends(case[0])]


@pytest.mark.parametrize("case, backend", SERVED, ids=[f"{case[0]}-{backend}-{i}" for i, (case, backend) in enumerate(SERVED)])
def test_bad_input_is_named(case, backend):
    op, arguments, message = case
    with pytest.raises(ValueError, match=message) as caught:
        load(op, backend)(**arguments)
    assert str(caught.value).startswith(op)


def test_linear_names_the_input():
    for backend in ("reference", "cpu"):
        project = load("linear", backend)(Z(4, 8).bfloat16())
        with pytest.raises(ValueError, match=r"linear: (x has shape \[2, 6\]|weight has shape \[4, 8\]), expected"):
            project(Z(2, 6).bfloat16())


def test_devices_must_agree():
    with pytest.raises(ValueError, match="weight .* is on meta, the arguments before it on cpu"):
        Contract("op", x="A", weight="A").check(x=Z(2), weight=Z(2, device="meta"))


def test_a_tensor_is_expected():
    with pytest.raises(ValueError, match=r"op: x must be a tensor \[A\], got list"):
        Contract("op", x="A").check(x=[1.0])


def test_greedy_verification_of_a_sampled_request_is_refused():
    """A greedy verdict on a sampled request would change its distribution without a trace."""
    for backend in ("reference", "cpu"):
        accept = load("greedy_accept", backend)
        with pytest.raises(ValueError, match=r"temperature\[1\] = 0.7; a sampled request needs chain_accept"):
            accept(Z(2, 1).long(), Z(2, 2).long(), temperature=torch.tensor([0.0, 0.7]))
        accept(Z(2, 1).long(), Z(2, 2).long(), temperature=Z(2))
