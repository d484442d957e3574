"""Markdown as content uses it: CommonMark with tables, footnotes, formulas, boxes and block ids; no raw HTML.

`Markdown.blocks(source)` gives the top-level blocks with their tokens, so that parity can compare them without rendering; `Markdown.html(block)`
renders one. Placeholders pass through untouched (placeholders.py).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from html import escape

from latex2mathml.converter import convert
from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_cjk_friendly import cjk_friendly
from mdit_py_plugins.attrs import attrs_block_plugin
from mdit_py_plugins.container import container_plugin
from mdit_py_plugins.dollarmath import dollarmath_plugin
from mdit_py_plugins.footnote import footnote_plugin

from workflow.page.placeholders import PRIVATE

FUNCTION = re.compile(r"<mi>(?:ln|log|exp|max|min)</mi>(?!<mo)")
"""A function's name before its argument, which the converter sets without a space."""
REFERENCE = re.compile(r"&#x((?!0*(?:22|26|27|3C|3E);)[0-9A-F]+);")
"""A character that the converter writes by number, but for those that HTML reads as its own."""
VARIABLE = re.compile(r"<mi>([^<&]|&#\w+;)</mi>")
"""A name of one letter. The style sheet slants it: left to themselves, browsers ask for the italics of a mathematical font, and where none is installed
they find γ in some bold one."""
ROW = re.compile(r"^(<math[^>]*>)<mrow>(.*)</mrow></math>$", re.DOTALL)
"""The converter puts every formula into one row; <math> is a row itself."""
LONE = re.compile(r"<mrow>(<(m[ino])>[^<]*</\2>|<msub>(?:<m[ino]>[^<]*</m[ino]>){2}</msub>)</mrow>")
"""A group of one, which groups nothing."""
BOXES = ("note", "key", "warn", "transfers")


class MarkdownError(ValueError):
    """Markdown that cannot become a page; the message says why."""


@dataclass(frozen=True)
class MdBlock:
    """One top-level block."""

    id: str | None
    kind: str
    """paragraph, bullet_list, ordered_list, table, heading, blockquote, fence, math_block, container_NAME, footnote_block"""
    tokens: tuple[Token, ...]

    def inlines(self):
        return (token for token in self.tokens if token.type == "inline")

    @property
    def links(self) -> list[str]:
        return [child.attrGet("href") for inline in self.inlines() for child in inline.children or () if child.type == "link_open"]

    @property
    def text(self) -> str:
        """Words of the block, without code and formulas."""
        return "\n".join(
            "".join(child.content for child in inline.children or () if child.type in ("text", "softbreak")) for inline in self.inlines()
        )

    @property
    def shape(self) -> tuple[int, int, int]:
        """List items, table rows, table cells."""
        kinds = [token.type for token in self.tokens]
        return kinds.count("list_item_open"), kinds.count("tr_open"), kinds.count("td_open") + kinds.count("th_open")


def formula(source: str, display: bool) -> str:
    """LaTeX to MathML. Raises MarkdownError on a macro that is not known."""
    if PRIVATE.search(source):
        raise MarkdownError(f"a spliced number cannot stand inside a formula: ${PRIVATE.sub('', source).strip()}$")
    math = convert(source.strip(), display="block" if display else "inline")
    math = FUNCTION.sub(r"\g<0><mspace width='0.17em'/>", math)
    math = LONE.sub(r"\1", ROW.sub(r"\1\2</math>", math))
    math = VARIABLE.sub(r'<mi class="var">\1</mi>', math)
    inner = re.sub(r"<[^>]*>", "", math)
    if "\\" in inner:
        raise MarkdownError(f"formula ${source.strip()}$: unknown macro {inner[inner.index(chr(92)) :].split('<')[0]!r}")
    math = REFERENCE.sub(lambda found: chr(int(found[1], 16)), math)
    math = math.replace(' xmlns="http://www.w3.org/1998/Math/MathML"', "", 1).replace(' display="inline"', "", 1)  # HTML knows both
    return math.replace("<math", f'<math data-lit="formula" alttext="{escape(source.strip(), quote=True)}"', 1)


class Markdown:
    """One configured parser; stateless between documents."""

    def __init__(self):
        md = MarkdownIt("commonmark", {"html": False}).enable("table")
        md.use(attrs_block_plugin).use(footnote_plugin).use(cjk_friendly)
        md.use(
            dollarmath_plugin,
            allow_space=False,
            allow_digits=False,
            renderer=lambda source, options: formula(source, options["display_mode"]),
        )
        for box in BOXES:
            md.use(container_plugin, box, render=_box)
        for name, rule in RULES.items():
            md.add_render_rule(name, rule)
        self._md = md

    def blocks(self, source: str, env: dict) -> list[MdBlock]:
        """Top-level blocks of a document. `env` holds the footnotes of the document: one fresh dict a document, with `docId`."""
        tokens, blocks, start, depth = self._md.parse(source, env), [], 0, 0
        for index, token in enumerate(tokens):
            depth += token.nesting  # the plugin of footnotes leaves `level` unset
            if depth == 0:
                first = tokens[start]
                kind = first.type.removesuffix("_open")
                blocks.append(MdBlock(first.attrGet("id"), kind, tuple(tokens[start : index + 1])))
                start = index + 1
        return blocks

    def html(self, block: MdBlock, env: dict) -> str:
        return self._md.renderer.render(list(block.tokens), self._md.options, env)

    def inline(self, source: str) -> str:
        """One line of text: emphasis, links and code."""
        return self._md.renderInline(source, {})


