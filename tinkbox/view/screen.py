"""What the terminal view shows, as a pure function of one snapshot.

Text that comes from machines is cleaned here: no control character of theirs reaches the terminal.
"""

from collections.abc import Iterable, Sequence
from datetime import datetime
from shlex import quote

from rich.cells import cell_len
from rich.console import Group, RenderableType
from rich.progress_bar import ProgressBar
from rich.table import Table
from rich.text import Text

from tinkbox.model.action_progress import in_words
from tinkbox.model.breakpoint import Kind
from tinkbox.model.limits import SHOWN_HOLDERS
from tinkbox.model.services import Phase
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted
from tinkbox.model.workflow import State
from tinkbox.wire.messages.status import (
    DiskLine,
    FailureLine,
    HeldBackLine,
    HeldLine,
    MachineLine,
    RunningLine,
    Snapshot,
    TaskLine,
    WorkflowLine,
)

COLOUR = {
    State.PENDING: "yellow",
    State.RUNNING: "cyan",
    State.STOPPING: "magenta",
    State.SUCCESS: "green",
    State.FAILED: "red",
    State.TIMEOUT: "red",
    State.CANCELED: "magenta",
}
MARK = {
    State.PENDING: "○",
    State.RUNNING: "●",
    State.STOPPING: "◐",
    State.SUCCESS: "✔",
    State.FAILED: "✘",
    State.TIMEOUT: "✘",
    State.CANCELED: "⊘",
}
PHASE = {
    Phase.PENDING: ("○", "yellow"),
    Phase.STARTING: ("◌", "cyan"),
    Phase.READY: ("●", "green"),
    Phase.UNHEALTHY: ("◍", "bold yellow"),
    Phase.RESTARTING: ("↻", "bold yellow"),
    Phase.EXITED: ("✔", "dim"),
    Phase.FAILED: ("✘", "bold red"),
    Phase.STOPPING: ("◐", "magenta"),
    Phase.STOPPED: ("■", "dim"),
}
STOPPING = {
    State.CANCELED: "it is being canceled: the running action was told to stop",
    State.TIMEOUT: "its global_timeout is over: the running action was told to stop",
}
HELD = {Kind.BEFORE: "before", Kind.FAILURE: "on the failure of", Kind.AFTER: "after"}
RECENT = 8
LARGEST = 3  # kinds of what is stored
WORST = 3  # of those that a limit holds back
BAR_WIDTH = 24


def screen(snapshot: Snapshot, notice: str = "") -> RenderableType:
    """The whole view; `notice` is a line about the view itself, such as a lost connection."""
    parts: list[RenderableType] = [_headline(snapshot)]
    if notice:
        parts.append(Text(notice, style="bold yellow"))
    parts += [Text(), _machines(snapshot)]
    if snapshot.disk is not None:
        parts += [Text(), *_disk(snapshot.disk)]
    if snapshot.limits:
        parts += [Text(), _limits(snapshot)]
    if snapshot.strangers:
        parts += [Text(), _strangers(snapshot)]
    shown = _worth_showing(snapshot.workflows)
    for workflow in shown:
        parts += [Text(), *_workflow(workflow, snapshot.now)]
    hidden = len(snapshot.workflows) - len(shown)
    if hidden:
        parts += [Text(), Text(f"and {counted(hidden, 'older workflow')}: tinkbox workflow list", style="dim")]
    return Group(*parts)


def clean(text: str, limit: int = 200) -> str:
    """One line without control characters, cut to `limit`."""
    line = "".join(letter if letter.isprintable() else " " for letter in text).strip()
    return line if len(line) <= limit else line[: limit - 1] + "…"


