from tinkbox.engine.shells.scrollback import Scrollback


def made(*content: bytes, size: int = 16) -> Scrollback:
    scrollback = Scrollback(size)
    for each in content:
        scrollback.add(each)
    return scrollback


def test_what_is_kept_whole_is_shown_from_any_place() -> None:
    scrollback = made(b"one\ntwo", b"\nthree")
    assert scrollback.end == 13
    assert scrollback.behind(0) == b"one\ntwo\nthree"
    assert scrollback.behind(4) == b"two\nthree"
    assert scrollback.behind(13) == b""
    assert scrollback.behind(99) == b""


def test_of_much_the_newest_lines_are_kept() -> None:
    scrollback = made(*(b"%04d\n" % number for number in range(1000)))
    assert scrollback.end == 5000
    assert scrollback.behind(0) == b"0997\n0998\n0999\n"
    assert scrollback.behind(4990) == b"0998\n0999\n"


def test_one_long_line_is_shown_from_where_it_is_kept() -> None:
    assert made(b"x" * 100).behind(0) == b"x" * 16


def test_little_is_kept_of_much_whatever_the_pieces() -> None:
    scrollback = made(b"x" * 1000, size=16)
    scrollback.add(b"y")
    assert scrollback.behind(0) == b"x" * 15 + b"y"


def test_nothing_that_a_terminal_answers_is_shown_again() -> None:
    assert made(b"a\x1b[6nb\x1b[c").behind(0) == b"ab"
