"""What keys terminals send."""

import pytest

from tinkbox.view.keys import Key, KeyReader


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"jk", ["j", "k"]),
        (b"\x1b[A\x1bOB", [Key.UP, Key.DOWN]),
        (b"\x1b[5~\x1b[6~", [Key.PAGE_UP, Key.PAGE_DOWN]),
        (b"\x1b[H\x1bOF\x1b[1~\x1b[4~", [Key.HOME, Key.END, Key.HOME, Key.END]),
        (b"\x1b[1;5B", [Key.DOWN]),
        (b"\r\n\x7f\x15\x03\t", [Key.ENTER, Key.ENTER, Key.BACKSPACE, Key.CLEAR, Key.INTERRUPT, Key.TAB]),
        (b"\x17", [Key.CLEAR_WORD]),
        ("ü€".encode(), ["ü", "€"]),
        (b"\x1bq", [Key.ESCAPE, "q"]),
        (b"\x1b\x1b[A", [Key.ESCAPE, Key.UP]),
        (b"\x00\xff", [Key.UNKNOWN, "�"]),
        (b"\x1b[15~\x1b[1;2Q", [Key.UNKNOWN, Key.UNKNOWN]),
    ],
)
def test_keys_are_told_apart(sent: bytes, keys: list[str]) -> None:
    assert KeyReader().read(sent) == keys
    reader = KeyReader()
    assert [key for each in sent for key in reader.read(bytes([each]))] == keys, "also when each byte comes alone"


def test_escape_alone_is_a_key_once_nothing_follows() -> None:
    reader = KeyReader()
    assert (reader.read(b"j\x1b"), reader.is_waiting) == (["j"], True)
    assert (reader.ended(), reader.is_waiting) == ([Key.ESCAPE], False)
    assert reader.read(b"\x1b[") == []
    assert reader.ended() == [Key.ESCAPE, "["]


def test_a_sequence_without_an_end_does_not_grow() -> None:
    reader = KeyReader()
    for _ in range(100):
        reader.read(b"\x1b[" + b"1" * 100)
    assert len(reader.ended()) <= 32
