"""What follows when a workflow that ended badly is taken up again, within the use-case that says so."""

import json
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from shlex import quote
from typing import Final

from tinkbox.engine.machines.replacement import claims
from tinkbox.engine.rules.first_boot import concluded
from tinkbox.engine.rules.transitions import ACTION, WORKFLOW, Happening, advance
from tinkbox.engine.templates.built_in import catalogue
from tinkbox.engine.workflows.beginnings import begin_attempt
from tinkbox.engine.workflows.endings import end_first_boot
from tinkbox.engine.workflows.image_digests import DigestOf, pin_again
from tinkbox.model import history
from tinkbox.model.devices import Devices
from tinkbox.model.errors import Conflict
from tinkbox.model.hardware import Hardware, called, names_of
from tinkbox.model.telling import Telling
from tinkbox.model.text import quoted
from tinkbox.model.workflow import DONE, FINAL, State, Workflow, WorkflowHead
from tinkbox.store.database import Tables
from tinkbox.store.workflows import Attempt

_LONGEST_PARAMETERS: Final = 400
_DELETED: Final = "a workflow ran since that was deleted"


def take_up_again(
    tables: Tables,
    workflow: Workflow,
    first: int,
    *,
    new_token: Callable[[], str],
    digest_of: DigestOf,
    now: datetime,
    confirmed: bool = False,
) -> Workflow:
    """Have a workflow begin anew at the action `first`, behind what its machines wait for; returns it as it is then.

    Its services are started anew.  `confirmed` as in `Workflows.retry`.  Raises Conflict when it cannot be retried.
    """
    tables.workflows.set_state(workflow.id, advance(WORKFLOW, workflow.state, Happening.RETRIED), now)
    tables.workflows.make_ready(workflow.id, first)
    runs = [new_token() for _ in workflow.services]
    tables.services.renew(workflow.id, runs)
    digests = pin_again(tables, workflow, first, digest_of)
    tables.events.add(workflow.id, now, *history.retried(first, runs, digests, confirmed=confirmed))
    if confirmed:
        tables.workflows.confirm_wipe(workflow.id)
    ready = tables.workflows.get(workflow.id)
    tables.hardware.grant_ticket(awaited(ready))
    return ready


def refuse_departed(tables: Tables, workflow: Workflow) -> None:
    """Raise Conflict, which says what to do, where a machine of a workflow was deleted, be it registered anew since."""
    addresses = {each.action.worker: each.action.address for each in workflow.actions}
    for machine, deleted in tables.hardware.left(workflow.id, workflow.workers()).items():
        known = next((each.hardware for each in tables.hardware.some([machine])), None)
        name = called(known, addresses[machine])
        what = "was deleted" if deleted else "was deleted and registered anew since"
        raise Conflict(
            f"workflow {workflow.id} is not retried, for its machine {name} {what}: make a new workflow, with "
            "`tinkbox workflow create`"
        )


def refuse_in_turn(tables: Tables, workflow: Workflow) -> None:
    """Raise Conflict, which names the rollout, where a machine of a workflow that is over waits for its turn in one that goes on."""
    waiting = tables.rollouts.waiting_in(workflow.workers())
    for record in tables.hardware.some(list(waiting)):
        rollout = waiting[record.hardware.id][:8]
        raise Conflict(
            f"workflow {workflow.id} is not retried, for machine {called(record.hardware)} waits in rollout {rollout}: `tinkbox "
            f"rollout get {rollout}` shows that, `tinkbox rollout cancel {rollout}` ends it for all its machines",
            of=[waiting[record.hardware.id]],
        )


def refuse_overtaken(tables: Tables, workflow: Workflow) -> None:
    """Raise Conflict where a machine of a workflow that is over is another one's by now: its disk is as that one leaves it."""
    why = overtaken(tables, workflow)
    if why.text:
        raise Conflict(f"workflow {workflow.id} is not retried: {why.text}", of=why.of)


def overtaken(tables: Tables, workflow: Workflow) -> Telling:
    """Why a workflow that is over is not retried, as in `refuse_overtaken`; empty: it can be."""
    for record in tables.hardware.some(workflow.workers()):
        name = called(record.hardware)
        again = create_command(workflow.template_name, workflow.devices, record.hardware)
        why = overtaken_on(tables, workflow.id, record.hardware.id, again)
        if why.text:
            return replace(why, text=f"on machine {name} {why.text}")
    return Telling()


def changed_since(tables: Tables, workflow: WorkflowHead, machine: Hardware | None) -> str:
    """That a workflow's template has another text than the one that a retry runs, or is gone, and the way to that; empty: it has not."""
    templates = tables.templates.listed(workflow.template_id)
    if not templates and workflow.template_id not in catalogue():
        return (
            f"template {quoted(workflow.template_name)} was deleted since: a retry runs the text of before all the same"
        )
    for template in templates:
        if template.updated_at > workflow.created_at:
            again = create_command(template.name, workflow.devices, machine)
            return f"template {quoted(template.name)} was changed since: a retry runs the text of before; `{again}` makes a workflow of the new one"
    return ""


