"""The picture: what a terminal of some size shows of the view, and what stands on paper where there is none."""

from collections.abc import Iterator, Sequence
from datetime import datetime
from typing import Final

from tinkbox.model.cells import ELLIPSIS, cells
from tinkbox.model.condition_events import LONGEST_REMEDY
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.limits import SHOWN_HOLDERS
from tinkbox.model.reasons import never_ran
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted
from tinkbox.model.workflow import FINAL, State
from tinkbox.view.columns import COLUMNS, heading, layout, row_line, uncut_layout
from tinkbox.view.groups import in_ranges, in_room
from tinkbox.view.lines import Line, age, clean, cut, joined, line_width, plain
from tinkbox.view.row import Row, advice_of
from tinkbox.view.rows import EVERYTHING, Order, Scope, chosen, counted_by_standing, rows_of
from tinkbox.view.standing import Standing, waits_for_verdict
from tinkbox.view.state import Page, PageKind, Question, View, alert_height, page_height, row_of, rows_at_once
from tinkbox.wire.messages.status import ConditionLine, DiskLine, HeldBackLine, LimitLine, Snapshot, StrangerLine

LARGEST: Final = 3  # kinds of what is stored
LONGEST_SCOPE: Final = 40  # letters of it in the headline
UNCUT: Final = 100_000  # columns, of paper
LONGEST_CAUSE: Final = 1_000  # letters
WORST: Final = 3  # of those that a limit holds back
NOTHING_YET: Final = "no machine is known yet: {program} hardware add MAC --name NAME"
NONE_WITHIN: Final = (
    "no machine has the labels that your token is for, {labels}",
    "ask a person whose token has no scope to type {program} hardware label MACHINE KEY=VALUE",
)
NONE_OF_THESE: Final = "no machine matches {scope}"

_GRAVE: Final = {Gravity.FAULT: "bold red", Gravity.SUSPECT: "bold yellow", Gravity.HARMLESS: "dim"}

# A line of the terminal, and whether it is the selected one.
Shown = tuple[Line, bool]


def picture(view: View) -> list[Shown]:
    """Exactly as many lines as the terminal has, none of them wider than it is."""
    lines = [(cut(line, view.width), False) for line in _headline(view)]
    body = list(_page(view, view.page) if view.page is not None else _list(view))
    last = [(cut(line, view.width), False) for line in _last_lines(view)]
    room = max(0, view.height - len(lines) - len(last))
    lines += [(cut(line, view.width), selected) for line, selected in body[:room]]
    lines += [((), False)] * (view.height - len(lines) - len(last))
    return [*lines, *last][-view.height :]


def waiting_picture(height: int, width: int) -> list[Shown]:
    """What is shown until the appliance answers for the first time."""
    lines: list[Line] = [(("tinkbox", "bold"),), (("asking the appliance …", "dim"),)]
    lines += [()] * (height - len(lines) - 1)
    return [(cut(each, width), False) for each in [*lines, (("q leave", "dim"),)]][-height:]


def plain_picture(snapshot: Snapshot, program: str, scope: Scope = EVERYTHING) -> str:
    """All of it as plain text, problems first, nothing cut; `program` is how this one was called, for lines to type."""
    rows = chosen(rows_of(snapshot, {}, scope).values(), "", Order.PROBLEM)
    lines: list[Line] = [joined(_counts(snapshot, counted_by_standing(rows), str(scope))), _health(snapshot)]
    lines += [((f"  {each}", ""),) for each in _notes(snapshot, program)]
    problems = [each for each in rows if each.is_problem]
    laid = uncut_layout(rows, snapshot.now)
    if not rows:
        lines += [(), *(((each, ""),) for each in _nothing(snapshot, program, scope))]
    else:
        lines += [(), heading(laid)]
    for row in rows:
        lines.append(row_line(laid, row, snapshot.now))
        lines += [((f"    {each}", ""),) for each in _to_do(row, program)]
    if problems:
        need = f"{counted(len(problems), 'machine')} {'needs' if len(problems) == 1 else 'need'} you"
        lines += [(), ((f"{need}: {'; '.join(_ways_on(problems, program))}", ""),)]
    return "".join(f"{plain(line)}\n" for line in lines)


