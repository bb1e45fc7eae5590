"""Keys in use never reach a stored text."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ggactors.protocol.model import Message, ToolCall
from ggactors.tools.mask import Mask


def in_pieces(mask: Mask, pieces: list[bytes]) -> bytes:
    stream = mask.stream()
    return b"".join(stream.feed(piece) for piece in pieces) + stream.finish()


def test_a_value_is_replaced_by_its_variables_name():
    mask = Mask({"API_KEY": "sk-12345678"})
    assert mask.text("key=sk-12345678;") == "key=[masked:API_KEY];"


def test_values_shorter_than_six_characters_are_left_alone():
    assert Mask({"FLAG": "12345"}).text("12345") == "12345"


def test_the_longer_of_two_values_wins():
    mask = Mask({"A": "secret", "B": "secret-long"})
    assert mask.text("secret-long secret") == "[masked:B] [masked:A]"
    assert in_pieces(mask, [b"secret", b"-long secret"]) == b"[masked:B] [masked:A]"


def test_texts_inside_plain_values_are_masked_and_their_kinds_kept():
    mask = Mask({"K": "abcdefgh"})
    assert mask.value({"a": ["x abcdefgh", 3, None], "b": ("abcdefgh",)}) == {
        "a": ["x [masked:K]", 3, None],
        "b": ("[masked:K]",),
    }


def test_names_in_objects_are_masked_at_any_depth():
    mask = Mask({"K": "abcdefgh"})
    assert mask.value({"abcdefgh": {"x abcdefgh": [{"abcdefgh": 1}]}, 7: None}) == {
        "[masked:K]": {"x [masked:K]": [{"[masked:K]": 1}]},
        7: None,
    }


INSIDE = st.recursive(
    st.none() | st.integers() | st.text("ab", max_size=9),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text("ab", max_size=9), inner, max_size=3),
    max_leaves=8,
)


@given(values=st.dictionaries(st.sampled_from("XY"), st.text("ab", min_size=6, max_size=7), min_size=1), given_=INSIDE)
def test_no_value_survives_anywhere_inside_and_what_holds_none_is_not_copied(values, given_):
    masked = Mask(values).value(given_)
    assert not any(value in repr(masked) for value in values.values())
    assert (masked is given_) or masked != given_


def test_a_mask_of_nothing_holds_nothing_back():
    stream = Mask({}).stream()
    assert stream.feed(b"abc") == b"abc"
    assert stream.finish() == b""


def test_a_value_with_bytes_that_are_not_utf8_is_masked_in_bytes():
    assert in_pieces(Mask({"K": "\udcffabcdef"}), [b"1\xffabc", b"def2"]) == b"1[masked:K]2"


SECRETS = st.dictionaries(st.sampled_from(["A", "B", "C"]), st.text("abc", min_size=6, max_size=9), max_size=3)


@given(values=SECRETS, pieces=st.lists(st.text("abc", max_size=12), max_size=8))
def test_masking_pieces_equals_masking_the_whole(values, pieces):
    mask = Mask(values)
    whole = "".join(pieces)
    assert in_pieces(mask, [piece.encode() for piece in pieces]).decode() == mask.text(whole)


@given(values=SECRETS, text=st.text("abc", max_size=60))
def test_no_value_survives(values, text):
    masked = Mask(values).text(text)
    assert not any(value in masked for value in values.values())


def test_records_are_masked_through_and_through_and_left_alone_where_nothing_is_in_them():
    mask = Mask({"TOKEN": "secret-value"})
    call = ToolCall(id="1", tool="shell", args={"command": ["echo secret-value"]})
    clean = Message(role="user", text="hello")
    request = Message(role="assistant", text="it is secret-value", calls=(call,))
    masked = mask.value(request)
    assert masked.text == "it is [masked:TOKEN]"
    assert masked.calls[0].args == {"command": ["echo [masked:TOKEN]"]}
    assert request.text == "it is secret-value"
    assert mask.value(clean) is clean
    assert mask.active
    assert not Mask({"SHORT": "abc"}).active
