"""Snapshots for tests of the view: machines in every standing, and racks of them."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta

from tinkbox.model.actions.progress import Progress
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.workflow import State
from tinkbox.wire.messages.status import (
    ConditionLine,
    DiskLine,
    HealthLine,
    MachineLine,
    Snapshot,
    StoredLine,
    StrangerLine,
    WorkLine,
)

NOW = datetime(2026, 11, 21, 3, 30, tzinfo=UTC)


def ago(seconds: float) -> datetime:
    return NOW - timedelta(seconds=seconds)


def work(state: State = State.RUNNING, **changes: object) -> WorkLine:
    fields = {
        "id": "a8984b09-3772-4b4a-ab9f-6ebe93b90a94",
        "name": "ubuntu_provisioning",
        "template": "ubuntu",
        "since": ago(134),
        "action": "stream-image",
        "number": 3,
        "total": 5,
    }
    told = {**fields, "state": state, **changes}
    return WorkLine(**{"done": told["number"] - (state is not State.SUCCESS), **told})


def machine(number: int = 1, **changes: object) -> MachineLine:
    fields = {
        "id": f"{number:08x}-3772-4b4a-ab9f-6ebe93b90a94",
        "hostname": f"node{number}",
        "mac": f"08:00:27:00:{number >> 8:02x}:{number & 255:02x}",
        "address": f"172.30.{number >> 8}.{number & 255}",
        "stage": "the worker is in touch",
        "stage_at": ago(300),
    }
    return MachineLine(**{**fields, **changes})


def failed(number: int, reason: str = "DiskNotFound", **changes: object) -> MachineLine:
    told = {"reason": reason, "message": "there is no /dev/nvme1n1 on this machine", "hint": "look at its disks"}
    flow = work(State.FAILED, id=f"{number:08x}-0000-4000-8000-000000000000", since=ago(60 + number), **told)
    return machine(number, work=flow, **changes)


def held(number: int = 1, kind: Kind = Kind.FAILURE, **changes: object) -> MachineLine:
    fields = {"deadline": NOW + timedelta(seconds=1725), "on_expiry": Verb.FAIL, "reason": "NonZeroExit"}
    if kind is Kind.BEFORE:
        fields["reason"] = ""
    return machine(number, work=work(held=kind, **{**fields, **changes}))


def snapshot(*machines: MachineLine, **changes: object) -> Snapshot:
    return Snapshot(**{"now": NOW, "version": "0.1.0", "machines": machines, "place": "1/1", **changes})


FAR = Progress(done=41, total=100, unit="bytes", rate=38e6, seconds_left=72)
# One in each standing, in another order than people want to read them.
ALL_KINDS = snapshot(
    machine(1, work=work(State.SUCCESS, action="reboot", number=5), stage="boots from its own disk"),
    machine(2, work=work(progress=FAR), labels={"rack": "r1"}),
    machine(3, work=work(State.PENDING, action="wipe", number=1, awaited=("boot-files",)), ticket=True),
    machine(4, work=work(State.CANCELED, reason="Canceled", message="the workflow was canceled")),
    failed(5),
    machine(6, work=work(State.TIMEOUT, reason="Timeout", message="the action has 60 seconds")),
    replace(held(7), hostname="node7"),
    machine(8, parked="it booted 3 times without progress", ticket=True),
    machine(9, stalled="stalled", stage="DHCP offer", ticket=True),
    machine(10, work=None, stage="", stage_at=None),
    machine(11, lost="HistoryLost: it ran 2 actions", lost_hint="`tinkbox hardware discard-history 08:00:27:00:00:0b`"),
    machine(12, work=work(State.STOPPING)),
    strangers=(StrangerLine(mac="52:54:00:00:00:09", stage="DHCP discover", stage_at=ago(9), detail="PXE"),),
    disk=DiskLine(
        free=12 << 30,
        nearly_full=False,
        database=2 << 20,
        stored=(StoredLine(kind="workflows", octets=1 << 20, number=9, remedy="delete workflows"),),
    ),
    health=HealthLine(sent=38e6, faults=("NoOsie",)),
)


TROUBLED = snapshot(
    machine(1, work=work(), silent_since=ago(106), diagnosis="The machine lost its power, or its cable is out."),
    machine(2, stalled="stalled", stage="fetched the kernel", ticket=True, diagnosis="The OSIE does not fit into the machine's memory of 512 MiB."),
    machine(3, work=work(State.PENDING), ticket=True, diagnosis="The machine was never seen."),
    failed(4, diagnosis="The disk that the workflow's action writes to is not in the machine."),
    machine(5, work=work(progress=FAR)),
    machine(6, work=work(State.SUCCESS), stage="told to boot its disk", diagnosis="The machine found no disk that boots."),
    disk=DiskLine(free=3 << 20, nearly_full=True, database=2 << 20, stored=()),
    health=HealthLine(
        sent=38e6,
        faults=("DiskNearlyFull",),
        conditions=(
            ConditionLine(
                rule="DiskNearlyFull", gravity=Gravity.FAULT, since=ago(725), remedy="Free room on that disk.",
                cause="The disk of the data folder is nearly full: 3MiB are free.",
            ),
            ConditionLine(
                rule="DeletedEarly", gravity=Gravity.SUSPECT, since=ago(725), remedy="Give the data folder a larger disk.",
                cause="35 finished workflows were deleted before their time, for lack of room.",
            ),
        ),
    ),
)  # fmt: skip


def many(number: int, failures: int) -> Snapshot:
    """So many machines, of which so many failed here and there, for four reasons."""
    reasons = ("DiskNotFound", "ImageNotFound", "OutOfMemory", "NonZeroExit")
    return snapshot(
        *(
            failed(each, reasons[each % 7 % 4])
            if each * failures // number != (each - 1) * failures // number
            else machine(each, work=work(State.SUCCESS))
            for each in range(1, number + 1)
        )
    )
