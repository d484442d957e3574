"""In an interpreter process CPU tensors reach the Triton kernels, or these tests would test nothing."""

import torch

from kernels.registry import choose, operators


def test_every_operator_has_a_triton_kernel_and_the_interpreter_reaches_it():
    for op in operators():
        name, rule = choose(op, torch.zeros(1))
        assert (name, rule.predicate) == ("triton", "TRITON_INTERPRET=1"), op
