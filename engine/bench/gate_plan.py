"""Which configurations the gate runs and on what: pure, no engine."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from engine.bench.cells import PLAIN, Arm, Sampling, drafting
from engine.bench.gate_winner import Winner
from engine.bench.stages import Gate
from engine.bench.workloads import HeldOut, Workload, seed_of
from engine.config import EngineConfig
from engine.train.arithmetic import problems as make_problems

GREEDY, SAMPLED, TEXT = "greedy", "sampled", "text"
BASE, AGAIN, BROKEN, STATE = "base", "base-again", "broken", "state-bf16"
ANSWER_TOKENS, ANSWER_PROMPT = 31, 36
"""Tokens of an answer and of a question, about."""


@dataclass(frozen=True)
class Question:
    """One prompt of the gate with its repeats' seeds; `expected` is null where nothing can be checked exactly."""

    task: str
    problem: str
    prompt: str | tuple[int, ...]
    expected: int | None
    sampling: Sampling
    seeds: tuple[int, ...]
    max_tokens: int


@dataclass(frozen=True)
class Config:
    """One boot of the gate."""

    arm: Arm
    role: str
    """base, control (off against off), candidate, silent (may not change a bit), numeric (must change the logits), broken (must fail)."""
    tasks: tuple[str, ...]
    fault: str | None = None


def supported(changes: dict) -> bool:
    return all(name in EngineConfig.__dataclass_fields__ for name in changes)


def configs(stage: Gate, winner: Winner | None = None) -> list[Config]:
    """Base first; a setting that this engine does not have is left out.

    The winner of a search is one candidate more, unless the campaign names it or it is plain decoding, which is the base.
    """
    every = (GREEDY, SAMPLED, TEXT)
    found = [Config(Arm(BASE, "plain"), "base", every), Config(Arm(AGAIN, "plain"), "control", (GREEDY,))]
    found += [Config(drafting(stage.lane, gamma), "candidate", every) for gamma in stage.block_sizes]
    found += [Config(Arm(lane, lane, 1 if lane == "mtp" else stage.block_sizes[0]), "candidate", every) for lane in stage.lanes]
    if winner and not any(winner.is_arm(one.arm) for one in found):
        found.append(Config(winner.arm, "candidate", every))
    speculative = drafting(stage.lane, stage.block_sizes[0])
    found.append(Config(drafting(stage.lane, stage.block_sizes[0], BROKEN), "broken", (SAMPLED, TEXT), "greedy-verify"))
    if supported({"mamba_ssm_dtype": 0}):
        found.append(Config(PLAIN.with_knobs(STATE, mamba_ssm_dtype="bfloat16"), "numeric", (GREEDY, SAMPLED)))
    for name, value in stage.silent:
        if supported({name: value}):
            found.append(Config(speculative.with_knobs(f"{name}={value}", **{name: value}), "silent", (GREEDY,)))
    return found


def label_of(winner: Winner, planned: Sequence[Config]) -> str:
    """The configuration of the gate that is the winner."""
    return next(config.arm.label for config in planned if winner.is_arm(config.arm))


def share_of(config: Config, stage: Gate, asked: Sequence[Question]) -> list[Question]:
    """What one configuration is asked: its tasks; of a control and of a silent setting, which are held token by token, the first problems."""
    own = [one for one in asked if one.task in config.tasks]
    return own[: stage.control_problems] if config.role in ("control", "silent") else own


def questions(stage: Gate, campaign: str, seed: int, held_out: HeldOut) -> list[Question]:
    """The same list for every configuration: greedy problems, sampled problems, sampled text."""
    key = seed_of(campaign, seed, "gate", "arith", 0)
    wanted = max(stage.problems, stage.sampled_problems)
    hot = Sampling(temperature=stage.temperature, top_p=stage.top_p)
    asked = []
    for number, problem in enumerate(make_problems(key, wanted, held_out=True)):
        if number < stage.problems:
            asked.append(Question(GREEDY, f"arith-{number}", problem.prompt, problem.answer, Sampling(temperature=0.0), (0,), stage.max_tokens))
    for number, problem in enumerate(make_problems(key, wanted, held_out=True)):
        if number < stage.sampled_problems:
            seeds = tuple(seed_of(campaign, seed, f"gate-{number}", "sampled", repeat) for repeat in range(stage.repeats))
            asked.append(Question(SAMPLED, f"arith-{number}", problem.prompt, problem.answer, hot, seeds, stage.max_tokens))
    prompts = held_out.prompts(Workload("gate", "en", stage.texts, 64), 64, campaign=campaign, seed=seed, repeat=0) if stage.texts else []
    for number, prompt in enumerate(prompts):
        seeds = tuple(seed_of(campaign, seed, f"gate-{number}", "text", repeat) for repeat in range(stage.text_repeats))
        asked.append(Question(TEXT, prompt.prompt_id, prompt.ids, None, hot, seeds, stage.text_tokens))
    return asked

