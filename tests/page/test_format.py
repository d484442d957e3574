"""How facts are written: one rounded decimal, two languages."""

import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from workflow.derive.fact import Fact
from workflow.page.format import MINUS, NBSP, FormatError, Formatter, for_programs, round_half_even, significant_decimals, unit_name
from workflow.page.words import Words

FORMAT = Formatter(Words.load(), names={"plain": {"en": "plain decoding", "zh": "普通解码"}})
KINDS = {
    "ratio": "",
    "percent": "percent",
    "points": "points",
    "duration": "ms/token",
    "rate": "token/s",
    "length": "token/round",
    "probability": "",
    "count": "",
    "bytes": "byte",
}


def fact(kind, value, **more):
    return Fact("k", value, more.pop("unit", KINDS[kind]), kind, **more)


@pytest.mark.parametrize(
    ("given", "en", "zh"),
    [
        (fact("ratio", 1.685), "1.68×", f"1.68{NBSP}倍"),
        (fact("ratio", 0.004), "0.004×", f"0.004{NBSP}倍"),
        (fact("percent", 12.345), "12.3%", "12.3%"),
        (fact("points", -3.26), f"{MINUS}3.3{NBSP}points", f"{MINUS}3.3{NBSP}个百分点"),
        (fact("duration", 99.96), f"100{NBSP}ms", f"100{NBSP}ms"),
        (fact("duration", 4.2341), f"4.23{NBSP}ms", f"4.23{NBSP}ms"),
        (fact("duration", 3.24, unit="min"), f"3.24{NBSP}min", f"3.24{NBSP}分钟"),
        (fact("rate", 1234.5), f"1,234{NBSP}tok/s", f"1,234{NBSP}tok/s"),
        (fact("length", 2.5), "2.50", "2.50"),
        (fact("count", 8350000), "8,350,000", "8,350,000"),
        (fact("count", 12.34), "12.3", "12.3"),
        (fact("bytes", 16700000), f"16.7{NBSP}MB", f"16.7{NBSP}MB"),
        (fact("bytes", 0), f"0{NBSP}B", f"0{NBSP}B"),
        (Fact("k", "plain", kind="label"), "plain decoding", "普通解码"),
        (Fact("k", "2.13.0", kind="label"), "2.13.0", "2.13.0"),
        (Fact("k", "3, 4, 12", kind="label"), "3, 4, 12", "3、4、12"),
        (Fact("k", "plain, dspark-g4", kind="label"), "plain decoding, dspark-g4", "普通解码、dspark-g4"),
        (Fact("k", "plain, dspark γ = 4", kind="label"), "plain decoding, dspark γ = 4", "普通解码、dspark γ = 4"),
        (Fact("k", "8x MI355X, 8x MI350X", kind="label"), "8x MI355X, 8x MI350X", "8x MI355X、8x MI350X"),
        (Fact("k", "Debian, 13", kind="label"), "Debian, 13", "Debian, 13"),
    ],
)
def test_written(given, en, zh):
    assert FORMAT(given, "en") == en
    assert FORMAT(given, "zh") == zh


def test_formats():
    change = fact("percent", -4.25, lo=-6.0, hi=-2.5)
    assert FORMAT(change, "en", "abs") == "4.2%"
    assert FORMAT(change, "en", "bare") == f"{MINUS}4.2"
    assert FORMAT(change, "en", "ci") == f"{MINUS}4.2% ({MINUS}6.0 to {MINUS}2.5)"
    assert FORMAT(change, "zh", "ci") == f"{MINUS}4.2%（{MINUS}6.0～{MINUS}2.5）"
    assert FORMAT(fact("ratio", 1.5, lo=1.41, hi=1.59), "en", "ci") == "1.50× (1.41–1.59)"
    assert FORMAT(fact("percent", 4.25), "en", "signed") == "+4.2%"
    assert FORMAT(fact("count", 8350000), "zh", "short") == f"8.35{NBSP}M"
    assert FORMAT.between(fact("percent", 8.0), fact("percent", 10.0), "zh") == ("8.0%", "～", "10.0%")
    assert FORMAT.between(fact("duration", 8.0), fact("duration", 10.0), "en") == ("8.00", "–", f"10.0{NBSP}ms")


def test_digits_follow_the_interval():
    assert FORMAT(fact("percent", 41.26, lo=20.0, hi=62.0), "en") == "41.3%"
    assert FORMAT(fact("percent", 412.6, lo=100.0, hi=700.0), "en") == "413%"
    assert FORMAT(fact("duration", 4.2341, lo=4.1, hi=4.4), "en") == f"4.23{NBSP}ms"
    assert FORMAT(fact("duration", 4.2341, lo=1.1, hi=7.4), "en") == f"4.23{NBSP}ms"
    assert FORMAT(fact("duration", 4.2341, lo=-11.0, hi=17.4), "en") == f"4.2{NBSP}ms"


