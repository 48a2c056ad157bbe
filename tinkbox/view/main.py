"""The loop of the view: it reads keys, asks the appliance, draws what changed, and carries out effects.

Everything else is pure: `state.pressed` says what keys do, `picture.picture` what is shown.
"""

import asyncio
from collections.abc import Awaitable, Callable, Iterator, Sequence
from contextlib import AbstractAsyncContextManager, contextmanager, suppress
from typing import TYPE_CHECKING, Any, Final, Protocol

from tinkbox.client.refusals import Unanswered, Unreachable
from tinkbox.model.command_lines import PROGRAM
from tinkbox.model.duration import show_age
from tinkbox.model.errors import Invalid, NotFound, Refusal
from tinkbox.model.text import counted
from tinkbox.view.keys import Key, KeyReader
from tinkbox.view.log_end import LogEnd
from tinkbox.view.pages import NotDone, doctor_page, gone_page, log_page, machine_page, older_page, workflow_page
from tinkbox.view.painting import painted
from tinkbox.view.picture import Shown, picture, waiting_picture
from tinkbox.view.rows import EVERYTHING, Scope
from tinkbox.view.state import (
    Act,
    Cancel,
    Decide,
    Draw,
    Effect,
    Load,
    PageKind,
    Quit,
    Retry,
    Several,
    Shell,
    View,
    alone,
    asked_again,
    begun,
    carried_out,
    disconnected,
    loaded,
    looked,
    name_of,
    noticed,
    pressed,
    resized,
    row_of,
    unanswered,
    work_shown,
)
from tinkbox.wire.messages.status import Snapshot, StrangerLine

if TYPE_CHECKING:
    from tinkbox.client.operator import Operator

INTERVAL: Final = 1.0  # seconds between two looks
RELOADED_EVERY: Final = 2  # looks, while a page is open
SILENCE: Final = 3.0  # seconds without an answer until that is told
# A sequence comes at once; Esc alone is followed by nothing.
ESCAPE_SECONDS: Final = 0.05
OLDER: Final = 200
# Of what is asked for several machines, so much at once: other people's requests are answered in between.
ACTS_AT_ONCE: Final = 8
# Of what pages show, what is asked for by a machine alone.
ABOUT_MACHINES: Final = frozenset({PageKind.DOCTOR, PageKind.OLDER})
RELOADED: Final = frozenset({PageKind.MACHINE, PageKind.WORKFLOW, PageKind.LOG})

# Opens a shell in the held action of a workflow; returns, when it is over, what is to be said of it; None: the view ends too.
OpenShell = Callable[[str], Awaitable[str | None]]


class Terminal(Protocol):
    """The whole screen and the keyboard; `changed` is set when it has another size, or has to be drawn anew."""

    changed: asyncio.Event

    @property
    def size(self) -> tuple[int, int]:
        """(rows, columns)."""

    async def read(self) -> bytes:
        """What was typed next; nothing when the terminal is gone."""

    def write(self, text: str) -> None:
        """Show it as it is."""

    def lent(self) -> AbstractAsyncContextManager[None]:
        """As it was before the view had it, for as long as another program has it."""


async def live(
    operator: "Operator",
    terminal: Terminal,
    first: asyncio.Future[Snapshot],
    open_shell: OpenShell,
    unanswered: list[str],
    *,
    scope: Scope = EVERYTHING,
    program: str = PROGRAM,
    colours: bool = True,
    interval: float = INTERVAL,
) -> None:
    """Show what there is, `first` of all, until a person leaves it; nothing where the first answer is a refusal.

    An appliance that goes away leaves the last picture standing with a notice.  `unanswered` takes, whatever ends the view,
    sentences about what was asked for until then and not answered.  `program` is how a person begins a command.
    """
    if await _came(first, terminal, colours=colours):
        view = begun(first.result(), *terminal.size, scope, program)
        await _Live(operator, terminal, open_shell, view, unanswered, colours=colours, interval=interval).run()


