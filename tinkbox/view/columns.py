"""The columns of the list: which of them fit, how wide they are, and what stands in them."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Final

from tinkbox.model.actions.progress import in_words
from tinkbox.model.breakpoint import Verb
from tinkbox.model.cells import cells
from tinkbox.model.diagnosis import MAY_NOT_BOOT, SILENT_FOR
from tinkbox.model.workflow import State
from tinkbox.view.lines import Line, Piece, age, clean, elapsed, fitted
from tinkbox.view.row import Row
from tinkbox.view.standing import Standing, held_where, is_being_carried_out, rollout_of
from tinkbox.wire.messages.status import MachineLine, StrangerLine, WorkLine

GAP: Final = 2
MARKED: Final = "*"
DECIDED: Final = "decided, being carried out"
BY_ITSELF: Final = {
    Verb.FAIL: "fails", Verb.CONTINUE: "continues", Verb.ABORT: "aborts", Verb.RETRY: "retries", Verb.SKIP: "is skipped",
}  # fmt: skip

# What stands in a row at a time; without one, what does not change as time goes by.
Cell = Callable[[Row, datetime | None], Piece]


@dataclass(frozen=True, slots=True, kw_only=True)
class Column:
    """`least` and `most` are columns of the terminal; it is shown from a `terminal` of so many columns on.

    What is left over goes to the column that is `last`, once the others have what they want, `most` at most.
    """

    title: str
    cell: Cell
    least: int
    most: int
    terminal: int = 0
    right: bool = False
    last: bool = False


def layout(columns: Sequence[Column], rows: Sequence[Row], now: datetime, width: int) -> list[tuple[Column, int]]:
    """The columns that fit, each with its width for these rows."""
    fitting = [each for each in columns if each.terminal <= width]
    room = width - GAP * (len(fitting) - 1) - sum(each.least for each in fitting)
    widths = []
    for column in fitting:
        wanted = max((cells(column.cell(row, now)[0]) for row in rows), default=0)
        wanted = min(max(wanted, cells(column.title), column.least), column.most)
        more = 0 if column.last else max(0, min(wanted - column.least, room))
        room -= more
        widths.append(column.least + more)
    return [(each, taken + max(0, room) * each.last) for each, taken in zip(fitting, widths, strict=True)]


def uncut_layout(rows: Sequence[Row], now: datetime) -> list[tuple[Column, int]]:
    """All columns, as wide as what stands in them: a program, or a person with a pager, reads all of it."""
    return [(each, max([cells(each.title), *(cells(each.cell(row, now)[0]) for row in rows)])) for each in ALL_COLUMNS]


def heading(laid: Sequence[tuple[Column, int]]) -> Line:
    """The titles."""
    gap = " " * GAP
    return ((gap.join(fitted(each.title, width, right=each.right) for each, width in laid), "dim"),)


def row_line(laid: Sequence[tuple[Column, int]], row: Row, now: datetime, *, is_marked: bool = False) -> Line:
    """A row in exactly the columns' widths; one that a person marked has another sign before its name."""
    pieces: list[Piece] = []
    for column, width in laid:
        text, style = column.cell(row, now)
        if is_marked and column is MACHINE:
            text, style = f"{MARKED} {row.name}", "bold cyan"
        if pieces:
            pieces.append((" " * GAP, ""))
        pieces.append((fitted(text, width, right=column.right), style))
    return tuple(pieces)


def shown_text(row: Row) -> str:
    """All that the row shows in the widest terminal and on paper, but times: what a filter looks into."""
    return " ".join(each.cell(row, None)[0] for each in ALL_COLUMNS)


def stage_of(machine: MachineLine) -> str:
    """How far it was seen to come; one whose document tells no MAC is not seen before its worker asks."""
    return clean(machine.stage) or ("not seen yet" if machine.mac else "its document tells no MAC")


def why(row: Row, now: datetime | None) -> str:
    """What there is to say of it in one line: the reason of a problem, how far what runs is, else where the machine is.

    Without `now` it does not say how long something lasts.
    """
    machine, work, stage = row.machine, row.work, clean(row.machine.stage)
    if isinstance(row.line, StrangerLine):
        seen = _sentence(stage, clean(row.line.stalled), clean(row.line.detail))
        found = clean(row.line.diagnosis).rstrip(".")
        return f"{found} ({seen})" if found else seen
    if machine.lost:
        return clean(machine.lost)
    if row.standing is Standing.PARKED:
        # Then the doctor's cause tells the reason as well.
        parked = "" if machine.diagnosis.startswith(MAY_NOT_BOOT) else f"is parked: {clean(machine.parked)}"
        return _diagnosed(parked, machine)
    if row.standing is Standing.STALLED:
        since = f" for {age(machine.stage_at, now)}" if machine.stage_at and now else ""
        stands = f"{clean(machine.stalled)}{since}"
        found = clean(machine.diagnosis).rstrip(".")
        return f"{found} ({stands})" if found else f"{stage_of(machine)}: {stands}"
    if row.standing is Standing.WAITING:
        return f"waits in {rollout_of(machine)}"
    if work is None:
        return clean(machine.diagnosis) or stage_of(machine)
    if row.standing is Standing.HELD:
        return f"{_held(work)}; {_until(work, now)}"
    if is_being_carried_out(work):
        return f"{DECIDED}; {_held(work)}"
    if work.state is State.SUCCESS:
        return clean(machine.diagnosis) or stage
    told = _diagnosed(_silent(machine, now) or _under_way(work), machine)
    return _reason(work) or told or stage_of(machine)


