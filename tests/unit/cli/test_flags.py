"""What the arguments of several commands mean."""

import argparse
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
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


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ("workflow list --sort age", "sort=-created_at&limit=100"),
        ("workflow list --sort -age", "sort=created_at&limit=100"),
        ("hardware list --sort age", "sort=-since"),
        ("image list --sort -age", "sort=pushed_at"),
        ("service list --sort age", "sort=-begun_at"),
    ],
)
def test_the_column_of_ages_is_sorted_by_its_name(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance, line: str, asked: str
) -> None:
    tinkbox(*line.split())
    assert [request.partition("?")[2] for request, _ in appliance.asked] == [asked]


def test_states_that_are_given_several_times_are_those_of_all(
    tinkbox: Callable[..., Printed], appliance: FakeAppliance
) -> None:
    tinkbox("hardware", "list", "--state", "failed,idle", "--state", "Parked")
    assert appliance.asked[0][0] == "GET /v1/hardware?sort=name&state=failed%2Cidle%2Cparked"
