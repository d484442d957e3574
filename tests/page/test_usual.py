"""Two readers of content agree: what is read without Jinja is what Jinja would have made of it, and every mistake is left to Jinja."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from jinja2 import TemplateSyntaxError

from workflow.page.content import Content
from workflow.page.dialect import read
from workflow.page.strings import Strings
from workflow.page.tree import VERDICTS
from workflow.page.usual import usual
from workflow.page.words import TEMPLATES

CLAIM = '{% claim "a.b" %}\n' + "".join(f'{{% {verdict} %}}said {{{{ n("a.{verdict}") }}}}\n' for verdict in VERDICTS) + "{% endclaim %}"
PIECES = [
    "text\n", "}}", "%}", "{", "{{", "{%", '"', "\\", "\r\n", " ", "-", "<!--# note #-->", '{{ n("a", "bare") }}', '{{n("a")}}', "{{ n('a') }}", '{{ nn("a") }}', "{{ n() }}", '{{ n("a") + 1 }}',
    '{{ n("a", one="b") }}', '{{ plural("a", one="b", other="c") }}', '{{ plural("a", one="b", "c") }}', '{{ sec("a", "b") }}', '{{ n("a\\"b") }}', '{{ n("a",\n"bare") }}', '{{ n("a") }}}', CLAIM,
    '{% absent %}x{% endabsent %}', '{% only "a" %}', "{% endonly %}", '{% define "a" %}', "{% enddefine %}", "{% only %}", '{% absent "a" %}', "{% holds %}", "{% fails %}", "{% endclaim %}", '{% claim "b" %}',
    "{% claim b %}", "{%- endclaim %}", "{% for x in y %}", "{% endfor %}", "{% raw %}", "{% endraw %}", '{% endonly "a" %}',
]  # fmt: skip
WORDS = st.lists(st.sampled_from(PIECES), max_size=6).map("".join)


def made_by_jinja(source: str) -> object:
    """The tree, or None where Jinja or the dialect refuses the source."""
    try:
        return read(source, 3)
    except TemplateSyntaxError:
        return None


@given(WORDS, WORDS, st.integers(0, len(CLAIM)), st.integers(0, len(CLAIM)))
@settings(max_examples=400, deadline=None)
def test_what_is_read_without_jinja_is_what_jinja_reads(before: str, after: str, start: int, end: int):
    """Around and inside a claim, some of which is cut out."""
    for source in (before + after, CLAIM[:start] + before + CLAIM[max(start, end) :] + after):
        found = usual(source, 3)
        assert found is None or found == made_by_jinja(source), source


def texts(node: object) -> Iterator[str]:
    """Every text of a YAML document."""
    if isinstance(node, dict | list):
        for child in node.values() if isinstance(node, dict) else node:
            yield from texts(child)
    else:
        yield str(node)


def test_the_content_is_written_as_usual():
    sources = [section.source for sections in Content.load().sections.values() for section in sections]
    strings = Strings.load(TEMPLATES)
    sources += [text for name in strings.files for text in texts(strings.section(name))]
    assert [source for source in sources if usual(source, 3) is None] == []
    assert all(usual(source, 3) == read(source, 3) for source in dict.fromkeys(sources))


@pytest.mark.parametrize("source", ["", "plain", '{{ n("a") }}', f"a\n{CLAIM}\nb"])
def test_lines_are_counted_from_the_file_s_first(source: str):
    assert usual(source, 3) == read(source, 3) and usual(source, 3) is not None
