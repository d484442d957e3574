"""Sources as they are usually written, read without Jinja, which takes ten times as long over the same texts.

Whatever is written in another way, or wrong, is left to Jinja: it knows the whole syntax, and what to say of a mistake.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from workflow.page.tree import FUNCTIONS, VERDICTS, Block, Call, Claim, Node, Text, fits

SPECIAL = re.compile(r"\{[{%]|<!--#|\r")
"""What Jinja would do anything about: openings, and line ends that it makes \\n."""
STRING = r'"[^"\\\r\n]*"'
USUAL = re.compile(rf"(?<!\{{)(?:\{{\{{ (\w+)\(({STRING}(?:, {STRING})*(?:, [a-z]+={STRING})*)\) \}}\}}|\{{% (\w+)(?: ({STRING}))? %\}})")
"""`{{ function("argument", form="text") }}`, `{% tag "name" %}`."""
ARGUMENT = re.compile(rf"(?:([a-z]+)=)?({STRING})")


@dataclass
class _Open:
    """A block whose end has not come, or the document itself."""

    tag: str = ""
    name: str = ""
    line: int = 0
    nodes: list[Node] = field(default_factory=list)
    variants: list[tuple[Node, ...]] = field(default_factory=list)
    """Of a claim: what stands before its first variant, then the variants that are read."""


def usual(source: str, offset: int) -> tuple[Node, ...] | None:
    """The tree of a source; None where Jinja has to read it. `offset`: lines of the file above it."""
    if not SPECIAL.search(source):
        return (Text(source),) if source else ()  # most strings are plain
    blocks, at, line = [_Open()], 0, offset + 1
    for match in USUAL.finditer(source):
        if not _text(source[at : match.start()], blocks[-1].nodes):
            return None
        line += source.count("\n", at, match.start())
        at = match.end()
        function, arguments, tag, name = match.groups()
        if not (_call(function, arguments, line, blocks[-1].nodes) if function else _tag(tag, name, line, blocks)):
            return None
    return tuple(blocks[0].nodes) if _text(source[at:], blocks[-1].nodes) and len(blocks) == 1 else None


def _text(text: str, nodes: list[Node]) -> bool:
    if text:
        nodes.append(Text(text))
    return not SPECIAL.search(text)


def _call(function: str, arguments: str, line: int, nodes: list[Node]) -> bool:
    given = [(form, text[1:-1]) for form, text in ARGUMENT.findall(arguments)]
    forms = {form: text for form, text in given if form}
    count = len(given) - len(forms)
    nodes.append(Call(function, tuple(text for _, text in given[:count]), line, forms))
    return function in FUNCTIONS and fits(function, count, bool(forms))


def _tag(tag: str, name: str | None, line: int, blocks: list[_Open]) -> bool:
    """Open or close a block, or begin a claim's next variant; whether that is as it should be."""
    block = blocks[-1]
    if tag in ("claim", "only", "define", "absent"):
        blocks.append(_Open(tag, (name or '""')[1:-1], line))
        return (name is None) == (tag == "absent") and not (tag == "claim" and any(one.tag == "claim" for one in blocks[:-1]))
    if name is not None or not block.tag:
        return False
    if block.tag == "claim":
        if tag != (*VERDICTS, "endclaim")[len(block.variants)]:
            return False
        block.variants.append(tuple(block.nodes))
        block.nodes = []
        if tag != "endclaim":
            return True
        lead, *variants = block.variants
        node, wrong = Claim(block.name, dict(zip(VERDICTS, variants)), block.line), any(not isinstance(one, Text) or one.text.strip() for one in lead)
    else:
        node, wrong = Block(block.tag, block.name, tuple(block.nodes), block.line), tag != f"end{block.tag}"
    blocks.pop()
    blocks[-1].nodes.append(node)
    return not wrong
