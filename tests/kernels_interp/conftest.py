"""Values of the Triton kernels, in Triton's interpreter: a process of its own, started with TRITON_INTERPRET=1.

The interpreter patches `triton.language`, so nothing else of Triton works in this process; and an access out of
bounds ends it. It is therefore collected only when this folder is named: `TRITON_INTERPRET=1 pytest tests/kernels_interp`.
"""

import os

import pytest
import torch


def pytest_ignore_collect(collection_path, config):
    """Leave the folder alone unless it was asked for by name."""
    if not any("kernels_interp" in argument for argument in config.args):
        return True
    if os.environ.get("TRITON_INTERPRET") != "1":
        raise pytest.UsageError("tests/kernels_interp needs TRITON_INTERPRET=1 in the environment")
    return None


@pytest.fixture
def rand():
    """`rand(*shape, dtype)` standard normal, from one seeded generator a test."""
    generator = torch.Generator().manual_seed(4321)

    def draw(*shape, dtype=torch.float32):
        return torch.randn(*shape, generator=generator).to(dtype)

    draw.generator = generator
    return draw


@pytest.fixture
def both():
    """`both(op)(...)` -> the reference's result and Triton's, both on CPU tensors."""
    from kernels.registry import load

    def pair(op):
        return lambda *args, **kwargs: (load(op, "reference")(*args, **kwargs), load(op, "triton")(*args, **kwargs))

    return pair
