"""Scripts and style sheets as they are served: comments, indentation and long local names are for those who read the source."""

from __future__ import annotations

from pathlib import Path

import minify

from workflow.page.errors import PageError

KINDS = {".js": "text/javascript", ".css": "text/css"}


def served(file: Path) -> bytes:
    """The file for the site. Raises PageError where it cannot be read as what its name says, KeyError on a name that says nothing."""
    try:
        return (minify.string(KINDS[file.suffix], file.read_text("utf8")) + "\n").encode()
    except minify.MinifyError as error:
        raise PageError.at(str(file), 0, str(error).splitlines()[0], "assets") from None
