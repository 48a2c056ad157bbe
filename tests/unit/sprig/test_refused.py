"""What is refused has a reason that a person can read after the name."""

import pytest

from tinkbox.sprig import REFUSED


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        ("now", "clock"),
        ("toDate", "time zone"),
        ("uuidv4", "randomness"),
        ("genSignedCertWithKey", "randomness"),
        ("env", "environment"),
        ("getHostByName", "network"),
        ("decryptAES", "cryptography library"),
        ("derivePassword", "slow"),
    ],
)
def test_the_reason_fits_the_name(name: str, reason: str) -> None:
    assert reason in REFUSED[name]


def test_each_reason_continues_a_sentence() -> None:
    assert {reason.split()[0] for reason in REFUSED.values()} == {"uses", "reads", "asks", "needs", "is"}
