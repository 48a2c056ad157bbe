"""The end of what actions printed."""

import base64

from tinkbox.view.log_end import KEPT, LONGEST, LogEnd


def piece(output: bytes, attempt: str = "a1") -> dict[str, object]:
    return {"attempt": attempt, "task": "t", "action": "disk", "output": base64.b64encode(output).decode()}


def shown(*pieces: dict[str, object]) -> list[str]:
    log = LogEnd("w")
    for each in pieces:
        log.add(each)
    return log.shown()


def test_lines_may_be_cut_anywhere() -> None:
    whole = "one\r\nzwölf\nthree".encode()
    for cut in range(len(whole)):
        assert shown(piece(whole[:cut]), piece(whole[cut:])) == ["==> t / disk", "one", "zwölf", "three"], cut


def test_each_attempt_has_a_heading() -> None:
    assert shown(piece(b"a"), piece(b"b\n", "a2")) == ["==> t / disk", "a", "==> t / disk", "b"]


def test_of_a_display_of_progress_the_last_counts() -> None:
    assert shown(piece(b"1 %\r2 %\r"), piece(b"3 %\rdone\n")) == ["==> t / disk", "done"]
    assert shown(piece(b"1 %\r2 %\r")) == ["==> t / disk", "2 %"]


def test_however_much_is_printed_little_is_kept() -> None:
    lines = shown(*(piece(b"x\n" * 500) for _ in range(10)), piece(b"y" * 3 * LONGEST))
    assert len(lines) == KEPT + 1
    assert lines[-1] == "y" * LONGEST


def test_colours_leave_no_trace_wherever_they_are_cut() -> None:
    whole = b"\x1b[1;31mred\x1b[0m \x1b]0;title\x07end\n\x1b[Klast"
    for cut in range(len(whole)):
        assert shown(piece(whole[:cut]), piece(whole[cut:])) == ["==> t / disk", "red end", "last"], cut


def test_what_was_not_kept_is_told() -> None:
    assert shown(piece(b"a"), {**piece(b"b\n"), "missing": 7}) == ["==> t / disk", "a", "[7 bytes were not kept]", "b"]