def elapsed(since: datetime, until: datetime) -> str:
    """A duration as a clock shows it: 0:07, 12:03, 1:02:03."""
    seconds = max(0, int((until - since).total_seconds()))
    minutes, seconds = divmod(seconds, 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{seconds:02}" if hours else f"{minutes}:{seconds:02}"


def _headline(snapshot: Snapshot) -> Text:
    running = sum(workflow.state in {State.RUNNING, State.STOPPING} for workflow in snapshot.workflows)
    waiting = sum(workflow.state is State.PENDING for workflow in snapshot.workflows)
    held = sum(workflow.held is not None for workflow in snapshot.workflows)
    there = f"{counted(len(snapshot.machines), 'machine')}, {counted(running, 'workflow')} running, {waiting} waiting"
    return Text.assemble(
        (f"tinkbox {snapshot.version}", "bold"),
        f"  {there}",
        (f", {held} held" if held else "", "bold yellow"),
        ("  " + _clock(snapshot.now), "dim"),
    )


def _clock(moment: datetime) -> str:
    return moment.strftime("%H:%M:%S %Z")


def _machines(snapshot: Snapshot) -> RenderableType:
    if not snapshot.machines:
        return Text("no machine is known yet: tinkbox hardware add MAC --name NAME", style="dim")
    table = _table("MACHINE", "MAC", "ADDRESS", "LAST SEEN AT", "SINCE", "NETBOOT")
    for machine in snapshot.machines:
        _add_row(
            table,
            _short(clean(machine.hostname or machine.id[:8], 30), "bold"),
            machine.mac,
            machine.address,
            _short(clean(machine.stage) or "not seen yet", _style(machine)),
            elapsed(machine.stage_at, snapshot.now) if machine.stage_at else "",
            _permission(machine),
        )
    parked = [Text(f"  {clean(each.hostname or each.mac)} is parked: {clean(each.parked, 400)}", style="red")
              for each in snapshot.machines if each.parked]  # fmt: skip
    stalled = [Text(f"  {clean(each.hostname or each.mac)} {clean(each.stage)}: {clean(each.stalled)}", style="yellow")
               for each in snapshot.machines if each.stalled and not each.parked]  # fmt: skip
    lost = [line for each in snapshot.machines if each.lost for line in _lost(each)]
    return Group(table, *parked, *stalled, *lost)


def _lost(machine: MachineLine) -> Iterable[Text]:
    yield Text(f"  {clean(machine.hostname or machine.mac)} {clean(machine.lost, 400)}", style="red")
    yield Text(f"    what to do: {clean(machine.lost_hint, 400)}", style="yellow")


# What gives way where the terminal is narrow; an address that is cut is no address.
_GIVES_WAY = ("MACHINE", "LAST SEEN AT", "HELD BACK", "")


def _table(*titles: str) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="dim", pad_edge=False)
    for title in titles:
        table.add_column(title, no_wrap=title not in _GIVES_WAY)
    return table


def _add_row(table: Table, *cells: RenderableType) -> None:
    """Each as it is: in a plain text rich would draw a disc for the `:cd:` of a MAC."""
    table.add_row(*(Text(each) if isinstance(each, str) else each for each in cells))


def _short(text: str, style: str = "") -> Text:
    """In one line, cut to the width that there is."""
    return Text(text, style=style, no_wrap=True, overflow="ellipsis")


def _style(machine: MachineLine) -> str:
    return "red" if machine.parked else "yellow" if machine.stalled else ""


def _strangers(snapshot: Snapshot) -> RenderableType:
    table = _table("NOBODY KNOWS", "LAST SEEN AT", "SINCE", "")
    for stranger in snapshot.strangers:
        more = _short(", ", "dim").join(
            Text(clean(text, 60), style=style)
            for text, style in ((stranger.stalled, "yellow"), (stranger.detail, "dim"))
            if text
        )
        since = elapsed(stranger.stage_at, snapshot.now)
        _add_row(table, clean(stranger.mac, 17), _short(clean(stranger.stage)), since, more)
    return table


def _limits(snapshot: Snapshot) -> RenderableType:
    table = _table("LIMIT", "USED", "HELD BACK")
    for limit in snapshot.limits:
        _add_row(table, limit.name, f"{limit.used} of {limit.total}", Text(_held_back(limit.held_back), style="yellow"))
    return table


def _held_back(holders: Sequence[HeldBackLine]) -> str:
    told = [
        f"{clean(each.holder, 60)} ({each.held}, refused {counted(each.refused, 'time')})" for each in holders[:WORST]
    ]
    if len(holders) > WORST:
        # Beyond SHOWN_HOLDERS the appliance itself names none.
        at_least = "at least " if len(holders) >= SHOWN_HOLDERS else ""
        told.append(f"and {at_least}{len(holders) - WORST} more: tinkbox doctor")
    return ", ".join(told)


