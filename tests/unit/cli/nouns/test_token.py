"""`tinkbox token` on the command line."""

from collections.abc import Callable

from tests.unit.cli.conftest import FakeAppliance, Printed

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
