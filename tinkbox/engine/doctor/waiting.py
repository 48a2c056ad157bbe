"""What a workflow waits for, in words: its machine and where that is, a workflow before it, a service, a person.  Pure."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Final

from tinkbox.engine.doctor.case import AwaitedService
from tinkbox.engine.machines.machines import MachineStatus
from tinkbox.model.hardware import called, mac_of
from tinkbox.model.text import one_line, quoted, shortened

# A worker asks once within a poll; one that asked lately waits for work.
IN_TOUCH: Final = timedelta(seconds=60)
LONGEST_MESSAGE: Final = 200
MOST_NAMED: Final = 5


def waits_for(
    now: datetime,
    created_at: datetime,
    machine: MachineStatus | None,
    *,
    before: str = "",
    services: Sequence[AwaitedService] = (),
    held: str = "",
    begun: bool = False,
) -> str:
    """What keeps a workflow, made at `created_at`, from its next action, as what stands behind "waiting for"; empty: nothing.

    `machine` is that of the action, None where it is not known any more.  `before` says which workflow that machine does first,
    `held` names an action that is held.  `begun` tells that the workflow is under way.
    """
    if held:
        return f"a person's decision: {held} is held at a breakpoint"
    who = _named(machine)
    if before:
        return f"{who}, which does {before} first"
    if begun and _in_touch(now, machine):
        return ""  # between two actions
    parts = [_service(each) for each in services[:MOST_NAMED]]
    if len(services) > MOST_NAMED:
        parts.append(f"{len(services) - MOST_NAMED} more services")
    if not (services and _in_touch(now, machine)):
        parts.append(f"{who}, {_whereabouts(now, created_at, machine, begun=begun)}")
    return "; ".join(parts)


def ago(now: datetime, at: datetime) -> str:
    """How long ago something was, in its largest unit: `40 s ago`."""
    seconds = max(0, int((now - at).total_seconds()))
    for size, one, many in ((86_400, "day", "days"), (3_600, "h", "h"), (60, "min", "min")):
        if seconds >= size:
            number = seconds // size
            return f"{number} {one if number == 1 else many} ago"
    return f"{seconds} s ago"


def _named(machine: MachineStatus | None) -> str:
    if machine is None:
        return "a machine that was deleted"
    name = called(machine.hardware)
    mac = mac_of(machine.hardware)
    return name if not mac or name == mac or machine.hardware.id != name else f"machine {mac}"


def _in_touch(now: datetime, machine: MachineStatus | None) -> bool:
    return machine is not None and machine.last_contact is not None and now - machine.last_contact <= IN_TOUCH


def _whereabouts(now: datetime, created_at: datetime, machine: MachineStatus | None, *, begun: bool) -> str:
    """Where its machine is, and since when."""
    if machine is None:
        return "so it cannot go on"
    if machine.retired is not None:
        return "which is retired"
    if machine.parked:
        return f"which is parked: {machine.parked}"
    contact, seen = machine.last_contact, machine.stage_at
    if _in_touch(now, machine) and contact is not None:
        return f"whose worker asked {ago(now, contact)}"
    if contact is not None and (seen is None or contact >= seen):
        at, what = contact, "its worker asked"
    elif seen is not None and machine.stage is not None:
        at, what = seen, str(machine.stage)
    else:
        return "never seen"
    stalled = f"; {machine.stalled}" if machine.stalled else ""
    if at < created_at and not begun:
        return f"not seen since the workflow was created (last seen {ago(now, at)}: {what})"
    return f"last seen {ago(now, at)}: {what}{stalled}"


def _service(service: AwaitedService) -> str:
    said = shortened(one_line(service.message, 2 * LONGEST_MESSAGE), LONGEST_MESSAGE)
    told = f", as its host says: {quoted(said)}" if said else ""
    if service.begun_at is None:
        return f"service {service.name}, which {service.host} has not begun"
    return f"service {service.name} on {service.host}, which is {service.phase}{told}"
