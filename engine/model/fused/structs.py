"""The structs of `src/model.h`, field by field, and the library's entries."""

from __future__ import annotations

import ctypes
from ctypes import POINTER, Structure, c_float, c_int32, c_int64, c_void_p
from functools import cache
from pathlib import Path


class LinearStruct(Structure):
    _fields_ = [("w", c_void_p), ("n", c_int32), ("k", c_int32)]


class LayerStruct(Structure):
    _fields_ = [
        *((name, c_int32) for name in ("kind", "place", "tap", "experts")),
        ("norm1", c_void_p),
        *((name, LinearStruct) for name in ("in_proj", "gates", "out")),
        *((name, c_void_p) for name in ("conv", "a_exp", "dt_bias", "o_norm", "q_norm", "k_norm", "norm2")),
        *((name, LinearStruct) for name in ("gate_up", "down", "router")),
        *((name, POINTER(LinearStruct)) for name in ("expert_gate_up", "expert_down")),
    ]


class ModelStruct(Structure):
    _fields_ = [
        *(
            (name, c_int32)
            for name in (
                "vocab", "hidden", "inner", "heads", "dim", "kv_heads", "rank", "ffn", "layer_count", "kda_layers", "tap_count",
                "experts_per_token",
            )
        ),
        ("eps", c_float),
        ("decay_floor", c_float),
        ("embed", c_void_p),
        ("norm", c_void_p),
        ("lm_head", LinearStruct),
        ("layers", POINTER(LayerStruct)),
    ]


class CallStruct(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("ids", "slots", "table", "lengths", "kv_slots")),
        *(
            (name, c_int32)
            for name in ("rows", "width", "table_width", "page_size", "serial", "threads", "state_kind", "reserved")
        ),
        ("temporal", c_void_p),
        ("temporal_layer", c_int64),
        ("temporal_slot", c_int64),
        ("conv", c_void_p),
        ("conv_layer", c_int64),
        ("conv_slot", c_int64),
        ("snapshots", c_void_p),
        ("snap_layer", c_int64),
        ("snap_position", c_int64),
        ("snap_row", c_int64),
        *((name, c_void_p) for name in ("inputs", "keys", "values", "logits", "taps", "work", "timers", "touched")),
    ]


class DrafterStruct(Structure):
    _fields_ = [
        ("layer", LayerStruct),
        *((name, LinearStruct) for name in ("fc", "w_last", "kv", "w2")),
        *((name, c_void_p) for name in ("hidden_norm", "norm", "block_rows", "w1")),
        ("rank", c_int32),
        ("tap_width", c_int32),
    ]


class DraftCallStruct(Structure):
    _fields_ = [
        *((name, c_void_p) for name in ("anchors", "slots", "table", "lengths", "kv_slots", "steps")),
        *((name, c_int32) for name in ("rows", "width", "table_width", "page_size")),
        *((name, c_void_p) for name in ("last", "keys", "values", "hidden", "taps", "base", "picks", "work")),
    ]


CLASSES = ("linear", "lm_head", "kda", "attention", "elementwise")
"""Operator classes that the library can time, in its order."""


@cache
def library(path: Path) -> ctypes.CDLL:
    """Load a build and declare its entries; RuntimeError when its structs are not the ones above."""
    lib = ctypes.CDLL(str(path))
    lib.fused_isa.restype = ctypes.c_char_p
    lib.fused_size_of.restype = c_int64
    lib.fused_work_floats.restype = c_int64
    lib.fused_work_floats.argtypes = (POINTER(ModelStruct), POINTER(CallStruct))
    lib.fused_window.restype = None
    lib.fused_window.argtypes = (POINTER(ModelStruct), POINTER(CallStruct))
    lib.fused_commit.restype = None
    lib.fused_commit.argtypes = (POINTER(ModelStruct), POINTER(CallStruct), c_void_p)
    lib.fused_linear.restype = None
    lib.fused_linear.argtypes = (POINTER(LinearStruct), c_void_p, c_void_p, c_int32, c_void_p)
    lib.fused_draft_work_floats.restype = c_int64
    lib.fused_draft_work_floats.argtypes = (POINTER(ModelStruct), POINTER(DraftCallStruct))
    for name in ("hidden", "greedy", "observe"):
        entry = getattr(lib, f"fused_draft_{name}")
        entry.restype, entry.argtypes = None, (POINTER(ModelStruct), POINTER(DrafterStruct), POINTER(DraftCallStruct))
    for which, struct in enumerate((LayerStruct, ModelStruct, CallStruct, DrafterStruct, DraftCallStruct)):
        if lib.fused_size_of(which) != ctypes.sizeof(struct):
            raise RuntimeError(f"{path}: {struct.__name__} has {ctypes.sizeof(struct)} bytes here, {lib.fused_size_of(which)} there")
    return lib
