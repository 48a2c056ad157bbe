"""The flags of `tinkbox workflow` that mean more than their text."""

from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import Printed
from tinkbox.cli.command_line import parse


def test_a_breakpoint_is_on_failure_or_before_or_after_an_action() -> None:
    words = ["--breakpoint", "on-failure", "--breakpoint", "before=disk/wipe", "--breakpoint", "after=a=b"]
    assert parse(["workflow", "create", *words]).breakpoints == [
        ("on-failure", ""), ("before", "disk/wipe"), ("after", "a=b"),
    ]  # fmt: skip


@pytest.mark.parametrize("text", ["", "on-failure=", "on-failure=x", "before", "before=", "after", "during=x"])
def test_a_breakpoint_without_a_place_is_refused(tinkbox: Callable[..., Printed], text: str) -> None:
    wrong = tinkbox("workflow", "create", "--breakpoint", text)
    assert wrong.status == 2
    assert "is not on-failure, before=ACTION or after=ACTION" in wrong.err
