"""One section, or one short text, spliced and parsed: blocks with ids, claims and signatures, and their HTML."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass

from workflow.page.content import Section
from workflow.page.errors import PageError, Problem
from workflow.page.markdown import Markdown, MarkdownError, MdBlock
from workflow.page.placeholders import MARK, START, Splice
from workflow.page.spacing import space_splices
from workflow.page.splice import AS_MEASURED, Choice, Context, Splicer, unwrapped
from workflow.page.tree import Node

MARKDOWN = Markdown()
EQUALS = re.compile(f"([A-Za-zγτ]) = (?={START})")
"""`γ = ` before a number: does not break."""


@dataclass(frozen=True)
class DocBlock:
    """One block of a section. `id` is local to the section; the page id is `slug-id`."""

    id: str
    kind: str
    claims: tuple[tuple[str, str], ...]
    """Claims around the block or inside it, with the verdict that speaks."""
    signature: Counter
    """What its twin in the other language must show too."""
    text: str
    html: str


def spliced(tree: tuple[Node, ...], splicer: Splicer) -> str:
    text = EQUALS.sub("\\1\u00a0=\u00a0", splicer.run(tree))
    return space_splices(text, splicer.vault) if splicer.context.language == "zh" else text


def inline(tree: tuple[Node, ...], context: Context, file: str, choice: Choice = AS_MEASURED) -> str:
    """A short text as HTML: emphasis, links, code and splices, no blocks."""
    splicer = Splicer(context, file, choice)
    return splicer.vault.fill(MARKDOWN.inline(spliced(tree, splicer)))


def plain(tree: tuple[Node, ...], context: Context, file: str, choice: Choice = AS_MEASURED) -> tuple[str, tuple[str, ...]]:
    """A short text where no element can stand, and the keys of its facts."""
    splicer = Splicer(context, file, choice)
    text = spliced(tree, splicer)
    keys = dict.fromkeys(s.key for s in splicer.vault.items if s.kind in ("number", "word", "plural", "ref"))
    return splicer.vault.plain(text).strip(), tuple(keys)


def document(
    section: Section, context: Context, choice: Choice = AS_MEASURED, render: bool = True, tree: tuple[Node, ...] | None = None
) -> list[DocBlock]:
    """The blocks that speak under a choice. Raises PageError with every problem found.

    `render=False` leaves HTML out (parity needs none); `tree`: a part of the section instead of all of it.
    """
    splicer = Splicer(context, section.file, choice)
    text = spliced(section.tree if tree is None else tree, splicer)
    vault, env = splicer.vault, {"docId": section.slug, "boxes": context.boxes}
    blocks: list[DocBlock] = []
    problems: list[Problem] = []
    open_claims: list[tuple[str, str]] = []
    seen: set[str] = set()
    for block in MARKDOWN.blocks(text, env):
        splices = _splices(block, vault)
        if block.kind == "paragraph" and splices and not _visible(block, vault):
            if block.id is None and len(splices) == 1:
                _move(open_claims, splices[0])  # a mark before or after whole blocks
            continue  # or a variant that says nothing
        kind, name = block.kind, block.id
        if lone := _lone(block, splices):
            kind, name = lone.kind, f"{lone.kind}-{lone.key}"
        if name is None and kind != "footnote_block":
            problems.append(
                Problem(
                    section.file,
                    section.line_with(_first_words(block), None),
                    "block id",
                    f"this {kind.replace('_', ' ')} has no id: put a line {{#some-id}} above it",
                )
            )
            continue
        name = name or "footnotes"
        if name in seen:
            problems.append(Problem(section.file, section.line_of(name), "block id", f"the id {name} stands twice in this section"))
        seen.add(name)
        inner = [tuple(s.key.split(":")[1:3]) for s in splices if s.kind == "open" and s.key.startswith("claim:")]
        try:
            html = _html(block, lone, section.slug, name, open_claims, vault, env) if render else ""
        except MarkdownError as error:
            problems.append(Problem(section.file, section.line_of(name), "markdown", str(error)))
            continue
        visible = MARK.sub(" ", block.text)
        signature = _signature(block, splices, kind) + Counter(f"claim:{key}" for key, _ in open_claims)
        blocks.append(DocBlock(name, kind, (*open_claims, *inner), signature, visible, html))
    if problems:
        raise PageError(*problems)
    return blocks


def _splices(block: MdBlock, vault) -> list[Splice]:
    found = []
    for token in block.tokens:
        if token.type == "inline" or not token.children and token.content:
            found += vault.found(token.content)
        if caption := token.attrs.get("caption"):
            found += vault.found(str(caption))
    return found


def _visible(block: MdBlock, vault) -> bool:
    """Whether anything but marks stands in a paragraph."""
    return any(
        MARK.sub(lambda m: "" if vault.get(m).kind in ("open", "close") else "x", token.content).strip() for token in block.inlines()
    )


def _move(open_claims: list[tuple[str, str]], mark: Splice) -> None:
    if not mark.key.startswith("claim:"):
        return
    if mark.kind == "open":
        open_claims.append(tuple(mark.key.split(":")[1:3]))
    else:
        open_claims.pop()


def _lone(block: MdBlock, splices: list[Splice]) -> Splice | None:
    """The plate or table that is all of a paragraph."""
    if block.kind == "paragraph" and len(splices) == 1 and splices[0].kind in ("plate", "table") and not MARK.sub("", block.text).strip():
        return splices[0]
    return None


def _first_words(block: MdBlock) -> str:
    for token in block.tokens:
        if words := re.split("[\ue000-\uf8ff]", token.content)[0].strip():
            return words.splitlines()[0]
    return "\0"


def _signature(block: MdBlock, splices: list[Splice], kind: str) -> Counter:
    items, rows, cells = block.shape
    signature = Counter(splice.signature for splice in splices if splice.signature)
    signature.update(f"link:{href}" for href in block.links)
    signature[f"kind:{kind}"] += 1
    for name, count in (("list items", items), ("table rows", rows), ("table cells", cells)):
        if count:
            signature[name] = count
    return signature


def _html(block: MdBlock, lone: Splice | None, slug: str, name: str, claims: list[tuple[str, str]], vault, env: dict) -> str:
    if lone:
        return vault.fill(lone.html)
    opening = block.tokens[0]
    if block.kind != "footnote_block":
        opening.attrSet("id", f"{slug}-{name}")
    if claims:
        opening.attrSet("data-claim", " ".join(key for key, _ in claims))
        opening.attrSet("data-verdict", " ".join(verdict for _, verdict in claims))
    return unwrapped(vault.fill(MARKDOWN.html(block, env)))
