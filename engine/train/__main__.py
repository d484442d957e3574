"""Command line: ``python -m engine.train STAGE``, the stages in the order of their names.

data      read the text sources, train the tokenizer, write tokens and held-out files
target    train the target model for --minutes
drafters  let the target write rows for --generate-minutes, then train the draft heads
redraft   go on with DSpark at many more anchors; DFlash, gated, recurrent and confidence heads
adopt     make checkpoints of the shipped weights, so that redraft can go on from them without the training before
gate      export the checkpoints to the weights folder and measure them
export    export the target checkpoint with untrained draft heads, for a first trial
all       data, target, drafters and gate one after the other; --minutes is the whole time
"""

from __future__ import annotations

import argparse
import math
import sys
from collections.abc import Callable
from pathlib import Path

from engine.arguments import Parser

HERE = Path(__file__).parent
STAGES = ("data", "target", "drafters", "adopt", "redraft", "gate", "export", "all")
# share of the whole time: target, rows written by the target, draft heads
SHARES = (0.68, 0.04, 0.28)


def _number(kind: type, least: float, over: bool = False) -> Callable[[str], float]:
    """Type of an option that is a finite number from `least` on, or above it."""

    def parse(text: str) -> float:
        wanted = f"{'a whole' if kind is int else 'a'} number {'above' if over else 'of at least'} {least:g}"
        try:
            value = kind(text)
        except ValueError:
            raise argparse.ArgumentTypeError(f"{text!r}: expected {wanted}") from None
        if not math.isfinite(value) or value < least or (over and value == least):
            raise argparse.ArgumentTypeError(f"{text!r}: expected {wanted}")
        return value

    return parse


def parser() -> argparse.ArgumentParser:
    command = Parser(prog="python -m engine.train", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    command.add_argument("stage", choices=STAGES)
    command.add_argument("--minutes", type=_number(float, 0, over=True), default=75.0, metavar="MIN", help="wall-clock budget in minutes (default %(default)g)")
    command.add_argument(
        "--generate-minutes", type=_number(float, 0), default=4.0, metavar="MIN",
        help="stage drafters: minutes for the target's own rows; 0 keeps the rows of before (default %(default)g)",
    )
    command.add_argument("--resume", action="store_true", help="go on from the last checkpoint")
    command.add_argument("--ranks", type=_number(int, 1), default=2, metavar="N", help="training processes, one core each (default %(default)s)")
    command.add_argument(
        "--rows", type=_number(int, 1), default=600, metavar="N",
        help="stage redraft: rows of 512 tokens of each half of the cache, own and documents (default %(default)s)",
    )
    command.add_argument(
        "--again", action="append", default=[], choices=("dspark", "dflash", "confidence"),
        help="stage redraft with --resume: this phase is run although it was finished",
    )
    command.add_argument("--seed", type=_number(int, 0), default=0, metavar="N", help="stage redraft: draws other rows and anchors than a run with another seed (default %(default)s)")
    command.add_argument("--keep-tokenizer", action="store_true", help="stage data: pack with the tokenizer of the weights folder instead of training one")
    command.add_argument("--problems", type=_number(int, 1), default=100, metavar="N", help="held-out problems of the gate (default %(default)s)")
    command.add_argument(
        "--precision", choices=("auto", "float32", "bfloat16"), default="auto",
        help="arithmetic of the matrix products; auto measures which is faster here (default auto)",
    )
    command.add_argument("--work", type=Path, default=HERE / "work", metavar="DIR", help="tokens and checkpoints (default engine/train/work)")
    command.add_argument("--weights", type=Path, default=HERE.parent / "weights", metavar="DIR", help="exported weights and tokenizer (default engine/weights)")
    command.add_argument("--held-out", type=Path, default=HERE.parent / "heldout", metavar="DIR", help="held-out text for measuring (default engine/heldout)")
    return command


def whole(options: argparse.Namespace, arguments: list[str]) -> int:
    """Stage ``all``: every stage with its share of the time; stops at the first failure."""
    rest = [a for a in arguments if a != "all"]
    target, generate, draft = (str(options.minutes * share) for share in SHARES)
    for stage in (
        ["data", *rest],
        ["target", *rest, "--minutes", target],
        ["drafters", *rest, "--minutes", draft, "--generate-minutes", generate],
        ["gate", *rest],
    ):
        code = main(stage)
        if code:
            return code
    return 0


def main(arguments: list[str]) -> int:
    options = parser().parse_args(arguments)
    from engine.train import corpora, ranks

    if options.stage == "all":
        return whole(options, arguments)
    needed = {
        "target": options.work / "train_code.npz",
        "drafters": options.work / "target.pt",
        "redraft": options.work / "drafters.pt",
        "adopt": options.weights / "quality.json",
        "gate": options.work / "drafters.pt",
        "export": options.work / "target.pt",
    }.get(options.stage)
    if needed is not None and not needed.exists():
        print(f"{needed} not found: run the stage before '{options.stage}' first", file=sys.stderr)
        return 2
    if options.stage == "data":
        from engine.train import data

        try:
            data.build(options.work, options.weights, options.held_out, options.keep_tokenizer)
        except corpora.MissingSource as error:
            print(error, file=sys.stderr)
            return 2
    elif options.stage == "gate":
        from engine.train import finish

        finish.finish(options.work, options.weights, options.held_out, options.problems)
    elif options.stage == "adopt":
        from engine.train import adopt

        print(f"written to {options.work}: {', '.join(adopt.adopt(options.work, options.weights)) or 'nothing, all is there'}")
    elif options.stage == "export":
        from engine.train import export

        export.export_target(options.work, options.weights)
        export.untrained_drafters(options.weights)
    elif not ranks.is_rank():
        return ranks.launch(arguments, options.ranks)
    elif options.stage == "redraft":
        from engine.train import redraft

        redraft.redraft(redraft.RedraftRun(
            work=options.work, weights=options.weights, budget=options.minutes * 60,
            generate=options.generate_minutes * 60, rows=options.rows, resume=options.resume,
            again=tuple(options.again), seed=options.seed,
        ))
    elif options.stage == "target":
        from engine.train import target

        target.train(target.TargetRun(
            work=options.work, budget=options.minutes * 60, resume=options.resume,
            precision=options.precision,
        ))
    else:
        from engine.train import drafters

        drafters.train(drafters.DrafterRun(
            work=options.work, weights=options.weights, budget=options.minutes * 60,
            generate=options.generate_minutes * 60, resume=options.resume,
            precision=options.precision,
        ))
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
