"""What the view shows and what keys do to it, as values: no terminal, no clock, no network.

Rule 1: `pressed` is the only place that says what a key does; what it cannot do itself it returns as an effect.
Rule 2: what begins, stops or repeats work, and may overwrite a disk, is asked about first.
Rule 3: the selection is a machine and not a place: it stays on its machine when others come and go.  Only until a person
moves it, types a filter or acts it is the first of the list, whichever that is.  A filter that is typed moves it to what it
finds.
Rule 4: a key is for the machine that its person saw selected, and never for one that has just taken its place.
Rule 5: marks are of machines as well.  While there are any, what acts on work is for the marked ones alone, and one question
names them.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from tinkbox.model.breakpoint import Kind
from tinkbox.model.command_lines import PROGRAM
from tinkbox.model.text import counted
from tinkbox.model.workflow import FINAL
from tinkbox.model.workflow import State as WorkState
from tinkbox.view.columns import DECIDED
from tinkbox.view.filters import parse_filter
from tinkbox.view.keys import Key
from tinkbox.view.lines import Line, clean, wrapped
from tinkbox.view.pages import NotDone, help_page, problems_page, refused_page
from tinkbox.view.row import Row
from tinkbox.view.rows import EVERYTHING, Order, Scope, chosen, counted_by_standing, rows_of
from tinkbox.view.standing import Standing, is_being_carried_out, rollout_of, waits_for_verdict
from tinkbox.wire.messages.status import Snapshot, StrangerLine, WorkLine, merged

LONGEST_TYPED: Final = 200
# Lines of the screen that are no rows: two of the headline, the titles or the title, the last one.
AROUND_ROWS: Final = 4
AROUND_PAGE: Final = 4
ROOM_FOR_ALERT: Final = 10  # lines
# For so long a person may not have seen that another machine is selected.
SEEN_AFTER: Final = timedelta(seconds=2)


class PageKind(Enum):
    """What a page is about; its value is its title."""

    MACHINE = "machine"
    DOCTOR = "doctor"
    OLDER = "older workflows"
    WORKFLOW = "workflow"
    LOG = "log"
    HELP = "keys"
    PROBLEMS = "problems"
    REFUSED = "refused"


@dataclass(frozen=True, slots=True, kw_only=True)
class Quit:
    """Leave the view."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Load:
    """Ask for what a page shows: of a machine by its id, of a stranger by its MAC, of a workflow by its id."""

    kind: PageKind
    machine: str = ""
    workflow: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Shell:
    """Open a shell in the held action of a workflow."""

    workflow: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Decide:
    """Give a verdict on a `hold`; `machine` is its name, for people."""

    workflow: str
    verb: str
    hold: str = ""
    why: str = ""
    machine: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Resume a workflow whose `run` ended badly; `machine` is its name, for people."""

    workflow: str
    run: int = 0
    machine: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop the `run` of a workflow that is not over; `machine` is its name, for people."""

    workflow: str
    run: int = 0
    machine: str = field(default="", compare=False)


Act = Decide | Retry | Cancel
_DECIDED: Final = {"continue": "continued", "retry": "retried", "abort": "aborted"}


@dataclass(frozen=True, slots=True, kw_only=True)
class Several:
    """What was asked of machines; `done` says it of those of which it was, `left` are those that were left out at the yes."""

    acts: tuple[Act, ...]
    done: str
    left: NotDone = field(default_factory=NotDone)


def alone(act: Act) -> Several:
    """What was asked of one machine, as of several."""
    done = _DECIDED[act.verb] if isinstance(act, Decide) else "retried" if isinstance(act, Retry) else "canceled"
    return Several(acts=(act,), done=done)


