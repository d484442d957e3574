"""The target of an execution mode."""

from __future__ import annotations

from engine.config import EngineConfig, ModelConfig
from engine.draft.base import Drafter
from engine.memory.kv_pool import KvPool
from engine.memory.state_pool import StatePool
from engine.model.checkpoint import Checkpoint
from engine.model.operators import Operators
from engine.model.target import Target


def make_target(
    config: EngineConfig,
    model: ModelConfig,
    source: Checkpoint,
    ops: Operators,
    kv: KvPool,
    states: StatePool,
    tap_layers: tuple[int, ...],
) -> Target:
    """The class that `config.mode` names, over the same pools. Imports are here: a mode loads only its own code."""
    if config.mode == "fused":
        from engine.model.fused.target import FusedTarget

        return FusedTarget(model, source, ops, kv, states, tap_layers, verify=config.fused_verify, threads=config.threads)
    if config.mode == "graph":
        from engine.model.graph.target import GraphTarget

        return GraphTarget(model, source, ops, kv, states, tap_layers)
    return Target(model, source, ops, kv, states, tap_layers)


def fuse_drafter(drafter: Drafter | None, target: Target) -> int:
    """In mode `fused`, compile what of a drafter can be; returns the bytes of weights that it keeps a second time."""
    from engine.draft.block import BlockDrafter

    if not isinstance(drafter, BlockDrafter):
        return 0
    from engine.model.fused.target import FusedTarget

    if not isinstance(target, FusedTarget):
        return 0
    from engine.model.fused.block import FusedBlock

    return FusedBlock(drafter, target).repacked_bytes
