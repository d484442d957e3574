"""Compact verify rows back into a rectangle."""

from __future__ import annotations

import torch

from kernels.contract import Contract

CONTRACT = Contract("verify_window_scatter", rows="M | int", offsets="M | int")


def check_values(values: torch.Tensor, rows: torch.Tensor, offsets: torch.Tensor) -> int:
    """M of values [M, ...], rows [M] and offsets [M] on one device."""
    count = CONTRACT.check(rows=rows, offsets=offsets)["M"]
    if not isinstance(values, torch.Tensor):
        raise ValueError(f"verify_window_scatter: values must be a tensor [{count}, ...], got {type(values).__name__}")  # noqa: TRY004
    if values.shape[:1] != (count,):
        raise ValueError(f"verify_window_scatter: values has shape {list(values.shape)}, expected [{count}, ...] (size from rows)")
    if values.device != rows.device:
        raise ValueError(f"verify_window_scatter: values {list(values.shape)} is on {values.device}, rows {list(rows.shape)} on {rows.device}")
    return count


def verify_window_scatter(
    values: torch.Tensor, rows: torch.Tensor, offsets: torch.Tensor, batch: int, window: int, fill: float = 0.0
) -> torch.Tensor:
    """out[rows[m], offsets[m]] = values[m], `fill` elsewhere.

    values [M, ...]; rows, offsets [M] int64 from `verify_window_build`. Returns [batch, window, ...] in values' dtype.
    ValueError if the sizes differ or an index lies outside [batch, window]. Source: the compact mode of SGLang 0.5.23's verify window.
    """
    count = check_values(values, rows, offsets)
    if count and (int(rows.min()) < 0 or int(offsets.min()) < 0 or int(rows.max()) >= batch or int(offsets.max()) >= window):
        raise ValueError(f"verify_window_scatter: rows or offsets {list(rows.shape)} point outside [{batch}, {window}]")
    out = torch.full((batch, window, *values.shape[1:]), fill, dtype=values.dtype, device=values.device)
    out[rows, offsets] = values
    return out