async def _came(first: asyncio.Future[Snapshot], terminal: Terminal, *, colours: bool) -> bool:
    """Wait for the first answer; False when a person leaves before, or it is a refusal."""
    if not first.done():
        terminal.write(painted((), waiting_picture(*terminal.size), colours=colours))
        async with asyncio.TaskGroup() as group:
            leaving = group.create_task(_left(terminal))
            awaited: set[asyncio.Future[Any]] = {first, leaving}
            await asyncio.wait(awaited, return_when=asyncio.FIRST_COMPLETED)
            leaving.cancel()
    return first.done() and first.exception() is None


async def _left(terminal: Terminal) -> None:
    """Wait for a key that leaves; what else is typed is dropped."""
    reader = KeyReader()
    while content := await terminal.read():
        if not {"q", "Q", Key.INTERRUPT}.isdisjoint(reader.read(content)):
            return


class _Live:
    """One view in one terminal."""

    def __init__(
        self,
        operator: "Operator",
        terminal: Terminal,
        open_shell: OpenShell,
        view: View,
        unanswered: list[str],
        *,
        colours: bool,
        interval: float,
    ) -> None:
        self._operator = operator
        self._terminal = terminal
        self._open_shell = open_shell
        self._view = view
        self._unanswered = unanswered
        self._colours = colours
        self._interval = interval
        self._shown: Sequence[Shown] = ()
        self._is_lent = False
        self._under_way: set[Effect] = set()
        self._acted: list[Act] = []  # that are not answered
        self._unsent = 0  # of those that are asked for several machines
        self._log = LogEnd("")
        self._log_reading = asyncio.Lock()
        self._heard_at = asyncio.get_running_loop().time()
        self._asked_at: float | None = None

    async def run(self) -> None:
        """Until it is left."""
        self._show(self._view)
        try:
            await self._lived()
        finally:
            self._unanswered += [
                f"{_sent(each)} was sent, and the appliance has not answered: look again whether it was done"
                for each in self._acted
            ]
            if self._unsent:
                self._unanswered.append(
                    f"the view was left before {counted(self._unsent, 'more machine')} had their turn: nothing was sent for these"
                )

    async def _lived(self) -> None:
        async with asyncio.TaskGroup() as group:
            tasks = {group.create_task(each) for each in (self._look(), self._tell_silence(), self._follow_size())}

            def begin(effect: Effect) -> None:
                if effect not in self._under_way:
                    self._under_way.add(effect)
                    tasks.add(task := group.create_task(self._carry_out(effect)))
                    task.add_done_callback(tasks.discard)

            self._begin = begin
            await self._obey()
            for task in [*tasks]:
                task.cancel()

    async def _obey(self) -> None:
        """Do what is typed, until it is to leave or the terminal is gone."""
        reader = KeyReader()
        while True:
            content = b""
            with suppress(TimeoutError):
                async with asyncio.timeout(ESCAPE_SECONDS if reader.is_waiting else None):
                    content = await self._terminal.read()
                    if not content:
                        return
            view = self._view
            for key in reader.read(content) if content else reader.ended():
                view, effect = pressed(view, key)
                if isinstance(effect, Quit):
                    return
                if isinstance(effect, Shell):
                    self._show(view)
                    if not await self._lend(effect):
                        return
                    view = self._view
                elif effect is not None:
                    self._begin(effect)
            self._show(view)

    async def _look(self) -> None:
        """Ask what changed, for ever; what a page shows as well."""
        looks = 0
        while True:
            await asyncio.sleep(self._interval)
            try:
                change = await self._asked()
            except Refusal as error:
                self._show(disconnected(self._view, str(error)))
                continue
            view, again = asked_again(looked(self._view, change))
            self._show(view)
            for load in again:
                self._begin(load)
            looks += 1
            page = self._view.page
            if page is not None and page.load.kind in RELOADED and looks % RELOADED_EVERY == 0:
                self._begin(page.load)

    async def _asked(self) -> Snapshot:
        """What changed."""
        clock = asyncio.get_running_loop().time
        self._asked_at = clock()
        try:
            change = await self._operator.status(self._view.snapshot.place)
        finally:
            self._asked_at = None
        self._heard_at = clock()
        return change

    async def _tell_silence(self) -> None:
        """Tell that no answer comes, for as long as none does."""
        clock = asyncio.get_running_loop().time
        while True:
            await asyncio.sleep(self._interval)
            if self._asked_at is not None and clock() - self._asked_at >= SILENCE:
                self._show(disconnected(self._view, f"no answer for {show_age(clock() - self._heard_at)}"))

    async def _follow_size(self) -> None:
        while True:
            await self._terminal.changed.wait()
            self._terminal.changed.clear()
            self._shown = ()
            self._show(resized(self._view, *self._terminal.size))

    def _show(self, view: View) -> None:
        self._view = view
        if not self._is_lent:
            before, self._shown = self._shown, picture(view)
            if changes := painted(before, self._shown, colours=self._colours):
                self._terminal.write(changes)

    async def _lend(self, effect: Shell) -> bool:
        """Let a shell have the terminal; whether the view goes on behind it."""
        self._is_lent, is_lost = True, False
        said: str | None
        try:
            async with self._terminal.lent():
                said = await self._open_shell(effect.workflow)
        except Refusal as error:
            said, is_lost = str(error), isinstance(error, Unreachable)
        finally:
            self._is_lent, self._shown = False, ()
        self._show(noticed(resized(self._view, *self._terminal.size), said or "", is_passing=is_lost))
        return said is not None

    async def _carry_out(self, effect: Effect) -> None:
        # A person goes on typing meanwhile: the view is looked at when the answer is there, and not before.
        try:
            if isinstance(effect, Load):
                draw = await self._loaded(effect)
                self._show(loaded(self._view, effect, draw))
            elif isinstance(effect, Several):
                await self._carry_out_several(effect)
            else:
                assert isinstance(effect, Decide | Retry | Cancel)
                done, not_done = await self._answer_to(effect)
                view = self._view
                self._show(carried_out(view, alone(effect), not_done) if not_done else noticed(view, done))
        except Refusal as error:
            assert isinstance(effect, Load)
            self._show(unanswered(self._view, effect, _said(error), is_lost=isinstance(error, Unreachable)))
        finally:
            self._under_way.discard(effect)

    async def _carry_out_several(self, several: Several) -> None:
        not_done = NotDone()
        uncertain: list[Act] = []
        waiting = list(several.acts)
        self._unsent += len(waiting)

        async def take_turns() -> None:
            nonlocal not_done
            while waiting:
                act = waiting.pop(0)
                self._unsent -= 1
                _, failed = await self._tried(act)
                not_done += failed
                self._unsent += len(failed.unsent)
                if failed.uncertain:
                    uncertain.append(act)
                    self._acted.append(act)  # who leaves before the end was not told of it yet

        async with asyncio.TaskGroup() as group:
            for _ in range(ACTS_AT_ONCE):
                group.create_task(take_turns())
        for act in uncertain:
            self._acted.remove(act)
        self._unsent -= len(not_done.unsent)
        self._show(carried_out(self._view, several, not_done))

    @contextmanager
    def _told_as_sent(self, act: Act) -> Iterator[None]:
        """While there is no answer, it belongs to what is told to those who leave."""
        self._acted.append(act)
        try:
            yield
        except Refusal:
            self._acted.remove(act)
            raise
        self._acted.remove(act)

    async def _answer_to(self, effect: Act) -> tuple[str, NotDone]:
        """As `_tried`; while no answer comes, that is told."""
        later = asyncio.get_running_loop().call_later(
            SILENCE, lambda: self._show(noticed(self._view, f"{_sent(effect)}: sent, no answer yet"))
        )
        try:
            return await self._tried(effect)
        finally:
            later.cancel()

    async def _tried(self, act: Act) -> tuple[str, NotDone]:
        """Have it done; what to say about it, and nothing, or that it was not done, or may not be."""
        try:
            with self._told_as_sent(act):
                return await self._done(act), NotDone()
        except Unanswered as error:
            return "", NotDone(uncertain=((act.machine, _said(error)),))
        except Unreachable as error:
            return "", NotDone(unsent=((act.machine, _said(error)),))
        except Refusal as error:
            # What is refused for the same reason is told once, and the machine stands beside it.
            return "", NotDone(
                refused=((act.machine, _said(error).replace(f"workflow {act.workflow}", "its workflow")),)
            )

    async def _done(self, effect: Act) -> str:
        """Have it done; returns what to say about it."""
        if isinstance(effect, Decide):
            told = {"why": effect.why, "hold": effect.hold}
            verdict = {"verb": effect.verb, **{name: text for name, text in told.items() if text}}
            await self._operator.breakpoints.decide(effect.workflow, verdict)
            return f"decided: {effect.verb} on {effect.machine}; the machine is told"
        if isinstance(effect, Retry):
            retried = await self._operator.workflows.retry(effect.workflow, None, run=effect.run)
            return f"{effect.machine} is {retried['state']} again"
        canceled = await self._operator.workflows.cancel(effect.workflow, run=effect.run)
        if canceled["state"] == "CANCELED":
            return f"the workflow of {effect.machine} is canceled"
        return f"the workflow of {effect.machine} is being canceled: what runs is told to stop"

    async def _loaded(self, load: Load) -> Draw:
        """What draws the page of what the appliance answers; the page of a machine that is gone says that."""
        try:
            return await self._answered(load)
        except NotFound:
            if not load.machine or load.kind not in ABOUT_MACHINES:
                raise
            name, now, program = name_of(self._view, load.machine), self._view.snapshot.now, self._view.program
            return lambda width, _: (gone_page(name, None, now, width, program), ())

    async def _answered(self, load: Load) -> Draw:
        operator, now = self._operator, self._view.snapshot.now
        if load.kind is PageKind.DOCTOR:
            diagnosed = await operator.doctor(load.machine)
            return lambda width, _: (doctor_page(diagnosed, width), ())
        if load.kind is PageKind.OLDER:
            asked = {"limit": str(OLDER), "sort": "-created_at", **({"machine": load.machine} if load.machine else {})}
            older, total = await operator.workflows.found(asked)
            return lambda width, _: older_page(older, total, now, width, of_all=not load.machine)
        if load.kind is PageKind.WORKFLOW:
            shown, end = await operator.workflows.get(load.workflow), await self._log_of(load.workflow)
            work = work_shown(self._view, load.workflow)
            return lambda width, _: (workflow_page(shown, work, end, now, width), ())
        if load.kind is PageKind.LOG:
            printed = await self._log_of(load.workflow)
            return lambda width, _: (log_page(printed, width), ())
        row = row_of(self._view, load.machine)
        if row is None:
            name, gone = name_of(self._view, load.machine), await self._gone(load.machine)
            program = self._view.program
            return lambda width, _: (gone_page(name, gone, now, width, program), ())
        if isinstance(row.line, StrangerLine):
            seen = await operator.seen.get(row.line.mac)
            return lambda width, height: (
                machine_page(row, seen.get("timeline", ()), None, (), now, width, height),
                (),
            )
        sightings = await operator.hardware.timeline(load.machine)
        workflow, log = None, list[str]()
        if row.machine.work is not None and row.machine.work.id:  # work outside of the scope of a token has none
            workflow = await operator.workflows.get(row.machine.work.id)
            log = await self._log_of(row.machine.work.id)
        return lambda width, height: (machine_page(row, sightings, workflow, log, now, width, height), ())

    async def _gone(self, machine: str) -> dict[str, Any] | None:
        """The document of a machine that is out of the view, if there is one."""
        try:
            return await self._operator.hardware.get(machine)
        except NotFound:
            return None

    async def _log_of(self, workflow: str) -> list[str]:
        """The end of what its actions printed; what is there already is not asked for again."""
        async with self._log_reading:  # two pages may show the same workflow
            if self._log.workflow != workflow:
                self._log = LogEnd(workflow)
            async for place, piece in self._operator.workflows.output(workflow, self._log.place, follow=False):
                self._log.place = place
                if piece is not None:
                    self._log.add(piece)
            return self._log.shown()


def _said(error: Refusal) -> str:
    """A refusal with its problems."""
    problems = [each.text for each in error.problems] if isinstance(error, Invalid) else []
    return ": ".join([str(error), *problems])


def _sent(effect: Act) -> str:
    """What was asked of the appliance, in words."""
    verb = effect.verb if isinstance(effect, Decide) else "retry" if isinstance(effect, Retry) else "cancel"
    return f"{verb} on {effect.machine}"
