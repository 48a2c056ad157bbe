"""What was encoded can be decoded; what cannot be decoded gives a text that says where."""

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.gotemplate.values import from_bytes
from tinkbox.sprig.text.basecodes import b32dec, b32enc, b64dec, b64enc


@given(st.binary())
def test_any_bytes_survive_both_codes(data: bytes) -> None:
    text = from_bytes(data)
    assert b64dec(b64enc(text)) == text
    assert b32dec(b32enc(text)) == text


@given(st.text("aA7=+/\n", max_size=20))
def test_no_input_breaks_the_decoders(text: str) -> None:
    assert isinstance(b64dec(text), str)
    assert isinstance(b32dec(text), str)


def test_a_wrong_byte_is_counted_with_the_newlines_in_base64_and_without_in_base32() -> None:
    assert b64dec("aG\nVs!AAA") == "illegal base64 data at input byte 5"
    assert b32dec("NB\nSW!3DP") == "illegal base32 data at input byte 4"
