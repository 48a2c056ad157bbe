import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.cli.terminal.escape_keys import Escapes, Wish


def read(*pieces: bytes) -> list[bytes | Wish]:
    """What is read, with neighbouring pieces of text together."""
    escapes, found = Escapes(), []
    for piece in pieces:
        for each in escapes.read(piece):
            if found and isinstance(each, bytes) and isinstance(found[-1], bytes):
                found[-1] += each
            else:
                found.append(each)
    return found


@pytest.mark.parametrize(
    ("typed", "expected"),
    [
        (b"ls\r", [b"ls\r"]),
        (b"~.", [Wish.DETACH]),
        (b"ls\r~.", [b"ls\r", Wish.DETACH]),
        (b"ls\n~.", [b"ls\n", Wish.DETACH]),
        (b"ls~.", [b"ls~."]),
        (b"cd ~\r", [b"cd ~\r"]),
        (b"~~", [b"~"]),
        (b"\r~~.", [b"\r~."]),
        (b"\r~~~.", [b"\r~~."]),
        (b"~user\r", [b"~user\r"]),
        (b"~v", [b"~v"]),
        (b"~?~.", [Wish.HELP, Wish.DETACH]),
        (b"~ta", [Wish.TAKE, b"a"]),
        (b"~\r~.", [b"~\r", Wish.DETACH]),
        (b"\r~", [b"\r"]),
        (b"\x03\x1b[A\xc3\xbc\0", [b"\x03\x1b[A\xc3\xbc\0"]),
        (b"", []),
    ],
)
def test_a_tilde_behind_enter_is_for_tinkbox(typed: bytes, expected: list[bytes | Wish]) -> None:
    assert read(typed) == expected
    assert read(*(typed[place : place + 1] for place in range(len(typed)))) == expected


@given(st.binary().map(lambda content: content.replace(b"~", b"")))
def test_everything_else_passes_as_it_is(content: bytes) -> None:
    assert b"".join(each for each in read(content) if isinstance(each, bytes)) == content
