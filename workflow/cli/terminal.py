"""Where trees and tables are printed."""

from rich.console import Console


class Terminal(Console):
    """Rich's console, but a reader that leaves is told by the command like any other end, not by an exit of its own."""

    def on_broken_pipe(self) -> None:
        raise BrokenPipeError
