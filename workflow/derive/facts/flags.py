"""What to type for an arm that was measured."""


def engine_flags(mode: str, lane: str, block_size: int | str = "") -> str:
    """Flags of `engine.generate` and `engine.serve` that choose an arm; plain decoding has no block size."""
    return f"--mode {mode} --lane {lane}" + (f" --block-size {block_size}" if lane != "plain" else "")
