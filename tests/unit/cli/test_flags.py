"""What the arguments of several commands mean."""

import argparse
from pathlib import Path

import pytest

from tinkbox.cli.flags import assignment, duration, folder


def test_arguments_are_read() -> None:
    assert duration("1h30m") == 5400
    assert [assignment(text) for text in ("A=b", "A=b=c", "A=")] == [("A", "b"), ("A", "b=c"), ("A", "")]


def test_a_folder_is_the_same_for_every_program_whatever_its_place(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert [folder(text) for text in ("w", "./w", "/w")] == [tmp_path / "w", tmp_path / "w", Path("/w")]


@pytest.mark.parametrize("text", ["", "A", "=b", "="])
def test_what_sets_nothing_is_refused(text: str) -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="NAME=VALUE"):
        assignment(text)


def test_what_is_no_duration_is_refused() -> None:
    with pytest.raises(argparse.ArgumentTypeError, match="1h30m"):
        duration("soon")
