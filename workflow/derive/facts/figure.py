"""Single published figures and outside observations, each under its own name."""

from workflow.derive.registry import fact
from workflow.derive.sample import Sample

CLASSES = {
    "figure_s": ("duration", "s", "s"),
    "figure_ms": ("duration", "ms", "ms"),
    "figure_min": ("duration", "min", "min"),
    "figure_rate": ("rate", "token/s", "tok/s"),
    "figure_tokens": ("length", "token", "tokens"),
    "figure_ratio": ("ratio", "", "x"),
    "figure_percent": ("percent", "percent", "%"),
    "figure_points": ("points", "percent", "points"),
    "figure_plain": ("length", "", ("", "sigma")),
    "figure_count": ("count", "", ("configurations", "questions", "repeats", "hazards", "layers", "cases")),
}
"""Field of the key -> kind and unit of the fact, and the unit that figures.csv gives."""


def units_of(name: str) -> tuple[str, ...]:
    found = CLASSES[name][2]
    return (found,) if isinstance(found, str) else found


def register(name: str) -> None:
    kind, unit, _ = CLASSES[name]

    @fact(f"figure.{{{name}}}", kind=kind, unit=unit)
    def figure(read, **fields):
        """the figure as published"""
        value = read.figures(id=next(iter(fields.values()))).sum("value").value
        return Sample(value, unit)


for name in CLASSES:
    register(name)


@fact("external.{observation}.{end}", kind="length", end=("low", "high"))
def observation(read, observation, end):
    """the end of the range that an outside observer reports"""
    return read.external(id=observation).sum(end).value


@fact("external.{observation}.context", kind="count", unit="token")
def context(read, observation):
    """length of the context that an outside observer reports"""
    return Sample(read.external(id=observation).sum("context").value, "token")


@fact("external.{observation}.{text}", kind="label", text=("hardware", "source", "found"))
def told(read, observation, text):
    """what is known of an outside observation"""
    return read.external(id=observation).texts(text)[0]
