"""Whether a boot counts by its TPM."""

import pytest

from tinkbox.engine.rules.tpm import refusal
from tinkbox.model.session import TicketRefusal, TpmRule

OWN, OTHER, NONE = "a" * 64, "b" * 64, ""


@pytest.mark.parametrize(
    ("rule", "accepted", "shown", "expected"),
    [
        (TpmRule.FIRST, NONE, NONE, None),
        (TpmRule.FIRST, NONE, OWN, None),
        (TpmRule.FIRST, OWN, OWN, None),
        (TpmRule.FIRST, OWN, OTHER, TicketRefusal.OTHER_TPM),
        (TpmRule.FIRST, OWN, NONE, TicketRefusal.NO_TPM),
        (TpmRule.ACCEPTED, NONE, NONE, TicketRefusal.NO_TPM),
        (TpmRule.ACCEPTED, NONE, OWN, TicketRefusal.NEW_TPM),
        (TpmRule.ACCEPTED, OWN, OWN, None),
        (TpmRule.ACCEPTED, OWN, OTHER, TicketRefusal.OTHER_TPM),
        (TpmRule.ACCEPTED, OWN, NONE, TicketRefusal.NO_TPM),
        (TpmRule.OFF, OWN, OTHER, None),
        (TpmRule.OFF, OWN, NONE, None),
    ],
)
def test_a_boot_counts_with_the_tpm_that_was_accepted(
    rule: TpmRule, accepted: str, shown: str, expected: TicketRefusal | None
) -> None:
    assert refusal(rule, accepted, shown, without=False) is expected


def test_the_first_tpm_of_a_machine_that_worked_without_one_is_for_a_person_to_accept() -> None:
    assert refusal(TpmRule.FIRST, NONE, OWN, without=True) is TicketRefusal.NEW_TPM
    assert refusal(TpmRule.FIRST, OWN, OWN, without=True) is None
    assert refusal(TpmRule.FIRST, NONE, NONE, without=True) is None
    assert refusal(TpmRule.OFF, NONE, OWN, without=True) is None
