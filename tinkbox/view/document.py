"""The picture as one document, for scripts: the appliance's health, counts, and each machine with its work."""

from collections.abc import Mapping
from dataclasses import asdict
from datetime import datetime
from typing import Any

from tinkbox.view.columns import why
from tinkbox.view.row import Row
from tinkbox.view.rows import EVERYTHING, Order, Scope, chosen, counted_by_standing, rows_of
from tinkbox.view.standing import Standing
from tinkbox.wire.messages.status import Snapshot, StrangerLine, WorkLine

Document = dict[str, Any]


def document_of(snapshot: Snapshot, scope: Scope = EVERYTHING) -> Document:
    """All of it, problems first; times in ISO 8601, what there is not is None, an empty text or an empty list."""
    rows = chosen(rows_of(snapshot, {}, scope).values(), "", Order.PROBLEM)
    counts = counted_by_standing(rows)
    return {
        "now": snapshot.now.isoformat(),
        "version": snapshot.version,
        "selected_by": {
            "label": str(scope.labels) if scope.labels is not None else None,
            "state": sorted(scope.states) if scope.states is not None else None,
        },
        "scope_of_token": snapshot.scope or None,
        "health": {
            "faults": list(snapshot.health.faults),
            "conditions": [_with_times(asdict(each)) for each in snapshot.health.conditions],
            "bytes_sent_per_second": snapshot.health.sent,
            "disk": _with_times(asdict(snapshot.disk)) if snapshot.disk is not None else None,
            "limits": [asdict(each) for each in snapshot.limits],
        },
        "counts": {
            "machines": sum(number for each, number in counts if each is not Standing.UNKNOWN),
            "problems": sum(each.is_problem for each in rows),
            "by_state": {each.word: number for each, number in counts},
        },
        "machines": [_machine(each, snapshot.now) for each in rows],
    }


def _machine(row: Row, now: datetime) -> Document:
    """`state` is the word of the column STATE, `hardware_state` that of lists of machines; an unknown machine has no `id`."""
    machine = row.machine
    return {
        "id": "" if isinstance(row.line, StrangerLine) else machine.id,
        "name": row.name,
        "hostname": machine.hostname,
        "mac": machine.mac,
        "address": machine.address,
        "labels": dict(machine.labels),
        "state": row.standing.word,
        "is_problem": row.is_problem,
        "hardware_state": machine.state,
        "since": _time(row.since),
        "why": why(row, now),
        "stage": machine.stage,
        "stage_at": _time(machine.stage_at),
        "diagnosis": machine.diagnosis,
        "silent_since": _time(machine.silent_since),
        "rollout": machine.rollout,
        "rollout_paused": machine.rollout_paused,
        "workflow": _work(row.work) if row.work is not None else None,
    }


def _work(work: WorkLine) -> Document:
    return {
        "id": work.id,
        "name": work.name,
        "template": work.template,
        "state": work.state.value,
        "actions_done": work.done,
        "actions_total": work.total,
        "action": work.action,
        "action_number": work.number,
        "action_progress": asdict(work.progress) if work.progress is not None else None,
        "attempt": work.attempt,
        "attempts": work.attempts,
        "reason": work.reason,
        "message": work.message,
        "hint": work.hint,
        "held": work.held.value if work.held is not None else "",
        "held_until": _time(work.deadline),
    }


def _time(moment: datetime | None) -> str | None:
    return moment.isoformat() if moment is not None else None


def _with_times(entry: Mapping[str, Any]) -> Document:
    """Its times as text, however deep."""
    return {
        name: value.isoformat()
        if isinstance(value, datetime)
        else _with_times(value)
        if isinstance(value, Mapping)
        else value
        for name, value in entry.items()
    }
