"""YAML files that people write, read strictly: one line says what is wrong with them, and a key that stands twice is wrong.

PyYAML keeps the last of two equal keys without a word, so that a setting seems to have no effect. Tags that make objects, aliases (a few lines of which
stand for gigabytes) and numbers that are none are wrong as well: such a file may come from somebody else.
"""

from __future__ import annotations

import math
from pathlib import Path

import yaml

LONGEST = 1_000_000
"""Characters of a file that a person writes; a longer one is something else."""


class YamlError(ValueError):
    """A file that cannot be read as YAML; the message names file and line."""


class Strict(getattr(yaml, "CSafeLoader", yaml.SafeLoader)):
    """The safe loader, which also refuses a key that a mapping has already."""

    def construct_mapping(self, node: yaml.MappingNode, deep: bool = False) -> dict:
        seen: dict[str, int] = {}
        for key, _ in node.value:
            if isinstance(key, yaml.ScalarNode) and key.value != "<<":
                line = key.start_mark.line + 1
                if key.value in seen:
                    raise yaml.constructor.ConstructorError(
                        problem=f"key {key.value!r} stands on line {seen[key.value]} already; keep one of the two", problem_mark=key.start_mark
                    )
                seen[key.value] = line
        return super().construct_mapping(node, deep)


def read_yaml(path: Path):
    """What a YAML file holds. Raises FileNotFoundError, or YamlError for everything else that is wrong with it."""
    try:
        return parse_yaml(path.read_text("utf8"), path)
    except FileNotFoundError:
        raise
    except UnicodeDecodeError as error:
        raise YamlError(f"{path}: not UTF-8 at byte {error.start}; write it again as UTF-8") from None
    except IsADirectoryError:
        raise YamlError(f"{path}: is a folder; expected a YAML file") from None
    except OSError as error:
        raise YamlError(f"{path}: cannot be read: {error.strerror}") from None


def parse_yaml(text: str, name: Path | str):
    """What a YAML text holds; `name` is what messages call it. Raises YamlError."""
    if len(text) > LONGEST:
        raise YamlError(f"{name}: {len(text)} characters; expected at most {LONGEST}")
    try:
        data = yaml.load(text, Loader=Strict)
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark
        raise YamlError(f"{name}: {f'line {mark.line + 1}: ' if mark else ''}not valid YAML: {' '.join(str(error.problem).split())}") from None
    except yaml.YAMLError as error:
        raise YamlError(f"{name}: not valid YAML: {' '.join(str(error).split())}") from None
    except (ValueError, OverflowError) as error:  # a date that is none, an integer of thousands of digits
        raise YamlError(f"{name}: not valid YAML: a value cannot be read: {' '.join(str(error).split())[:120]}") from None
    if fault := _unfit(data):
        raise YamlError(f"{name}: {fault}")
    return data


def _unfit(data) -> str | None:
    """What no file of ours holds, found in a walk that takes no longer than the text: shared values, infinities."""
    seen, left = set(), [data]
    while left:
        value = left.pop()
        if isinstance(value, float) and not math.isfinite(value):
            return f"{value} is not a finite number"
        if isinstance(value, (dict, list)):
            if id(value) in seen:
                return "an alias (*name) repeats a mapping or a list; write it out where it is meant"
            seen.add(id(value))
            left.extend(value.values() if isinstance(value, dict) else value)
    return None
