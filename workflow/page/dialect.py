"""The dialect of content: Jinja's syntax with splice calls and four kinds of blocks, nothing else.

`{% claim "key" %}{% holds %}…{% fails %}…{% unresolved %}…{% missing %}…{% endclaim %}`, `{% absent %}…{% endabsent %}`, `{% only "campaign" %}…{% endonly %}`,
`{% define "id" %}…{% enddefine %}`. Comments are `<!--# … #-->`, since `{#id}` names a block in Markdown. Loops, filters, arithmetic and attribute access are
refused: prose computes nothing. Jinja parses; the result is a small tree of our own, so that every variant of every claim can be inspected and
rendered, and every error names its line.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import lru_cache

from jinja2 import Environment, StrictUndefined, TemplateSyntaxError, nodes
from jinja2.ext import Extension

from workflow.page.errors import PageError

VERDICTS = ("holds", "fails", "unresolved", "missing")
FUNCTIONS = {"n": (1, 2), "between": (2, 2), "word": (1, 1), "ordinal": (1, 1), "plural": (1, 1), "label": (1, 1), "sec": (1, 1), "ref": (1, 1), "lit": (1, 1),
             "term": (1, 1), "plate": (1, 1), "table": (1, 1)}  # fmt: skip
"""Splice functions and how many arguments they take; plural also takes its forms by name."""


@dataclass(frozen=True)
class Text:
    text: str


@dataclass(frozen=True)
class Call:
    """One splice call."""

    function: str
    args: tuple[str, ...]
    line: int
    forms: dict[str, str] = field(default_factory=dict)
    """plural's one=, few=, other="""


@dataclass(frozen=True)
class Claim:
    key: str
    variants: dict[str, tuple[Node, ...]]
    line: int


@dataclass(frozen=True)
class Block:
    """absent, only or define."""

    tag: str
    name: str
    body: tuple[Node, ...]
    line: int


Node = Text | Call | Claim | Block


class Blocks(Extension):
    """Jinja's parser side of the four blocks."""

    tags = frozenset({"claim", "absent", "only", "define"})

    def parse(self, parser):
        tag, line = parser.stream.current.value, next(parser.stream).lineno
        if tag == "claim":
            return self._claim(parser, line)
        name = nodes.Const("") if tag == "absent" else self._name(parser, tag, line)
        body = parser.parse_statements((f"name:end{tag}",), drop_needle=True)
        return self._keep(tag, name, body, line)

    def _claim(self, parser, line: int):
        key = self._name(parser, "claim", line)
        lead = parser.parse_statements(("name:holds",), drop_needle=True)
        if not all(
            isinstance(n, nodes.Output) and all(isinstance(c, nodes.TemplateData) and not c.data.strip() for c in n.nodes) for n in lead
        ):
            parser.fail(f'claim "{key.value}": text before its holds variant', line)
        variants = []
        for verdict, end in zip(VERDICTS, (*VERDICTS[1:], "endclaim")):
            start = parser.stream.current.lineno
            body = parser.parse_statements((f"name:{end}",), drop_needle=True)
            variants.append(self._keep("variant", nodes.Const(verdict), body, start))
        return self._keep("claim", key, variants, line)

    @staticmethod
    def _name(parser, tag: str, line: int) -> nodes.Const:
        argument = parser.parse_expression()
        if not isinstance(argument, nodes.Const) or not isinstance(argument.value, str):
            parser.fail(f"{tag} takes one name in quotes", line)
        return argument

    def _keep(self, tag: str, name: nodes.Const, body: list, line: int) -> nodes.CallBlock:
        return nodes.CallBlock(self.call_method("_", [nodes.Const(tag), name]), [], [], body, lineno=line)


ENVIRONMENT = Environment(
    extensions=[Blocks],
    undefined=StrictUndefined,
    comment_start_string="<!--#",
    comment_end_string="#-->",
    keep_trailing_newline=True,
)


