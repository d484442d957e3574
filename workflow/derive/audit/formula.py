"""A claim's formula as a tree. Read from Python's syntax with a whitelist; nothing of it is ever executed."""

from __future__ import annotations

import ast
from dataclasses import dataclass

from workflow.derive.audit.interval import Interval

OPERATORS = {ast.Add: "+", ast.Sub: "-", ast.Mult: "*", ast.Div: "/"}
COMPARISONS = {ast.GtE: ">=", ast.LtE: "<=", ast.Gt: ">", ast.Lt: "<", ast.Eq: "==", ast.NotEq: "!="}
FUNCTIONS = {"ln": (1, 1), "sqrt": (1, 1), "abs": (1, 1), "min": (1, 99), "max": (1, 99)}
REFERENCES = {"v": 2, "rows": 2, "claim": 1, "claims": 1}
"""Functions that name published things, with the number of their texts."""
LARGEST_POWER = 12
LONGEST = 5000
"""Characters of one formula."""


class FormulaError(ValueError):
    """A formula that is not in the language; the message says what would be."""


@dataclass(frozen=True)
class Number:
    """A constant, exact."""

    text: str

    @property
    def interval(self) -> Interval:
        return Interval.point(float(self.text))


@dataclass(frozen=True)
class Reference:
    """`v`, `rows`, `claim` or `claims` with its texts."""

    name: str
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Apply:
    """An operator or a function on trees; a `list` holds the elements of `rows` or `claims`."""

    name: str
    arguments: tuple[Tree, ...]


@dataclass(frozen=True)
class Count:
    """`count(list, above=x)`; without a bound, the length."""

    items: Tree
    relation: str
    bound: Tree | None


@dataclass(frozen=True)
class Compare:
    """A statement that is true or false."""

    relation: str
    left: Tree
    right: Tree


Tree = Number | Reference | Apply | Count | Compare


def parse(text: str) -> Tree:
    """The tree of a formula. Raises FormulaError."""
    if len(text) > LONGEST:
        raise FormulaError(f"{len(text)} characters; at most {LONGEST}")
    try:
        node = ast.parse(text.strip(), mode="eval").body
    except SyntaxError as error:
        raise FormulaError(f"not a formula: {error.msg}, at character {error.offset or 1}") from None
    except (ValueError, RecursionError, MemoryError):
        raise FormulaError("not a formula: it holds a character that no formula has, or is nested too deeply") from None
    try:
        return tree(node)
    except RecursionError:
        raise FormulaError("nested too deeply") from None


def tree(node: ast.expr) -> Tree:
    match node:
        case ast.Constant(value=bool()):
            pass
        case ast.Constant(value=int() | float() as value):
            return Number(repr(value))
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return Apply("negative", (tree(operand),))
        case ast.BinOp(op=ast.Pow(), left=left, right=ast.Constant(value=int() as power)) if 0 <= power <= LARGEST_POWER:
            return Apply("power", (tree(left), Number(str(power))))
        case ast.BinOp(op=op, left=left, right=right) if type(op) in OPERATORS:
            return Apply(OPERATORS[type(op)], (tree(left), tree(right)))
        case ast.Compare(left=left, ops=[op], comparators=[right]) if type(op) in COMPARISONS:
            return Compare(COMPARISONS[type(op)], tree(left), tree(right))
        case ast.Call(func=ast.Name(id="count"), args=[items], keywords=keywords):
            return count(items, keywords)
        case ast.Call(func=ast.Name(id=name), args=args, keywords=[]) if name in REFERENCES or name in FUNCTIONS:
            return call(name, args)
    raise FormulaError(f"`{ast.unparse(node)[:60]}` is not part of a formula; there are {vocabulary()}")


def call(name: str, args: list[ast.expr]) -> Tree:
    if name in REFERENCES:
        texts = [arg.value for arg in args if isinstance(arg, ast.Constant) and isinstance(arg.value, str)]
        if len(texts) != len(args) or len(texts) != REFERENCES[name]:
            raise FormulaError(f"{name}() takes {REFERENCES[name]} text{'s' if REFERENCES[name] > 1 else ''} in quotes")
        return Reference(name, tuple(texts))
    fewest, most = FUNCTIONS[name]
    if not fewest <= len(args) <= most:
        raise FormulaError(f"{name}() takes {fewest if fewest == most else f'{fewest} or more'} values, not {len(args)}")
    return Apply(name, tuple(tree(arg) for arg in args))


def count(items: ast.expr, keywords: list[ast.keyword]) -> Count:
    if not keywords:
        return Count(tree(items), "", None)
    if len(keywords) == 1 and keywords[0].arg in ("above", "below"):
        return Count(tree(items), keywords[0].arg, tree(keywords[0].value))
    raise FormulaError("count() takes a list and at most one of above=x, below=x")


def vocabulary() -> str:
    return 'numbers, + - * / **, comparisons, v("row", "column"), rows("stage", "column"), claim("id"), claims("set"), count, ' + ", ".join(
        FUNCTIONS
    )


def references(node: Tree) -> list[Reference]:
    """The references of a tree from left to right."""
    match node:
        case Reference():
            return [node]
        case Apply(arguments=arguments):
            return [found for argument in arguments for found in references(argument)]
        case Count(items=items, bound=bound):
            return references(items) + (references(bound) if bound else [])
        case Compare(left=left, right=right):
            return references(left) + references(right)
    return []
