"""The two languages of a section say the same: block by block, and in every variant of every claim.

Compared per block id: facts, claims, references, plates, tables, links, list lengths, table shapes, and the classes of rank words; of direction words where
the block states a claim.
"""

from __future__ import annotations

import re
from collections import Counter

from workflow.page.content import Section
from workflow.page.dialect import parse
from workflow.page.document import DocBlock, document
from workflow.page.errors import Problem
from workflow.page.lint_chinese import CODE
from workflow.page.lint_numbers import DIGITS
from workflow.page.placeholders import MARK
from workflow.page.splice import Choice, Context, Splicer
from workflow.page.strings import Strings
from workflow.page.tree import VERDICTS, Node, Text, claims
from workflow.page.words import Words

BEFORE_ID = re.compile(r"^(?=\{#)", re.MULTILINE)


def choices(section: Section) -> list[tuple[str, Choice]]:
    """Every way a section can speak that must be compared."""
    verdicts = VERDICTS if any(True for _ in claims(section.tree)) else VERDICTS[:1]
    every = [(f"variant {verdict}", Choice(verdict=verdict, every_campaign=True)) for verdict in verdicts]
    return [*every, ("absent", Choice(absent=True, every_campaign=True))]


def compare(english: Section, chinese: Section, contexts: dict[str, Context], words: Words) -> list[Problem]:
    """Differences between the twins. Raises PageError when one of them cannot be parsed at all."""
    problems = [
        Problem(chinese.file, 1, "parity", f"front matter `{name}` differs from {english.file}")
        for name in ("slug", "needs", "plates", "equations")
        if getattr(english, name) != getattr(chinese, name)
    ]
    whole = {"en": english, "zh": chinese}
    varying = {language: with_claims(section.tree) for language, section in whole.items()}
    for name, choice in choices(english):
        # what holds no claim says the same under every verdict, and was compared under the first
        trees = {} if choice.absent or choice.verdict == VERDICTS[0] else varying
        twins = {
            language: document(section, contexts[language], choice, render=False, tree=trees.get(language))
            for language, section in whole.items()
        }
        problems += _blocks(english, chinese, twins, name, words)
        for language, section in (("en", english), ("zh", chinese)):
            problems += [problem for block in twins[language] for problem in _typed(section, block, language, name, words)]
    return list(dict.fromkeys(problems))


def with_claims(tree: tuple[Node, ...]) -> tuple[Node, ...]:
    """The parts of a document, from one block id to the next, that hold a claim; all of it where footnotes tie parts together."""
    parts: list[list[Node]] = [[]]
    for node in tree:
        if not isinstance(node, Text):
            parts[-1].append(node)
            continue
        if "[^" in node.text:
            return tree
        for piece in BEFORE_ID.split(node.text):
            if piece.startswith("{#") and not _open(parts[-1]):
                parts.append([])
            parts[-1].append(Text(piece))
    return tuple(node for part in parts if any(True for _ in claims(tuple(part))) for node in part)


def _open(part: list[Node]) -> bool:
    """Whether a box or a code fence is open at the end of a part."""
    lines = [line for node in part if isinstance(node, Text) for line in node.text.splitlines()]
    boxes = sum(1 if line.strip(": ") else -1 for line in lines if line.startswith(":::"))
    return boxes > 0 or sum(line.startswith("```") for line in lines) % 2 == 1


def _typed(section: Section, block: DocBlock, language: str, variant: str, words: Words) -> list[Problem]:
    """Typed numbers, also in variants that do not speak today and are on no page yet."""
    found = [("typed digit", digits) for digits in DIGITS.findall(block.text)]
    found += [("number word", word) for word in words.numbers_in(block.text, language)]
    return [
        Problem(
            section.file,
            section.line_with(text, block.id) or section.line_of(block.id),
            check,
            f"“{text}” in block {block.id} ({variant}) is neither spliced nor declared",
        )
        for check, text in found
    ]


