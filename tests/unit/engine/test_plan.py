"""Pure decisions: what a booting machine is told, and whose turn it is."""

from datetime import UTC, datetime

import pytest

from tinkbox.engine.plan import MAX_BOOTS, BootFacts, Turn, boot_plan, parked_reason, turn
from tinkbox.model.boot import Boot, Client, Stage
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.workflow import ActionStatus, PlannedAction, State, Workflow

MAC = MacAddress("08:00:27:00:00:01")
NOW = datetime(2026, 11, 21, tzinfo=UTC)


def facts(*, allow_pxe: bool = True, **changes: object) -> BootFacts:
    known = {"ticket": False, "installed": False, "boots": 0, "furthest": None, "workflow": "w"}
    return BootFacts(hardware_id="1", interface=Interface(mac=MAC, allow_pxe=allow_pxe), **{**known, **changes})


@pytest.mark.parametrize(
    ("known", "boot"),
    [
        (facts(), None),
        (facts(installed=True), Boot.LOCAL_DISK),
        (facts(ticket=True), Boot.OSIE),
        (facts(ticket=True, installed=True), Boot.OSIE),
        (facts(ticket=True, boots=MAX_BOOTS - 1), Boot.OSIE),
        (facts(ticket=True, boots=MAX_BOOTS), Boot.PARKED),
        (facts(installed=True, boots=MAX_BOOTS), Boot.LOCAL_DISK),
        (facts(ticket=True, allow_pxe=False), None),
    ],
)
def test_the_seeds_rule(known: BootFacts, boot: Boot | None) -> None:
    plan = boot_plan(known, Client(mac=MAC, netboots=True))
    assert (plan.boot if plan else None) is boot
    installed = boot_plan(known, Client(mac=MAC))
    assert installed is not None
    assert installed.boot is Boot.NOTHING


def test_a_parked_machines_reason_says_how_far_it_came_and_what_to_do() -> None:
    reason = parked_reason(ticket=True, boots=3, furthest=Stage.RAMDISK)
    assert reason.startswith("3 boots without progress, the furthest fetched the OSIE")
    assert "create a new workflow" in reason
    assert parked_reason(ticket=False, boots=9, furthest=None) == ""


def workflow(*actions: tuple[str, State]) -> Workflow:
    statuses = tuple(
        ActionStatus(
            state=state,
            attempt="" if state is State.PENDING else "token",
            action=PlannedAction(
                index=index, task="t", name=f"a{index}", worker=worker, address="", image="i", timeout=1
            ),
        )
        for index, (worker, state) in enumerate(actions)
    )
    return Workflow(
        id="1", name="n", template_id="2", devices={}, text="", state=State.RUNNING, actions=statuses,
        created_at=NOW, updated_at=NOW,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("actions", "boot_id", "expected"),
    [
        ([("me", State.PENDING)], "b1", Turn.START),
        ([("other", State.PENDING), ("me", State.PENDING)], "b1", Turn.WAIT),
        ([("other", State.SUCCESS), ("me", State.PENDING)], "b1", Turn.START),
        ([("me", State.SUCCESS), ("other", State.RUNNING), ("me", State.PENDING)], "b1", Turn.WAIT),
        ([("me", State.RUNNING)], "b1", Turn.RESUME),
        ([("me", State.RUNNING)], "b2", Turn.LOST),
        ([("me", State.FAILED), ("me", State.PENDING)], "b1", Turn.WAIT),
        ([("me", State.SUCCESS)], "b1", Turn.WAIT),
        ([], "b1", Turn.WAIT),
    ],
)
def test_whose_turn_it_is(actions: list[tuple[str, State]], boot_id: str, expected: Turn) -> None:
    what, status = turn(workflow(*actions), "me", boot_id, "b1")
    assert what is expected
    assert (status is None) == (expected is Turn.WAIT)
