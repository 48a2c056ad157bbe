"""What the operator door answers, as JSON documents.  Times are ISO 8601 in UTC."""

import base64
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tinkbox.engine.machines.machines import MachineStatus
from tinkbox.engine.workflows.breakpoints import Standing
from tinkbox.model.breakpoint import Breakpoints, Hold, Verdict, verdicts
from tinkbox.model.conditions import conditions, explanation
from tinkbox.model.errors import Refusal
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.reasons import hint
from tinkbox.model.services import ServiceStatus
from tinkbox.model.workflow import DONE, ActionStatus, Event, Outcome, PlannedAction, State, Workflow, progress
from tinkbox.store.data import DataVersion
from tinkbox.store.templates import Template
from tinkbox.store.workflows import Attempt
from tinkbox.wire.ephemeral_data import Entry, decode

Document = dict[str, Any]


def hardware(status: MachineStatus) -> Document:
    interfaces = [
        {"mac": each.mac, "address": str(each.address or ""), "hostname": each.hostname}
        for each in status.hardware.interfaces
    ]
    return {
        "id": status.hardware.id,
        "interfaces": interfaces,
        "ticket": status.ticket,
        "installed": status.installed,
        "boots": status.boots,
        "parked": status.parked,
        "stage": status.stage or "",
        "stage_at": _time(status.stage_at),
        "stalled": status.stalled,
        "last_contact": _time(status.last_contact),
        "created_at": _time(status.created_at),
        "updated_at": _time(status.updated_at),
        "document": dict(status.hardware.document),
    }


def firmware_traits(learned: FirmwareTraits) -> Document:
    return {
        "secure_boot": learned.secure_boot,
        "local_boot": learned.local_boot or "",
        "proven": learned.proven,
    }


def template(stored: Template) -> Document:
    return {
        "id": stored.id,
        "name": stored.name,
        "created_at": _time(stored.created_at),
        "updated_at": _time(stored.updated_at),
        "data": stored.data,
    }


def workflow(flow: Workflow, hostnames: Mapping[str, str]) -> Document:
    """`hostnames` are those of machines by their id."""
    return {
        "id": flow.id,
        "name": flow.name,
        "state": flow.state,
        "template_id": flow.template_id,
        "devices": dict(flow.devices),
        "created_at": _time(flow.created_at),
        "started_at": _time(flow.started_at),
        "updated_at": _time(flow.updated_at),
        "global_timeout": flow.global_timeout,
        "conditions": _conditions(flow),
        "actions": [_action(each) for each in flow.actions],
        "services": [service(each, hostnames) for each in flow.services],
        "text": flow.text,
    }


def service(status: ServiceStatus, hostnames: Mapping[str, str]) -> Document:
    """Where the newest run of a service stands.

    `host` is the machine's hostname, or what the template calls it or the appliance; `machine` is its id, empty for the
    appliance.  `routes` are the rules and URLs that requests are for it by.  `address` and `ports` are where the
    appliance reaches it.
    """
    planned, standing = status.service, status.standing
    rules = [value for name, value in planned.labels if name.endswith(".rule")]
    return {
        "name": planned.name,
        "host": hostnames.get(planned.host) or planned.address,
        "machine": planned.host,
        "image": planned.image,
        "state": standing.phase,
        "restarts": standing.restarts,
        "begun_at": _time(status.begun_at),
        "ready_at": _time(status.ready_at),
        "changed_at": _time(status.changed_at),
        "exit_code": standing.exit_code,
        "signal": standing.signal,
        "reason": standing.reason,
        "message": standing.message,
        "hint": hint(standing.reason),
        "last_output": list(standing.tail),
        "output_bytes": status.output_length,
        "run": standing.run,
        "routes": [*rules, *planned.urls],
        "address": standing.address,
        "ports": list(standing.ports),
    }


def attempts(flow: Workflow, made: Sequence[Attempt]) -> list[Document]:
    """Every attempt at a workflow's actions in the order in which they began; `number` counts those at one action."""
    numbers: Counter[int] = Counter()
    listed = []
    for each in made:
        numbers[each.position] += 1
        action = flow.actions[each.position].action
        listed.append(
            {
                "attempt": each.token,
                "index": each.position,
                "task": action.task,
                "action": action.name,
                "number": numbers[each.position],
                "worker": each.worker,
                "state": each.state,
                "started_at": _time(each.started_at),
                "ended_at": _time(each.ended_at),
                "outcome": _outcome(each.outcome),
                "output_bytes": each.output_length,
            }
        )
    return listed


def state(standing: Standing) -> Document:
    """Where a workflow stands, in the words of 2020's `tink workflow state`.

    Reason and message are those of the action's newest attempt, or of the process that is held, else those of the
    whole workflow's end.
    """
    flow = standing.workflow
    current = flow.current()
    action = current.action if current else None
    reached = current.state if current else State.PENDING
    held = standing.hold
    ended = held.outcome if held else current.outcome if current else None
    outcome = ended or _unattempted(flow)
    return {
        "workflow_id": flow.id,
        "state": flow.state,
        # The last action stands for all of them when every one is done, be it that it was skipped.
        "progress": progress(
            action.index if action else 0, State.SUCCESS if reached in DONE else reached, len(flow.actions)
        ),
        "current_task": action.task if action else "",
        "current_action": action.name if action else "",
        "current_worker": action.worker if action else "",
        "current_action_state": reached,
        "failures": current.failures if current else 0,
        "retries": action.retries if action else 0,
        "reason": outcome.reason,
        "message": outcome.message,
        "hint": outcome.hint,
        "exit_code": outcome.exit_code,
        "signal": outcome.signal,
        "last_output": list(outcome.tail),
        "held": _held(standing),
        "conditions": _conditions(flow),
    }


