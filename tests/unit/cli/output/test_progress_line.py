"""How far something long is, on a terminal and elsewhere."""

import io

import pytest

from tinkbox.cli.output.progress_line import ProgressLine


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def told(out: io.StringIO) -> str:
    seconds = iter([0.0, 0.0, 1.0, 6.0, 6.01, 7.0])
    progress = ProgressLine[int]("at {}".format, out, lambda: next(seconds))
    for number in range(5):
        progress(number)
    progress.close()
    return out.getvalue()


def test_a_line_comes_every_few_seconds_where_it_stays() -> None:
    assert told(io.StringIO()) == "at 2\n"


def test_one_line_changes_on_a_terminal_and_goes() -> None:
    erase = "\r\x1b[2K"
    assert told(Terminal()) == f"{erase}at 1{erase}at 2{erase}at 4{erase}"


def test_a_line_is_no_longer_than_its_terminal(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "10")
    out = Terminal()
    seconds = iter([0.0, 1.0])
    ProgressLine[str]("{}".format, out, lambda: next(seconds))("a" * 10)
    assert out.getvalue() == "\r\x1b[2K" + "a" * 9
