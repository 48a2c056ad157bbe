"""`tinkbox token` on the command line."""

from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tinkbox.cli.terminal.questions import Questions

Tinkbox = Callable[..., Printed]
GIVEN = {
    "id": "1",
    "name": "node8",
    "key": "node8",
    "given_at": "2026-01-01T00:00:00+00:00",
    "rotated": False,
    "at_work": {"workflow_id": "0a0a0a0a-0000", "held": False, "ends_at": "2026-01-01T12:40:00+00:00"},
}


def test_revoking_tells_what_becomes_of_the_action_of_a_machine_at_work_and_what_to_type(
    tinkbox: Tinkbox, appliance: FakeAppliance
) -> None:
    left = {"name": "bert", "revoked": 1, "credentials": [GIVEN], "not_rotated": ""}
    appliance.answers["DELETE /v1/tokens/bert"] = left
    told = tinkbox("token", "revoke", "bert", "--yes")
    assert "\n  tinkbox hardware credential node8 --rotate  # ends its action of workflow 0a0a0a0a\n" in told.err
    rotated = left | {"credentials": [GIVEN | {"rotated": True}]}
    appliance.answers["DELETE /v1/tokens/bert?rotate=yes"] = rotated
    told = tinkbox("token", "revoke", "bert", "--rotate", "--yes")
    assert (told.status, told.out) == (0, "Revoked token:  bert\nRotated credentials:  node8\n")
    assert (
        "ends as WorkerLost when the machine's next worker begins, else as WorkerSilent when its time is up" in told.err
    )
    assert "\n  tinkbox workflow cancel 0a0a0a0a --force " in told.err
    assert "\n  tinkbox workflow retry 0a0a0a0a " in told.err


def test_who_is_asked_before_credentials_are_voided_is_told_first_what_becomes_of_the_actions(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    idle = GIVEN | {"id": "2", "name": "", "key": "2", "at_work": None}
    appliance.answers["GET /v1/tokens/bert/machines"] = [GIVEN, idle]
    rotated = [each | {"rotated": True} for each in (GIVEN, idle)]
    ended = {"name": "bert", "revoked": 1, "credentials": rotated, "not_rotated": ""}
    appliance.answers["DELETE /v1/tokens/bert?rotate=yes"] = ended
    refused = tinkbox("token", "revoke", "bert", "--rotate", stdin=b"no\n")
    assert (refused.status, [each for each, _ in appliance.asked]) == (1, ["GET /v1/tokens/bert/machines"])
    before = (
        "Credentials to be voided, by who may operate:  node8, 2\n"
        "node8 is at work for workflow 0a0a0a0a. With its credential voided its worker is refused. The action ends as WorkerLost when "
        "the machine's next worker begins, else as WorkerSilent when its time is up, at 2026-01-01 12:40:00"
    )
    assert refused.err.startswith(before), refused.err
    done = tinkbox("token", "revoke", "bert", "--rotate", stdin=b"yes\n")
    assert (done.status, done.err.startswith(before), done.err.count("WorkerLost")) == (0, True, 1), done.err
    assert "\nThe worker of node8 is refused from now on:\n  tinkbox workflow cancel 0a0a0a0a --force " in done.err
    tinkbox("token", "revoke", "bert", "--rotate", "--yes")
    assert [each for each, _ in appliance.asked][-1:] == ["DELETE /v1/tokens/bert?rotate=yes"]


def test_of_an_earlier_appliance_that_does_not_tell_it_is_asked_all_the_same(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Questions, "can_ask", True)
    ended = {"name": "bert", "revoked": 1, "credentials": [], "not_rotated": ""}
    appliance.answers["DELETE /v1/tokens/bert?rotate=yes"] = ended
    done = tinkbox("token", "revoke", "bert", "--rotate", stdin=b"yes\n")
    assert (done.status, done.err) == (0, "")
