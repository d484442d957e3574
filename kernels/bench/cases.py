"""One case an operator: seeded inputs of a given size, as the engine would hand them over."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import torch

from kernels.bench.sizes import Size

SCALE = 0.125


@dataclass(frozen=True)
class Case:
    """Arguments of one operator. `written` are the positions of arguments that it writes in place."""

    args: tuple[Any, ...]
    kwargs: dict[str, Any] = field(default_factory=dict)
    written: tuple[int, ...] = ()


class Inputs:
    """Seeded tensors on one device. Numbers are drawn on the CPU, so that every device sees the same."""

    def __init__(self, size: Size, device: torch.device) -> None:
        self.size = size
        self.device = device
        self.generator = torch.Generator().manual_seed(0)

    def normal(self, *shape: int, dtype: torch.dtype = torch.float32) -> torch.Tensor:
        return torch.randn(*shape, generator=self.generator).to(dtype).to(self.device)

    def uniform(self, *shape: int) -> torch.Tensor:
        return (torch.rand(*shape, generator=self.generator) * 0.999 + 0.0005).to(self.device)

    def integers(self, low: int, high: int, *shape: int) -> torch.Tensor:
        return torch.randint(low, high, shape, generator=self.generator).to(self.device)

    def unit(self, *shape: int) -> torch.Tensor:
        return torch.nn.functional.normalize(self.normal(*shape), dim=-1)

    def kda(self, *lead: int) -> tuple[torch.Tensor, ...]:
        heads, dim = self.size.heads, self.size.head_dim
        q, k, v = self.unit(*lead, heads, dim), self.unit(*lead, heads, dim), self.normal(*lead, heads, dim)
        g = -3.0 * torch.sigmoid(2 * self.normal(*lead, heads, dim))
        return q, k, v, g, torch.sigmoid(self.normal(*lead, heads))

    def states(self, rows: int) -> torch.Tensor:
        return self.normal(rows, self.size.heads, self.size.head_dim, self.size.head_dim)

    def pool(self) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
        """Key and value pools with one run of consecutive pages a request, and the block table."""
        size = self.size
        pages = -(-(size.context + size.window) // size.page_size)
        shape = (size.batch * pages * size.page_size, size.kv_heads, size.head_dim)
        table = torch.arange(size.batch * pages, device=self.device).view(size.batch, pages)
        return self.normal(*shape), self.normal(*shape), table

    def distributions(self, *lead: int) -> torch.Tensor:
        return torch.softmax(2 * self.normal(*lead, self.size.vocabulary), dim=-1)

    def keys(self) -> tuple[torch.Tensor, torch.Tensor]:
        return self.integers(0, 2**40, self.size.batch), self.integers(0, 10**6, self.size.batch)


def norm_case(x: Inputs) -> Case:
    return Case((x.normal(x.size.batch * x.size.window, x.size.hidden), x.normal(x.size.hidden)))


def norm_gated_case(x: Inputs) -> Case:
    shape = (x.size.batch * x.size.window, x.size.heads, x.size.head_dim)
    return Case((x.normal(*shape), x.normal(*shape), x.normal(x.size.head_dim)))


def l2_case(x: Inputs) -> Case:
    return Case((x.normal(x.size.batch * x.size.window, 2 * x.size.heads, x.size.head_dim),))


def silu_case(x: Inputs) -> Case:
    return Case((x.normal(x.size.batch * x.size.window, 5 * x.size.hidden // 2 * 2, dtype=torch.bfloat16),))


def conv_prefill_case(x: Inputs) -> Case:
    channels = 3 * x.size.heads * x.size.head_dim
    return Case((x.normal(x.size.prompt, channels, dtype=torch.bfloat16), x.normal(4, channels), x.normal(3, channels, dtype=torch.bfloat16)))


def conv_window_case(x: Inputs) -> Case:
    channels, batch = 3 * x.size.heads * x.size.head_dim, x.size.batch
    return Case(
        (
            x.normal(batch, x.size.window, channels, dtype=torch.bfloat16),
            x.normal(4, channels),
            x.normal(batch + 1, 3, channels, dtype=torch.bfloat16),
            torch.arange(batch, device=x.device),
        )
    )


def gate_case(x: Inputs) -> Case:
    rows, heads, dim = x.size.batch * x.size.window, x.size.heads, x.size.head_dim
    return Case((x.normal(rows, heads * dim), x.normal(rows, heads), x.normal(heads), x.normal(heads * dim)))


def kda_prefill_case(x: Inputs) -> Case:
    return Case((*x.kda(1, x.size.prompt), x.states(1)), {"scale": SCALE})


def kda_decode_case(x: Inputs) -> Case:
    return Case((*x.kda(x.size.batch), x.states(x.size.batch)), {"scale": SCALE})


def kda_verify_case(x: Inputs) -> Case:
    slots = torch.arange(x.size.batch, device=x.device)
    return Case((*x.kda(x.size.batch, x.size.window), x.states(x.size.batch + 1)), {"scale": SCALE, "slots": slots})


def commit_case(x: Inputs) -> Case:
    batch, window = x.size.batch, x.size.window
    snapshots = x.states(2 * window * batch).unflatten(0, (2, window, batch))
    pool = x.states(2 * (batch + 1)).unflatten(0, (2, batch + 1))
    return Case((pool, snapshots, torch.arange(batch, device=x.device), x.integers(0, window, batch)), written=(0,))


def kv_write_case(x: Inputs) -> Case:
    k_cache, v_cache, _ = x.pool()
    tokens = x.size.batch * x.size.window
    k, v = (x.normal(tokens, x.size.kv_heads, x.size.head_dim) for _ in range(2))
    return Case((k, v, k_cache, v_cache, torch.arange(tokens, device=x.device)), written=(2, 3))


def decode_attention_case(x: Inputs) -> Case:
    lengths = torch.full((x.size.batch,), x.size.context, device=x.device)
    q = x.normal(x.size.batch, x.size.query_heads, x.size.head_dim)
    return Case((q, *x.pool(), lengths), {"page_size": x.size.page_size, "scale": SCALE})


def verify_attention_case(x: Inputs) -> Case:
    lengths = torch.full((x.size.batch,), x.size.context, device=x.device)
    q = x.normal(x.size.batch, x.size.window, x.size.query_heads, x.size.head_dim)
    return Case((q, *x.pool(), lengths), {"page_size": x.size.page_size, "scale": SCALE})


def prefill_attention_case(x: Inputs) -> Case:
    k_cache, v_cache, table = x.pool()
    tokens = min(x.size.prompt, x.size.context)
    return Case(
        (x.normal(tokens, x.size.query_heads, x.size.head_dim), k_cache, v_cache, table[0], 0),
        {"page_size": x.size.page_size, "scale": SCALE},
    )


def block_attention_case(x: Inputs) -> Case:
    batch, block, dim = x.size.batch, x.size.block, x.size.head_dim
    k, v = (x.normal(batch, block, x.size.kv_heads, dim) for _ in range(2))
    lengths = torch.full((batch,), x.size.context, device=x.device)
    return Case(
        (x.normal(batch, block, x.size.query_heads, dim), k, v, *x.pool(), lengths),
        {"page_size": x.size.page_size, "scale": SCALE},
    )


def argmax_case(x: Inputs) -> Case:
    return Case((x.normal(x.size.batch * x.size.window, x.size.vocabulary),))


def markov_arguments(x: Inputs) -> tuple[torch.Tensor, ...]:
    size = x.size
    w1, w2 = (x.normal(size.vocabulary, size.rank, dtype=torch.bfloat16) for _ in range(2))
    return x.normal(size.batch, size.vocabulary), x.integers(0, size.vocabulary, size.batch), w1, w2


def markov_greedy_case(x: Inputs) -> Case:
    return Case(markov_arguments(x))


def markov_sample_case(x: Inputs) -> Case:
    return Case((*markov_arguments(x), torch.full((x.size.batch,), 0.8, device=x.device), *x.keys()))


def gumbel_case(x: Inputs) -> Case:
    return Case((x.normal(x.size.batch, x.size.vocabulary), torch.full((x.size.batch,), 0.8, device=x.device), *x.keys(), 3))


def philox_case(x: Inputs) -> Case:
    return Case((*x.keys(), 0, x.size.vocabulary))


def softmax_case(x: Inputs) -> Case:
    rows = x.size.batch * x.size.window
    return Case((x.normal(rows, x.size.vocabulary), torch.full((rows,), 0.8, device=x.device)))


def top_k_case(x: Inputs) -> Case:
    return Case((x.distributions(x.size.batch), torch.full((x.size.batch,), 40, device=x.device)))


def top_p_case(x: Inputs) -> Case:
    return Case((x.distributions(x.size.batch), torch.full((x.size.batch,), 0.9, device=x.device)))


def chain_case(x: Inputs) -> Case:
    batch, window, block = x.size.batch, x.size.window, x.size.block
    drafts = x.integers(0, x.size.vocabulary, batch, block)
    return Case((x.distributions(batch, window), x.distributions(batch, block), drafts, x.uniform(batch, block), x.uniform(batch)))


def one_hot_case(x: Inputs) -> Case:
    p, _, *rest = chain_case(x).args
    return Case((p, *rest))


def greedy_case(x: Inputs) -> Case:
    return Case((x.integers(0, 3, x.size.batch, x.size.block), x.integers(0, 3, x.size.batch, x.size.window)))


def coupled_case(x: Inputs) -> Case:
    batch, window = x.size.batch, x.size.window
    heat = torch.full((batch,), 0.8, device=x.device)
    return Case((x.normal(batch, window, x.size.vocabulary), x.integers(0, 3, batch, x.size.block), heat, *x.keys()))


def mixed_case(x: Inputs) -> Case:
    columns = [x.integers(0, 3, x.size.batch) for _ in range(4)]
    return Case((x.integers(0, 2, x.size.batch).bool(), *columns))


def verify_lens_case(x: Inputs) -> Case:
    return Case((x.uniform(x.size.batch, x.size.block), 2 * x.size.batch))


def window_build_case(x: Inputs) -> Case:
    batch = x.size.batch
    lengths = x.integers(1, x.size.window + 1, batch)
    return Case((x.integers(0, 9, batch), x.integers(0, 9, batch, x.size.block), lengths))


def window_scatter_case(x: Inputs) -> Case:
    batch, window = x.size.batch, x.size.window
    rows = torch.arange(batch, device=x.device).repeat_interleave(window)
    offsets = torch.arange(window, device=x.device).repeat(batch)
    return Case((x.normal(batch * window, x.size.hidden), rows, offsets, batch, window))


def linear_case(x: Inputs) -> Case:
    """The factory's argument; the timed call is the projection of `Case.kwargs["x"]`."""
    rows = x.size.batch * x.size.window
    weight = x.normal(3 * x.size.heads * x.size.head_dim, x.size.hidden, dtype=torch.bfloat16)
    return Case((weight,), {"x": x.normal(rows, x.size.hidden, dtype=torch.bfloat16)})