def _silent(machine: MachineLine, now: datetime | None) -> str:
    """For how long the worker of a machine that works was not heard of; empty where the doctor's cause says so."""
    since = machine.silent_since if not machine.diagnosis.startswith(SILENT_FOR) else None
    return "" if since is None else f"silent for {elapsed(since, now)}" if now else "silent"


def _diagnosed(said: str, machine: MachineLine) -> str:
    """With what the doctor found, which says more than the rest."""
    return ": ".join(each for each in (said, clean(machine.diagnosis)) if each)


def _under_way(work: WorkLine) -> str:
    tried = f"attempt {work.attempt} of {work.attempts}" if work.attempt > 1 else ""
    if work.elsewhere and work.state is not State.PENDING:
        return f"waits for {clean(work.elsewhere)}"
    if work.awaited:
        return f"waits for its services: {', '.join(map(clean, work.awaited))}"
    if work.leaving:
        return _sentence("goes away by intention, and is waited for", tried)
    progress = clean(in_words(work.progress)) if work.progress else ""
    if work.state is State.PENDING:
        return ""
    return _sentence(progress, tried) if progress or tried else ""


def _until(work: WorkLine, now: datetime | None) -> str:
    """What becomes of a hold by itself, and when."""
    if work.deadline is None or work.on_expiry is None:
        return "waits for a verdict"
    return f"{BY_ITSELF[work.on_expiry]} by itself" + (f" in {age(now, work.deadline)}" if now else "")


def _held(work: WorkLine) -> str:
    """Why it is held, or where."""
    return ": ".join(part for part in (clean(work.reason) or held_where(work), clean(work.message)) if part)


def _reason(work: WorkLine) -> str:
    return ": ".join(part for part in (clean(work.reason), clean(work.message)) if part)


def _sentence(*parts: str) -> str:
    return ", ".join(part for part in parts if part)


def _name(row: Row, _: datetime | None) -> Piece:
    return f"{row.standing.mark} {row.name}", row.standing.style if row.standing.is_problem else "bold"


def _state(row: Row, _: datetime | None) -> Piece:
    return row.standing.word, row.standing.style


def _progress(row: Row, _: datetime | None) -> Piece:
    """As in lists of workflows: how many of its actions are over well."""
    work = row.work
    return (f"{work.done}/{work.total}" if work is not None and work.total else ""), ""


def _action(row: Row, _: datetime | None) -> Piece:
    work = row.work
    return (clean(work.action) if work is not None and work.state is not State.SUCCESS else ""), ""


def _why(row: Row, now: datetime | None) -> Piece:
    style = row.standing.style if row.standing.is_problem else "" if row.standing is Standing.RUNNING else "dim"
    if not row.standing.is_problem and (row.machine.diagnosis or row.machine.silent_since):
        style = "yellow"
    return why(row, now), style


def _why_uncut(row: Row, now: datetime | None) -> Piece:
    """Beside the stage, which is not said twice."""
    text, style = _why(row, now)
    return ("" if text == _stage(row, now)[0] else text), style


def _since(row: Row, now: datetime | None) -> Piece:
    return (age(row.since, now) if row.since and now else ""), "dim"


def _workflow(row: Row, _: datetime | None) -> Piece:
    work = row.work
    return (f"{clean(work.name)} {work.id[:8]}" if work is not None else ""), ""


def _template(row: Row, _: datetime | None) -> Piece:
    work = row.work
    return (clean(work.template) if work is not None else ""), "dim"


def _stage(row: Row, _: datetime | None) -> Piece:
    return stage_of(row.machine), "dim"


def _address(row: Row, _: datetime | None) -> Piece:
    return clean(row.machine.address), ""


def _mac(row: Row, _: datetime | None) -> Piece:
    return clean(row.machine.mac), "dim"


def _labels(row: Row, _: datetime | None) -> Piece:
    return ",".join(f"{clean(key)}={clean(value)}" for key, value in row.machine.labels.items()), "dim"


MACHINE: Final = Column(title="MACHINE", cell=_name, least=10, most=26)
WHY: Final = Column(title="WHY", cell=_why, least=12, most=400, last=True)
# The least important have the widest terminals.
COLUMNS: Final[Sequence[Column]] = (
    MACHINE,
    Column(title="STATE", cell=_state, least=8, most=8),
    Column(title="PROGRESS", cell=_progress, least=8, most=9, terminal=76),
    Column(title="ACTION", cell=_action, least=6, most=20, terminal=76),
    Column(title="AGE", cell=_since, least=3, most=6, right=True),
    Column(title="WORKFLOW", cell=_workflow, least=12, most=34, terminal=112),
    Column(title="ADDRESS", cell=_address, least=10, most=15, terminal=128),
    Column(title="MAC", cell=_mac, least=17, most=17, terminal=152),
    Column(title="LABELS", cell=_labels, least=6, most=30, terminal=170),
    WHY,
)
# Where nothing is cut.
ALL_COLUMNS: Final[Sequence[Column]] = (
    *COLUMNS[:-1],
    Column(title="TEMPLATE", cell=_template, least=0, most=200),
    Column(title="STAGE", cell=_stage, least=0, most=200),
    replace(WHY, cell=_why_uncut),
)
