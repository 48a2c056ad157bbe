"""What the operator door answers, as JSON documents.  Times are ISO 8601 in UTC."""

import base64
from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tinkbox.engine.machines import MachineStatus
from tinkbox.model.errors import Refusal
from tinkbox.model.workflow import ActionStatus, Event, State, Workflow, progress
from tinkbox.store.data import DataVersion
from tinkbox.store.hardware import Sighting
from tinkbox.store.templates import Template
from tinkbox.wire.bundle import Entry, decode

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
        "last_contact": _time(status.last_contact),
        "created_at": _time(status.created_at),
        "updated_at": _time(status.updated_at),
        "document": dict(status.hardware.document),
    }


def sighting(seen: Sighting) -> Document:
    return {"at": _time(seen.at), "stage": seen.stage, "detail": seen.detail}


def template(stored: Template) -> Document:
    return {
        "id": stored.id,
        "name": stored.name,
        "created_at": _time(stored.created_at),
        "updated_at": _time(stored.updated_at),
        "data": stored.data,
    }


def workflow(flow: Workflow) -> Document:
    return {
        "id": flow.id,
        "name": flow.name,
        "state": flow.state,
        "template_id": flow.template_id,
        "devices": dict(flow.devices),
        "created_at": _time(flow.created_at),
        "updated_at": _time(flow.updated_at),
        "actions": [_action(each) for each in flow.actions],
        "text": flow.text,
    }


def state(flow: Workflow) -> Document:
    """Where a workflow stands, in the words of 2020's `tink workflow state`."""
    current = flow.current()
    action = current.action if current else None
    reached = current.state if current else State.PENDING
    outcome = current.outcome if current else None
    return {
        "workflow_id": flow.id,
        "state": flow.state,
        "progress": progress(action.index if action else 0, reached, len(flow.actions)),
        "current_task": action.task if action else "",
        "current_action": action.name if action else "",
        "current_worker": action.worker if action else "",
        "current_action_state": reached,
        "reason": outcome.reason if outcome else "",
        "message": outcome.message if outcome else "",
    }


def event(fact: Event) -> Document:
    return {
        "workflow_id": fact.workflow_id,
        "number": fact.number,
        "at": _time(fact.at),
        "kind": fact.kind,
        **dict(fact.data),
    }


def data(version: DataVersion | None) -> Document:
    """A version of the ephemeral data with its files; version 0 when nothing was ever written."""
    if version is None or version.archive is None:
        return {"version": 0, "files": []}
    return {
        "version": version.version,
        "at": _time(version.at),
        "worker": version.worker,
        "size": version.size,
        "sha256": version.digest,
        "files": _files(version.archive),
    }


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
    outcome: Mapping[str, Any] | None = asdict(status.outcome) if status.outcome else None
    return {
        **asdict(status.action),
        "state": status.state,
        "attempt": status.attempt,
        "started_at": _time(status.started_at),
        "ended_at": _time(status.ended_at),
        "outcome": outcome,
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment else None
