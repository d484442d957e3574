"""From the tree of a source to text with placeholders: which variants speak, and what each splice call stands for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from html import escape

from workflow.derive.fact import Fact
from workflow.derive.values import UnknownKey
from workflow.page import dom
from workflow.page.errors import PageError, Problem
from workflow.page.format import FormatError, Formatter, for_programs
from workflow.page.literals import Literals
from workflow.page.lookup import Lookup
from workflow.page.placeholders import Splice, Vault
from workflow.page.speaking import speaks
from workflow.page.tree import Block, Call, Claim, Node, Text

CELLS = re.compile(r"(?<!\\)\|")
"""What parts the cells of a table row."""
FILLED_CELL = re.compile(r"<(t[dh])((?: [^<>]*)?)><data( [^<>]*)>([^<>]*)</data></\1>")
WORDED = re.compile(r"<(t[dh]|p)((?:(?! data-claim=) [^<>\s]*)*)><span( data-claim=[^<>]*)>((?:[^<]|<(?!/?span\b))*)</span></\1>")
CLASS = re.compile(r' class="([^"]*)"')
SECTION_WORDS = {"en": ("section ", ""), "zh": ("第 ", " 节")}
PLATE_WORDS = {"en": ("Plate ", ""), "zh": ("图版 ", "")}


@dataclass(frozen=True)
class Context:
    """Everything a splice call may ask for, in one language and one campaign."""

    language: str
    campaign: str
    lookup: Lookup
    formatter: Formatter
    literals: Literals
    terms: dict[str, dict]
    sections: dict[str, int]
    """Slug -> number."""
    plates: dict[str, int]
    """Plate id -> number."""
    figure: Callable[[str], str] = lambda plate: ""
    """Plate id -> HTML of the figure."""
    data_table: Callable[[str], str] = lambda plate: ""
    boxes: dict[str, str] = field(default_factory=dict)
    """Kind of box -> its heading."""
    unlinked: frozenset[str] = frozenset()
    """Plates that no shown section holds: references to them are not links."""


@dataclass(frozen=True)
class Choice:
    """Which variants of a document speak. The default is what the data say; the others let parity and tests see all of them."""

    verdict: str | None = None
    """One verdict for all claims."""
    absent: bool = False
    """The section cannot be shown: only its absent block speaks."""
    every_campaign: bool = False
    """`only` blocks of all campaigns speak."""

    @property
    def hypothetical(self) -> bool:
        """Facts may be missing: this rendering is compared, never published."""
        return self.verdict is not None or self.every_campaign


def data_element(fact: Fact, text: str, kind: str = "number") -> str:
    """The element that shows a fact."""
    return f"<data{_of_fact(fact, 'value', kind)}>{escape(text, quote=False)}</data>"


def data_cell(fact: Fact, text: str, opening: str = "td") -> str:
    """A cell that is all one fact, and so needs no element inside it. `opening`: its tag with what else it carries."""
    return f"<{opening}{_of_fact(fact, dom.CELL_VALUE)}>{escape(text, quote=False)}</{opening.partition(' ')[0]}>"


def unwrapped(html: str) -> str:
    """What holds the words of one claim and nothing else, a paragraph or a cell, or a cell one spliced number, carries the mark itself."""
    return FILLED_CELL.sub(_whole_cell, WORDED.sub(r"<\1\2\3>\4</\1>", html))


def _whole_cell(found: re.Match) -> str:
    cell, own, fact, text = found.groups()
    classes = " ".join(CLASS.findall(own + fact))
    if "word" not in classes:  # the style sheet sets a number to the right by itself
        classes = classes.removeprefix("right").strip()
    fact = fact.replace(" value=", f" {dom.CELL_VALUE}=", 1)
    return f"<{cell}{CLASS.sub('', own)}{f' class={chr(34)}{classes}{chr(34)}' if classes else ''}{CLASS.sub('', fact)}>{text}</{cell}>"


def _of_fact(fact: Fact, value: str, kind: str = "number") -> str:
    """The attributes of an element that shows a fact. `value`: the one that programs read."""
    form = "" if kind == "number" and not isinstance(fact.value, str) else "word"
    status = "" if fact.status == "measured" else fact.status
    classes = f' class="{f"{form} {status}".strip()}"' if form or status else ""
    return f'{classes} {value}="{escape(for_programs(fact), quote=True)}" data-key="{escape(fact.key, quote=True)}"'


def reason_element(reason: str, context: Context) -> str:
    """Why something is missing, in the language of the page."""
    return said_element(reason, context.formatter.reason(reason, context.language))


def said_element(text: str, said: str) -> str:
    """A program's own English `text` as the page's language says it; what is known in English alone is marked as English."""
    lang = ' lang="en"' if said == text else ""
    return f'<code class="prose"{lang}>{escape(said, quote=False)}</code>'


AS_MEASURED = Choice()
"""The verdicts of the campaign: what is published."""


@dataclass
class Splicer:
    """One document on its way to text with placeholders."""

    context: Context
    file: str
    choice: Choice = AS_MEASURED
    vault: Vault = field(default_factory=Vault)
    problems: list[Problem] = field(default_factory=list)

    def run(self, tree: Iterable[Node]) -> str:
        """Text with placeholders. Raises PageError listing every problem of the document."""
        text = self._nodes(tree, self.choice.absent)
        if self.problems:
            raise PageError(*self.problems)
        return text

    def _nodes(self, tree: Iterable[Node], silent: bool = False) -> str:
        """`silent`: only absent blocks speak."""
        parts = []
        for node in tree:
            if isinstance(node, Block):
                parts.append(self._block(node, silent))
            elif not silent:
                parts.append(node.text if isinstance(node, Text) else self._claim(node) if isinstance(node, Claim) else self._call(node))
        return "".join(parts)

    def _block(self, block: Block, silent: bool) -> str:
        if block.tag == "absent":
            return self._nodes(block.body) if silent else ""
        if silent:
            return ""
        if block.tag == "only":
            return self._nodes(block.body) if self.choice.every_campaign or block.name == self.context.campaign else ""
        if block.name not in self.context.literals.definitions:
            return self._problem(
                block.line, f"definition {block.name!r} is not declared in templates/literals.yaml or templates/literals/*.yaml"
            )
        return self._wrapped(self._nodes(block.body), "define", block.name, f'data-def="{escape(block.name)}"', "")

    def _claim(self, node: Claim) -> str:
        try:
            self.context.lookup.claim(node.key)
            verdict = self.choice.verdict or speaks(node, self.context.lookup)
        except UnknownKey as error:
            return self._problem(node.line, str(error))
        body = self._nodes(node.variants[verdict])
        attributes = f'data-claim="{escape(node.key)}" data-verdict="{verdict}"'
        return self._wrapped(body, "claim", node.key, attributes, f"claim:{node.key}", verdict)

    def _wrapped(self, body: str, kind: str, name: str, attributes: str, signature: str, verdict: str = "") -> str:
        """A span around words of one block, or marks around whole blocks."""
        whole = re.search(r"^\{#|\n[ \t]*\n", body.strip(), re.MULTILINE)
        if not whole and len(cells := CELLS.split(body)) > 1:  # an element cannot reach from one cell of a table into the next
            marks = (signature, *("" for _ in cells[1:]))
            return " | ".join(self._wrapped(cell, kind, name, attributes, mark, verdict) for cell, mark in zip(cells, marks))
        opening = self.vault.put(Splice("open", f"{kind}:{name}:{verdict}", f"<span {attributes}>", "", signature))
        closing = self.vault.put(Splice("close", f"{kind}:{name}:{verdict}", "</span>", ""))
        return f"\n\n{opening}\n\n{body.strip()}\n\n{closing}\n\n" if whole else f"{opening}{body.strip()}{closing}"

    def _call(self, call: Call) -> str:
        arguments = (*call.args, call.forms) if call.function == "plural" else call.args
        try:
            pieces = list(getattr(self, f"_{call.function}")(*arguments))
        except (UnknownKey, FormatError) as error:
            return self._problem(call.line, str(error))
        return "".join(self.vault.put(piece) if isinstance(piece, Splice) else piece for piece in pieces)

    def _problem(self, line: int, message: str) -> str:
        self.problems.append(Problem(self.file, line, "splice", message))
        return ""

    # numbers

    def _fact(self, key: str) -> Fact:
        fact = self.context.lookup.fact(key)
        if fact.missing and self.choice.hypothetical:
            return Fact(key, 1, kind="count", reason="hypothetical")
        if fact.missing:
            raise FormatError(
                f"{key} is missing in campaign {self.context.campaign} ({fact.reason}); name it in `needs`, or say it inside a claim that it decides"
            )
        return fact

    def _data(self, fact: Fact, text: str, kind: str = "number") -> Splice:
        return Splice(kind, fact.key, data_element(fact, text, kind), text, f"fact:{fact.key}")

    def _n(self, key: str, fmt: str | None = None):
        fact = self._fact(key)
        yield self._data(fact, self.context.formatter(fact, self.context.language, fmt))

    _label = _n

    def _between(self, low: str, high: str):
        facts = self._fact(low), self._fact(high)
        first, dash, last = self.context.formatter.between(*facts, self.context.language)
        yield self._data(facts[0], first)
        yield dash
        yield self._data(facts[1], last)

    def _word(self, key: str):
        fact = self._fact(key)
        yield self._data(fact, self.context.formatter.word(fact, self.context.language), "word")

    def _ordinal(self, key: str):
        fact = self._fact(key)
        yield self._data(fact, self.context.formatter.ordinal(fact, self.context.language), "word")

    def _plural(self, key: str, forms: dict[str, str]):
        fact = self._fact(key)
        noun = self.context.formatter.plural(fact, self.context.language, forms)
        yield Splice("plural", key, f'<span data-key="{escape(key, quote=True)}">{escape(noun, quote=False)}</span>', noun)

    # references and declared text

    def _numbered(self, words: tuple[str, str], key: str, number: int, target: str, linked: bool = True) -> Splice:
        before, after = words
        inner = f'{before}<data value="{number}" data-key="{escape(key, quote=True)}">{number}</data>{after}'
        html = f'<a class="ref" href="#{target}">{inner}</a>' if linked else inner
        return Splice("ref", key, html, f"{before}{number}{after}", f"ref:{key}")

    def _sec(self, slug: str):
        number = self._known(self.context.sections, slug, "section")
        yield self._numbered(SECTION_WORDS[self.context.language], f"section.{slug}", number, slug)

    def _ref(self, plate: str):
        number = self._known(self.context.plates, plate, "plate")
        yield self._numbered(
            PLATE_WORDS[self.context.language], f"plate.{plate}", number, f"plate-{plate}", plate not in self.context.unlinked
        )

    def _known(self, table: dict, name: str, what: str):
        if name not in table:
            raise FormatError(f"no {what} {name!r}; there are: {', '.join(table) or 'none'}")
        return table[name]

    def _lit(self, name: str):
        literal = self._known(self.context.literals.literals, name, "literal")
        yield Splice("lit", name, literal.html(self.context.language), literal.text[self.context.language])

    def _term(self, name: str):
        term = self._known(self.context.terms, name, "term")
        short, meaning = str(term.get("short", name)), str(term[self.context.language])
        yield Splice("term", name, f'<abbr title="{escape(meaning, quote=True)}">{escape(short, quote=False)}</abbr>', short)

    def _plate(self, plate: str):
        self._known(self.context.plates, plate, "plate")
        yield Splice("plate", plate, "" if self.choice.hypothetical else self.context.figure(plate), "", f"plate:{plate}")

    def _table(self, plate: str):
        self._known(self.context.plates, plate, "plate")
        yield Splice("table", plate, "" if self.choice.hypothetical else self.context.data_table(plate), "", f"table:{plate}")
