"""The values that an expanded formula can take while every cell stays within its printed precision.

Plain interval arithmetic forgets that one cell which stands twice has one value. Where the slope in a cell keeps its sign over the
whole range, the cell can be put at its ends instead, and the enclosure is sharp in it.
"""

from __future__ import annotations

from collections.abc import Callable

from workflow.derive.audit.expand import Leaf, elements
from workflow.derive.audit.formula import Apply, Compare, Count, Number
from workflow.derive.audit.interval import Interval, greatest, least

Cells = Callable[[Leaf], Interval]
ZERO, ONE = Interval.point(0.0), Interval.point(1.0)


def value(node, cells: Cells) -> Interval:
    """Enclosure of a number by interval arithmetic. A count is the interval from what is surely counted to what may be."""
    return slope(node, cells)[0]


def slope(node, cells: Cells) -> tuple[Interval, dict[tuple[str, str], Interval]]:
    """Enclosure of a number, and of its derivative in each cell."""
    match node:
        case Number():
            return node.interval, {}
        case Leaf():
            return cells(node), {node.cell: ONE}
        case Count():
            return counted(node, cells), {}
        case Compare():
            raise ValueError("a statement stands where a number is needed")
        case Apply("list", arguments):
            if len(arguments) != 1:
                raise ValueError("a list stands where a number is needed")
            return slope(arguments[0], cells)
        case Apply("min" | "max" as name, arguments):
            parts = [slope(part, cells) for argument in arguments for part in elements(argument)]
            whole = (least if name == "min" else greatest)([part[0] for part in parts])
            return whole, hull_of([slopes for interval, slopes in parts if interval.meets(whole)])
    parts = [slope(argument, cells) for argument in node.arguments]
    a, da = parts[0]
    match node.name:
        case "negative":
            return -a, scaled(da, -ONE)
        case "power":
            n = int(node.arguments[1].text)
            return a.power(n), scaled(da, Interval.point(n) * a.power(n - 1)) if n else {}
        case "ln":
            return a.ln(), scaled(da, ONE / a)
        case "sqrt":
            root = a.sqrt()
            return root, scaled(da, ONE / (root + root))
        case "abs":
            sign = ONE if a.lo >= 0 else -ONE if a.hi <= 0 else Interval(-1.0, 1.0)
            return a.magnitude(), scaled(da, sign)
    b, db = parts[1]
    match node.name:
        case "+":
            return a + b, added(da, db)
        case "-":
            return a - b, added(da, scaled(db, -ONE))
        case "*":
            return a * b, added(scaled(da, b), scaled(db, a))
        case "/":
            return a / b, added(scaled(da, ONE / b), scaled(db, -(a / (b * b))))
    raise ValueError(f"unknown function {node.name}")


def enclose(node, cells: Cells) -> Interval:
    """The values of a number, sharp in every cell whose slope keeps its sign."""
    plain, slopes = slope(node, cells)
    if not plain.bounded:
        return plain
    rising = {cell for cell, d in slopes.items() if d.lo >= 0}
    falling = {cell for cell, d in slopes.items() if d.hi <= 0}

    def at(end: int) -> Cells:
        def chosen(leaf: Leaf) -> Interval:
            whole = cells(leaf)
            if leaf.cell in rising:
                return Interval.point((whole.lo, whole.hi)[end])
            if leaf.cell in falling:
                return Interval.point((whole.hi, whole.lo)[end])
            return whole

        return chosen

    low, high = value(node, at(0)), value(node, at(1))
    return Interval(max(plain.lo, low.lo), min(plain.hi, high.hi)) if low.bounded and high.bounded else plain


def counted(node: Count, cells: Cells) -> Interval:
    items = [value(item, cells) for item in elements(node.items)]
    if node.bound is None:
        return Interval.point(len(items))
    bound = value(node.bound, cells)
    if node.relation == "below":
        items, bound = [-item for item in items], -bound
    return Interval(sum(item.lo > bound.hi for item in items), sum(item.hi > bound.lo for item in items))


def truth(node: Compare, cells: Cells) -> bool | None:
    """Whether a statement holds for all, for none, or (None) for some of the values that the cells can have."""
    left, right, relation = node.left, node.right, node.relation
    if relation in ("<=", "<"):
        left, right, relation = right, left, {"<=": ">=", "<": ">"}[relation]
    if relation in (">=", ">") and isinstance(right, Apply) and right.name == "max":
        return every(truth(Compare(relation, left, part), cells) for argument in right.arguments for part in elements(argument))
    if relation in (">=", ">") and isinstance(left, Apply) and left.name == "min":
        return every(truth(Compare(relation, part, right), cells) for argument in left.arguments for part in elements(argument))
    if relation == "!=":
        equal = truth(Compare("==", left, right), cells)
        return None if equal is None else not equal
    if left == right:
        return relation in (">=", "==")
    a, b = enclose(left, cells), enclose(right, cells)
    if relation == "==":
        if a.lo == a.hi == b.lo == b.hi:
            return True
        return None if a.meets(b) else False
    if a.lo > b.hi or (relation == ">=" and a.lo >= b.hi):
        return True
    if a.hi < b.lo or (relation == ">" and a.hi <= b.lo):
        return False
    return None


def every(truths) -> bool | None:
    """Conjunction of statements that may be open."""
    found = list(truths)
    return False if False in found else None if None in found else True


def scaled(slopes: dict, factor: Interval) -> dict:
    return {cell: d * factor for cell, d in slopes.items()}


def added(a: dict, b: dict) -> dict:
    return {cell: a.get(cell, ZERO) + b.get(cell, ZERO) for cell in a | b}


def hull_of(parts: list[dict]) -> dict:
    """The slopes of a minimum or maximum: those of whichever argument it is."""
    result: dict = {}
    for cell in {cell: None for part in parts for cell in part}:
        slopes = [part.get(cell, ZERO) for part in parts]
        whole = slopes[0]
        for d in slopes[1:]:
            whole = whole.hull(d)
        result[cell] = whole
    return result
