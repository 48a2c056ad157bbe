"""What was refused, on standard error."""

import pytest

from tinkbox.cli.output.refusals import MOST_SHOWN, tell_refusal
from tinkbox.model.errors import Invalid, NotFound, Problem


def told(refusal: Invalid | NotFound, capsys: pytest.CaptureFixture[str]) -> list[str]:
    tell_refusal(refusal)
    return capsys.readouterr().err.splitlines()


def test_the_first_of_many_problems_are_shown_and_how_many_more_there_are(capsys: pytest.CaptureFixture[str]) -> None:
    problems = [Problem(text=f"wrong {each}") for each in range(MOST_SHOWN + 1)]
    assert told(Invalid("no", problems[:-1]), capsys) == [
        "tinkbox: no",
        *(f"  wrong {each}" for each in range(MOST_SHOWN)),
    ]
    assert told(Invalid("no", problems), capsys)[-2:] == [f"  wrong {MOST_SHOWN - 1}", "  and 1 more"]
    assert told(Invalid("no", problems[:1], more=39_980), capsys) == ["tinkbox: no", "  wrong 0", "  and 39,980 more"]


def test_what_is_refused_cannot_steer_the_terminal(capsys: pytest.CaptureFixture[str]) -> None:
    assert told(NotFound("no\x1b[2J"), capsys) == ["tinkbox: no [2J"]
