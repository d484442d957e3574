"""Hold every cell that a stage plans against its load, its pools and the held-out text, before the first boot."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from engine.bench import plans
from engine.bench.cells import Block, Cell
from engine.bench.stages import Gate, Kernels, Search, Stage, VerifyCost
from engine.bench.workloads import HeldOut, Workload
from engine.config import ConfigError, EngineConfig

LOAD = ("max_concurrency", "levels", "binding")
LENGTH = ("ladder", "isl", "gsp_system_prompt_len", "binding")
PROMPTS = ("num_prompts", "gsp_prompts_per_group", "max_concurrency", "levels", "rounds", "binding")
"""Keys that say how many requests, how long and how many prompts a stage has: the first that it has is the one to name."""


def planned(name: str, stage: Stage) -> Iterator[tuple[str, object, list[Block]]]:
    """(key under measure.stages, what has its sizes, its blocks) of a stage and of the parts of a search."""
    if isinstance(stage, Gate | Kernels | VerifyCost):
        return
    if not isinstance(stage, Search):
        yield name, stage, plans.blocks_of(name, stage)
        return
    from engine.search import planned as parts  # a command, which reads campaigns itself

    for part, blocks in parts(stage).items():
        own = getattr(stage, part, None)
        yield (f"{name}.{part}", own, blocks) if own else (name, stage, blocks)


def key_of(where: str, sizes: object, keys: tuple[str, ...]) -> str:
    """The key to name; parts without sizes of their own have those of the search."""
    found = [key for key in keys if hasattr(sizes, key)]
    return f"{where}.{found[0]}" if found else f"{where.partition('.')[0]}.{keys[1] if keys is LENGTH else keys[0]}"


def check_plan(path: Path, name: str, stage: Stage, engine: EngineConfig) -> None:
    """Refuse more requests in flight than prompts, requests that no boot could hold and arms of one name; raises `ConfigError`."""
    for where, sizes, blocks in planned(name, stage):
        for block in blocks:
            labels = [arm.label for arm in block.arms]
            if twice := [label for label in labels if labels.count(label) > 1]:
                raise ConfigError(f"{path}: measure.stages.{where}: {twice[0]} is named {labels.count(twice[0])} times; once is enough")
        cells = [cell for block in blocks for cell in block.cells]
        for cell in cells:
            prompts = cell.workload.num_prompts
            if cell.request_rate is None and cell.max_concurrency > prompts:
                key = key_of(where, sizes, LOAD)
                raise ConfigError(f"{path}: measure.stages.{key}: {cell.max_concurrency} in flight need as many prompts; there are {prompts}")
        fits_pools(path, where, key_of(where, sizes, LENGTH), cells, engine)


def fits_pools(path: Path, where: str, key: str, cells: list[Cell], engine: EngineConfig) -> None:
    """The longest request of a stage, with the drafts beyond its end, must fit the context and the KV pool."""
    for flag, drafts in (("context_length", False), ("max_total_num_tokens", True)):
        for cell in sorted(cells, key=lambda one: -(one.isl + one.osl + drafts * (one.arm.block_size or 0))):
            own = dict(cell.arm.knobs)
            limit = own.get(flag, getattr(engine, flag))
            gamma = (cell.arm.block_size or 0) if drafts else 0
            need = cell.isl + cell.osl + gamma
            if limit is None or need <= limit:
                continue
            sizes = f"isl {cell.isl}, osl {cell.osl}{f', block_size {gamma}' if drafts else ''}"
            if flag in own:
                raise ConfigError(f"{path}: measure.stages.{key}: a request of {need} tokens ({sizes}) does not fit {flag} {limit} of {cell.arm.label}")
            raise ConfigError(
                f"{path}: measure.engine.{flag}: {limit} is less than the {need} tokens of a request of stages.{where} ({sizes}); lower stages.{key} or raise it"
            )


def texts_of(name: str, stage: Stage) -> Iterator[tuple[str, Workload, int]]:
    """(key, workload, longest input) of every prompt set that a stage draws."""
    if isinstance(stage, Gate) and stage.texts:
        yield f"{name}.texts", Workload("gate", "en", stage.texts, 64), 64
    for where, sizes, blocks in planned(name, stage):
        found: dict[Workload, int] = {}
        for cell in (cell for block in blocks for cell in block.cells):
            found[cell.workload] = max(cell.isl, found.get(cell.workload, 0))
        for workload, isl in found.items():
            key = f"{where}.file" if workload.file else f"{where}.histories" if workload.histories else key_of(where, sizes, PROMPTS)
            yield key, workload, isl


def check_prompts(path: Path, name: str, stage: Stage, held_out: HeldOut, campaign: str, seed: int) -> None:
    """Refuse a stage that the held-out text has not enough places for; raises `ConfigError` naming the key."""
    for key, workload, isl in texts_of(name, stage):
        try:
            longest = max(len(prompt.ids) for prompt in held_out.prompts(workload, isl, campaign=campaign, seed=seed, repeat=0))
        except ConfigError as fault:
            raise ConfigError(f"{path}: measure.stages.{key}: {fault}") from None
        if workload.file and longest > isl:
            raise ConfigError(f"{path}: measure.stages.{key}: {workload.file} has a prompt of {longest} tokens; isl is {isl}")