def way_to_change(tables: Tables, workflow: WorkflowHead, machine: Hardware | None) -> str:
    """What a person types who changes the template of a workflow that failed; empty where it did not, or no stored one is to be changed."""
    if workflow.state not in (State.FAILED, State.TIMEOUT):
        return ""
    for template in tables.templates.listed(workflow.template_id):
        again = create_command(template.name, workflow.devices, machine)
        return (
            f"if the template is to blame: `tinkbox template update {quote(template.name)} -f FILE`, then `{again}` runs the new text; a retry "
            "keeps the old one"
        )
    return ""


def refuse_succeeded(tables: Tables, workflow: Workflow) -> None:
    """Raise Conflict, which says what to type instead, where a workflow succeeded."""
    if workflow.state is State.SUCCESS:
        machine = next((each.hardware for each in tables.hardware.some(workflow.workers())), None)
        again = create_command(workflow.template_name, workflow.devices, machine)
        raise Conflict(f"workflow {workflow.id} succeeded: `{again}` makes a new one, to run it once more")


def create_command(template: str, devices: Devices, machine: Hardware | None) -> str:
    """The command that makes a workflow of a template once more, with the same parameters, for a machine."""
    meant = [name for name, value in devices.items() if machine is not None and _means(value, machine)]
    if machine is not None and (len(meant) == 1 or not devices):
        others = {name: value for name, value in devices.items() if name not in meant}
        return with_parameters(template, others, called(machine))
    return with_parameters(template, devices)


def with_parameters(template: str, parameters: Devices, machine: str = "") -> str:
    """The command that makes a workflow of a template for a machine, which `parameters` do not name; without one they do."""
    # A command stands between backquotes.
    text = json.dumps(dict(parameters)).replace("`", "\\u0060")
    given = ["-r", quote(text) if len(text) <= _LONGEST_PARAMETERS else "JSON"] if parameters else []
    return " ".join(["tinkbox workflow create -t", quote(template), *given, *([quote(machine)] if machine else [])])


def _means(value: object, machine: Hardware) -> bool:
    own = {
        machine.id,
        machine.agent_id,
        *(each for claim in claims(machine) for each in claim if each),
        *names_of(machine),
    }
    return isinstance(value, str) and value != "" and value.lower() in {each.lower() for each in own}


def overtaken_on(tables: Tables, workflow_id: str, worker: str, again: str) -> Telling:
    """Which other workflow has a machine, or ran there since a workflow ended, and the way out; empty: none.

    `again` is the command that makes that workflow once more.
    """
    anew = _anew("makes it anew, from its first action on", again)
    for other, name, state in tables.workflows.overtaking(workflow_id, worker):
        named = f"workflow {other[:8]} ({name})"
        if state is State.PENDING:
            text = f"{named} waits to begin: `tinkbox workflow cancel {other[:8]}` takes it away"
        elif state not in FINAL:
            text = f"{named} is {state}: `tinkbox workflow watch {other[:8]}` follows it"
        else:
            text = f"{named} ran since: {state}. {anew}"
        return Telling(text=text, of=(other,))
    if tables.journals.newest_deleted(worker) and tables.workflows.has_begun(workflow_id, worker):
        return Telling(text=f"{_DELETED}. {anew}")
    return Telling()


def taken_meanwhile(tables: Tables, worker: str, own: str, since: datetime, again: str) -> str:
    """Which workflow ran on a machine since it waits for one that the command `again` makes, and the way out; empty: none.

    Its `own`, where that was deleted, is none.
    """
    anew = _anew("makes a workflow of it", again)
    for other, name, state in tables.workflows.last_on(worker, since):
        return f"workflow {other[:8]} ({name}) ran since: {state}. {anew}"
    deleted, began = tables.journals.newest_deleted(worker) or ("", since)
    return f"{_DELETED}. {anew}" if deleted != own and began > since else ""


def _anew(does: str, again: str) -> str:
    return f"Where this one is wanted all the same, `{again}` {does}"


def awaited(workflow: Workflow) -> list[str]:
    """The machines that a workflow still has something to do for."""
    return list(dict.fromkeys(each.action.worker for each in workflow.actions if each.state is State.PENDING))


def end_if_up(tables: Tables, retried: Workflow, *, new_token: Callable[[], str], now: datetime) -> Workflow:
    """End a workflow at once of which nothing is left but to wait for a system that is up by now; returns it as it is then.

    Such a system phoned home after its time was over.  It does so once only, so a new attempt would wait for it in vain.
    """
    undone = [each for each in retried.actions if each.state not in DONE]
    if len(undone) != 1 or not undone[0].action.spec.until or retried.services:
        return retried
    action = undone[0].action
    if tables.metadata.newest(action.worker) != retried.id:
        return retried  # another workflow has begun there since
    hardware = next((each.hardware for each in tables.hardware.some([action.worker])), None)
    first_boot = tables.metadata.first_boot(retried.id, action.worker)
    up = concluded(first_boot, called(hardware, action.address), now)
    if up is None or up.state is not State.SUCCESS:
        return retried
    step = tables.workflows.step(retried.id, action.index)
    attempt = Attempt(
        token=new_token(),
        workflow_id=retried.id,
        position=action.index,
        worker=action.worker,
        boot_id="",
        session=tables.sessions.serial(action.worker),
        state=advance(ACTION, step.status.state, Happening.STARTED),
        started_at=now,
    )
    begin_attempt(tables, step, attempt, now)
    end_first_boot(tables, attempt, up, now)
    return tables.workflows.get(retried.id)