def _headline(view: View) -> Iterator[Line]:
    program, *counts = _counts(view.snapshot, view.counts, clean(str(view.scope), LONGEST_SCOPE))
    clock = ((view.snapshot.now.astimezone().strftime("%H:%M:%S"), "dim"),)
    # Where it is narrow, the program's name gives way to the numbers, and then the gaps between them.
    tries = [joined([program, *counts]), joined(counts), joined(counts, " ")]
    # And then the last ones, of machines that need nobody: whole ones, so that no number is read without its word.
    tries += [(*joined(counts[:left], " "), (f" {ELLIPSIS}", "")) for left in range(len(counts) - 1, 0, -1)]
    yield _spread(next((each for each in tries if line_width(each) <= view.width), tries[-1]), clock, view.width)
    place = ((_place(view), "dim"),)
    # What is known of its health is old once it does not answer.
    room = max(0, view.width - line_width(place) - 2)
    told = _lost(view) if view.lost and _is_last_line_taken(view) else _health(view.snapshot, room)
    # A filter must be seen, or machines seem to be gone.
    yield _spread(cut(told, room), place, view.width)
    if view.page is None and alert_height(view):
        yield _alert(view.snapshot, view.width)


def _is_last_line_taken(view: View) -> bool:
    return view.is_typing or view.question is not None or bool(view.notice)


def _lost(view: View) -> Line:
    since = view.snapshot.now.astimezone().strftime("%H:%M:%S")
    return ((f"since {since}: {clean(view.lost)} (trying again; this is the last that it said)", "bold yellow"),)


def _spread(left: Line, right: Line, width: int) -> Line:
    """One at either end of a line; the right one gives way."""
    room = width - line_width(left) - line_width(right)
    return (*left, (" " * room, ""), *right) if room > 0 else left


def _nothing(snapshot: Snapshot, program: str, scope: Scope) -> Sequence[str]:
    """What to say where there is no row: `scope` is what the view was begun for, and a token may have one of its own."""
    if scope and snapshot.machines:
        return (NONE_OF_THESE.format(scope=scope),)
    if snapshot.scope:
        return [each.format(labels=clean(snapshot.scope), program=program) for each in NONE_WITHIN]
    return (NOTHING_YET.format(program=program),)


def _counts(snapshot: Snapshot, counts: Sequence[tuple[Standing, int]], scope: str) -> list[Line]:
    """The program, and how many machines there are and stand how; with a scope, of which machines that is said."""
    machines = counted(len(snapshot.machines), "machine")
    within = sum(number for each, number in counts if each is not Standing.UNKNOWN)
    return [
        ((f"tinkbox {clean(snapshot.version, 30)}", "bold"),),
        ((f"{scope}: {within} of {machines}", "bold yellow"),) if scope else ((machines, ""),),
        *(((f"{number} {each.word}", each.style),) for each, number in counts),
    ]


def _health(snapshot: Snapshot, width: int = UNCUT) -> Line:
    """How the appliance is, in so many columns."""
    if snapshot.scope:
        return ((f"your token is for {clean(snapshot.scope)} alone: nothing is told of the appliance", "dim"),)
    disk, health = snapshot.disk, snapshot.health
    room = _room(disk) if disk is not None else ()
    sent: Line = ((f"sent {show_size(int(health.sent))}/s", ""),) if health.sent is not None else ()
    limits: Line = ((counted(len(snapshot.limits), "limit") + " near", "yellow"),) if snapshot.limits else ()
    suspect = [each for each in health.conditions if each.gravity is not Gravity.FAULT]
    if health.faults or suspect:
        # Appliances of before tell the faults alone.
        faults = max(len(health.faults), len(health.conditions) - len(suspect))
        told = [counted(faults, "fault")] if faults else []
        told += [f"{len(suspect)} suspect"] if suspect else []
        found, style = f"doctor: {', '.join(told)}", "bold red" if faults else "bold yellow"
        rules = dict.fromkeys([*health.faults, *(each.rule for each in suspect)])
        short: Line = ((found, style),)
        long: Line = ((f"{found} ({', '.join(map(clean, rules))})", style),)
    elif not health.examined:
        short, long = (("doctor: examines", "dim"),), (("doctor: examines the appliance for the first time", "dim"),)
    else:
        short, long = (("doctor: no fault", "dim"),), (("doctor: no fault of the appliance", "dim"),)
    # Where it is narrow, what is wrong, or that nothing is, is seen before everything else.
    is_full = disk is not None and disk.nearly_full
    graver = [room, short, limits] if is_full else [short, limits, room]
    shorter = ([room, sent, long, limits], [room, sent, short, limits], [room, short, limits], graver)
    tries = [joined(each) for each in shorter]
    return next((each for each in tries if line_width(each) <= width), tries[-1])


def _alert(snapshot: Snapshot, width: int) -> Line:
    """The gravest condition of the appliance, and how many more there are."""
    first, *more = snapshot.health.conditions
    other = f"and {len(more)} more: d" if more else "d: more"
    text = _condition(first, snapshot.now)
    return _spread(cut(((text, _GRAVE[first.gravity]),), max(0, width - cells(other) - 2)), ((other, "dim"),), width)


def _condition(condition: ConditionLine, now: datetime) -> str:
    since = age(condition.since, now)
    return f"{condition.gravity.upper()} for {since}: {clean(condition.cause, LONGEST_CAUSE)}"


