"""CRC-32C."""

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.wire.ext4.checksums import BEGIN, crc32c


def test_the_checksum_is_that_of_rfc_3720() -> None:
    for content, known in ((b"123456789", 0xE3069283), (bytes(32), 0x8A9136AA), (b"\xff" * 32, 0x62A8AB43)):
        assert crc32c(content) ^ BEGIN == known


@given(st.binary(max_size=50), st.integers(0, 5000), st.integers(0, 5000))
def test_it_goes_on_behind_any_number_of_zeros(content: bytes, zeros: int, place: int) -> None:
    whole = content + bytes(zeros) + b"end"
    assert crc32c(whole[place:], crc32c(whole[:place])) == crc32c(whole)
