"""The pieces under the page: spacing, Chinese lint of a source, places of messages, words."""

import pytest

from workflow.page.lint_chinese import source_findings
from workflow.page.markdown import MarkdownError, formula
from workflow.page.placeholders import Splice, Vault
from workflow.page.spacing import space_splices
from workflow.page.words import Words

WORDS = Words.load()


@pytest.mark.parametrize(
    ("before", "shown", "after", "spaced"),
    [
        ("约", "12.3 ms", "的", "约 12.3 ms 的"),
        ("约 ", "1.68 倍", " 的", "约 1.68 倍的"),
        ("共 ", "两", " 次", "共两次"),
        ("，", "12", "。", "，12。"),
        ("（ ", "12", " ）", "（12）"),
        ("at ", "12", " ms", "at 12 ms"),
        ("", "12", "", "12"),
    ],
)
def test_spaces_at_the_edges_of_a_splice(before, shown, after, spaced):
    vault = Vault()
    text = before + vault.put(Splice("number", "k", "", shown)) + after
    assert vault.plain(space_splices(text, vault)) == spaced


@pytest.mark.parametrize(
    "line",
    ["**重点**，就是它。", "见 `sweep window` 与 $x, y$ 的关系。", '用 {{ n("a.b") }}，再看 [链接](#a-b)。', "中文（带 English 的）句子。"],
)
def test_good_chinese(line):
    assert source_findings(line) == []


@pytest.mark.parametrize("line", ["中文,句子。", "中文token。", "中 文。", "中文(注)。", "“中文”", "中文。 句子", "*中文*"])
def test_bad_chinese(line):
    assert source_findings(line)


def test_words_of_number_and_rank():
    assert WORDS.numbers_in("It took two boots and a third of a second", "en") == ["two", "third"]
    assert WORDS.numbers_in("One run, the first, on its own", "en") == []
    assert WORDS.numbers_in("一次运行，第一节", "zh") == []
    assert WORDS.numbers_in("三次，第二节，三分之一，十二个", "zh") == ["三", "第二", "三分之一", "十二"]
    assert WORDS.ranks_in("at most as fast as the fastest", "en") == ["fastest"]
    assert "rise" in WORDS.classes_in("它随并发上升", "zh")


def test_formulas():
    assert 'data-lit="formula"' in formula(r"\frac{a}{2}", True)
    with pytest.raises(MarkdownError, match="unknown macro"):
        formula(r"\nonsense{a}", False)


def test_a_placeholder_is_inert_and_comes_back():
    vault = Vault()
    marks = [vault.put(Splice("number", f"k{n}", f"<data>{n}</data>", str(n))) for n in range(300)]
    assert vault.fill(f"a{marks[299]}b{marks[16]}") == "a<data>299</data>b<data>16</data>"
    assert vault.fill(f'<a title="{marks[2]}">') == '<a title="2" data-key="k2">'
