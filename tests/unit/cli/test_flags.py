"""What the arguments of several commands mean."""

import argparse

import pytest

from tinkbox.cli.flags import assignment, duration


def test_arguments_are_read() -> None:
    assert duration("1h30m") == 5400
    assert [assignment(text) for text in ("A=b", "A=b=c", "A=")] == [("A", "b"), ("A", "b=c"), ("A", "")]


@pytest.mark.parametrize("text", ["", "A", "=b", "="])
def test_what_sets_nothing_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=VALUE"):
        assignment(text)


def test_what_is_no_duration_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="1h30m"):
        duration("soon")
