"""Text that grows: whole characters, stop strings across tokens, nothing given twice."""

from hypothesis import given
from hypothesis import strategies as st

from engine.serve.text import TextStream


def decode(ids):
    """Tokens are bytes here."""
    return bytes(ids).decode("utf8", errors="replace")


@given(st.text(max_size=30), st.lists(st.text(min_size=1, max_size=4), max_size=3), st.lists(st.integers(1, 5), min_size=40, max_size=40))
def test_pieces_join_to_the_text_before_the_first_stop(text, stops, cuts):
    data = text.encode("utf8")
    stream, pieces, at = TextStream(decode, stops), [], 0
    for size in cuts:
        pieces.append(stream.push(data[at : at + size]))
        at += size
    pieces.append(stream.push(data[at:]))
    pieces.append(stream.end())
    # The stop that is complete first ends the text, as token by token decoding would see it.
    ends = [end for end in range(1, len(text) + 1) if any(text[:end].endswith(stop) for stop in stops)]
    if ends and "\ufffd" not in text:
        seen = text[: ends[0]]
        assert "".join(pieces) == seen[: min(seen.find(stop) for stop in stops if stop in seen)]
        assert stream.matched in stops
    elif not ends:
        assert "".join(pieces) == text and stream.matched is None


def test_a_broken_character_waits_for_its_end():
    stream = TextStream(decode)
    first, second = "é".encode()
    assert stream.push([first]) == "" and stream.push([second]) == "é"
    assert stream.push([first]) == "" and stream.end() == "\ufffd"


def test_what_may_begin_a_stop_is_held_back():
    stream = TextStream(decode, ["END"])
    assert stream.push(b"aE") == "a" and stream.push(b"N") == "" and stream.push(b"x") == "ENx"
    assert stream.push(b"EN") == "" and stream.push(b"Dmore") == ""
    assert stream.matched == "END" and stream.tokens == 7 and stream.end() == ""