def _blocks(english: Section, chinese: Section, twins: dict[str, list[DocBlock]], variant: str, words: Words) -> list[Problem]:
    tables = {language: {block.id: block for block in blocks} for language, blocks in twins.items()}
    problems = []
    for here, there, section in (("en", "zh", english), ("zh", "en", chinese)):
        for name in tables[here].keys() - tables[there].keys():
            problems.append(Problem(section.file, section.line_of(name), "parity", f"block {name} has no twin in {there} ({variant})"))
    order = {language: [name for name in tables[language] if name in tables["en"].keys() & tables["zh"].keys()] for language in tables}
    if order["en"] != order["zh"]:
        first = next(a for a, b in zip(order["en"], order["zh"]) if a != b)
        problems.append(
            Problem(chinese.file, chinese.line_of(first), "parity", f"blocks stand in another order, from {first} on ({variant})")
        )
    for name in order["en"]:
        problems += _block(tables["en"][name], tables["zh"][name], chinese, variant, words)
    return problems


def _block(en: DocBlock, zh: DocBlock, section: Section, variant: str, words: Words) -> list[Problem]:
    problems = []
    if en.signature != zh.signature and (differs := _differences(en.signature, zh.signature)):
        problems.append(Problem(section.file, section.line_of(en.id), "parity", f"block {en.id} ({variant}): {differs}"))
    classes = words.parity_classes(bool(en.claims or zh.claims))
    found = {
        language: {name: word for name, word in words.classes_in(block.text, language).items() if name in classes}
        for language, block in (("en", en), ("zh", zh))
    }
    for here, there in (("en", "zh"), ("zh", "en")):
        for name in found[here].keys() - found[there].keys():
            wanted = ", ".join(words.of_class(name, there))
            problems.append(
                Problem(
                    section.file,
                    section.line_of(en.id),
                    "parity",
                    f"block {en.id} ({variant}): {here} says “{found[here][name]}”, {there} says none of {wanted}",
                )
            )
    return problems


def _differences(en: Counter, zh: Counter) -> str:
    parts = []
    for language, more, less in (("en", en, zh), ("zh", zh, en)):
        if extra := more - less:
            parts.append(
                f"only in {language}: "
                + ", ".join(f"{name}" + (f" ×{count}" if count > 1 else "") for name, count in sorted(extra.items()))
            )
    return "; ".join(parts)


def compare_strings(strings: Strings, contexts: dict[str, Context], words: Words) -> list[Problem]:
    """The same for the texts outside the sections: each leaf, and each variant of a claim in it."""
    problems = []
    for section in ("ui", "plates"):
        for path, texts in _leaves(strings.section(section), section):
            problems += _strings(path, texts, strings.files[section], contexts, words, section)
    return problems


def _leaves(node, path: str):
    if not isinstance(node, dict):
        return
    spoken = {language: text for language, text in node.items() if language in ("en", "zh") and not isinstance(text, dict)}
    if len(spoken) == 2:
        yield path, {language: str(text) for language, text in spoken.items()}
    for name, child in node.items():
        yield from _leaves(child, f"{path}.{name}")


def _strings(path: str, texts: dict[str, str], file: str, contexts: dict[str, Context], words: Words, section: str) -> list[Problem]:
    trees = {language: parse(text, f"{file}: {path}") for language, text in texts.items()}
    verdicts = VERDICTS if any(True for _ in claims(trees["en"])) else VERDICTS[:1]
    problems = []
    for verdict in verdicts:
        signatures, found = {}, {}
        for language, tree in trees.items():
            splicer = Splicer(contexts[language], f"{file}: {path}", Choice(verdict=verdict, every_campaign=True))
            text = splicer.run(tree)
            signatures[language] = Counter(splice.signature for splice in splicer.vault.items if splice.signature)
            text = CODE.sub(" ", MARK.sub(" ", text))
            found[language] = words.classes_in(text, language)
            for typed in (*DIGITS.findall(text), *words.numbers_in(text, language)):
                problems.append(
                    Problem(
                        file,
                        0,
                        "typed digit" if typed[0].isdigit() else "number word",
                        f"{path} ({verdict}, {language}): “{typed}” is neither spliced nor declared",
                    )
                )
        if differs := _differences(signatures["en"], signatures["zh"]):
            problems.append(Problem(file, 0, "parity", f"{path} ({verdict}): {differs}"))
        if section == "plates" and ".labels." not in path:
            classes = words.parity_classes(True)
            for here, there in (("en", "zh"), ("zh", "en")):
                for name in sorted((found[here].keys() - found[there].keys()) & classes):
                    wanted = ", ".join(words.of_class(name, there))
                    problems.append(
                        Problem(file, 0, "parity", f"{path} ({verdict}): {here} says “{found[here][name]}”, {there} says none of {wanted}")
                    )
    return problems
