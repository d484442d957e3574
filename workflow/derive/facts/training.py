"""How the weights came to be, as the training run recorded it and the manifests carry it."""

from workflow.derive.registry import fact


@fact("training.tokens", kind="count")
def tokens(read):
    """tokens the target saw in training"""
    return read.manifest("model.training.tokens")


@fact("training.gate_{what}", kind="count", what=("problems", "exact"))
def gate(read, what):
    """arithmetic gate of the training run: held-out problems asked, greedy answers that were exact"""
    return read.manifest(f"model.training.gate_{what}")
