"""Cases of the ledger from a campaign: every content class and block size of its block-size sweep, or the figures of a publication."""

from __future__ import annotations

from workflow.derive.evaluate import Derivation
from workflow.derive.ledger import acceptance, table
from workflow.derive.ledger.entry import Entry

TERMS = {
    "decode_ms": "division.{content}.decode_ms",
    "tau": "window.{content}.g{gamma}.emitted_per_round",
    "draft_ms": "division.{content}.g{gamma}.draft_ms",
    "verify_ms": "division.{content}.g{gamma}.verify_ms",
    "commit_ms": "division.{content}.g{gamma}.commit_ms",
    "other_ms": "division.other_ms",
    "round_other_ms": "division.{content}.g{gamma}.round_other_ms",
}
PUBLISHED = {
    "as published": {
        "decode_tok_s": "plain_tok_s", "p": "p", "draft_ms": "t_draft_ms", "verify_ms": "t_verify_ms", "verify_gpu_ms": "t_verify_gpu_ms",
        "measured_tok_s": "spec_tok_s",
    },
    "short run": {"decode_tok_s": "plain_tok_s", "p": "p_48", "draft_ms": "t_draft_ms", "verify_ms": "t_verify_ms"},
}  # fmt: skip
"""Case -> figure of the ledger -> its name in figures.csv."""
OPTIONAL = ("other_ms", "round_other_ms")


def entries(derivation: Derivation) -> tuple[list[Entry], str]:
    """The cases, and why there are none."""
    found, reason = [], ""
    for content in derivation.domains["content"]:
        for gamma in derivation.domains["gamma"]:
            facts = {name: derivation.result(key.format(content=content, gamma=gamma)).fact for name, key in TERMS.items()}
            lacking = [fact for name, fact in facts.items() if fact.missing and name not in OPTIONAL]
            if lacking:
                reason = reason or lacking[0].reason
                continue
            figures = {name: fact.value for name, fact in facts.items() if not fact.missing}
            predicted = derivation.result(f"division.{content}.g{gamma}.predicted").fact
            measured = derivation.result(f"division.{content}.g{gamma}.measured").fact
            token_ms = figures["decode_ms"] + figures.get("other_ms", 0.0)
            found.append(
                Entry(
                    f"{content} γ={gamma}",
                    gamma=gamma,
                    content=content,
                    predicted_speedup=None if predicted.missing else predicted.value,
                    measured_tok_s=None if measured.missing else measured.value * 1000 / token_ms,
                    acceptance=trust(derivation, content, gamma),
                    **figures,
                )
            )
    return found or published(derivation), reason


def published(derivation: Derivation) -> list[Entry]:
    """The cases that a transcribed campaign's figures allow."""
    found = []
    for name, wanted in PUBLISHED.items():
        facts = {
            key: derivation.definitions.get(f"figure.{figure}") and derivation.result(f"figure.{figure}").fact
            for key, figure in wanted.items()
        }
        if all(fact is not None and not fact.missing for fact in facts.values()):
            steps = {"steps": 48.0} if name == "short run" else {}
            found.append(table.entry({key: fact.value for key, fact in facts.items()} | steps, name))
    return found


def trust(derivation: Derivation, content: str, gamma: int) -> acceptance.Acceptance | None:
    """Acceptance of one cell with every prompt a cluster; None without request rows."""
    rows_of = derivation.campaign.find("requests", "window")
    if rows_of is None or content == "all":
        return None
    rows = rows_of.select(
        {"point_status": "ok", "status": "ok", "stage": "window", "content": content, "lane": "dspark", "block_size": gamma}
    )
    prompts: dict[str, list[float]] = {}
    for i in rows:
        counts = [float(text) for text in rows_of.columns["accepted_histogram"][i].split(";") if text]
        sums = prompts.setdefault(rows_of.columns["prompt_id"][i], [0.0, 0.0, 0.0])
        for power in range(3):
            sums[power] += sum(n * k**power for k, n in enumerate(counts))
    if not any(sums[0] for sums in prompts.values()):
        return None
    rounds, accepted, squares = zip(*prompts.values())
    return acceptance.of_clusters(rounds, accepted, gamma, squares)
