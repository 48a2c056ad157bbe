"""What the arguments of several commands mean."""

import argparse

import pytest

from tinkbox.cli.grammar import assignment, breakpoint_place, duration


def test_arguments_are_read() -> None:
    assert duration("1h30m") == 5400
    assert [assignment(text) for text in ("A=b", "A=b=c", "A=")] == [("A", "b"), ("A", "b=c"), ("A", "")]
    places = ["on-failure", "before=disk/wipe", "after=a=b"]
    assert [breakpoint_place(text) for text in places] == [
        ("on-failure", ""), ("before", "disk/wipe"), ("after", "a=b"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "on-failure=", "on-failure=x", "before", "before=", "after", "during=x"])
def test_what_says_nowhere_to_hold_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match=r"on-failure, before=ACTION or after=ACTION"):
        breakpoint_place(text)


@pytest.mark.parametrize("text", ["", "A", "=b", "="])
def test_what_sets_nothing_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=VALUE"):
        assignment(text)


def test_what_is_no_duration_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="1h30m"):
        duration("soon")
