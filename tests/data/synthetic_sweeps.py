"""The sweeps that a longer campaign has: output length, acceptance by text and by temperature, steps by positions."""

from __future__ import annotations

from dataclasses import replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tests.data.synthetic import Campaign, Cell

MORE = ("osl", "content", "acceptance", "batch", "capacity")
OUTPUTS = (16, 64)
TEMPERATURES = (0.0, 0.7, 1.0)
PROMPTS = (2, 8)
"""Prompts of the cells that look at few rounds and at many."""
WINDOWS = (1, 3, 7)
LEVELS = (1, 2, 4, 8)


def more_sweeps(campaign: Campaign) -> None:
    for repeat in range(campaign.plan.repeats):
        outputs(campaign, repeat)
        texts(campaign, repeat)
        temperatures(campaign, repeat)
        batches(campaign, repeat)
        rooms(campaign, repeat)


def cell(campaign: Campaign, stage: str, gamma: int, repeat: int, **load) -> Cell:
    from tests.data.synthetic import Cell

    return Cell(stage=stage, lane="dspark" if gamma else "plain", gamma=gamma, boot=repeat, repeat=repeat, **load)


def outputs(campaign: Campaign, repeat: int) -> None:
    for osl in OUTPUTS:
        for gamma in (0, campaign.plan.base_gamma):
            one = cell(campaign, "osl", gamma, repeat, content="code", isl=128, concurrency=1, requests=2, osl=osl)
            campaign.measure("osl", one, ignore_eos="on", distinct_4gram_share=0.9 - 0.002 * osl)


def texts(campaign: Campaign, repeat: int) -> None:
    """Free-running decoding of text and of random prompts, and one round after each true history, which is harder to guess."""
    physics, gamma = campaign.physics, campaign.plan.base_gamma
    harder = replace(physics, accept={name: physics.forced * chance for name, chance in physics.accept.items()})
    for content in campaign.plan.contents:
        for at in (0, gamma):
            campaign.measure("content", cell(campaign, "content", at, repeat, content=content, isl=128, concurrency=1, requests=2, osl=24))
        if content != "arith":
            one = cell(campaign, "teacher_forced", gamma, repeat, content=content, isl=128, concurrency=1, requests=12, osl=2)
            campaign.measure("content", one, harder, dataset="histories")
    for at in (0, gamma):
        one = cell(campaign, "content", at, repeat, content="random-ids", isl=128, concurrency=1, requests=4, osl=24)
        campaign.measure("content", one, replace(physics, accept={**physics.accept, "random-ids": physics.random_accept}), dataset="random-ids")


def temperatures(campaign: Campaign, repeat: int) -> None:
    physics = campaign.physics
    for temperature in TEMPERATURES:
        colder = {name: chance * (1 - physics.accept_temperature * temperature) for name, chance in physics.accept.items()}
        for content in campaign.plan.contents:
            for prompts in PROMPTS if not temperature else PROMPTS[-1:]:
                one = cell(campaign, "acceptance", campaign.plan.base_gamma, repeat, content=content, isl=128, concurrency=2, requests=prompts, osl=24)
                campaign.measure("acceptance", one, replace(physics, accept=colder), temperature=temperature)


def batches(campaign: Campaign, repeat: int) -> None:
    for level in LEVELS:
        for gamma in (0, *WINDOWS):
            one = cell(campaign, "batch", gamma, repeat, content="mixed", isl=64, concurrency=level, requests=8, osl=10)
            campaign.measure("batch", one, isl="")


BUDGET, FREE, PEAK = 96 << 20, 40 << 20, 16 << 20
"""Bytes of one budget, free after a boot of the base, and of its largest transient use."""
SETTINGS = {"base": (8192, PEAK), "chunked_prefill_size=64": (8000, PEAK // 4), "mamba_ssm_dtype=bfloat16": (9600, PEAK)}
"""Setting -> KV tokens that its pools hold, largest transient use."""


def rooms(campaign: Campaign, repeat: int) -> None:
    """Single settings under one budget: a small chunk has small temporaries, a small state leaves room for tokens; boots differ by some pages."""
    for place, (label, (tokens, peak)) in enumerate(SETTINGS.items()):
        one = cell(campaign, "capacity", campaign.plan.base_gamma, repeat, content="mixed", isl=256, concurrency=2, requests=2, osl=4, label=label)
        said = {"mem_fraction_static": 0.6, "device_memory_bytes": BUDGET, "available_mem_bytes": FREE, "max_total_num_tokens": tokens}
        campaign.measure("capacity", one, activation_peak_bytes=peak + 4096 * ((3 * repeat + place) % 4), **said)
