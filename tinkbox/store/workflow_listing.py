"""Which workflows a list has, found by indexes: the rows themselves have the rendered templates."""

import json
import sqlite3
from collections.abc import Iterator
from typing import Any, Final

from tinkbox.model.labels import LabelKind
from tinkbox.model.listing import WorkflowListing
from tinkbox.store.labels import condition_of

# Of equal ones the oldest comes first, or last; creation has an order of its own, which a clock put back does not change.
_COLUMNS: Final = {"created_at": "number", "updated_at": "updated_at", "name": "name", "state": "state"}


def listed_ids(sql: sqlite3.Connection, wanted: WorkflowListing) -> tuple[list[str], int]:
    """The ids in the order that is asked for, and how many there are without the limit."""
    conditions, values = (
        ["number NOT IN (SELECT number FROM workflow INDEXED BY workflow_that_goes WHERE deleting)"],
        list[Any](),
    )
    for condition, needed in _conditions(wanted):
        conditions.append(condition)
        values += needed
    where = " AND ".join(conditions)
    way = "DESC" if wanted.order.descending else "ASC"
    order = ", ".join(dict.fromkeys(f"{each} {way}" for each in (_COLUMNS[wanted.order.field], "number")))
    ids = sql.execute(
        f"SELECT id FROM workflow WHERE {where} ORDER BY {order} LIMIT ?",  # noqa: S608  our own conditions
        (*values, wanted.limit or -1),
    ).fetchall()
    if not wanted.limit or len(ids) < wanted.limit:
        return [row["id"] for row in ids], len(ids)
    (total,) = sql.execute(f"SELECT count(*) FROM workflow WHERE {where}", values).fetchone()  # noqa: S608  the same
    return [row["id"] for row in ids], total


def _conditions(wanted: WorkflowListing) -> Iterator[tuple[str, list[Any]]]:
    if wanted.states:
        yield "state IN (SELECT value FROM json_each(?))", [json.dumps(wanted.states)]
    if wanted.machine:
        yield (
            "id IN (SELECT workflow_id FROM action WHERE worker = ? UNION SELECT workflow_id FROM service WHERE host = ?)",
            [wanted.machine, wanted.machine],
        )
    if wanted.template:
        yield "template_id = ?", [wanted.template]
    if wanted.since is not None:
        yield "created_at >= ?", [wanted.since.isoformat()]
    selecting, values = condition_of(wanted.selector, LabelKind.WORKFLOW, "id")
    if selecting:
        yield selecting, values
