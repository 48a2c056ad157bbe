"""Which workflows a list has, found by indexes: the rows themselves have the rendered templates.

What selects by labels reaches the machines of a workflow: a key that the workflow does not have itself has the values that its
machines have.
"""

import json
import sqlite3
from array import array
from collections.abc import Iterator
from typing import Any, Final

from tinkbox.model.labels import LabelKind, Operator, Requirement
from tinkbox.model.listing import WorkflowListing
from tinkbox.model.rollout import LABEL as ROLLOUT
from tinkbox.model.workflow import State
from tinkbox.store.holds import AWAITS_VERDICT
from tinkbox.store.listed_templates import of_template

# Of equal ones the oldest comes first, or last; creation has an order of its own, which a clock put back does not change.
_COLUMNS: Final = {
    "created_at": "number", "updated_at": "updated_at", "name": "name", "state": "state", "machine": "behind"
}  # fmt: skip
# The first of a workflow's machines, as they are ordered, by its place.
_BEHIND: Final = (
    "LEFT JOIN (SELECT workflow_id, min(json_each.key) AS behind FROM json_each(?) "
    "JOIN action ON worker = json_each.value GROUP BY workflow_id) ON workflow_id = id"
)


def listed_ids(sql: sqlite3.Connection, wanted: WorkflowListing) -> tuple[list[str], int]:
    """The ids in the order that is asked for, and how many there are without the limit."""
    return _found(sql, "id", wanted)


def listed_numbers(sql: sqlite3.Connection, wanted: WorkflowListing) -> tuple["array[int]", int]:
    """The same by their numbers, which take a tenth of the memory of ids: an answer keeps them until it is read."""
    numbers, total = _found(sql, "number", wanted)
    return array("q", numbers), total


def _found(sql: sqlite3.Connection, column: str, wanted: WorkflowListing) -> tuple[list[Any], int]:
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
    table, placed = "workflow", list[Any]()
    if wanted.order.field == "machine":
        table, order, placed = f"workflow {_BEHIND}", f"behind IS NULL, {order}", [json.dumps(wanted.machines)]
    elif wanted.since is not None or wanted.selector.requirements:
        order = order.replace("number", "+number")  # in its own order the table would be read, not an index
    # What labels select is found all at once: to count it is to find it once more.
    limit = 0 if wanted.selector.requirements else wanted.limit
    # As one value: row by row, every one of them would ask for the interpreter's lock.
    (listed,) = sql.execute(
        f"SELECT json_group_array({column}) FROM (SELECT {column} FROM {table} WHERE {where} ORDER BY {order} LIMIT ?)",  # noqa: S608  our own conditions
        (*placed, *values, limit or -1),
    ).fetchone()
    found = json.loads(listed)
    if not limit or len(found) < limit:
        return found[: wanted.limit or None], len(found)
    (total,) = sql.execute(f"SELECT count(*) FROM workflow WHERE {where}", values).fetchone()  # noqa: S608  the same
    return found, total


def _conditions(wanted: WorkflowListing) -> Iterator[tuple[str, list[Any]]]:
    if wanted.states:
        among = "state IN (SELECT value FROM json_each(?))"
        held = f" OR state = 'RUNNING' AND id IN (SELECT workflow_id FROM hold WHERE {AWAITS_VERDICT})"  # noqa: S608  our own words
        yield f"({among}{held if State.HELD in wanted.states else ''})", [json.dumps(wanted.states)]
    if wanted.machine:
        yield (
            "id IN (SELECT workflow_id FROM action WHERE worker = ? UNION SELECT workflow_id FROM service WHERE host = ?)",
            [wanted.machine, wanted.machine],
        )
    if wanted.among is not None:
        yield "id IN (SELECT value FROM json_each(?))", [json.dumps(list(wanted.among))]
    if wanted.within is not None:
        within = json.dumps(list(wanted.within))
        yield "id IN (SELECT workflow_id FROM action WHERE worker IN (SELECT value FROM json_each(?)))", [within]
        yield (
            "id NOT IN (SELECT workflow_id FROM action WHERE worker NOT IN (SELECT value FROM json_each(?)))",
            [within],
        )
        hosted = "host IN (SELECT id FROM hardware) AND host NOT IN (SELECT value FROM json_each(?))"
        yield f"id NOT IN (SELECT workflow_id FROM service WHERE {hosted})", [within]  # noqa: S608  our own words
    if wanted.template is not None:
        yield of_template(wanted.template)
    if wanted.since is not None:
        yield "created_at >= ?", [wanted.since.isoformat()]
    yield from map(_condition, wanted.selector.requirements)


def _condition(requirement: Requirement) -> tuple[str, list[Any]]:
    """Whether one of the values of a key is one of those that are wanted, or it has any; or the opposite."""
    labelled = "SELECT owner FROM label WHERE kind = ? AND key = ?"
    own: list[Any] = [LabelKind.WORKFLOW, requirement.key]
    machines: list[Any] = [LabelKind.MACHINE, requirement.key]
    wanted, values = labelled, list[Any]()
    if requirement.operator in (Operator.IN, Operator.NOT_IN):
        wanted += " AND value IN (SELECT value FROM json_each(?))"
        values.append(json.dumps(requirement.values))
    word = "IN" if requirement.operator in (Operator.IN, Operator.EXISTS) else "NOT IN"
    found = (
        wanted,
        f"SELECT workflow_id FROM action WHERE worker IN ({wanted}) AND workflow_id NOT IN ({labelled})",  # noqa: S608
        f"SELECT workflow_id FROM service WHERE host IN ({wanted}) AND workflow_id NOT IN ({labelled})",  # noqa: S608
    )
    if requirement.key == ROLLOUT:  # the appliance's own, which is of no machine
        return f"id {word} ({wanted})", [*own, *values]
    behind = [*machines, *values, *own]
    return f"id {word} ({' UNION ALL '.join(found)})", [*own, *values, *behind, *behind]
