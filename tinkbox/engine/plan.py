"""Pure decisions: what a booting machine is told, and what a worker does next."""

from dataclasses import dataclass
from enum import Enum

from tinkbox.model.boot import Boot, Client, Plan, Stage
from tinkbox.model.hardware import Interface
from tinkbox.model.workflow import ActionStatus, State, Workflow

MAX_BOOTS = 3


@dataclass(frozen=True, slots=True, kw_only=True)
class BootFacts:
    """What the decision about a booting machine rests on."""

    hardware_id: str
    interface: Interface
    ticket: bool
    installed: bool
    boots: int
    furthest: Stage | None
    workflow: str = ""


def boot_plan(facts: BootFacts, client: Client) -> Plan | None:
    """What to tell a machine that asks by DHCP; None is silence.

    The seed's rule: a machine with a ticket boots the OSIE, one without it is left to its own disk
    when a workflow once succeeded on it, and is ignored when none did.  A machine that does not
    netboot only wants its address.
    """
    if not client.netboots:
        return Plan(boot=Boot.NOTHING, hardware_id=facts.hardware_id, interface=facts.interface)
    return netboot_plan(facts)


def netboot_plan(facts: BootFacts) -> Plan | None:
    """What to tell a machine that netboots."""
    boot, reason = _netboot(facts)
    if boot is None:
        return None
    return Plan(
        boot=boot, hardware_id=facts.hardware_id, interface=facts.interface, workflow=facts.workflow, reason=reason
    )


def parked_reason(*, ticket: bool, boots: int, furthest: Stage | None) -> str:
    """Why a machine is parked, or nothing when it is not."""
    if not ticket or boots < MAX_BOOTS:
        return ""
    return (
        f"{boots} boots without progress, the furthest {furthest or Stage.SCRIPT}; look at its console, then push "
        "its hardware again or create a new workflow to let it boot"
    )


def _netboot(facts: BootFacts) -> tuple[Boot | None, str]:
    if not facts.interface.allow_pxe:
        return None, ""
    if not facts.ticket:
        return (Boot.LOCAL_DISK if facts.installed else None), ""
    reason = parked_reason(ticket=facts.ticket, boots=facts.boots, furthest=facts.furthest)
    return (Boot.PARKED, reason) if reason else (Boot.OSIE, "")


class Turn(Enum):
    """What a worker that asks for work is to do."""

    WAIT = "wait"
    START = "start"
    RESUME = "resume"
    LOST = "lost"


def turn(workflow: Workflow, worker: str, boot_id: str, attempt_boot_id: str) -> tuple[Turn, ActionStatus | None]:
    """Whose turn it is in the oldest workflow that still needs `worker`.

    Tasks run strictly in order, also across machines.  An action that runs since before the machine
    last booted (`attempt_boot_id`) is lost: it is never silently repeated.
    """
    current = workflow.current()
    if current is None or current.action.worker != worker:
        return Turn.WAIT, None
    if current.state is State.PENDING:
        return Turn.START, current
    if current.state is not State.RUNNING:
        return Turn.WAIT, None
    return (Turn.RESUME if boot_id == attempt_boot_id else Turn.LOST), current
