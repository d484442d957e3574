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
    lines += _redraft(quality.get("redraft"))
    return "\n".join(lines) + "\n"


def _redraft(redraft: dict | None) -> list[str]:
    """Section on what stage ``redraft`` changed; nothing where it was not run."""
    if redraft is None:
        return []
    anchors = redraft["anchors"]
    calibration = redraft["calibration"]
    lines = [
        "",
        "## Before and after `redraft`",
        "",
        f"DSpark went on from its first checkpoint for {anchors['dspark']:,} anchors more; DFlash began at its backbone and had "
        f"{anchors['dflash']:,}, the two other Markov heads {anchors['heads']:,}, half of them in rows the target wrote. "
        + ("The new DSpark is shipped." if redraft["shipped"] else "The new DSpark is not better and is not shipped, nor what stands on it."),
        "",
        f"Confidence head: calibration error of the cumulative product {calibration['ece_before']:.4f} before and "
        f"{calibration['ece_after']:.4f} after sequential temperature scaling, on the {calibration['num_samples']:,} blocks it was fitted on (rows the head did not train on).",
    ]
    titles = {"free_running": "on the target's own greedy text", "documents": "on held-out documents, against the target's argmax"}
    for mode, title in titles.items():
        first = next(iter(redraft["compared"].values()))
        gammas = list(next(iter(first.values()))[mode])
        lines += ["", f"Accept length {title}:", "", _row(["class", "drafter", *(f"γ={g}" for g in gammas)]), _row(["---"] * (len(gammas) + 2))]
        for name, drafters in redraft["compared"].items():
            lines += [_row([name, label, *figures[mode].values()]) for label, figures in drafters.items()]
    return lines