def test_words_and_ordinals():
    count = [fact("count", n) for n in range(13)]
    assert [FORMAT.word(count[n], "en") for n in (1, 5, 10, 12)] == ["one", "five", "ten", "12"]
    assert [FORMAT.word(count[n], "zh") for n in (1, 2, 5, 12)] == ["一", "两", "五", "12"]
    assert [FORMAT.ordinal(count[n], "en") for n in (1, 3, 11, 12)] == ["first", "third", "11th", "12th"]
    assert FORMAT.ordinal(fact("count", 22), "en") == "22nd"
    assert [FORMAT.ordinal(count[n], "zh") for n in (2, 12)] == ["第二", "第 12"]
    assert FORMAT.plural(count[1], "en", {"one": "boot", "other": "boots"}) == "boot"
    assert FORMAT.plural(count[2], "en", {"one": "boot", "other": "boots"}) == "boots"


@pytest.mark.parametrize(
    "unit, en, zh",
    [
        ("token/step", "tokens/step", "token/步"),
        ("ms/round", "ms", "ms"),
        ("token/s**2", "tok/s²", "tok/s²"),
        ("byte/token", "B/token", "B/token"),
    ],
)
def test_units(unit, en, zh):
    assert unit_name(unit, "en") == en
    assert unit_name(unit, "zh") == zh


def test_what_cannot_be_written():
    for attempt in (
        lambda: FORMAT(Fact("k", None, reason="no rows"), "en"),
        lambda: FORMAT(fact("ratio", 1.5), "en", "loud"),
        lambda: FORMAT.word(fact("ratio", 1.5), "en"),
        lambda: FORMAT.between(fact("ratio", 1.5), fact("duration", 1.5), "en"),
        lambda: FORMAT.plural(fact("count", 2), "en", {"one": "boot"}),
    ):
        with pytest.raises(FormatError):
            attempt()


values = st.one_of(st.floats(-1e9, 1e9, allow_nan=False), st.integers(-(10**9), 10**9), st.floats(-1, 1, allow_nan=False))


def digits(text: str) -> str:
    return re.sub(r"[^0-9.,+\u2212～–]", "", text.replace("～", "–"))


@settings(max_examples=300)
@given(st.sampled_from(sorted(KINDS)), values, st.sampled_from([None, "bare", "signed", "abs", "short"]))
def test_both_languages_show_the_same_digits_and_no_negative_zero(kind, value, fmt):
    given_ = fact(kind, value)
    english, chinese = FORMAT(given_, "en", fmt), FORMAT(given_, "zh", fmt)
    assert digits(english) == digits(chinese)
    assert not re.fullmatch(rf"{MINUS}[0.,]+", re.match(rf"[+{MINUS}]?[\d.,]+", english)[0]), english
    assert "e" not in digits(english) and "E" not in english.replace("GE", "")


@settings(max_examples=300)
@given(st.sampled_from(sorted(KINDS)), values, st.floats(0, 1e3), st.floats(0, 1e3))
def test_what_is_shown_is_the_value_to_half_a_unit_of_its_last_place(kind, value, below, above):
    given_ = fact(kind, value, lo=value - below, hi=value + above)
    shown, step = FORMAT.number(given_), FORMAT.step(given_)
    scale = Decimal(10) ** {"GB": 9, "MB": 6, "kB": 3}.get(FORMAT.suffix(given_, "en").strip(), 0)
    assert abs(shown * scale - Decimal(repr(value))) <= step * scale / 2


@settings(max_examples=300)
@given(st.decimals("-1e6", "1e6", allow_nan=False, places=6), st.integers(1, 6))
def test_significant_digits(value, wanted):
    decimals = significant_decimals(value, wanted)
    rounded = round_half_even(value, decimals)
    shown = len(str(abs(rounded)).replace(".", "").lstrip("0"))
    assert shown <= max(wanted, len(str(int(abs(rounded)))))


@given(st.one_of(st.floats(-1e12, 1e12), st.integers(-(10**15), 10**15)))
def test_what_programs_read_is_the_value_to_seven_digits(value):
    read = float(for_programs(Fact("k", value, "", "ratio")))
    assert read == value if value == int(value) else abs(read - value) <= 5e-7 * abs(value) * 1.0001
    assert "E" not in for_programs(Fact("k", value, "", "ratio")).upper()
