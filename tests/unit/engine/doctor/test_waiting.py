"""What a workflow waits for, in words."""

import json
from dataclasses import replace
from datetime import timedelta
from uuid import UUID

import pytest

from tests.unit.engine.boot_story import BEGIN
from tinkbox.engine.doctor.case import AwaitedService
from tinkbox.engine.doctor.waiting import ago, waits_for
from tinkbox.engine.machines.machines import MachineStatus
from tinkbox.model.boot import Stage
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.notes import Retirement

NOW = BEGIN + timedelta(hours=1)
CREATED = NOW - timedelta(minutes=10)
HARDWARE = parse_hardware(
    json.dumps(
        {
            "id": str(UUID(int=7)),
            "network": {"interfaces": [{"dhcp": {"mac": "08:00:27:00:00:07", "hostname": "node7"}}]},
        }
    )
)
NODE = MachineStatus(
    hardware=HARDWARE,
    key="node7",
    created_at=BEGIN,
    updated_at=BEGIN,
    ticket=True,
    installed=False,
    boots=0,
    parked="",
    stage=None,
    stage_at=None,
    last_contact=None,
)
DB = AwaitedService(name="db", host="the appliance", phase="STARTING", begun_at=CREATED, message="fetching image")


def seen(minutes: float, stage: Stage = Stage.RAMDISK, stalled: str = "") -> MachineStatus:
    return replace(NODE, stage=stage, stage_at=NOW - timedelta(minutes=minutes), stalled=stalled)


@pytest.mark.parametrize(
    ("machine", "told"),
    [
        (NODE, "node7, never seen"),
        (seen(3), "node7, last seen 3 min ago: fetched the OSIE"),
        (seen(3, stalled="stalled here for 3 min 0 s"), "node7, last seen 3 min ago: fetched the OSIE; stalled here for 3 min 0 s"),
        (
            seen(30, Stage.DISK_BOOTED),
            "node7, not seen since the workflow was created (last seen 30 min ago: its disk's system asked for an address)",
        ),
        (replace(seen(3), last_contact=NOW - timedelta(seconds=4)), "node7, whose worker asked 4 s ago"),
        (replace(seen(8), last_contact=NOW - timedelta(minutes=5)), "node7, last seen 5 min ago: its worker asked"),
        (replace(seen(3), parked="3 boots without progress"), "node7, which is parked: 3 boots without progress"),
        (replace(NODE, retired=Retirement(at=NOW, who="ann", reason="")), "node7, which is retired"),
        (None, "a machine that was deleted, so it cannot go on"),
    ],
)  # fmt: skip
def test_a_machine_that_is_waited_for_is_told_with_where_it_is(machine: MachineStatus | None, told: str) -> None:
    assert waits_for(NOW, CREATED, machine) == told


def test_a_machine_without_a_name_is_told_by_its_mac() -> None:
    interface = replace(HARDWARE.interfaces[0], hostname="")
    nameless = replace(NODE, hardware=replace(HARDWARE, interfaces=(interface,)))
    assert waits_for(NOW, CREATED, nameless).startswith("machine 08:00:27:00:00:07, never seen")


def test_services_are_told_before_a_machine_that_is_not_there_and_without_one_that_is() -> None:
    other = AwaitedService(name="tftp", host="node9", phase="PENDING")
    service = "service db on the appliance, which is STARTING, as its host says: 'fetching image'"
    there = replace(NODE, last_contact=NOW)
    assert waits_for(NOW, CREATED, there, services=[DB]) == service
    assert waits_for(NOW, CREATED, NODE, services=[DB, other]) == (
        f"{service}; service tftp, which node9 has not begun; node7, never seen"
    )
    assert "; 4 more services; " in waits_for(NOW, CREATED, NODE, services=[DB] * 9)


def test_the_workflow_before_it_and_a_decision_come_first() -> None:
    assert waits_for(NOW, CREATED, NODE, before="workflow 'wipe' (0f6ca2f4, RUNNING, at a/b)") == (
        "node7, which does workflow 'wipe' (0f6ca2f4, RUNNING, at a/b) first"
    )
    assert waits_for(NOW, CREATED, NODE, held="a/b") == "a person's decision: a/b is held at a breakpoint"


def test_between_two_actions_of_a_worker_that_asks_nothing_is_waited_for() -> None:
    assert waits_for(NOW, CREATED, replace(NODE, last_contact=NOW), begun=True) == ""
    assert waits_for(NOW, CREATED, seen(30), begun=True) == "node7, last seen 30 min ago: fetched the OSIE"


@pytest.mark.parametrize(
    ("seconds", "told"),
    [(-5, "0 s ago"), (59, "59 s ago"), (60, "1 min ago"), (7_300, "2 h ago"), (90_000, "1 day ago"), (200_000, "2 days ago")],
)  # fmt: skip
def test_how_long_ago(seconds: float, told: str) -> None:
    assert ago(NOW, NOW - timedelta(seconds=seconds)) == told
