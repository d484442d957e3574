"""What of the gate a server cannot give: configurations that it cannot be booted as, checks that its answers do not allow. Each with its reason.

Prompts, texts, finish reasons and token counts are all that the halves need, and every server hands them out.
"""

from __future__ import annotations

from engine import csvio
from engine.backends import backend
from engine.bench.campaign import Campaign
from engine.bench.gate_plan import Config
from engine.config import ConfigError
from engine.csvio import Row

NO_BREAKING = "a server's verifier cannot be broken on purpose"
NO_LOGPROBS = "no log probabilities are asked of a server, so nothing is held bit by bit"
NO_ROUNDS = "the server's answers do not say how many rounds they took"


def why_not(campaign: Campaign, config: Config) -> str | None:
    """Why a server cannot be booted as a configuration; None where it can, and of the embedded engine, which is whatever the gate asks for.

    Plain decoding is every server's own: where its boot fails, that is a fault to be told and nothing to leave out.
    """
    if campaign.server is None or config.role in ("base", "control"):
        return None
    if config.fault:
        return NO_BREAKING
    arm = config.arm
    try:
        backend(campaign.backend).flags.words(campaign.server.boot(arm.lane, arm.block_size, dict(arm.knobs)))
    except ConfigError as error:
        return str(error)
    return None


def skipped_row(campaign: Campaign, config: Config, why: str) -> Row:
    """The row of a configuration that was not asked anything."""
    arm = config.arm
    return csvio.skipped("gate", why, campaign=campaign.name, config=arm.label, role=config.role, lane=arm.lane, block_size=arm.block_size)


def printable(text: str) -> str:
    """Text as a file can hold it: half a surrogate pair and NUL are replaced."""
    return text.encode("utf8", "replace").decode("utf8").replace("\0", "\N{REPLACEMENT CHARACTER}")
