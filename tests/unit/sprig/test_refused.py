"""What is refused has a reason that a person can read after the name; all else of Sprig is there."""

import pytest

from tinkbox.sprig import REFUSED


@pytest.mark.parametrize(
    ("name", "reason"), [("env", "environment"), ("expandenv", "environment"), ("getHostByName", "network")]
)
def test_the_reason_fits_the_name(name: str, reason: str) -> None:
    assert reason in REFUSED[name]


def test_each_reason_continues_a_sentence() -> None:
    assert {reason.split()[0] for reason in REFUSED.values()} == {"reads", "asks"}
