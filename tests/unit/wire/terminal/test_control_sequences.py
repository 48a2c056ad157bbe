import pytest

from tinkbox.wire.terminal.control_sequences import Traces, without_questions


@pytest.mark.parametrize(
    "question",
    [
        b"\x05", b"\x1bZ", b"\x1b[c", b"\x1b[0c", b"\x1b[>c", b"\x1b[>0;1c", b"\x1b[=c", b"\x1b[6n", b"\x1b[?6n",
        b"\x1b[?996n", b"\x1b[>q", b"\x1b[>0q", b"\x1b[?2026$p", b"\x1b[4$p", b"\x1b[x", b"\x1b[1x", b"\x1b[?u",
        b"\x1b[18t", b"\x1b[14;2t", b"\x1b[21t", b"\x1b]10;?\x07", b"\x1b]4;1;?\x1b\\", b"\x1b]52;c;?\x07",
        b"\x1bP+q544e\x1b\\", b"\x1bP$q q\x1b\\",
    ],
)  # fmt: skip
def test_what_a_terminal_would_answer_is_not_asked_again(question: bytes) -> None:
    assert without_questions(b"a" + question + b"b") == b"ab"


@pytest.mark.parametrize(
    "told",
    [
        b"\x1b[1;31mred\x1b[0m", b"\x1b[2J\x1b[H", b"\x1b[?1049h", b"\x1b]0;what is this?\x07", b"\x1b]52;c;aGk=\x07",
        b"\x1b[>4;2m", b"\x1b[>1u", b"\x1b[22;0t", b"\x1b[8;24;80t", b"\x1b[2 q", b"\x1b[!p", b"a\tb\r\n\x07\x08",
        "grün ✓".encode(), b"\xff\xfe", b"\x1b[?25$q",
    ],
)  # fmt: skip
def test_everything_else_is_shown_again(told: bytes) -> None:
    assert without_questions(told) == told


def undone(*content: bytes) -> bytes:
    traces = Traces()
    for each in content:
        traces.add(each)
    return traces.undo()


RESET = b"\x1b[!p\x1b[0m"


def test_a_terminal_that_was_told_nothing_is_left_alone() -> None:
    assert undone() == b""


def test_plain_text_costs_a_soft_reset_only() -> None:
    assert undone(b"hello\r\n") == RESET


@pytest.mark.parametrize(
    ("left", "undo"),
    [
        (b"\x1b[?1049h\x1b[2J", b"\x1b[?1049l"),
        (b"\x1b[?1049h\x1b[?1049l", b""),
        (b"\x1b[?25l", b"\x1b[?25h"),
        (b"\x1b[?25l\x1b[?25h", b""),
        (b"\x1b[?1;2004;1006h", b"\x1b[?1l\x1b[?1006l\x1b[?2004l"),
        (b"\x1b[?1002h\x1b[?1049h\x1b[?25l", b"\x1b[?1002l\x1b[?1049l\x1b[?25h"),
        (b"\x1b[>4;2m", b"\x1b[>4m"),
        (b"\x1b[>4;2m\x1b[>4;0m", b""),
        (b"\x1b[>4;2m\x1b[>4m", b""),
        (b"\x1b[>1u\x1b[>5u", b"\x1b[<2u"),
        (b"\x1b[>1u\x1b[<u", b""),
        (b"\x1b[<3u", b""),
        (b"\x1b[?3h", b""),  # 132 columns: taking it back would clear the screen
        (b"\x1b[?7l", b"\x1b[?7h"),
    ],
)
def test_what_a_program_left_behind_is_taken_back(left: bytes, undo: bytes) -> None:
    assert undone(left) == undo + RESET


def test_sequences_may_be_cut_anywhere() -> None:
    told = b"text\x1b[?1049hmore\x1b[?25l"
    whole = undone(told)
    for cut in range(len(told)):
        assert undone(told[:cut], told[cut:]) == whole
    assert undone(*(bytes((each,)) for each in told)) == whole


def test_nothing_is_taken_back_twice() -> None:
    traces = Traces()
    traces.add(b"\x1b[?1049h")
    traces.undo()
    assert traces.undo() == b""
    traces.add(b"x")
    assert traces.undo() == RESET
