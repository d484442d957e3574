"""Whom a citation names: the authors of a campaign, as its campaign.yaml tells them, or those of the project where it tells none."""

from __future__ import annotations

from workflow.derive.fact import Cell, Fact

PROJECT = "Soundings contributors"
KEY = "site.authors"
BIBTEX = "site.authors_bibtex"
"""The same as BibTeX parts names; a project is one name, in braces."""


def author_facts(names: tuple[str, ...]) -> dict[str, Fact]:
    """Key -> fact, for a line of text and for BibTeX. A fact with a source is what campaign.yaml says."""
    source = (Cell("campaign.yaml", "authors", ""),) if names else ()
    formula = "authors in campaign.yaml" if names else "those of the project: campaign.yaml names no authors"
    texts = {KEY: ", ".join(names) or PROJECT, BIBTEX: " and ".join(names) or f"{{{PROJECT}}}"}
    return {key: Fact(key, text, kind="label", status="transcribed", formula=formula, source=source) for key, text in texts.items()}
