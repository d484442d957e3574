"""The drafter."""

from workflow.derive.claims.kinds import above, below
from workflow.derive.registry import claim


@claim("dspark.serial_draft_cheap", kind="bound")
def serial_draft_cheap(read):
    """Drafting, its serial part included, takes less than the bound's share of a round."""
    read.cite(
        "dspark.verify_share",
        "dspark.commit_share",
        "dspark.round.draft_ms",
        "dspark.round.verify_ms",
        "dspark.round.commit_ms",
        "dspark.round.total_ms",
        "dspark.plain_ms",
        "lanes.gamma",
    )
    return below(read["dspark.draft_share"], read.threshold("dspark.serial_draft_cheap"))


@claim("dspark.marginal_token_decays", kind="direction", says=("fall",))
def marginal_token_decays(read):
    """A draft deep in the block is accepted less often than the first one, given that all before it were, all contents."""
    read.cite("window.widest_gamma", *(f"window.all.accept_at_pos.{slot}" for slot in range(1, 8)))
    if round(read["window.widest_gamma"].value) < 2:
        read.unresolved("one draft only")
    return above(read["dspark.first_accept"], read["dspark.last_accept"])
