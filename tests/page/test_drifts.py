"""Drifts injected one at a time into a page that is clean: each must fail the build, for the reason expected and at the place expected."""

from __future__ import annotations

from dataclasses import dataclass

import pytest

from tests.page.campaign import Workspace
from workflow.page.errors import PageError

EN, ZH, EN2 = "content/en/01-window.md", "content/zh/01-window.md", "content/en/02-limits.md"
PLATES = "strings/plates.yaml"


@dataclass(frozen=True)
class Drift:
    name: str
    file: str
    old: str
    new: str
    check: str
    """Name of the check that must speak."""
    also: tuple[tuple[str, str, str], ...] = ()
    """Further edits of the same drift: file, old, new."""


DRIFTS = [
    # numbers typed by hand
    Drift("digit in prose", EN, "is what the best width reaches", "is what the best width reaches, 2.5 in all", "typed digit"),
    Drift("digit in Chinese prose", ZH, "什么也没有测。\n{% endclaim %}", "什么也没有测。\n{% endclaim %}\n\n{#x}\n共 3 处。", "typed digit"),
    Drift("full-width digit", ZH, "每步 token 随窗口上升。", "每步 token 随窗口上升，见第３处。", "typed digit"),
    Drift("digit in a title", EN, 'title: The window that wins has {{ n("w.best_gamma") }} drafts', "title: The window that wins has 3 drafts", "typed digit"),
    Drift("digit in a table cell", EN, '| {{ n("w.best_gamma") }} | {{ n("w.speedup") }} |', '| 3 | {{ n("w.speedup") }} |', "typed digit"),
    Drift("digit in a caption", EN, 'caption="Speedup over {{ n("w.plain.tpot_ms") }}"', 'caption="Speedup over 20 ms"', "typed digit"),
    Drift("a fraction in one character", EN, "- first", "- ½ of it", "typed digit"),
    Drift("a circled number", ZH, "- 首先", "- 见③", "typed digit"),
    Drift("a Roman number in one character", ZH, "- 首先", "- 图Ⅳ", "typed digit"),
    Drift("digit in a list", EN, "- first", "- item 1 of the list", "typed digit"),
    Drift("digit in a box", EN, "width is where the ratio peaks.", "width of 3 is where the ratio peaks.", "typed digit"),
    Drift("digit in a footnote", EN, "[^note]: The", "[^note]: Of 4, the", "typed digit"),
    Drift("digit in a link title", EN, "(#window-by-width)", '(#window-by-width "row 2")', "typed digit"),
    Drift("digit in an alt text", PLATES, "A curve that peaks at {{ n(\\\"w.best_gamma\\\") }}", "A curve that peaks at 3", "typed digit"),
    Drift("digit in a plate title", PLATES, "The best width gives {{ n(\\\"w.speedup\\\") }}", "The best width gives 1.68×", "typed digit"),
    Drift("digit in a label of a drawing", PLATES, "speedup: {en: speedup,", "speedup: {en: speedup of 8 runs,", "typed digit"),
    Drift("digit in the interface", "strings.yaml", "kicker: {en: \"Speculative decoding, sounded\"", "kicker: {en: \"Speculative decoding, sounded 12 times\"", "typed digit"),
    Drift("digit in the description of the page", "strings.yaml", "A measured, bilingual account", "A measured, bilingual account of 5 runs", "typed digit"),
    Drift("number word", EN, "is what the best width reaches", "is twice what the best width reaches", "number word"),
    Drift("number word in a list", EN, "- first", "- three boots", "number word"),
    Drift("Chinese number word", ZH, "每步 token 随窗口上升。", "每步 token 随窗口上升三次。", "number word"),
    Drift("Chinese ordinal", ZH, "- 首先", "- 第二", "number word"),
    Drift("一半", ZH, "- 首先", "- 剩下一半", "number word"),
    Drift("倍 without a splice", ZH, "- 首先", "- 快了许多倍", "number word"),
    Drift("fraction word", EN, "- first", "- half of it", "number word"),
    # words of rank
    Drift("superlative without a claim", EN, "The gain of", "The largest gain of", "rank word"),
    Drift("universal without a claim", EN, "over {{ word", "over every one of {{ word", "rank word"),
    Drift("Chinese superlative without a claim", ZH, "的收益等于", "的最大收益等于", "rank word"),
    Drift("definition mark dropped", EN, '{% define "window-best" %}best{% enddefine %}', "best", "rank word"),
    Drift("undeclared definition", EN, '{% define "window-best" %}', '{% define "window-worst" %}', "splice"),
    Drift("wrong superlative in one language", EN, "Speculation is fastest", "Speculation is slowest", "parity"),
    Drift("wrong superlative in the other", ZH, "时投机最快", "时投机最慢", "parity"),
    Drift("flipped direction", EN, "Tokens a step rise with", "Tokens a step fall with", "parity"),
    Drift("flipped direction in Chinese", ZH, "随窗口上升", "随窗口下降", "parity"),
    Drift("superlative of a plate title lost in translation", PLATES, "最好的宽度给出", "宽度给出", "parity"),
    # turned in both languages at once: parity is content
    Drift("direction flipped in both languages", EN, "Tokens a step rise with", "Tokens a step fall with", "direction", ((ZH, "随窗口上升", "随窗口下降"),)),
    Drift("superlative flipped in both languages", EN, "Speculation is fastest", "Speculation is slowest", "direction", ((ZH, "时投机最快", "时投机最慢"),)),
    Drift("outcome flipped in both languages", EN, "Tokens a step rise with the window.", "Speculation loses.", "direction", ((ZH, "每步 token 随窗口上升。", "投机亏了。"),)),
    Drift("title of a plate flipped in both languages", PLATES, "The best width gives", "The worst width gives", "direction", ((PLATES, "最好的宽度给出", "最差的宽度给出"),)),
    # what stands beside a speedup, and what was not measured
    Drift("speedup without a plain time", EN, 'caption="Speedup over {{ n("w.plain.tpot_ms") }}"', 'caption="Speedup"', "speedup"),
    Drift("speedup in a plate's title without a plain time", PLATES, ", over {{ n(\\\"w.plain.tpot_ms\\\") }}", "", "speedup"),
    Drift("not measured, typed", EN, "The gain of", "Other widths were not measured. The gain of", "unmeasured"),
    Drift("not measured, typed in Chinese", ZH, "的收益等于", "的收益（别的宽度没有测）等于", "unmeasured"),
    Drift("absence that denies a deed", EN, "This section reads a window sweep.", "This campaign did not sweep the window.", "unmeasured"),
    Drift("absence that denies a deed, in Chinese", ZH, "本节读的是窗口扫描。", "这份测量没有扫描窗口。", "unmeasured"),
    Drift("trend outside of every claim", EN, "The gain of", "The step grows with it. The gain of", "trend"),
    Drift("trend outside of every claim, in Chinese", ZH, "的收益等于", "的收益逐渐减少，等于", "trend"),
    Drift("trend in an absent block", EN, "This section reads a window sweep.", "This section reads how a window drops.", "trend"),
    Drift("trend in a plate's subtitle", PLATES, "speedup by drafts a round", "rising speedup by drafts a round", "trend"),
    Drift("trend in the interface", "strings.yaml", "A measured, bilingual account", "A measured, bilingual account of what goes up", "trend"),
    Drift("why a claim is open, typed", EN, "speculation helps is not resolved:", "speculation helps these repeats do not tell:", "left open"),
    Drift("why a claim is open, typed in Chinese", ZH, "投机有没有帮助，没有判定：", "投机有没有帮助，凭这几次重复说不准：", "left open"),
    Drift("why a plate's claim is open", PLATES, "{en: The width may help,", "{en: Whether the width helps is inside the noise,", "left open"),
    # splices
    Drift("unknown key", EN, 'n("w.accept_factor")', 'n("w.accept_faktor")', "splice"),
    Drift("unknown key in a variant that does not speak", EN, 'slowest here: {{ n("w.speedup") }}', 'slowest here: {{ n("w.speedups") }}', "splice"),
    Drift("unknown claim", EN, '{% claim "w.wins" %}\n{% holds %}Spec', '{% claim "w.win" %}\n{% holds %}Spec', "splice"),
    Drift("missing fact outside needs", EN, 'n("w.accept_factor") }} more', 'n("w.unmeasured") }} more', "guarantee"),
    Drift("unknown format", EN, 'n("w.step_factor")', 'n("w.step_factor", "short-ish")', "splice"),
    Drift("word of a number that is not whole", EN, 'word("w.boots")', 'word("w.speedup")', "splice"),
    Drift("range of unlike facts", EN, 'between("w.step_ms", "w.plain.tpot_ms")', 'between("w.step_ms", "w.speedup")', "splice"),
    Drift("undeclared literal", EN, 'lit("gpt-2")', 'lit("gpt-3")', "splice"),
    Drift("literal without a reason", "literals/fixture.yaml", "reason: the name of a model", 'reason: ""', "literals"),
    Drift("a variant dropped", EN, "{% unresolved %}Whether speculation helps is not resolved: {{ n(\"w.speedup\") }}.\n", "", "dialect"),
    Drift("a loop in content", EN, "The gain of", "{% for x in y %}{% endfor %}The gain of", "dialect"),
    Drift("arithmetic in content", EN, 'n("w.accept_factor") }} more', 'n("w.accept_factor") * 2 }} more', "dialect"),
    Drift("evidence in the missing variant", EN, "This campaign did not measure speculation.", 'This campaign did not measure speculation ({{ n("w.speedup") }}).', "guarantee"),
    Drift("variant relies on an unnamed fact", EN, 'Tokens a step fall, and', 'Tokens a step fall, {{ n("w.step_ms") }}, and', "parity"),
    Drift("number in a formula", EN, "\\le 2 $$", '\\le {{ n("w.best_gamma") }} $$', "markdown"),
    Drift("unknown macro in a formula", EN, "\\le 2 $$", "\\lessthan 2 $$", "markdown"),
    # the two languages
    Drift("twin file missing", "content/zh/02-limits.md", "", "", "parity"),
    Drift("twin block missing", ZH, "{#formula}\n$$ S = \\frac{\\tau (T_d + o)}{T_r} \\le 2 $$\n\n", "", "parity"),
    Drift("another fact in one language", ZH, '共{{ word("w.boots") }}次启动', '共{{ word("w.best_gamma") }}次启动', "parity"),
    Drift("fact dropped in one variant of one language", ZH, '没有判定：{{ n("w.speedup") }}。', "没有判定。", "parity"),
    Drift("list longer in one language", ZH, "- 首先", "- 首先\n- 然后", "parity"),
    Drift("link differs", ZH, "[首个表格](#window-by-width)", "[首个表格](#window-list)", "parity"),
    Drift("reference dropped", ZH, '与{{ ref("window") }}', "", "parity"),
    Drift("claim dropped in one language", ZH, '{% claim "w.wins" %}\n{% holds %}\n{#direction}', '{% claim "prologue.largest_win" %}\n{% holds %}\n{#direction}', "parity"),
    Drift("front matter differs", ZH, "needs: [w.plain.tpot_ms, w.speedup,", "needs: [w.speedup,", "parity"),
    Drift("string in one language", PLATES, "gamma: {en: drafts a round, zh: 每轮草稿数}", "gamma: {en: drafts a round}", "parity"),
    # Chinese typography
    Drift("half-width comma", ZH, "每步 token 随窗口上升。", "窗口变宽,每步 token 上升。", "half-width mark"),
    Drift("half-width parentheses", ZH, "- 首先", "- 首先(其一)", "half-width parenthesis"),
    Drift("curly quotes", ZH, "- 首先", "- “首先”", "quotes"),
    Drift("no space at Latin", ZH, "每步 token 随", "每步token 随", "no space between Han and Latin"),
    Drift("space at a full-width mark", ZH, "随窗口上升。最好", "随窗口上升。 最好", "space at a full-width mark"),
    Drift("space between Han", ZH, "什么也没有测。", "什么也 没有测。", "space between Han"),
    Drift("italics in Chinese", ZH, "- 首先", "- *首先*", "italics"),
    Drift("stray asterisks", EN, "is what the best width", "is ** what the best width", "stray asterisks"),
    # structure
    Drift("dead link", EN, "(#window-by-width)", "(#window-by-height)", "dead link"),
    Drift("absolute link", EN, "(#window-by-width)", "(/numbers/)", "dead link"),
    Drift("reference to an unknown section", EN, 'sec("limits")', 'sec("limit")', "splice"),
    Drift("reference to an unknown plate", EN, 'ref("window")', 'ref("windows")', "splice"),
    Drift("block without an id", EN, "{#factors}\n", "", "block id"),
    Drift("an id twice", EN, "{#transfers}", "{#formula}", "block id"),
    Drift("plate not in the front matter", EN, "plates: [window]\n", "", "front matter"),
    Drift("a field twice in the front matter", EN, "plates: [window]\n", "plates: [window]\nplates: []\n", "front matter"),
    Drift("a string twice", PLATES, "gamma: {en: drafts a round, zh: 每轮草稿数}", "gamma: {en: drafts a round, en: drafts, zh: 每轮草稿数}", "yaml"),
    Drift("slug against the file name", EN, "slug: window", "slug: windows", "front matter"),
    Drift("shown factors that do not multiply", EN, "w.accept_factor / w.step_factor", "w.accept_factor * w.step_factor", "closes"),
    Drift("third-party fetch", "base.html.j2", "<meta name=\"referrer\"", "<script src=\"https://example.org/x.js\"></script><meta name=\"referrer\"", "third party"),
    Drift("hand-made number in a template", "report.html.j2", "{{ page.ui(\"kicker\") }}", '<data value="1.9" data-key="w.speedup">1.90×</data>', "spliced value"),
    Drift("number of the other language in a template", "report.html.j2", "{{ page.ui(\"kicker\") }}", '<data value="1.6802966526357986" data-key="w.speedup">1.68</data><data value="20.04" data-key="w.plain.tpot_ms">20.0 毫秒</data>', "spliced value"),
    Drift("value of another row in a template", "report.html.j2", "{{ page.ui(\"kicker\") }}", '<data value="12.5" data-key="w.plain.tpot_ms">12.5 ms</data>', "spliced value"),
    Drift("text of another row in a template", "report.html.j2", "{{ page.ui(\"kicker\") }}", '<data value="20.04" data-key="w.plain.tpot_ms">12.5 ms</data>', "spliced value"),
    Drift("unit swapped in a template", "report.html.j2", "{{ page.ui(\"kicker\") }}", '<data value="20.04" data-key="w.plain.tpot_ms">20.0 s</data>', "spliced value"),
    Drift("range over two units", EN, 'between("w.step_ms", "w.plain.tpot_ms")', 'between("w.step_ms", "w.accept")', "splice"),
    Drift("row of another arm in one language", ZH, '{{ n("w.step_factor") }}', '{{ n("w.accept_factor") }}', "parity"),
    Drift("a key that is no fact", "report.html.j2", "{{ page.ui(\"kicker\") }}", '<span data-key="w.nothing">some</span>', "unknown key"),
    Drift("a literal that is not declared, in a template", "report.html.j2", "{{ page.ui(\"kicker\") }}", '<span data-lit="gpt-9">GPT-9</span>', "literal"),
]  # fmt: skip


