"""``quality.json`` as a Markdown page, so that the weights carry readable figures."""

from __future__ import annotations


def _row(cells: list[object]) -> str:
    return "| " + " | ".join(str(cell) for cell in cells) + " |"


def markdown(quality: dict) -> str:
    """Tables of losses, gate and accept lengths."""
    gate = quality["gate"]
    lines = [
        "# Quality of the shipped weights",
        "",
        "Written by `python -m engine.train gate`; the same figures are in `quality.json`.",
        "",
        f"Tokens seen by the target: {quality['tokens_seen']:,}. Arithmetic gate: "
        f"{gate['exact']} of {gate['problems']} answers exact, {gate['whole_text']} worked texts "
        f"exact, {gate['in_format']} in format (greedy, held-out problems).",
        "",
        _row(["class", "nats/token", "bits/byte", "target top-1"]),
        _row(["---"] * 4),
    ]
    acceptance = quality["acceptance"]
    for name, loss in quality["held_out_nats_per_token"].items():
        lines.append(_row([
            name, loss, quality["held_out_bits_per_byte"][name],
            acceptance[name]["teacher_forced"]["target_top1"],
        ]))
    for mode, single in (("teacher_forced", "mtp_agreement"), ("free_running", "mtp_acceptance")):
        title = mode.replace("_", "-")
        gammas = list(acceptance["arith"][mode]["accept_length"])
        lines += [
            "",
            f"## Accept length, {title}",
            "",
            "Tokens a round yields with greedy drafts, by block width; the MTP column is the "
            "share of its single draft that is accepted.",
            "",
            _row(["class", *(f"γ={g}" for g in gammas), "MTP", "distinct 4-grams"]),
            _row(["---"] * (len(gammas) + 3)),
        ]
        for name, both in acceptance.items():
            figures = both[mode]
            lines.append(_row([
                name, *figures["accept_length"].values(), figures[single],
                figures.get("distinct_4gram_share", "—"),
            ]))
    return "\n".join(lines) + "\n"