def _room(disk: DiskLine) -> Line:
    free = f"disk {show_size(disk.free)} free"
    if disk.full:
        return ((f"{free}: FULL", "bold red"),)
    return ((f"{free}: nearly full", "bold yellow"),) if disk.nearly_full else ((free, ""),)


def _list(view: View) -> Iterator[Shown]:
    height = rows_at_once(view)
    now = view.snapshot.now
    visible = view.shown[view.top : view.top + height]
    if not view.rows:
        for each in _nothing(view.snapshot, view.program, view.scope):
            yield ((each, "yellow" if view.scope else "dim"),), False
        return
    if not visible:
        yield ((f"no machine has {view.filtered_by!r}: Esc shows all of them", "yellow"),), False
        return
    laid = layout(COLUMNS, visible, now, view.width)
    yield heading(laid), False
    for place, row in enumerate(visible, view.top):
        yield row_line(laid, row, now, is_marked=row.machine.id in view.marked), place == view.index


def _page(view: View, page: Page) -> Iterator[Shown]:
    title = ((f"{clean(page.title)} ", "bold cyan"),)
    yield (*title, ("─" * max(0, view.width - line_width(title)), "dim")), False
    if not page.is_loaded:
        waits = "the doctor listens for some seconds" if page.load.kind is PageKind.DOCTOR else "asking"
        yield ((f"{waits} …", "dim"),), False
        return
    height = page_height(view)
    for place, line in enumerate(page.lines[page.top : page.top + height], page.top):
        yield line, bool(page.items) and place == page.selected


def _last_lines(view: View) -> Sequence[Line]:
    return _asked(view.question, view.width) if view.question is not None else [_last_line(view)]


def _last_line(view: View) -> Line:
    if view.is_typing:
        found = counted(len(view.shown), "machine")
        return (("/", "bold"), (view.filtered_by, ""), ("█", ""), (f"  {found}; Enter keeps it, Esc clears it", "dim"))
    if view.notice:
        return ((clean(view.notice), "yellow"),)
    if view.lost:
        return _lost(view)
    more = _more_below(view)
    told = f"{more}  " if more else ""
    return ((told, "bold"), (_keys(view, view.width - cells(told)), "dim"))


def _more_below(view: View) -> str:
    """That a page goes on below the screen: right below its last line that is seen."""
    page = view.page
    if page is None or not page.is_loaded:
        return ""
    more = len(page.lines) - page.top - page_height(view)
    return f"… {counted(more, 'more line')}" if more > 0 else ""


def _asked(question: Question, width: int) -> Sequence[Line]:
    """The question gives way to what may be answered, and to the end of what was typed.

    Where not all names fit behind it, as many as fit stand in a line of their own.
    """
    answer = f" {question.typed[-(width // 2) :]}█" if question.explains else " (y/n)"
    room = max(0, width - cells(answer))
    text = clean(question.text)
    names = " ".join(in_ranges(question.names))
    if not names or cells(text) + 1 + cells(names) <= room:
        return [(*cut(((f"{text} {names}".rstrip(), "bold yellow"),), room), (answer, "bold"))]
    return [((text, "bold yellow"),), ((in_room(question.names, room), "bold yellow"), (answer, "bold"))]


def _keys(view: View, width: int) -> str:
    """The keys that fit, those that go with the selected machine before others."""
    page, row = view.page, view.row
    if page is None:
        keys = [
            "? keys",
            "q leave",
            *(_marked_keys(view) if view.marked else [*_row_keys(row, "Enter open"), "/ filter", *_work_keys(row)]),
            *(["Esc clear filter"] if view.filtered_by and not view.marked else []),
            *_row_keys(row, "Space mark"),
            "p problems",
            "o older",
            "S sort",
            "d doctor",
        ]
    else:
        row = row_of(view, page.load.machine) if page.load.kind is PageKind.MACHINE else None
        opens = ["Enter open"] if page.items else []
        log = ["l log"] if page.load.kind is PageKind.WORKFLOW or (row and row.machine.work) else []
        keys = ["? keys", "q back", *opens, *_work_keys(row), *log, "j k scroll"]
    while len("  ".join(keys)) > width and len(keys) > 2:
        keys.pop()
    return "  ".join([*keys[2:], *keys[:2]])


def _marked_keys(view: View) -> list[str]:
    """What can be done about marked machines; nothing to their work where none of them shows any."""
    has_work = any(view.rows[each].work is not None for each in view.marked)
    return [*(["r retry", "a abort or cancel", "c continue"] if has_work else []), "u unmark"]


def _row_keys(row: Row | None, *keys: str) -> list[str]:
    """Those of what is done with a machine, where one is selected."""
    return [*keys] if row is not None else []


