"""The English behind the first use of a term, on a made-up page."""

import pytest

from workflow.page.first_use import first_uses

TERMS = {"接受长度": "accept length", "吞吐": "throughput", "块宽度": "block size"}


def told(term: str) -> str:
    return f'{term}（<span lang="en">{TERMS[term]}</span>）'


@pytest.mark.parametrize(
    ("page", "becomes"),
    [
        ("<p>接受长度与接受长度</p><p>接受长度</p>", f"<p>{told('接受长度')}与接受长度</p><p>接受长度</p>"),
        ('<p>接受长度 <data value="2">2</data></p>', f'<p>{told("接受长度")}<data value="2">2</data></p>'),
        ("<h2>吞吐</h2><p>吞吐\u00a0= 1</p>", f"<h2>吞吐</h2><p>{told('吞吐')}= 1</p>"),
        ("<p>接受长度（含 bonus），接受长度</p>", f"<p>接受长度（含 bonus），{told('接受长度')}</p>"),
        ('<p><a href="#x">吞吐</a><code>吞吐</code></p><li>吞吐</li>', f'<p><a href="#x">吞吐</a><code>吞吐</code></p><li>{told("吞吐")}</li>'),
        ("<figure><svg><text>块宽度</text></svg><p>块宽度</p></figure><p>草稿块宽度</p>", f"<figure><svg><text>块宽度</text></svg><p>块宽度</p></figure><p>草稿{told('块宽度')}</p>"),
        ('<p title="吞吐">别的</p>', '<p title="吞吐">别的</p>'),
    ],
)
def test_the_first_use_in_running_text_is_told(page, becomes):
    assert first_uses(page, TERMS) == becomes