def problems_of(workspace: Workspace):
    try:
        return workspace.build().problems
    except PageError as error:
        return list(error.problems)


def test_the_undrifted_page_is_clean(workspace):
    assert problems_of(workspace) == []


def test_there_are_fifty():
    assert len(DRIFTS) >= 50
    assert len({drift.name for drift in DRIFTS}) == len(DRIFTS)


@pytest.mark.parametrize("drift", DRIFTS, ids=lambda drift: drift.name)
def test_a_drift_fails_the_build(workspace, drift):
    if drift.old:
        for file, old, new in ((drift.file, drift.old, drift.new), *drift.also):
            workspace.edit(file, old, new)
    else:
        (workspace.root / "templates" / drift.file).unlink()
    problems = problems_of(workspace)
    assert drift.check in {problem.check for problem in problems}, [str(problem) for problem in problems]


@pytest.mark.parametrize(
    "drift",
    [
        d
        for d in DRIFTS
        if d.file.startswith("content/") and d.old and d.check in ("typed digit", "number word", "rank word", "splice", "dialect")
    ],
    ids=lambda d: d.name,
)
def test_the_message_names_the_line(workspace, drift):
    text = (workspace.root / "templates" / drift.file).read_text("utf8")
    line = text[: text.index(drift.old)].count("\n") + 1
    workspace.edit(drift.file, drift.old, drift.new)
    found = [problem for problem in problems_of(workspace) if problem.check == drift.check]
    lines = {problem.line for problem in found if problem.file == f"templates/{drift.file}"}
    last = line + drift.new.count("\n") + 1
    assert lines & set(range(line, last + 1)), f"expected line {line}, got {[str(p) for p in found]}"