def breakpoints(standing: Standing) -> Document:
    """What is armed of a workflow, and the hold it is in, if any."""
    flow = standing.workflow
    return {
        "id": flow.id,
        "name": flow.name,
        "state": flow.state,
        "armed": armed(standing.breakpoints),
        "held": _held(standing),
    }


def armed(what: Breakpoints) -> Document:
    return asdict(what)


def holds(standing: Standing, made: Sequence[Attempt]) -> list[Document]:
    """Every hold of a workflow, oldest first; `made` are its attempts."""
    positions = {each.token: each.position for each in made}
    actions = standing.workflow.actions
    return [hold(each, actions[positions[each.attempt]].action) for each in standing.holds if each.attempt in positions]


def hold(each: Hold, action: PlannedAction) -> Document:
    """A hold of an action; `verdicts` are those that may be given on it, none when it has one."""
    return {
        "workflow_id": each.workflow_id,
        "task": action.task,
        "action": action.name,
        "worker": action.worker,
        "attempt": each.attempt,
        "sequence": each.sequence,
        "kind": each.kind,
        "since": _time(each.held_at),
        "deadline": _time(each.deadline),
        "timeout": each.timeout,
        "on_expiry": each.on_expiry,
        "outcome": _outcome(each.outcome),
        "container": each.container,
        "in_place": each.in_place,
        "verdicts": [] if each.verdict else list(verdicts(each.kind)),
        "verdict": _verdict(each.verdict),
        "decided_at": _time(each.verdict_at),
        "ended_at": _time(each.ended_at),
    }


def _held(standing: Standing) -> Document | None:
    found = standing.hold
    if found is None:
        return None
    action = next(each.action for each in standing.workflow.actions if each.attempt == found.attempt)
    return hold(found, action)


def _verdict(given: Verdict | None) -> Document | None:
    return asdict(given) if given else None


def _unattempted(flow: Workflow) -> Outcome:
    """What there is to say where no attempt has ended: of a workflow that is stopped, or ended between two actions."""
    reason, message = explanation(flow)
    return Outcome(state=flow.state, reason=reason, message=message, hint=hint(reason))


def event(fact: Event) -> Document:
    return {
        "workflow_id": fact.workflow_id,
        "number": fact.number,
        "at": _time(fact.at),
        "kind": fact.kind,
        **dict(fact.data),
    }


def data(version: DataVersion | None, flow: Workflow, made: Sequence[Attempt]) -> Document:
    """A version of the ephemeral data with its files; version 0 when nothing was ever written.

    `made` are the attempts of its workflow: a worker makes one after another, so the last one that had begun wrote it.
    """
    if version is None or version.archive is None:
        return {"version": 0, "files": []}
    writer = next((each for each in reversed(made) if _may_have_written(each, version)), None)
    action = flow.actions[writer.position].action if writer else None
    return {
        **_version(version),
        "task": action.task if action else "",
        "action": action.name if action else "",
        "files": _files(version.archive),
    }


def _may_have_written(attempt: Attempt, version: DataVersion) -> bool:
    return attempt.worker == version.worker and attempt.started_at <= version.at


def data_versions(versions: Sequence[DataVersion]) -> list[Document]:
    """Every version, oldest first: of those that are kept with the files, but without what is in them."""
    return [
        {
            **_version(each),
            "kept": each.archive is not None,
            "files": [_without_content(file) for file in _files(each.archive or b"")],
        }
        for each in versions
    ]


def _version(version: DataVersion) -> Document:
    return {
        "version": version.version,
        "at": _time(version.at),
        "worker": version.worker,
        "size": version.size,
        "sha256": version.digest,
    }


def _without_content(file: Document) -> Document:
    return {name: value for name, value in file.items() if name != "content"}


def _files(archive: bytes) -> list[Document]:
    try:
        return [_file(entry) for entry in decode(archive)]
    except Refusal as error:
        return [{"path": "", "error": str(error)}]


def _file(entry: Entry) -> Document:
    if entry.link is not None:
        return {"path": entry.path, "link": entry.link}
    if entry.content is None:
        return {"path": entry.path, "mode": entry.mode}
    content = base64.b64encode(entry.content).decode()
    return {"path": entry.path, "mode": entry.mode, "size": len(entry.content), "content": content}


def _action(status: ActionStatus) -> Document:
    return {
        **asdict(status.action),
        "state": status.state,
        "failures": status.failures,
        "attempt": status.attempt,
        "started_at": _time(status.started_at),
        "ended_at": _time(status.ended_at),
        "outcome": _outcome(status.outcome),
    }


def _outcome(outcome: Outcome | None) -> Document | None:
    return asdict(outcome) if outcome else None


def _conditions(flow: Workflow) -> list[Document]:
    """In the words of Kubernetes."""
    return [
        {
            "type": each.type,
            "status": each.status,
            "reason": each.reason,
            "message": each.message,
            "lastTransitionTime": _time(each.at),
        }
        for each in conditions(flow)
    ]


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
