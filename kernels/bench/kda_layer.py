"""One whole KDA layer at W positions: what verifying a window costs beside one position.

The yardstick is the same layer with the reference recurrence, a loop of einsums.
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from kernels.bench.cases import Inputs
from kernels.registry import load, resolve

GATE_RANK = 32


def kda_layer(x: Inputs, window: int, recurrence: str | None = None) -> Callable[[], torch.Tensor]:
    """A call that runs norm, projections, convolution, gates, recurrence and output of one layer over B x W positions.

    `recurrence` names the backend of `kda_verify` (None: the registry's choice); everything else is the registry's.
    """
    size, device = x.size, x.device
    batch, heads, dim, hidden = size.batch, size.heads, size.head_dim, size.hidden
    inner = heads * dim
    probe = torch.zeros(1, device=device)
    rms_norm, conv, gate, l2 = (resolve(op, probe) for op in ("rms_norm", "short_conv_window", "kda_gate", "l2_norm"))
    gated_norm, project = resolve("rms_norm_gated", probe), resolve("linear", probe)
    verify = load("kda_verify", recurrence) if recurrence else resolve("kda_verify", probe)

    def weight(rows: int, columns: int) -> Callable[[torch.Tensor], torch.Tensor]:
        return project(x.normal(rows, columns, dtype=torch.bfloat16) / columns**0.5)

    qkv, f_a, f_b, b = weight(3 * inner, hidden), weight(GATE_RANK, hidden), weight(inner, GATE_RANK), weight(heads, hidden)
    g_a, g_b, out = weight(GATE_RANK, hidden), weight(inner, GATE_RANK), weight(hidden, inner)
    norm_weight, head_weight, taps = x.normal(hidden), x.normal(dim), x.normal(4, 3 * inner)
    a_log, dt_bias = x.normal(heads), x.normal(inner)
    residual = x.normal(batch * window, hidden)
    conv_pool, pool = x.normal(batch, 3, 3 * inner, dtype=torch.bfloat16), x.states(batch)
    snapshots = torch.empty(window, batch, heads, dim, dim, device=device)

    def layer() -> torch.Tensor:
        normed = rms_norm(residual, norm_weight, out_dtype=torch.bfloat16)
        mixed, _ = conv(qkv(normed).view(batch, window, 3 * inner), taps, conv_pool)
        heads_of = mixed.view(batch, window, 3 * heads, dim)
        qk = l2(heads_of[:, :, : 2 * heads])
        g, beta = gate(f_b(f_a(normed)), b(normed), a_log, dt_bias)
        shape = (batch, window, heads)
        o, _ = verify(
            qk[:, :, :heads],
            qk[:, :, heads:],
            heads_of[:, :, 2 * heads :],
            g.view(*shape, dim),
            beta.view(shape),
            pool,
            scale=dim**-0.5,
            snapshots=snapshots,
        )
        opening = g_b(g_a(normed)).view(*shape, dim)
        return residual + out(gated_norm(o, opening, head_weight, out_dtype=torch.bfloat16).reshape(batch * window, inner))

    return layer