def _disk(disk: DiskLine) -> Iterable[RenderableType]:
    largest = disk.stored[:LARGEST]
    taken = ", ".join(f"{clean(each.kind, 30)} {show_size(each.octets)}" for each in largest)
    sizes = f"DISK  {show_size(disk.free)} free, database {show_size(disk.database)}"
    yield _short(f"{sizes}: {taken}" if taken else sizes, "dim")
    if disk.nearly_full:
        most = f": {clean(largest[0].kind, 30)} take most: {clean(largest[0].remedy, 100)}" if largest else ""
        how = "full, and machines cannot hand in what they did" if disk.full else "nearly full"
        yield Text(f"  the disk is {how}{most}", style="bold yellow")
    if disk.deleted is not None:
        gone = disk.deleted
        yield Text(
            f"  {gone.workflows} finished workflow(s) were deleted early for lack of room ({show_size(gone.octets)}), "
            f"from {_moment(gone.since)} to {_moment(gone.until)}",
            style="yellow",
        )


def _moment(at: datetime) -> str:
    return at.strftime("%Y-%m-%d %H:%M %Z")


def _permission(machine: MachineLine) -> Text:
    if machine.parked:
        return Text("parked", style="red")
    return Text("ticket", style="cyan") if machine.ticket else Text("no", style="dim")


def _worth_showing(workflows: Iterable[WorkflowLine]) -> list[WorkflowLine]:
    """Everything that is not over, and of the rest the newest few."""
    ordered = sorted(workflows, key=lambda workflow: workflow.created_at, reverse=True)
    over = [workflow for workflow in ordered if workflow.ended_at is not None][:RECENT]
    return [workflow for workflow in ordered if workflow.ended_at is None or workflow in over]


def _workflow(workflow: WorkflowLine, now: datetime) -> Iterable[RenderableType]:
    colour = COLOUR[workflow.state]
    yield Text.assemble(
        (f"{MARK[workflow.state]} {clean(workflow.name, 60)}", f"bold {colour}"),
        (f"  {workflow.id}", "dim"),
        (f"  {workflow.state}", colour),
        f"  {elapsed(workflow.created_at, workflow.ended_at or now)}",
    )
    yield from _left_out(workflow.tasks_before, "task", "before these")
    table = Table.grid(padding=(0, 2, 0, 0))
    for task in workflow.tasks:
        skipped = Text(f"{task.skipped} skipped" if task.skipped else "", style="dim")
        _add_row(table, Text("  " + clean(task.name, 40)), Text(clean(task.worker, 30), style="dim"),
                 _bar(task, colour), f"{task.done}/{task.total}", skipped)  # fmt: skip
    yield table
    yield from _left_out(workflow.tasks_after, "task", "after these")
    if workflow.ended_at is None:
        yield from _services(workflow)
        yield from _left_out(workflow.services_more, "service", "more: tinkbox service list")
    if workflow.stop_into is not None and workflow.ended_at is None:
        yield Text(f"  {STOPPING[workflow.stop_into]}", style=colour)
    if workflow.retried is not None:
        yield from _retried(workflow.retried)
    if workflow.running is not None:
        yield _running(workflow.running, now)
    if workflow.held is not None:
        yield _held(workflow.held, workflow.id, now)
    if workflow.failure is not None:
        yield from _failure(workflow.failure, workflow.id)


def _left_out(number: int, noun: str, where: str) -> Iterable[Text]:
    if number:
        yield Text(f"  … {counted(number, noun)} {where}", style="dim")


def _services(workflow: WorkflowLine) -> Iterable[Text]:
    """A line for each, with its last trouble at the end, where it may be as long as it is; then who is waited for."""
    cells = [(clean(each.name, 40), clean(each.host, 30), each.phase.value) for each in workflow.services]
    widths = [max(map(cell_len, column)) for column in zip(*cells, strict=True)]
    for service, texts in zip(workflow.services, cells, strict=True):
        name, host, phase = (text + " " * (width - cell_len(text)) for text, width in zip(texts, widths, strict=True))
        mark, style = PHASE[service.phase]
        trouble = ", ".join(part for part in (_restarts(service.restarts), clean(service.message)) if part)
        line = Text.assemble("  ", (mark, style), f" {name}  ", (host, "dim"), "  ", (phase, style), f"  {trouble}")
        line.rstrip()
        yield line
    awaited = ", ".join(clean(each.name, 40) for each in workflow.services if not each.ready)
    if awaited and workflow.state is State.PENDING:
        yield Text(f"  it begins when its services are ready; not yet: {awaited}", style="yellow")