CASES: dict[str, Callable[[Inputs], Case]] = {
    "accept_mixed": mixed_case,
    "block_accept": chain_case,
    "block_attention": block_attention_case,
    "chain_accept": chain_case,
    "coupled_accept": coupled_case,
    "decode_attention": decode_attention_case,
    "greedy_accept": greedy_case,
    "gumbel_sample": gumbel_case,
    "kda_decode": kda_decode_case,
    "kda_gate": gate_case,
    "kda_prefill": kda_prefill_case,
    "kda_verify": kda_verify_case,
    "kv_write": kv_write_case,
    "l2_norm": l2_case,
    "linear": linear_case,
    "markov_greedy": markov_greedy_case,
    "markov_sample": markov_sample_case,
    "one_hot_accept": one_hot_case,
    "philox_uniform": philox_case,
    "prefill_attention": prefill_attention_case,
    "rms_norm": norm_case,
    "rms_norm_gated": norm_gated_case,
    "row_argmax": argmax_case,
    "short_conv_prefill": conv_prefill_case,
    "short_conv_window": conv_window_case,
    "silu_mul": silu_case,
    "softmax_temperature": softmax_case,
    "state_commit": commit_case,
    "top_k_renorm": top_k_case,
    "top_p_renorm": top_p_case,
    "verify_attention": verify_attention_case,
    "verify_lens": verify_lens_case,
    "verify_window_build": window_build_case,
    "verify_window_scatter": window_scatter_case,
}
