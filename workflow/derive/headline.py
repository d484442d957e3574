"""The headline claims: what the report's advice and its one-minute summary rest on, listed here and nowhere else."""

CONFIRMED = "search.winner_confirmed"
"""Judged by the rule of the search itself."""
GROUPS = (
    ("output_throughput", ("lanes.spec_wins_at_one", "lanes.crossover_exists", *(f"run.band.{band}.verdict" for band in ("one", "few", "many")))),
    ("mean_tpot_ms", (*(f"run.{content}.verdict" for content in ("arith", "code", "en", "zh")), "lanes.best_absolute")),
    ("mean_tpot_ms", ("figures.verify_cheap",)),
    ("output_throughput", ("cache.wins_on_shared",)),
    ("mean_tpot_ms", (CONFIRMED,)),
)
"""Those that rest on log ratios paired by boot: (metric, claims). Within a group the ratios are of one kind, and scatter alike."""
TESTED = tuple(claim for _, claims in GROUPS for claim in claims)
"""The family whose p values are adjusted together."""
BOUNDED = ("accept.flat_over_batch", "division.predicts", "loss.step_dominates", "noise.small")
"""The others: bounds on gaps, shares and counts, which no test of a mean ratio judges."""