def _restarts(number: int) -> str:
    return f"{number} restart{'' if number == 1 else 's'}" if number else ""


def _bar(task: TaskLine, colour: str) -> RenderableType:
    return ProgressBar(
        total=max(task.total, 1), completed=task.done, width=BAR_WIDTH, complete_style=colour, finished_style="green"
    )


def _running(action: RunningLine, now: datetime) -> Text:
    since = elapsed(action.started_at, now)
    line = Text.assemble(
        ("  ▸ ", "cyan"),
        (clean(action.name, 60), "bold"),
        (f"  {clean(in_words(action.progress), 80)}" if action.progress else "", "cyan"),
        f"  {_attempt(action.attempt, action.attempts)}{since} of at most {_limit(action.timeout)}",
    )
    if action.leaving:
        line.append("\n    the machine goes away by intention; it is waited for until it comes back", style="cyan")
    if action.last_output:
        line.append(f"\n    {clean(action.last_output)}", style="dim")
    return line


def _held(action: HeldLine, workflow_id: str, now: datetime) -> Text:
    name, ended = clean(action.name, 60), f": {_why(action)}" if action.reason or action.exit_code is not None else ""
    line = Text.assemble(
        "  ",
        (f" BREAKPOINT {HELD[action.kind]} {name} ", "bold black on yellow"),
        (f"{ended}  held for {elapsed(action.held_at, now)}", "bold yellow"),
    )
    if action.last_output:
        line.append(f"\n    {clean(action.last_output)}", style="dim")
    if action.decided:
        return line.append(f"\n    decided by {clean(action.decided, 60)}; this is being carried out", style="yellow")
    left = elapsed(now, action.deadline)
    line.append(f"\n    look at it: tinkbox breakpoint shell {workflow_id}", style="bold yellow")
    line.append(f"\n    in {left} nobody is waited for any more: {action.on_expiry}", style="yellow")
    return line


def _attempt(number: int, attempts: int) -> str:
    return f"attempt {number} of {attempts}  " if attempts > 1 else ""


def _limit(seconds: int) -> str:
    minutes, rest = divmod(seconds, 60)
    return f"{minutes}:{rest:02}"


def _retried(failure: FailureLine) -> Iterable[RenderableType]:
    yield Text.assemble(
        ("  ↻ ", "yellow"),
        (clean(failure.name, 60), "bold"),
        f": attempt {failure.attempt} of {failure.attempts} failed, it is tried again: {_why(failure)}",
    )


def _failure(failure: FailureLine, workflow_id: str) -> Iterable[RenderableType]:
    tried = f" ({failure.attempt} attempts)" if failure.attempt > 1 else ""
    name = clean(failure.name or failure.service, 60)
    yield Text.assemble(("  ✘ ", "red"), (name, "bold"), f"{tried}: {_why(failure)}")
    if failure.last_output:
        yield Text(f"    {clean(failure.last_output)}", style="dim")
    if failure.hint:
        yield Text(f"    what to do: {clean(failure.hint, 400)}", style="yellow")
    logs = f"service logs {quote(f'{workflow_id}/{name}')}" if failure.service else f"workflow logs {workflow_id}"
    yield Text(f"    its whole output: tinkbox {logs}", style="dim")


def _why(failure: FailureLine | HeldLine) -> str:
    """Reason and message, and how the process ended where those do not say it."""
    ended = failure.signal or (f"exit code {failure.exit_code}" if failure.exit_code is not None else "")
    told = ": ".join(part for part in (clean(failure.reason, 60), clean(failure.message, 400)) if part)
    return f"{told} ({clean(ended, 40)})" if ended and ended not in told else told or "no reason was given"
