"""Checksums are those of the bytes of a text."""

from tinkbox.sprig.cryptography.digests import adler32sum, sha1sum, sha256sum, sha512sum


def test_known_sums() -> None:
    assert sha1sum("abc") == "a9993e364706816aba3e25717850c26c9cd0d89d"
    assert sha256sum("abc") == "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad"
    assert sha512sum("")[:32] == "cf83e1357eefb8bdf1542850d66d8007"
    assert adler32sum("Wikipedia") == str(0x11E60398)


def test_bytes_that_are_no_text_count_as_they_are() -> None:
    assert sha256sum("\udcff") == "a8100ae6aa1940d0b663bb31cd466142ebbdbd5187131b92d93818987832eb89"