Effect = Quit | Load | Shell | Act | Several
# A page's lines for a width and the height of the first screen, and what is selected by each, if anything is.
Draw = Callable[[int, int], tuple[Sequence[Line], Sequence[str]]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Lines that are read, from `top` on; where there are `items`, one for each line, one of them is selected.

    A page that is `at_end` stays there as lines are added.  `draw` makes the lines of a page that was asked for; one that
    `is_lost` says in them that the appliance could not be asked.
    """

    load: Load
    title: str
    lines: Sequence[Line] = ()
    items: Sequence[str] = ()
    top: int = 0
    selected: int = 0
    at_end: bool = False
    is_loaded: bool = False
    is_lost: bool = False
    draw: Draw | None = field(default=None, compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Proposal:
    """What a key would do to the work of a `row`, and the `text` that asks about it; one that `explains` wants a reason.

    What is done to one machine at a time says in `not_among_several` why it is left out of more.
    """

    row: Row
    text: str
    act: Act
    explains: bool = False
    not_among_several: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked before the proposals are carried out: yes or no, or a text that explains them; `done` as in Several."""

    text: str
    proposals: tuple[Proposal, ...]
    done: str
    typed: str = ""

    @property
    def names(self) -> Sequence[str]:
        """Those of several machines, in their natural order; the text of one names it."""
        return [each.row.name for each in self.proposals] if len(self.proposals) > 1 else []

    @property
    def explains(self) -> bool:
        """Whether a reason is wanted."""
        return any(each.explains for each in self.proposals)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The appliance told what put another machine at the cursor, `at` its time; `machine` is the id of the one before."""

    machine: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All of it; `rows` are by id, `counts` how many stand how, `shown` those that pass the filter, in their order.

    `scope` is what the view was begun for; of other machines there are no rows.  `marked` are ids.  `moved` tells that another
    machine came to the cursor.  `pages` lie over the list, the last on top.  `notice` is about what was done last; the one that
    is `passing` goes when the appliance answers again.  `not_done` is what was refused or else was not done, of what was asked of
    several machines last, or of one machine since.  `asking` is what was asked of several and not all answered, `lost` is about
    the connection.  `program` is how a person begins a command.
    """

    snapshot: Snapshot
    scope: Scope = EVERYTHING
    rows: Mapping[str, Row] = field(default_factory=dict)
    counts: Sequence[tuple[Standing, int]] = ()
    shown: tuple[Row, ...] = ()
    selected: str = ""
    index: int = 0
    top: int = 0
    height: int = 24
    width: int = 80
    filtered_by: str = ""
    is_typing: bool = False
    order: Order = Order.PROBLEM
    marked: frozenset[str] = frozenset()
    moved: Moved | None = None
    pages: tuple[Page, ...] = ()
    question: Question | None = None
    notice: str = ""
    passing: str = ""
    not_done: NotDone = field(default_factory=NotDone)
    asking: frozenset[Several] = frozenset()
    lost: str = ""
    program: str = PROGRAM

    @property
    def unanswered(self) -> int:
        """How many machines are asked for, and not all of their answers are there."""
        return sum(len(each.acts) for each in self.asking)

    @property
    def row(self) -> Row | None:
        """The selected one."""
        return self.shown[self.index] if self.shown else None

    @property
    def page(self) -> Page | None:
        """The one on top."""
        return self.pages[-1] if self.pages else None


def begun(snapshot: Snapshot, height: int, width: int, scope: Scope = EVERYTHING, program: str = PROGRAM) -> View:
    """How the view begins."""
    return _told(View(snapshot=snapshot, scope=scope, height=height, width=width, program=program), snapshot)


def looked(view: View, change: Snapshot) -> View:
    """What the appliance told was taken in."""
    snapshot = merged(view.snapshot, change)
    if view.lost:
        notice = "" if view.notice == view.passing else view.notice
        view = replace(view, lost="", notice=notice, passing="")
    if snapshot.machines is view.snapshot.machines and snapshot.strangers == view.snapshot.strangers:
        return replace(view, snapshot=replace(snapshot, strangers=view.snapshot.strangers))
    told = _told(view, snapshot)
    if view.row is None or told.row is None or view.row.machine.id == told.row.machine.id:
        return told
    before = view.moved.machine if view.moved is not None and not _is_seen(view) else view.row.machine.id
    return replace(told, moved=Moved(machine=before, at=snapshot.now))


def disconnected(view: View, why: str) -> View:
    """The appliance does not answer: what it said last stays."""
    return replace(view, lost=why)


def noticed(view: View, text: str, *, is_passing: bool = False) -> View:
    """Something was done, or could not be; what `is_passing` is told no longer than until the appliance answers again."""
    return replace(view, notice=text, passing=text if is_passing else "")


def carried_out(view: View, several: Several, not_done: NotDone) -> View:
    """What was asked of machines has been done, but for some."""
    told = [f"{len(several.acts) - len(not_done)} {several.done}", *_left_out(several.left)]
    not_done = several.left + not_done
    if not_done.uncertain:
        (name, _), *more = not_done.uncertain
        told.append(f"it is uncertain whether {f'{len(more) + 1} were' if more else f'{name} was'}")
    told += [f"{len(not_done.unsent)} not sent"] if not_done.unsent else []
    if not_done.refused:
        (name, why), *more = not_done.refused
        shows = len(not_done) > 1
        told.append(f"{len(more) + 1} refused: {f'! shows why. {name}' if shows else name}: {clean(why)}")
    elif not_done:
        told[-1] += ": ! lists them"
    is_unsent = bool(not_done.unsent) and len(not_done) == len(not_done.unsent)
    view = noticed(view, ", ".join(told), is_passing=is_unsent)
    return _scrolled(_with_own_pages(replace(view, not_done=not_done, asking=view.asking - {several})))


def _left_out(left: NotDone) -> list[str]:
    """How many went on and were deleted while a person was asked; of one its name."""
    late, gone = ([name for name, _ in each] for each in (left.late, left.gone))
    told = [f"{late[0] if len(late) == 1 else len(late)} went on meanwhile"] if late else []
    if gone:
        told.append(f"the workflow of {gone[0]} is gone" if len(gone) == 1 else f"{len(gone)} workflows are gone")
    return told


def resized(view: View, height: int, width: int) -> View:
    """The terminal has another size."""
    return _scrolled(_drawn_anew(_with_own_pages(replace(view, height=height, width=width))))


def loaded(view: View, load: Load, draw: Draw) -> View:
    """What a page shows has come; a page that was left meanwhile is not opened again."""
    return _loaded(view, load, draw)


def _loaded(view: View, load: Load, draw: Draw, *, is_lost: bool = False) -> View:
    pages = tuple(
        replace(each, draw=draw, is_loaded=True, is_lost=is_lost) if each.load == load else each for each in view.pages
    )
    return _scrolled(_drawn_anew(replace(view, pages=pages)))


def _drawn_anew(view: View) -> View:
    """With the lines that pages have at this width."""
    return replace(view, pages=tuple(_drawn(view, each, each.draw) if each.draw else each for each in view.pages))


def _drawn(view: View, page: Page, draw: Draw) -> Page:
    lines, items = draw(view.width, page_height(view))
    return replace(page, lines=lines, items=items)


def unanswered(view: View, load: Load, why: str, *, is_lost: bool = False) -> View:
    """What a page shows could not be had, with `is_lost` for want of a connection; of a page that was left meanwhile nothing is said."""
    page = next((each for each in view.pages if each.load == load), None)
    if page is None:
        return view
    if page.is_loaded:
        return disconnected(view, why) if is_lost else noticed(view, why)
    return _loaded(view, load, lambda width, _: (wrapped(clean(why), width, style="yellow"), ()), is_lost=is_lost)


def asked_again(view: View) -> tuple[View, Sequence[Load]]:
    """The appliance answers again: what pages show that could not be asked for is asked for now."""
    lost = [each.load for each in view.pages if each.is_lost]
    pages = tuple(replace(each, is_loaded=False, is_lost=False) if each.is_lost else each for each in view.pages)
    return replace(view, pages=pages), lost


def pressed(view: View, key: str) -> tuple[View, Effect | None]:
    """What a key does."""
    if key == Key.INTERRUPT:
        return view, Quit()
    if view.question is not None:
        return _answered(view, view.question, key)
    if view.is_typing:
        return _typed(view, key), None
    view = replace(view, notice="")
    if view.page is not None:
        return _pressed_on_page(view, view.page, key)
    return _pressed_on_list(view, key)


def _pressed_on_list(view: View, key: str) -> tuple[View, Effect | None]:
    if view.marked and key in _PROPOSING:
        return _asked_of_marked(view, key)
    if key in _FOR_A_MACHINE and view.shown:
        view, row = _meant(view)
        if row is None:
            return replace(view, notice="the machine that was selected is gone: nothing was done"), None
        if key == " ":
            return _selected(replace(view, marked=view.marked ^ {row.machine.id}), view.index + 1), None
        return _opened_machine(view, row) if key == Key.ENTER else _common(view, row, key, row.machine.id)
    view = replace(view, moved=None)
    last = len(view.shown) - 1
    moves: Mapping[str, int] = {
        **dict.fromkeys(("j", Key.DOWN), view.index + 1),
        **dict.fromkeys(("k", Key.UP), view.index - 1),
        **dict.fromkeys(("g", Key.HOME), 0),
        **dict.fromkeys(("G", Key.END), last),
        Key.PAGE_DOWN: view.index + rows_at_once(view),
        Key.PAGE_UP: view.index - rows_at_once(view),
    }
    if key in moves:
        return _selected(view, moves[key], by_page=key in (Key.PAGE_DOWN, Key.PAGE_UP)), None
    if key in ("q", "Q"):
        return view, Quit()
    if key == "/":
        return _unfiltered(replace(view, is_typing=True)), None
    if key == "*":
        return replace(view, marked=view.marked | {each.machine.id for each in view.shown}), None
    if key == "u" or (key == Key.ESCAPE and view.marked):
        return replace(view, marked=frozenset()), None
    if key == Key.ESCAPE:
        return _unfiltered(view), None
    if key in ("S", Key.TAB):
        return _listed(replace(view, order=view.order.following)), None
    return _common(view, view.row, key, "")


def _is_seen(view: View) -> bool:
    """Whether a person had the time to see which machine is selected."""
    return view.moved is None or view.snapshot.now - view.moved.at >= SEEN_AFTER


def _meant(view: View) -> tuple[View, Row | None]:
    """The machine that a key is for, which is the selected one from then on; None where it is gone."""
    row = view.row if view.moved is None or _is_seen(view) else view.rows.get(view.moved.machine)
    before, view = view.row, replace(view, moved=None)
    if row is None:
        return view, None
    view = replace(view, selected=row.machine.id)
    return (view if row is before else _listed(view)), row


def _common(view: View, row: Row | None, key: str, machine: str) -> tuple[View, Effect | None]:
    """What keys do on the list and on pages alike; `machine` is the id of the one that is meant, also when its `row` is gone."""
    if key == "?":
        lines = help_page(view.width)
        return _opened(view, Page(load=Load(kind=PageKind.HELP), title="keys", lines=lines, is_loaded=True))
    if key == "d":
        if view.page is None or not machine:
            return _opened(view, Page(load=Load(kind=PageKind.DOCTOR), title="doctor"))
        # Of a stranger its MAC, which the doctor knows as well.
        load = Load(kind=PageKind.DOCTOR, machine=machine)
        return _opened(view, Page(load=load, title=f"doctor for {name_of(view, machine)}"))
    if key == "o":
        if row is not None and isinstance(row.line, StrangerLine):
            return replace(view, notice=f"{row.name} is not registered: it has no workflow"), None
        title = f"workflows of {name_of(view, machine)}" if machine else "workflows of all machines"
        return _opened(view, Page(load=Load(kind=PageKind.OLDER, machine=machine), title=title))
    if key == "l":
        return _opened_log(view, row)
    if key == "p" and view.page is None:
        lines, filters = problems_page(view.rows.values(), view.width)
        load = Load(kind=PageKind.PROBLEMS)
        return _opened(view, Page(load=load, title="problems", lines=lines, items=filters, is_loaded=True))
    if key == "!":
        lines = refused_page(view.not_done, view.unanswered, view.width)
        return _opened(
            view, Page(load=Load(kind=PageKind.REFUSED), title="refused or not done", lines=lines, is_loaded=True)
        )
    if key in _WORK_KEYS:
        if row is None:
            gone = view.page is not None and view.page.load.kind is PageKind.MACHINE
            return replace(
                view, notice="the machine is gone: nothing was done" if gone else "there is no workflow here"
            ), None
        if key == "s":
            return _shell(view, row)
        (told,) = _told_apart(view, [row])
        return _asked(view, _proposed(told, _PROPOSING[key]))
    return view, None


def _opened_log(view: View, row: Row | None) -> tuple[View, Effect | None]:
    """What the workflow printed that the page on top is about, or has selected, else that of the machine."""
    page, work = view.page, row.machine.work if row is not None else None
    workflow = work.id if work is not None else ""
    if page is not None and page.load.kind is PageKind.OLDER and page.items:
        workflow = page.items[page.selected]
    elif page is not None and page.load.workflow:
        workflow = page.load.workflow
    if not workflow:
        return replace(
            view,
            notice=f"{row.name} has no workflow" if row is not None and work is None else "there is no workflow here",
        ), None
    machine = row.machine.id if row is not None else ""
    load = Load(kind=PageKind.LOG, machine=machine, workflow=workflow)
    title = f"log of {workflow[:8]}" + (f" on {row.name}" if row is not None else "")
    return _opened(view, Page(load=load, title=title, at_end=True))


def _shell(view: View, row: Row) -> tuple[View, Effect | None]:
    work = row.work
    if work is None:
        return replace(view, notice=_without_work(row, "look into")), None
    if work.held is not None and not waits_for_verdict(work):
        return replace(view, notice=_decided(row, work)), None
    if work.held is None:
        return replace(
            view, notice=f"nothing is held on {row.name}: arm a breakpoint first: `{view.program} breakpoint arm`"
        ), None
    return view, Shell(workflow=work.id)


def _told_apart(view: View, rows: Sequence[Row]) -> list[Row]:
    """These rows as a question names them: with its MAC, without one its id, a machine whose name others have too."""
    names = Counter(each.name for each in view.rows.values())
    return [
        replace(each, name=f"{each.name} ({each.machine.mac or each.machine.id[:8]})") if names[each.name] > 1 else each
        for each in rows
    ]


def _proposed(row: Row, doing: "_Proposing") -> Proposal | str:
    """What a key would do to the work that a row shows, or why there is none of it to do."""
    work = row.work
    if work is not None and not work.id:
        return f"{row.name}: {work.message}"
    return doing.propose(row, work) if work is not None else _without_work(row, doing.verb.lower())


def _without_work(row: Row, verb: str) -> str:
    """Why nothing can be done to the work of a row that shows none."""
    if row.machine.rollout:
        return f"{row.name} waits in {rollout_of(row.machine)}: nothing to {verb}"
    return f"{row.name} has no workflow: nothing to {verb}"


def _decided(row: Row, work: WorkLine) -> str:
    """Why no verdict is taken on what is held there."""
    if work.state is WorkState.STOPPING:
        return f"{work.name} on {row.name} was told to stop: nothing is left to decide"
    return f"what becomes of {work.action} on {row.name} is decided, and being carried out: a cancels the workflow"


def _continue(row: Row, work: WorkLine) -> Proposal | str:
    if work.held is not None and not waits_for_verdict(work):
        return _decided(row, work)
    if work.held is None:
        return f"nothing is held on {row.name}, so there is nothing to continue"
    decide = Decide(workflow=work.id, verb="continue", hold=work.hold, machine=row.name)
    if work.held is Kind.BEFORE:
        return Proposal(row=row, text=f"Begin {work.action} on {row.name}?", act=decide)
    if work.reason:
        text = f"Why does the failure of {work.action} on {row.name} count as success?"
        return Proposal(row=row, text=text, act=decide, explains=True)
    return Proposal(row=row, text=f"Go on after {work.action} on {row.name}?", act=decide)


def _retry(row: Row, work: WorkLine) -> Proposal | str:
    if work.held is not None and not waits_for_verdict(work):
        return _decided(row, work)
    if work.held is not None:
        if work.held is Kind.BEFORE:
            return f"{work.action} has not begun: continue runs it"
        decide = Decide(workflow=work.id, verb="retry", hold=work.hold, machine=row.name)
        return Proposal(row=row, text=f"Run {work.action} on {row.name} again?", act=decide)
    if work.state not in FINAL - {WorkState.SUCCESS} and not work.lost:
        return f"{work.name} on {row.name} did not fail, so there is nothing to retry"
    retry = Retry(workflow=work.id, run=work.run, machine=row.name)
    if work.state is WorkState.CANCELED:
        # Somebody wanted its end: what failed is resumed by the hundred, this with its name in the question.
        text = f"Resume canceled workflow {work.name} on {row.name} at {work.action}?"
        why = f"{work.name} on {row.name} was canceled: unmark the others to resume it"
        return Proposal(row=row, text=text, act=retry, not_among_several=why)
    return Proposal(row=row, text=f"Resume workflow {work.name} on {row.name} at {work.action}?", act=retry)


def _abort(row: Row, work: WorkLine) -> Proposal | str:
    if waits_for_verdict(work):
        text = f"Abort workflow {work.name} on {row.name}? It ends as canceled"
        return Proposal(
            row=row, text=text, act=Decide(workflow=work.id, verb="abort", hold=work.hold, machine=row.name)
        )
    if work.state in FINAL:
        return f"{work.name} on {row.name} is over already"
    if work.state is WorkState.STOPPING and not work.lost:
        return f"{work.name} on {row.name} was told to stop: if its machine is off, tinkbox workflow cancel --force ends it"
    text = f"Cancel workflow {work.name} on {row.name}? What runs is told to stop"
    return Proposal(row=row, text=text, act=Cancel(workflow=work.id, run=work.run, machine=row.name))


@dataclass(frozen=True, slots=True)
class _Proposing:
    """A key that acts on work: what it would do to that of a row, or why it cannot; and its words for several machines."""

    propose: Callable[[Row, WorkLine], Proposal | str]
    verb: str
    done: str


_PROPOSING: Final[Mapping[str, _Proposing]] = {
    "c": _Proposing(_continue, "Continue", "continued"),
    "r": _Proposing(_retry, "Retry", "retried"),
    "a": _Proposing(_abort, "Abort or cancel", "aborted or canceled"),
}
_WORK_KEYS: Final = frozenset({*_PROPOSING, "s"})
# Of the keys on the list, those that are for the selected machine.
_FOR_A_MACHINE: Final = frozenset({*_WORK_KEYS, "o", "l", " ", Key.ENTER})


def _asked(view: View, proposed: Proposal | str) -> tuple[View, None]:
    if isinstance(proposed, str):
        return replace(view, notice=proposed), None
    return replace(view, question=Question(text=proposed.text, proposals=(proposed,), done="")), None


def _asked_of_marked(view: View, key: str) -> tuple[View, None]:
    """One question about all marked machines, shown or not; those with nothing to do are left out."""
    doing = _PROPOSING[key]
    # Rows are in an order that is quickly sorted, and marks in none.
    marked = sorted((row for each, row in view.rows.items() if each in view.marked), key=lambda row: row.by_name)
    proposed = [_proposed(row, doing) for row in _told_apart(view, marked)]
    if len(marked) > 1:
        proposed = [(isinstance(each, Proposal) and each.not_among_several) or each for each in proposed]
    proposals = tuple(each for each in proposed if isinstance(each, Proposal))
    cannot = [each for each in proposed if isinstance(each, str)]
    if not proposals:
        some = f"none of {len(marked)} marked machines can be {doing.done}: " if len(marked) > 1 else ""
        return replace(view, notice=f"{some}{cannot[0]}"), None
    if len(marked) == 1:
        return replace(view, question=Question(text=proposals[0].text, proposals=proposals, done=doing.done)), None
    if len(proposals) == 1:
        return replace(view, question=_question_about_one(proposals[0], doing, len(cannot))), None
    failures = sum(each.explains for each in proposals)
    if failures == len(proposals):
        text = f"Why do {counted(failures, 'failure')} count as success"
        text += f", {len(cannot)} left out?" if cannot else "?"
    elif failures:
        text = f"{doing.verb} {len(proposals)}" + (f", leave out {len(cannot)}" if cannot else "")
        text += f"; why {'does' if failures == 1 else 'do'} {counted(failures, 'failure')} count as success?"
    else:
        text = f"{doing.verb} {counted(len(proposals), 'machine')}"
        text += f", leave out {len(cannot)} that cannot?" if cannot else "?"
    return replace(view, question=Question(text=text, proposals=proposals, done=doing.done)), None


def _question_about_one(proposal: Proposal, doing: "_Proposing", left_out: int) -> Question:
    """Of marked machines the only one for which the key does something: its name comes first, so that it is never cut."""
    name = proposal.row.name
    text = f"{doing.verb} {name}, leave out {left_out} that cannot?"
    if proposal.explains:
        text = f"Why does the failure on {name} count as success, {left_out} left out?"
    return Question(text=text, proposals=(proposal,), done=doing.done)


def _answered(view: View, question: Question, key: str) -> tuple[View, Effect | None]:
    done = replace(view, question=None)
    left = _left_at_yes(view, question)
    to_do = [each for each in question.proposals if not _went_on(view, each)]
    if not to_do and (not question.explains or key in (Key.ENTER, Key.ESCAPE)):
        # What a person types on of a reason is no key of the list.
        lists = ", ! lists them" if len(left) > 1 else ""
        return replace(done, notice=f"{', '.join(_left_out(left))}: nothing was done{lists}", not_done=left), None
    if key == Key.ESCAPE:
        return replace(done, notice="nothing was done"), None
    if not question.explains:
        if key in ("y", "Y"):
            return _sent(done, question, [each.act for each in to_do], left)
        return replace(done, notice="nothing was done"), None
    if key == Key.ENTER:
        why = question.typed.strip()
        return _sent(done, question, [_explained(each, why) for each in to_do], left) if why else (view, None)
    return replace(view, question=replace(question, typed=_edited(question.typed, key))), None


def _sent(view: View, question: Question, acts: Sequence[Act], left: NotDone) -> tuple[View, Effect]:
    """A person wants it, but of those that are `left` out."""
    if not question.done:
        return view, acts[0]
    several = Several(acts=tuple(acts), done=question.done, left=left)
    told = f"{question.done}: asking for {counted(len(acts), 'machine')} …"
    return replace(view, marked=frozenset(), notice=told, asking=view.asking | {several}), several


def _explained(proposal: Proposal, why: str) -> Act:
    assert isinstance(proposal.act, Decide)
    return replace(proposal.act, why=why) if proposal.explains else proposal.act


def _went_on(view: View, asked: Proposal) -> bool:
    """Whether what was asked about is not there any more.

    What was held was decided about, the machine waits in a rollout, or it has another workflow by now.
    """
    before, row = asked.row.work, row_of(view, asked.row.machine.id)
    work = row.work if row is not None else None
    if not isinstance(asked.act, Decide):
        return row is not None and (
            work is None or (before is not None and (work.id, work.run) != (before.id, before.run))
        )
    return before is None or work is None or _hold_of(work) != _hold_of(before)


def _left_at_yes(view: View, question: Question) -> NotDone:
    """Of what is asked about, what is not there any more, and what became of it."""
    late, gone = list[tuple[str, str]](), list[tuple[str, str]]()
    for each in question.proposals:
        if not _went_on(view, each):
            continue
        row, before = row_of(view, each.row.machine.id), each.row.work
        if row is not None and row.work is None and not row.machine.rollout and before is not None:
            told = f"workflow {clean(before.name)} {before.id[:8]} is not there any more"
            gone.append((each.row.name, told))
        else:
            late.append((each.row.name, _became(row, before)))
    return NotDone(late=tuple(late), gone=tuple(gone))


def _became(row: Row | None, before: WorkLine | None) -> str:
    """What there is where a machine had this work."""
    if row is None:
        return "the machine is not there any more, it was retired or deleted"
    work = row.work
    if work is None:
        return f"it waits in {rollout_of(row.machine)}"
    if before is None or work.id != before.id:
        return f"its workflow is {clean(work.name)} {work.id[:8]} now"
    if is_being_carried_out(work):
        return DECIDED
    if work.run != before.run:
        return f"it was retried, and is {row.standing.word} now"
    if work.hold and work.hold != before.hold:
        return f"it is held anew: {clean(work.reason or work.action)}"
    return f"it is {row.standing.word} now"


def _hold_of(work: WorkLine) -> tuple[object, ...]:
    """What tells a hold from another, and from the same after a verdict."""
    return work.id, work.number, work.held, work.attempt, work.hold, waits_for_verdict(work)


def _typed(view: View, key: str) -> View:
    """A key that belongs to the filter, which counts as it is typed."""
    view = replace(view, moved=None)
    if key == Key.ENTER:
        kept = _listed(replace(view, is_typing=False))
        is_left = view.filtered_by.strip() and kept.row is not None and kept.row.machine.id != kept.selected
        return _at_match(kept) if is_left else kept
    if key == Key.ESCAPE:
        return _unfiltered(replace(view, is_typing=False))
    if key in (Key.DOWN, Key.UP):
        return _selected(view, view.index + (1 if key == Key.DOWN else -1))
    filtered_by = _edited(view.filtered_by, key)
    if not filtered_by.strip():
        return replace(_unfiltered(view), filtered_by=filtered_by)
    return view if filtered_by == view.filtered_by else _at_match(_listed(replace(view, filtered_by=filtered_by)))


def _unfiltered(view: View) -> View:
    """With all machines again; the selection stays on its machine, which may have been the first match and no person's choice."""
    selected = view.row.machine.id if view.row is not None and view.filtered_by else view.selected
    return _listed(replace(view, filtered_by="", selected=selected))


def _at_match(view: View) -> View:
    """With the machine selected that a word of the filter names, else the first that is shown."""
    kept_by = parse_filter(view.filtered_by, [*view.rows.values()], is_typed=view.is_typing)
    return _selected(view, next((place for place, row in enumerate(view.shown) if kept_by.names(row)), 0))


def _edited(text: str, key: str) -> str:
    if key == Key.BACKSPACE:
        return text[:-1]
    if key == Key.CLEAR:
        return ""
    if key == Key.CLEAR_WORD:
        return "".join(text.rstrip().rpartition(" ")[:2])
    return (text + key)[:LONGEST_TYPED] if len(key) == 1 and key.isprintable() else text


def _opened_machine(view: View, row: Row) -> tuple[View, Effect | None]:
    return _opened(view, Page(load=Load(kind=PageKind.MACHINE, machine=row.machine.id), title=row.name))


def _opened(view: View, page: Page) -> tuple[View, Effect | None]:
    if any(each.load == page.load for each in view.pages):
        return view, None
    return replace(view, pages=(*view.pages, page)), None if page.is_loaded else page.load


def _pressed_on_page(view: View, page: Page, key: str) -> tuple[View, Effect | None]:
    if key in ("q", "Q", Key.ESCAPE, Key.LEFT) or (key == "?" and page.load.kind is PageKind.HELP):
        return replace(view, pages=view.pages[:-1]), None
    last, height = max(0, len(page.lines) - 1), page_height(view)
    place = page.selected if page.items else page.top
    moves: Mapping[str, int] = {
        **dict.fromkeys(("j", Key.DOWN), place + 1),
        **dict.fromkeys(("k", Key.UP), place - 1),
        **dict.fromkeys(("g", Key.HOME), 0),
        **dict.fromkeys(("G", Key.END), last),
        **dict.fromkeys((Key.PAGE_DOWN, " "), place + height),
        Key.PAGE_UP: place - height,
    }
    if key in moves:
        to = max(0, min(moves[key], last))
        if page.items:
            # As in the list: a page further, what is selected keeps its place on the screen.
            by_page = key in (Key.PAGE_DOWN, Key.PAGE_UP, " ")
            moved = replace(page, selected=to, top=page.top + (to - place) * by_page)
        else:
            moved = replace(page, top=to, at_end=to >= last - height + 1)
        return _scrolled(replace(view, pages=(*view.pages[:-1], moved))), None
    if key == Key.ENTER and page.load.kind is PageKind.PROBLEMS:
        return _listed(replace(view, pages=(), filtered_by=page.items[page.selected], index=0, selected="")), None
    if key == Key.ENTER and page.items:
        workflow = page.items[page.selected]
        load = Load(kind=PageKind.WORKFLOW, machine=page.load.machine, workflow=workflow)
        on = f" on {name_of(view, page.load.machine)}" if page.load.machine else ""
        return _opened(view, Page(load=load, title=f"workflow {workflow[:8]}{on}")) if workflow else (view, None)
    row = row_of(view, page.load.machine)
    if key in _WORK_KEYS and not _is_about(page.load, row):
        return replace(view, notice="this key is for a machine's page: Esc goes back"), None
    return _common(view, row, key, page.load.machine)


def _is_about(load: Load, row: Row | None) -> bool:
    """Whether a page shows the work of a machine that its row has, and not an older one."""
    work = row.work if row is not None else None
    return load.kind is PageKind.MACHINE or (work is not None and load.workflow == work.id)


def name_of(view: View, machine: str) -> str:
    """What a machine or stranger is called, by its id; of one that is gone, what its page was opened as."""
    row = row_of(view, machine)
    opened = (each.title for each in view.pages if each.load == Load(kind=PageKind.MACHINE, machine=machine))
    return row.name if row is not None else next(opened, machine)


def work_shown(view: View, workflow: str) -> WorkLine | None:
    """What a row shows of a workflow, by its id; None where none shows it."""
    return next((work for row in view.rows.values() if (work := row.work) is not None and work.id == workflow), None)


def row_of(view: View, machine: str) -> Row | None:
    """A machine or stranger by its id, also one that the view is not about any more; None when it is gone."""
    row = view.rows.get(machine)
    if row is not None or not view.scope:
        return row
    snapshot = view.snapshot
    alone = replace(
        snapshot,
        machines=tuple(each for each in snapshot.machines if each.id == machine),
        strangers=tuple(each for each in snapshot.strangers if each.mac == machine),
    )
    return rows_of(alone, {}).get(machine)


def _told(view: View, snapshot: Snapshot) -> View:
    rows = rows_of(snapshot, view.rows, view.scope)
    counts = counted_by_standing(rows.values())
    marked = view.marked & rows.keys()
    return _listed(_with_own_pages(replace(view, snapshot=snapshot, rows=rows, counts=counts, marked=marked)))


def _with_own_pages(view: View) -> View:
    """With the pages anew that the view makes of what it knows."""
    return replace(view, pages=tuple(_own_page(view, each) for each in view.pages))


def _own_page(view: View, page: Page) -> Page:
    if page.load.kind is PageKind.MACHINE:
        return replace(page, title=name_of(view, page.load.machine))
    if page.load.kind is PageKind.HELP:
        return replace(page, lines=help_page(view.width))
    if page.load.kind is PageKind.REFUSED:
        return replace(page, lines=refused_page(view.not_done, view.unanswered, view.width))
    if page.load.kind is not PageKind.PROBLEMS:
        return page
    lines, items = problems_page(view.rows.values(), view.width)
    return replace(page, lines=lines, items=items, selected=_of_same_group(page, items))


def _of_same_group(page: Page, items: Sequence[str]) -> int:
    """The line of these to select: in the group that was selected, else at its place."""
    group = page.items[page.selected]
    if group not in items:
        return page.selected
    within = page.selected - page.items.index(group)
    return items.index(group) + min(within, items.count(group) - 1)


def _listed(view: View) -> View:
    """Filter and sort anew; the selection stays on its machine, else at its place."""
    shown = chosen(view.rows.values(), view.filtered_by, view.order, is_typed=view.is_typing)
    index = next((index for index, row in enumerate(shown) if row.machine.id == view.selected), -1)
    if index < 0 or view.selected == "":
        index = min(view.index, max(0, len(shown) - 1))
    return _scrolled(replace(view, shown=shown, index=index))


def _selected(view: View, index: int, *, by_page: bool = False) -> View:
    if not view.shown:
        return view
    index = max(0, min(index, len(view.shown) - 1))
    # A page further the selection keeps its place on the screen, so that each row is seen once.
    top = view.top + (index - view.index) if by_page else view.top
    return _scrolled(replace(view, index=index, top=top, selected=view.shown[index].machine.id))


def alert_height(view: View) -> int:
    """How many lines between headline and list tell what is wrong with the appliance: none where that leaves little of the rest."""
    return int(bool(view.snapshot.health.conditions) and view.height >= ROOM_FOR_ALERT)


def rows_at_once(view: View) -> int:
    """How many rows of the list the terminal has."""
    return max(1, view.height - AROUND_ROWS - alert_height(view))


def page_height(view: View) -> int:
    """How many lines of a page it has."""
    return max(1, view.height - AROUND_PAGE)


def _scrolled(view: View) -> View:
    """With what is selected within the screen, and no empty lines below the last."""
    height = rows_at_once(view)
    top = max(view.index - height + 1, min(view.top, view.index))
    top = max(0, min(top, len(view.shown) - height))
    return replace(view, top=top, pages=tuple(_scrolled_page(view, each) for each in view.pages))


def _scrolled_page(view: View, page: Page) -> Page:
    height, number = page_height(view), len(page.lines)
    end = max(0, number - height)
    if page.items:
        selected = max(0, min(page.selected, number - 1))
        top = max(selected - height + 1, min(page.top, selected))
        return replace(page, selected=selected, top=max(0, min(top, end)))
    return replace(page, top=end if page.at_end else min(page.top, end))