def _work_keys(row: Row | None) -> list[str]:
    """What can be done about the work of a machine."""
    work = row.work if row is not None else None
    if work is None:
        return []
    if waits_for_verdict(work):
        return ["s shell", "c continue", "r retry", "a abort"]
    if work.state in FINAL:
        return [] if work.state is State.SUCCESS else ["r retry"]
    return [] if work.state is State.STOPPING and not work.lost else ["a cancel"]


def _place(view: View) -> str:
    filtered = f"/{clean(view.filtered_by, 20)}  " if view.filtered_by else ""
    marked = f"{_marked(view)}  " if view.marked else ""
    return f"{marked}{filtered}by {view.order.value}  {view.index + 1 if view.shown else 0}/{len(view.shown)}"


def _marked(view: View) -> str:
    """How many are marked, and how many of these are not in the list."""
    hidden = len(view.marked - {each.machine.id for each in view.shown})
    return f"{len(view.marked)} marked" + (f", {hidden} not shown" if hidden else "")


def _to_do(row: Row, program: str) -> Iterator[str]:
    """What a person can type about a row, on paper."""
    machine, work = row.machine, row.work
    advice = advice_of(machine)
    if row.is_problem and advice:
        yield clean(advice, 1_000)
    if row.standing is Standing.HELD and work is not None:
        yield f"look into it: {program} breakpoint shell {work.id}"
    elif row.standing in (Standing.FAILED, Standing.TIMEOUT) and work is not None and work.id:
        yield f"where it stands: {program} workflow state {work.id}"
        if not never_ran(work.reason, work.hint, program):
            yield f"what it printed: {program} workflow logs {work.id}"
        before = (
            " (with the text of before: its template was changed or deleted since)" if work.template_changed else ""
        )
        yield f"once more: {program} workflow retry {work.id}{before}"
    elif isinstance(row.line, StrangerLine) and row.line.remedy:
        yield f"what to do: {clean(row.line.remedy, 1_000)}"
    elif row.standing is Standing.UNKNOWN:
        yield f"register it: {program} hardware add {clean(machine.mac)} --name NAME"
    elif row.standing in (Standing.PARKED, Standing.STALLED):
        yield f"why: {program} doctor {clean(machine.mac)}"
    elif machine.diagnosis:
        yield f"what the doctor saw: {program} doctor {clean(machine.mac)}"


def _ways_on(problems: Sequence[Row], program: str) -> Iterator[str]:
    found = {each.standing for each in problems}
    if Standing.HELD in found:
        yield f"{program} breakpoint list"
    if found & {Standing.FAILED, Standing.TIMEOUT}:
        yield f"{program} workflow retry WORKFLOW"
    if found & {Standing.PARKED, Standing.STALLED, Standing.LOST}:
        yield f"{program} doctor"


def _notes(snapshot: Snapshot, program: str) -> Iterator[str]:
    """What there is to say of disk and limits, in full."""
    conditions = snapshot.health.conditions
    for each in conditions:
        yield f"{_condition(each, snapshot.now)} What to do: {clean(each.remedy, LONGEST_REMEDY)}"
    if conditions:
        yield f"all of it, with what was seen: {program} doctor"
    disk = snapshot.disk
    if disk is not None:
        largest = ", ".join(f"{clean(each.kind)} {show_size(each.octets)}" for each in disk.stored[:LARGEST])
        yield f"database {show_size(disk.database)}" + (f"; what takes most room: {largest}" if largest else "")
        if disk.nearly_full:
            to_do = f": {clean(disk.remedy, LONGEST_REMEDY)}" if disk.remedy else ""
            how = "full, and machines cannot hand in what they did" if disk.full else "nearly full"
            yield f"the disk is {how}{to_do}"
        if disk.deleted is not None:
            gone = disk.deleted
            yield (
                f"{counted(gone.workflows, 'finished workflow')} deleted early for lack of room ({show_size(gone.octets)}), "
                f"from {gone.since:%Y-%m-%d %H:%M %Z} to {gone.until:%Y-%m-%d %H:%M %Z}"
            )
    for limit in snapshot.limits:
        yield _limit(limit, program)


def _limit(limit: LimitLine, program: str) -> str:
    held = _held_back(limit.held_back, program)
    return f"limit {clean(limit.name)}: {clean(limit.used)} of {clean(limit.total)}" + (f": {held}" if held else "")


def _held_back(holders: Sequence[HeldBackLine], program: str) -> str:
    told = [
        f"{clean(each.holder, 60)} ({clean(each.held)}, refused {counted(each.refused, 'time')})"
        for each in holders[:WORST]
    ]
    if len(holders) > WORST:
        # Beyond SHOWN_HOLDERS the appliance itself names none.
        at_least = "at least " if len(holders) >= SHOWN_HOLDERS else ""
        told.append(f"and {at_least}{len(holders) - WORST} more: {program} doctor")
    return ", ".join(told)
