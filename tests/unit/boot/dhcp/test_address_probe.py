"""Of everything that an address may say by ICMP, only the answer to our own question counts."""

import pytest

from tinkbox.boot.dhcp.address_probe import _echoes

IP = bytes([0x46]) + bytes(23)  # a header with one word of options


@pytest.mark.parametrize(
    ("message", "counts"),
    [
        (b"\x00\x00\xff\xff\x00\x07\x00\x01", True),
        (b"\x00\x00\xff\xff\x00\x08\x00\x01", False),  # somebody else's question
        (b"\x08\x00\xff\xff\x00\x07\x00\x01", False),  # a question of its own
        (b"\x03\x01\xff\xff\x00\x07\x00\x01", False),  # there is no such host
        (b"\x00\x00\xff\xff\x00", False),
    ],
)
def test_only_the_answer_to_our_echo_counts(message: bytes, *, counts: bool) -> None:
    assert _echoes(IP + message, 7) is counts


def test_nothing_is_no_answer() -> None:
    assert not _echoes(b"", 7)
