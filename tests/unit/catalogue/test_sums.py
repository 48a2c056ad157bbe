"""Files of checksums."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.catalogue.sums import UNNAMED, newest, order, parse_sums
from tinkbox.model.errors import Invalid

A, B = "a" * 64, "b" * 128


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (f"{A}  one.img\n{A} *two.img\n", {"one.img": f"sha256:{A}", "two.img": f"sha256:{A}"}),
        (f"SHA256 (one.img) = {A.upper()}\n", {"one.img": f"sha256:{A}"}),
        (f"SHA512 (one.img) = {B}\r\n", {"one.img": f"sha512:{B}"}),
        (f"{A}  ./one.img\n", {"one.img": f"sha256:{A}"}),
        (f"{A}  one.img\n{B}  one.img\n", {"one.img": f"sha512:{B}"}),
        (f"# SHA512 HASH\n{B}  one.img\n# MD5 HASH\n{'c' * 32}  one.img\n", {"one.img": f"sha512:{B}"}),
        (f"{A}\n", {UNNAMED: f"sha256:{A}"}),
        ("<html>\n\n  -----BEGIN PGP\nHash: SHA256\n", {}),
        (f"{A}  ../one.img\n{A}  a/one.img\n{A}  .hidden\n{A}  a b.img\n", {}),
        (f"{A}  {'x' * 2000}\n", {}),
        (f"{B}  evil.txt\u2028{A}  one.img\n{B}  evil.txt\x0c{A}  one.img\n\\{A}  one.img\n", {}),
        (f"{A}  copy-of-one.img\n{A}  one.img.txt\n", {"copy-of-one.img": f"sha256:{A}", "one.img.txt": f"sha256:{A}"}),
        (f"{A}  one.img\n{A}  one.img\n", {"one.img": f"sha256:{A}"}),
    ],
)
def test_each_line_tells_a_files_digest(text: str, found: dict[str, str]) -> None:
    assert parse_sums(text.encode()) == found


def test_two_digests_of_one_kind_are_refused() -> None:
    with pytest.raises(Invalid, match=r"two digests of one\.img"):
        parse_sums(f"{A}  one.img\n{'c' * 64}  one.img\n".encode())


@given(st.binary(max_size=300))
def test_nothing_else_goes_wrong(content: bytes) -> None:
    try:
        found = parse_sums(content)
    except Invalid:
        return
    assert all(re.fullmatch(r"sha(256:[0-9a-f]{64}|512:[0-9a-f]{128})", digest) for digest in found.values())


def test_the_newest_is_told_by_numbers() -> None:
    pattern = re.compile(r"x-([0-9.]+)-r([0-9]+)\.img")
    names = ["x-3.9.1-r9.img", "x-3.10.0-r2.img", "x-3.10.0-r10.img", "x-3.2.9-r99.img"]
    assert newest({name: match for name in names if (match := pattern.fullmatch(name))}) == "x-3.10.0-r10.img"
    dated = re.compile("[0-9]{8}-[0-9]+")
    assert max(re.finditer(dated, "20261101-9 20261101-10 20260930-99"), key=order)[0] == "20261101-10"