SPECIAL = re.compile(r"\{[{%]|<!--#|\r")
"""What Jinja would do anything about: openings, and line ends that it makes \\n."""


def parse(source: str, file: str, offset: int = 0) -> tuple[Node, ...]:
    """The tree of a source. `offset`: lines of the file above it. Raises PageError with file and line."""
    try:
        return _tree(source, offset)
    except TemplateSyntaxError as error:
        raise PageError.at(file, error.lineno + offset, error.message or "syntax error", "dialect") from None


@lru_cache(maxsize=4096)
def _tree(source: str, offset: int) -> tuple[Node, ...]:
    """The same for a text, whatever its place is called: several checks read one, and each names it in its own way."""
    if not SPECIAL.search(source):
        return (Text(source),) if source else ()  # most strings are plain
    return tuple(_convert(ENVIRONMENT.parse(source).body, offset, False))


def _convert(body: list, offset: int, in_claim: bool) -> Iterator[Node]:
    for node in body:
        match node:
            case nodes.Output():
                yield from _convert(node.nodes, offset, in_claim)
            case nodes.TemplateData():
                yield Text(node.data)
            case nodes.Call():
                yield _call(node, offset)
            case nodes.CallBlock():
                yield _block(node, offset, in_claim)
            case _:
                what = type(node).__name__.lower()
                raise TemplateSyntaxError(f"{what} is not part of the content dialect; there are splice calls and claim, absent, only, define", node.lineno)


def _block(node: nodes.CallBlock, offset: int, in_claim: bool) -> Node:
    tag, name = (argument.value for argument in node.call.args)
    line = node.lineno + offset
    if tag != "claim":
        return Block(tag, name, tuple(_convert(node.body, offset, in_claim)), line)
    if in_claim:
        raise TemplateSyntaxError(f'claim "{name}" stands inside another claim; write them side by side', node.lineno)
    variants = {v.call.args[1].value: tuple(_convert(v.body, offset, True)) for v in node.body}
    return Claim(name, variants, line)


def _call(node: nodes.Call, offset: int) -> Call:
    name = node.node.name if isinstance(node.node, nodes.Name) else ""
    if name not in FUNCTIONS:
        raise TemplateSyntaxError(f"unknown splice function {name or '(none)'}; there are: {', '.join(FUNCTIONS)}", node.lineno)
    arguments = [*node.args, *(pair.value for pair in node.kwargs)]
    if node.dyn_args or node.dyn_kwargs or not all(isinstance(a, nodes.Const) and isinstance(a.value, str) for a in arguments):
        raise TemplateSyntaxError(f"{name}(): every argument is a text in quotes", node.lineno)
    least, most = FUNCTIONS[name]
    if not least <= len(node.args) <= most or (node.kwargs and name != "plural"):
        raise TemplateSyntaxError(f"{name}() takes {least if least == most else f'{least} or {most}'} argument(s)", node.lineno)
    return Call(name, tuple(a.value for a in node.args), node.lineno + offset, {pair.key: pair.value.value for pair in node.kwargs})


@dataclass(frozen=True)
class Use:
    """A splice call with the blocks around it, whether its variant is chosen or not."""

    call: Call
    claim: str | None = None
    verdict: str | None = None
    absent: bool = False


def uses(tree: tuple[Node, ...], claim: str | None = None, verdict: str | None = None, absent: bool = False) -> Iterator[Use]:
    """Every call of a tree, in all variants."""
    for node in tree:
        match node:
            case Call():
                yield Use(node, claim, verdict, absent)
            case Claim():
                for name, body in node.variants.items():
                    yield from uses(body, node.key, name, absent)
            case Block():
                yield from uses(node.body, claim, verdict, absent or node.tag == "absent")


def claims(tree: tuple[Node, ...]) -> Iterator[Claim]:
    """Every claim block of a tree."""
    for node in tree:
        if isinstance(node, Claim):
            yield node
        elif isinstance(node, Block):
            yield from claims(node.body)
