"""The rows of the list: machines with how they stand, filtered and sorted."""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from enum import Enum
from typing import Final

from tinkbox.model.labels import Selector
from tinkbox.view.columns import shown_text
from tinkbox.view.filters import parse_filter
from tinkbox.view.lines import clean
from tinkbox.view.row import Row, natural_key
from tinkbox.view.standing import Standing, standing_of, words_of, work_of
from tinkbox.wire.messages.status import MachineLine, Snapshot, StrangerLine

LONGEST_NAME: Final = 63


class Order(Enum):
    """What the list is sorted by."""

    PROBLEM = "problem"
    NAME = "name"
    STATE = "state"
    AGE = "age"

    @property
    def following(self) -> "Order":
        """The next one, the first after the last."""
        orders = list(Order)
        return orders[(orders.index(self) + 1) % len(orders)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Scope:
    """The machines that a view is about: those with `labels` that are in one of these `states` (STATE_WORDS); None: all.

    A state is that of the row; one that no row has, such as `working`, is that of lists of machines.  Unknown machines have no
    labels, and a state of the row alone.
    """

    labels: Selector | None = None
    states: frozenset[str] | None = None

    def __bool__(self) -> bool:
        return self.labels is not None or self.states is not None

    def __str__(self) -> str:
        states = ",".join(sorted(self.states or ()))
        told = [f"-l {self.labels}" if self.labels is not None else "", f"--state {states}" if states else ""]
        return clean(" ".join(each for each in told if each), 2_000)

    def has(self, machine: MachineLine) -> bool:
        """Whether a registered machine is one of these."""
        return (self.labels is None or self.labels.matches(machine.labels)) and (
            self.states is None or not self.states.isdisjoint(words_of(machine))
        )

    @property
    def has_strangers(self) -> bool:
        """Whether unknown machines are."""
        return self.labels is None and (self.states is None or Standing.UNKNOWN.word.lower() in self.states)


EVERYTHING: Final = Scope()


def rows_of(snapshot: Snapshot, before: Mapping[str, Row], scope: Scope = EVERYTHING) -> dict[str, Row]:
    """A row for each machine by its id, for a stranger by its MAC; those that did not change are taken over."""
    rows: dict[str, Row] = {}
    for line in snapshot.machines:
        if scope and not scope.has(line):
            continue
        known = before.get(line.id)
        rows[line.id] = known if known is not None and known.line is line else _row(line, line, standing_of(line))
    for stranger in snapshot.strangers if scope.has_strangers else ():
        known = before.get(stranger.mac)
        same = known is not None and known.line == stranger
        rows[stranger.mac] = (
            known if known is not None and same else _row(stranger, _machine(stranger), Standing.UNKNOWN)
        )
    return rows


def chosen(rows: Iterable[Row], filtered_by: str, order: Order, *, is_typed: bool = False) -> tuple[Row, ...]:
    """Those that the filter keeps, which `is_typed` where it may go on, in this order."""
    found = list(rows)
    if filtered_by:
        kept_by = parse_filter(filtered_by, found, is_typed=is_typed)
        found = [each for each in found if kept_by.keeps(each)]
    # Sorting keeps the order of what is equal.
    found.sort(key=lambda each: each.by_name)
    if order is Order.PROBLEM:
        found.sort(key=_problem_key)
    elif order is Order.STATE:
        found.sort(key=lambda each: each.standing.rank)
    elif order is Order.AGE:
        found.sort(key=lambda each: each.age_key)
    return tuple(found)


def counted_by_standing(rows: Iterable[Row]) -> Sequence[tuple[Standing, int]]:
    """How many stand how, the worst first; those that are none are left out."""
    counts = Counter(each.standing for each in rows)
    return [(each, counts[each]) for each in Standing if counts[each]]


def _problem_key(row: Row) -> tuple[int, bool, float]:
    # Of problems the newest first; of the rest each where its name is.
    stands = row.standing
    # Behind them those that are silent, or of which the doctor found something: no number of unknown machines stands before these.
    is_found = (
        not stands.is_problem and stands is not Standing.UNKNOWN and (row.is_problem or bool(row.machine.diagnosis))
    )
    return (Standing.STALLED if is_found else stands).rank, is_found, row.age_key if row.is_problem else 0.0


def _machine(stranger: StrangerLine) -> MachineLine:
    """A stranger as if it were registered, without a name."""
    return MachineLine(
        id=stranger.mac,
        hostname="",
        mac=stranger.mac,
        address="",
        stage=stranger.stage,
        stage_at=stranger.stage_at,
        stalled=stranger.stalled,
        diagnosis=stranger.diagnosis,
    )


def _row(line: MachineLine | StrangerLine, machine: MachineLine, standing: Standing) -> Row:
    work = work_of(machine)
    name = clean(machine.name or machine.hostname or (machine.mac if machine.id == machine.mac else machine.id[:8]))
    is_boot = work is None or standing in (Standing.PARKED, Standing.STALLED)
    since = machine.stage_at if is_boot or work is None else work.since
    is_at_something = standing not in (Standing.WAITING, Standing.IDLE)
    row = Row(
        line=line,
        machine=machine,
        name=name[:LONGEST_NAME],
        standing=standing,
        since=since if is_at_something else None,
        by_name=natural_key(name),
    )
    # Beside what it shows only what names the machine and its work.
    ids = (machine.id, machine.rollout, work.id if work is not None else "")
    return replace(row, searched=f"{shown_text(row)} {machine.hostname}".lower(), ids=ids)
