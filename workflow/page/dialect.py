"""The dialect of content: Jinja's syntax with splice calls and four kinds of blocks, nothing else.

`{% claim "key" %}{% holds %}…{% fails %}…{% unresolved %}…{% missing %}…{% endclaim %}`, `{% absent %}…{% endabsent %}`, `{% only "campaign" %}…{% endonly %}`,
`{% define "id" %}…{% enddefine %}`. Comments are `<!--# … #-->`, since `{#id}` names a block in Markdown. Loops, filters, arithmetic and attribute access are
refused: prose computes nothing. Jinja parses (what is written as usual, `usual` reads without it); the result is a small tree of our own (`tree`), so that
every variant of every claim can be inspected and rendered, and every error names its line.
"""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache

from jinja2 import Environment, StrictUndefined, TemplateSyntaxError, nodes
from jinja2.ext import Extension

from workflow.page.errors import PageError
from workflow.page.tree import FUNCTIONS, VERDICTS, Block, Call, Claim, Node, Text, fits
from workflow.page.usual import usual


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


def parse(source: str, file: str, offset: int = 0) -> tuple[Node, ...]:
    """The tree of a source. `offset`: lines of the file above it. Raises PageError with file and line."""
    try:
        return _tree(source, offset)
    except TemplateSyntaxError as error:
        raise PageError.at(file, error.lineno + offset, error.message or "syntax error", "dialect") from None


@lru_cache(maxsize=4096)
def _tree(source: str, offset: int) -> tuple[Node, ...]:
    """The same for a text, whatever its place is called: several checks read one, and each names it in its own way."""
    found = usual(source, offset)
    return read(source, offset) if found is None else found


def read(source: str, offset: int) -> tuple[Node, ...]:
    """What Jinja makes of it. Raises TemplateSyntaxError."""
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
    if not fits(name, len(node.args), bool(node.kwargs)):
        least, most = FUNCTIONS[name]
        raise TemplateSyntaxError(f"{name}() takes {least if least == most else f'{least} or {most}'} argument(s)", node.lineno)
    return Call(name, tuple(a.value for a in node.args), node.lineno + offset, {pair.key: pair.value.value for pair in node.kwargs})
