"""What the view shows and what keys do to it, as values: no terminal, no clock, no network.

Rule 1: `pressed` is the only place that says what a key does; what it cannot do itself it returns as an effect.
Rule 2: what begins, stops or repeats work, and may overwrite a disk, is asked about first.
Rule 3: the selection is a machine and not a place: it stays on its machine when others come and go.  Only until a person
moves it or acts it is the first of the list, whichever that is.
Rule 4: a key is for the machine that its person saw selected, and never for one that has just taken its place.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from enum import Enum
from typing import Final

from tinkbox.model.breakpoint import Kind
from tinkbox.model.workflow import FINAL
from tinkbox.model.workflow import State as WorkState
from tinkbox.view.keys import Key
from tinkbox.view.lines import Line, clean, wrapped
from tinkbox.view.pages import help_page, problems_page
from tinkbox.view.rows import Order, Row, chosen, counted_by_standing, rows_of
from tinkbox.view.standing import Standing
from tinkbox.wire.messages.status import Snapshot, StrangerLine, WorkLine, merged

LONGEST_TYPED: Final = 200
# Lines of the screen that are no rows: two of the headline, the titles or the title, the last one.
AROUND_ROWS: Final = 4
AROUND_PAGE: Final = 4
# For so long a person may not have seen that another machine is selected.
SEEN_AFTER: Final = timedelta(seconds=2)


class PageKind(Enum):
    """What a page is about; its value is its title."""

    MACHINE = "machine"
    DOCTOR = "doctor"
    OLDER = "older workflows"
    WORKFLOW = "workflow"
    HELP = "keys"
    PROBLEMS = "problems"


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
    """Give a verdict on a held action; `machine` is its name, for people."""

    workflow: str
    verb: str
    why: str = ""
    machine: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Retry:
    """Resume a workflow that ended badly; `machine` is its name, for people."""

    workflow: str
    machine: str = field(default="", compare=False)


@dataclass(frozen=True, slots=True, kw_only=True)
class Cancel:
    """Stop a workflow that is not over; `machine` is its name, for people."""

    workflow: str
    machine: str = field(default="", compare=False)


Effect = Quit | Load | Shell | Decide | Retry | Cancel


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Lines that are read, from `top` on; where there are `items`, one for each line, one of them is selected.

    A page that is `at_end` stays there as lines are added.
    """

    load: Load
    title: str
    lines: Sequence[Line] = ()
    items: Sequence[str] = ()
    top: int = 0
    selected: int = 0
    at_end: bool = False
    is_loaded: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What is asked before an effect on the work of a `row`: yes or no, or a text that `explains` it."""

    text: str
    effect: Effect
    row: Row
    explains: bool = False
    typed: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Moved:
    """The appliance told what put another machine at the cursor, `at` its time; `machine` is the id of the one before."""

    machine: str
    at: datetime


@dataclass(frozen=True, slots=True, kw_only=True)
class View:
    """All of it; `rows` are by id, `counts` how many stand how, `shown` those that pass the filter, in their order.

    `moved` tells that another machine came to the cursor.  `pages` lie over the list, the last on top.  `notice` is about what was done last, `lost` about the connection.
    """

    snapshot: Snapshot
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
    moved: Moved | None = None
    pages: tuple[Page, ...] = ()
    question: Question | None = None
    notice: str = ""
    lost: str = ""

    @property
    def row(self) -> Row | None:
        """The selected one."""
        return self.shown[self.index] if self.shown else None

    @property
    def page(self) -> Page | None:
        """The one on top."""
        return self.pages[-1] if self.pages else None


def begun(snapshot: Snapshot, height: int, width: int) -> View:
    """How the view begins."""
    return _told(View(snapshot=snapshot, height=height, width=width), snapshot)


def looked(view: View, change: Snapshot) -> View:
    """What the appliance told was taken in."""
    snapshot = merged(view.snapshot, change)
    if snapshot.machines is view.snapshot.machines and snapshot.strangers == view.snapshot.strangers:
        return replace(view, snapshot=replace(snapshot, strangers=view.snapshot.strangers), lost="")
    told = _told(replace(view, lost=""), snapshot)
    if view.row is None or told.row is None or view.row.machine.id == told.row.machine.id:
        return told
    before = view.moved.machine if view.moved is not None and not _is_seen(view) else view.row.machine.id
    return replace(told, moved=Moved(machine=before, at=snapshot.now))


def disconnected(view: View, why: str) -> View:
    """The appliance does not answer: what it said last stays."""
    return replace(view, lost=why)


def noticed(view: View, text: str) -> View:
    """Something was done, or could not be."""
    return replace(view, notice=text)


def resized(view: View, height: int, width: int) -> View:
    """The terminal has another size."""
    return _scrolled(_with_own_pages(replace(view, height=height, width=width)))


def loaded(view: View, load: Load, lines: Sequence[Line], items: Sequence[str] = ()) -> View:
    """What a page shows has come; a page that was left meanwhile is not opened again."""
    pages = tuple(
        replace(each, lines=lines, items=items, is_loaded=True) if each.load == load else each for each in view.pages
    )
    return _scrolled(replace(view, pages=pages))


def unanswered(view: View, load: Load, why: str) -> View:
    """What a page shows could not be had; of a page that was left meanwhile nothing is said."""
    page = next((each for each in view.pages if each.load == load), None)
    if page is None:
        return view
    return noticed(view, why) if page.is_loaded else loaded(view, load, wrapped(clean(why), view.width, style="yellow"))


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
    if key in _FOR_A_MACHINE and view.shown:
        view, row = _meant(view)
        if row is None:
            return replace(view, notice="the machine that was selected is gone: nothing was done"), None
        return _opened_machine(view, row) if key == Key.ENTER else _common(view, row, key)
    view = replace(view, moved=None)
    last = len(view.shown) - 1
    moves: Mapping[str, int] = {
        **dict.fromkeys(("j", Key.DOWN), view.index + 1),
        **dict.fromkeys(("k", Key.UP), view.index - 1),
        **dict.fromkeys(("g", Key.HOME), 0),
        **dict.fromkeys(("G", Key.END), last),
        **dict.fromkeys((Key.PAGE_DOWN, " "), view.index + _rows_at_once(view)),
        Key.PAGE_UP: view.index - _rows_at_once(view),
    }
    if key in moves:
        return _selected(view, moves[key], by_page=key in (Key.PAGE_DOWN, Key.PAGE_UP, " ")), None
    if key in ("q", "Q"):
        return view, Quit()
    if key == "/":
        return replace(view, is_typing=True), None
    if key == Key.ESCAPE:
        return _listed(replace(view, filtered_by="")), None
    if key in ("S", Key.TAB):
        return _listed(replace(view, order=view.order.following)), None
    return _common(view, view.row, key)


def _is_seen(view: View) -> bool:
    """Whether a person had the time to see which machine is selected."""
    return view.moved is None or view.snapshot.now - view.moved.at >= SEEN_AFTER


def _meant(view: View) -> tuple[View, Row | None]:
    """The machine that a key is for, which is the selected one from then on; None where it is gone."""
    row = view.row if view.moved is None or _is_seen(view) else view.rows.get(view.moved.machine)
    view = replace(view, moved=None)
    return (_listed(replace(view, selected=row.machine.id)) if row is not None else view), row


def _common(view: View, row: Row | None, key: str) -> tuple[View, Effect | None]:
    """What keys do on the list and on pages alike; `row` is the machine that is meant."""
    if key == "?":
        lines = help_page(view.width)
        return _opened(view, Page(load=Load(kind=PageKind.HELP), title="keys", lines=lines, is_loaded=True))
    if key == "d":
        if view.page is None or row is None:
            return _opened(view, Page(load=Load(kind=PageKind.DOCTOR), title="doctor"))
        load = Load(
            kind=PageKind.DOCTOR, machine=row.machine.id
        )  # of a stranger its MAC, which the doctor knows as well
        return _opened(view, Page(load=load, title=f"doctor for {row.name}"))
    if key == "o":
        machine = row.machine.id if row is not None and not isinstance(row.line, StrangerLine) else ""
        title = f"workflows of {row.name}" if row is not None and machine else "workflows"
        return _opened(view, Page(load=Load(kind=PageKind.OLDER, machine=machine), title=title))
    if key == "p" and view.page is None:
        lines, filters = problems_page(view.rows.values(), view.width)
        load = Load(kind=PageKind.PROBLEMS)
        return _opened(view, Page(load=load, title="problems", lines=lines, items=filters, is_loaded=True))
    if key in _WORK_KEYS:
        work = row.machine.work if row is not None else None
        if row is None or work is None:
            return replace(view, notice="there is no workflow here"), None
        return _WORK_KEYS[key](view, row, work)
    return view, None


def _shell(view: View, row: Row, work: WorkLine) -> tuple[View, Effect | None]:
    if work.held is None:
        return replace(
            view, notice=f"nothing is held on {row.name}: arm a breakpoint first (tinkbox breakpoint arm)"
        ), None
    return view, Shell(workflow=work.id)


def _continue(view: View, row: Row, work: WorkLine) -> tuple[View, Effect | None]:
    if work.held is None:
        return replace(view, notice=f"nothing is held on {row.name}, so there is nothing to continue"), None
    decide = Decide(workflow=work.id, verb="continue", machine=row.name)
    if work.held is Kind.BEFORE:
        return _asked(view, row, f"Begin {work.action} on {row.name}?", decide)
    if work.reason:
        text = f"Why does the failure of {work.action} on {row.name} count as success?"
        return replace(view, question=Question(text=text, effect=decide, row=row, explains=True)), None
    return _asked(view, row, f"Go on after {work.action} on {row.name}?", decide)


def _retry(view: View, row: Row, work: WorkLine) -> tuple[View, Effect | None]:
    if work.held is not None:
        if work.held is Kind.BEFORE:
            return replace(view, notice=f"{work.action} has not begun: continue runs it"), None
        decide = Decide(workflow=work.id, verb="retry", machine=row.name)
        return _asked(view, row, f"Run {work.action} on {row.name} again?", decide)
    if work.state not in FINAL - {WorkState.SUCCESS} and not work.lost:
        return replace(view, notice=f"{work.name} on {row.name} did not fail, so there is nothing to retry"), None
    text = f"Resume workflow {work.name} on {row.name} at {work.action}?"
    return _asked(view, row, text, Retry(workflow=work.id, machine=row.name))


def _abort(view: View, row: Row, work: WorkLine) -> tuple[View, Effect | None]:
    if work.held is not None:
        text = f"Abort workflow {work.name} on {row.name}? It ends as canceled"
        return _asked(view, row, text, Decide(workflow=work.id, verb="abort", machine=row.name))
    if work.state in FINAL:
        return replace(view, notice=f"{work.name} on {row.name} is over already"), None
    text = f"Cancel workflow {work.name} on {row.name}? What runs is told to stop"
    return _asked(view, row, text, Cancel(workflow=work.id, machine=row.name))


_WORK_KEYS: Final[Mapping[str, Callable[[View, Row, WorkLine], tuple[View, Effect | None]]]] = {
    "s": _shell,
    "c": _continue,
    "r": _retry,
    "a": _abort,
}
# Of the keys on the list, those that are for the selected machine.
_FOR_A_MACHINE: Final = frozenset({*_WORK_KEYS, "o", Key.ENTER})


def _asked(view: View, row: Row, text: str, effect: Effect) -> tuple[View, None]:
    return replace(view, question=Question(text=text, effect=effect, row=row)), None


def _answered(view: View, question: Question, key: str) -> tuple[View, Effect | None]:
    done = replace(view, question=None)
    if isinstance(question.effect, Decide) and _went_on(view, question.row):
        return replace(done, notice=f"{question.row.name} went on meanwhile: nothing was done"), None
    if key == Key.ESCAPE:
        return replace(done, notice="nothing was done"), None
    if not question.explains:
        return (done, question.effect) if key in ("y", "Y") else (replace(done, notice="nothing was done"), None)
    if key == Key.ENTER:
        if not question.typed.strip():
            return view, None
        assert isinstance(question.effect, Decide)
        return done, replace(question.effect, why=question.typed.strip())
    return replace(view, question=replace(question, typed=_edited(question.typed, key))), None


def _went_on(view: View, asked: Row) -> bool:
    """Whether what was held, when it was asked about, is held no longer: a verdict would be on something else."""
    before, row = asked.machine.work, view.rows.get(asked.machine.id)
    work = row.machine.work if row is not None else None
    if before is None or work is None:
        return True
    return (work.id, work.number, work.held, work.attempt) != (before.id, before.number, before.held, before.attempt)


def _typed(view: View, key: str) -> View:
    """A key that belongs to the filter, which counts as it is typed."""
    if key == Key.ENTER:
        return replace(view, is_typing=False)
    if key == Key.ESCAPE:
        return _listed(replace(view, is_typing=False, filtered_by=""))
    if key in (Key.DOWN, Key.UP):
        return _selected(view, view.index + (1 if key == Key.DOWN else -1))
    return _listed(replace(view, filtered_by=_edited(view.filtered_by, key)))


def _edited(text: str, key: str) -> str:
    if key == Key.BACKSPACE:
        return text[:-1]
    if key == Key.CLEAR:
        return ""
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
    last, height = max(0, len(page.lines) - 1), _page_height(view)
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
        return _opened(view, Page(load=load, title=f"workflow {workflow[:8]}")) if workflow else (view, None)
    row = view.rows.get(page.load.machine)
    if key in _WORK_KEYS and not _is_about(page.load, row):
        return replace(view, notice="this key is for a machine's page: Esc goes back"), None
    return _common(view, row, key)


def _is_about(load: Load, row: Row | None) -> bool:
    """Whether a page shows the work of a machine that its row has, and not an older one."""
    work = row.machine.work if row is not None else None
    return load.kind is PageKind.MACHINE or (work is not None and load.workflow == work.id)


def _told(view: View, snapshot: Snapshot) -> View:
    rows = rows_of(snapshot, view.rows)
    counts = counted_by_standing(rows.values())
    return _listed(_with_own_pages(replace(view, snapshot=snapshot, rows=rows, counts=counts)))


def _with_own_pages(view: View) -> View:
    """With the pages anew that the view makes of what it knows."""
    return replace(view, pages=tuple(_own_page(view, each) for each in view.pages))


def _own_page(view: View, page: Page) -> Page:
    if page.load.kind is PageKind.HELP:
        return replace(page, lines=help_page(view.width))
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
    shown = chosen(view.rows.values(), view.filtered_by, view.order)
    index = next((index for index, row in enumerate(shown) if row.machine.id == view.selected), -1)
    if index < 0 or view.selected == "":
        index = min(view.index, max(0, len(shown) - 1))
    return _scrolled(replace(view, shown=shown, index=index, selected=view.selected if shown else ""))


def _selected(view: View, index: int, *, by_page: bool = False) -> View:
    if not view.shown:
        return view
    index = max(0, min(index, len(view.shown) - 1))
    # A page further the selection keeps its place on the screen, so that each row is seen once.
    top = view.top + (index - view.index) if by_page else view.top
    return _scrolled(replace(view, index=index, top=top, selected=view.shown[index].machine.id))


def _rows_at_once(view: View) -> int:
    return max(1, view.height - AROUND_ROWS)


def _page_height(view: View) -> int:
    return max(1, view.height - AROUND_PAGE)


def _scrolled(view: View) -> View:
    """With what is selected within the screen, and no empty lines below the last."""
    height = _rows_at_once(view)
    top = max(view.index - height + 1, min(view.top, view.index))
    top = max(0, min(top, len(view.shown) - height))
    return replace(view, top=top, pages=tuple(_scrolled_page(view, each) for each in view.pages))


def _scrolled_page(view: View, page: Page) -> Page:
    height, number = _page_height(view), len(page.lines)
    end = max(0, number - height)
    if page.items:
        selected = max(0, min(page.selected, number - 1))
        top = max(selected - height + 1, min(page.top, selected))
        return replace(page, selected=selected, top=max(0, min(top, end)))
    return replace(page, top=end if page.at_end else min(page.top, end))