def _attributes(token: Token, **more: str) -> str:
    pairs = {**{name: str(value) for name, value in token.attrs.items() if name not in ("style", "caption")}, **more}
    return "".join(f' {name}="{escape(value, quote=True)}"' for name, value in pairs.items() if value)


def _align(token: Token) -> str:
    style = str(token.attrGet("style") or "")
    return {"right": "right", "center": "center"}.get(style.rpartition(":")[2], "")


def _box(self, tokens, index, options, env):
    token = tokens[index]
    name = token.type.split("_")[1]
    element = "aside" if name == "note" else "div"
    if token.nesting != 1:
        return f"</{element}>\n"
    title = env.get("boxes", {}).get(name)
    head = f'<p class="box-title">{title}</p>\n' if title else ""
    return f"<{element}{_attributes(token, **{'class': f'box {name}'})}>\n{head}"


def _table_open(self, tokens, index, options, env):
    token = tokens[index]
    caption = str(token.attrGet("caption") or "")
    label = f"{token.attrGet('id')}-caption"
    name = f'<caption id="{label}">{escape(caption, quote=False)}</caption>\n' if caption else ""
    role = f'role="region" aria-labelledby="{label}"' if caption else 'role="group"'
    return f'<div class="table-scroll" {role} tabindex="0"{_attributes(token)}>\n<table>\n{name}'


def _table_close(self, tokens, index, options, env):
    return "</table>\n</div>\n"


def _th_open(self, tokens, index, options, env):
    element = _head(tokens[index + 1])
    scope = ' scope="col"' if element == "th" else ""
    return f"<{element}{scope}{_attributes(tokens[index], **{'class': _align(tokens[index])})}>"


def _th_close(self, tokens, index, options, env):
    return f"</{_head(tokens[index - 1])}>"


def _head(content) -> str:
    """A corner without words heads nothing."""
    return "th" if content.content.strip() else "td"


def _first_cell(tokens, index) -> bool:
    return tokens[index - 1].type == "tr_open"


def _td_open(self, tokens, index, options, env):
    element = 'th scope="row"' if _first_cell(tokens, index) else "td"
    return f"<{element}{_attributes(tokens[index], **{'class': _align(tokens[index])})}>"


def _td_close(self, tokens, index, options, env):
    return "</th>" if tokens[index - 3].type == "tr_open" else "</td>"


def _fence(self, tokens, index, options, env):
    token = tokens[index]
    return f'<pre{_attributes(token)} tabindex="0"><code>{escape(token.content, quote=False)}</code></pre>\n'


def _math_block(self, tokens, index, options, env):
    token = tokens[index]
    return f'<div class="formula"{_attributes(token)} tabindex="0">{formula(token.content, True)}</div>\n'


def _math_inline(self, tokens, index, options, env):
    return formula(tokens[index].content, False)


def _footnote_ref(self, tokens, index, options, env):
    meta = tokens[index].meta
    number, doc = meta["id"] + 1, env["docId"]
    again = f"-{meta['subId']}" if meta.get("subId") else ""
    return f'<sup class="footnote"><a href="#{doc}-fn-{number}" id="{doc}-fnref-{number}{again}" data-lit="footnote" role="doc-noteref">{number}</a></sup>'


def _footnote_block_open(self, tokens, index, options, env):
    return '<section class="footnotes" role="doc-endnotes">\n<ol>\n'


def _footnote_open(self, tokens, index, options, env):
    return f'<li id="{env["docId"]}-fn-{tokens[index].meta["id"] + 1}">'


def _footnote_anchor(self, tokens, index, options, env):
    number = tokens[index].meta["id"] + 1
    return f' <a href="#{env["docId"]}-fnref-{number}" class="back" role="doc-backlink" aria-label="↩">↩\ufe0e</a>'


def _heading_close(self, tokens, index, options, env):
    opening = next(token for token in reversed(tokens[:index]) if token.type == "heading_open")
    anchor = opening.attrGet("id")
    link = f' <a class="anchor" href="#{anchor}" aria-hidden="true" tabindex="-1">#</a>' if anchor else ""
    return f"{link}</{tokens[index].tag}>\n"


def _link_open(self, tokens, index, options, env):
    token = tokens[index]
    external = re.match(r"https?:", str(token.attrGet("href")))
    return f"<a{_attributes(token, **({'rel': 'external noopener'} if external else {}))}>"


RULES = {
    "table_open": _table_open,
    "table_close": _table_close,
    "th_open": _th_open,
    "th_close": _th_close,
    "td_open": _td_open,
    "td_close": _td_close,
    "fence": _fence,
    "math_block": _math_block,
    "math_inline": _math_inline,
    "footnote_ref": _footnote_ref,
    "footnote_block_open": _footnote_block_open,
    "footnote_open": _footnote_open,
    "footnote_anchor": _footnote_anchor,
    "heading_close": _heading_close,
    "link_open": _link_open,
}
