"""One shell while it lives: what it prints goes to everybody who is there, what its driver types goes to it.

Rule 1: what is shown to anybody is recorded before.
Rule 2: a viewer never holds a shell up: one who is too slow skips, and who takes nothing at all is hung up on.
Rule 3: the driver's pace is the shell's, as over ssh.  One who stands still is hung up on too, but for a command,
whose reader may take its time, and must miss nothing.
"""

import asyncio
from collections.abc import Callable
from dataclasses import replace
from datetime import datetime
from typing import NoReturn, Protocol

from tinkbox.engine.shells.frame_queue import FrameQueue
from tinkbox.engine.shells.recordings import Recording
from tinkbox.engine.shells.scrollback import Scrollback
from tinkbox.model.errors import Conflict
from tinkbox.model.masking import Masks
from tinkbox.model.shells import Mode, ShellEnd
from tinkbox.store.shells import Session
from tinkbox.wire.messages.shell import (
    Channel,
    Frame,
    control,
    pieces,
    read_control,
    read_resize,
    read_status,
    resize,
    status,
)

PATIENCE = 2.0
TYPED = 64 * 1024
NUDGE = 0.15  # longer than a worker waits for a size to settle
NO_MASKS = Masks()
_OUTPUT = (Channel.STDOUT, Channel.STDERR)


class Keeper(Protocol):
    """Who writes down what becomes of a shell."""

    async def driver_changed(self, session: Session, seat: "Seat", before: str) -> None: ...
    async def over(self, session: Session, end: ShellEnd) -> None: ...


class Seat:
    """A client's place at a shell: of a person, who came with the token of this id, empty for none."""

    def __init__(self, relay: "Relay", person: str, token: str, outbox: FrameQueue) -> None:
        self.person = person
        self.token = token
        self.tty = relay.tty
        self._relay = relay
        self._outbox = outbox
        self._behind = False

    async def next_frame(self) -> Frame | None:
        """What to send to the client next; None when there is nothing more.  Raises CutOff."""
        if self._outbox.empty:
            self._catch_up()
        return await self._outbox.take()

    async def deliver(self, frame: Frame) -> None:
        """What came from the client; raises Invalid for what is no sense."""
        await self._relay.deliver_from_client(self, frame)

    async def until_cut_off(self) -> NoReturn:
        """Wait until the client is to be hung up on; raises CutOff."""
        await self._outbox.cut()

    async def room(self) -> None:
        await self._outbox.room()

    def show(self, frame: Frame, *, whole: bool) -> None:
        """Show output; a client that need not see the whole of it skips when too much waits for it already."""
        self._behind = self._behind or (not whole and self._outbox.full)
        if not self._behind:
            self._outbox.put(frame)

    def put(self, frame: Frame) -> None:
        self._outbox.put(frame)

    def tell(self, notice: dict[str, object]) -> None:
        self._outbox.put(control(notice))

    def end(self, frame: Frame) -> None:
        """Show the last frame, behind everything else."""
        self._catch_up()
        self._outbox.put(frame)
        self._outbox.close()

    def hang_up(self) -> None:
        self._outbox.cut_off()

    def _catch_up(self) -> None:
        if self._behind:
            self._behind = False
            self.tell({"notice": "you were too slow for all of the output: this is its end"})
            self._relay.repeat(self, 0)


class Line:
    """A worker's connection for a shell."""

    def __init__(self, relay: "Relay", outbox: FrameQueue) -> None:
        self.tty = relay.tty
        self._relay = relay
        self._outbox = outbox

    async def next_frame(self) -> Frame | None:
        """What to send to the worker next; None when there is nothing more.  Raises CutOff."""
        return await self._outbox.take()

    async def deliver(self, frame: Frame) -> None:
        """What came from the worker; raises Invalid for what is no sense."""
        await self._relay.deliver_from_worker(self, frame)

    async def until_cut_off(self) -> NoReturn:
        """Wait until the worker is to be hung up on; raises CutOff."""
        await self._outbox.cut()


class Relay:
    """Between the one worker of a shell and all who look at it."""

    def __init__(
        self,
        session: Session,
        recording: Recording,
        scrollback: Scrollback,
        keeper: Keeper,
        clock: Callable[[], datetime],
        patience: float = PATIENCE,
        masks: Masks = NO_MASKS,
    ) -> None:
        self._masks = masks
        self._before: dict[Channel, bytes | None] = dict.fromkeys(
            (*_OUTPUT, Channel.STDIN), None if session.begun_at else b""
        )
        self.tty = session.wish.tty
        self._session = session
        self._recording = recording
        self._scrollback = scrollback
        self._keeper = keeper
        self._clock = clock
        self._patience = patience if self.tty else None
        self._size = (session.wish.rows, session.wish.columns)
        self._seats: list[Seat] = []
        self._driver: Seat | None = None
        self._typed = FrameQueue(TYPED)
        self._line: Line | None = None
        self._served = False
        self._begun = session.begun_at is not None
        self._ended = False
        self._active = False
        self.alone_since: datetime | None = clock()

    @property
    def driver(self) -> str:
        """Who types, empty when nobody does."""
        return self._driver.person if self._driver else ""

    def people(self) -> list[tuple[str, bool]]:
        """Everybody who is there, each with whether they type."""
        return [(seat.person, seat is self._driver) for seat in self._seats]

    def drives(self, seat: Seat) -> bool:
        return seat is self._driver

    def was_active(self) -> bool:
        """Whether anything was typed, or printed for somebody who types, since this was asked last."""
        active, self._active = self._active, False
        return active

    def join(self, person: str, mode: Mode, after: int, token: str = "") -> Seat:
        """A seat for somebody, who is shown first what was printed behind the place `after`, as far as it is kept.

        Whoever types already goes on to, unless it is the same person or `mode` takes the keyboard from them.
        Raises Conflict when a command has its client already.
        """
        if self._begun and not self.tty:
            raise Conflict("a command has one client, from its beginning to its end: give the command again")
        self._begun = True
        seat = Seat(self, person, token, FrameQueue(patience=self._patience))
        late = bool(self._seats) or self._scrollback.end > 0
        self._seats.append(seat)
        if self._session.record_input:
            seat.tell({"notice": "what is typed here is recorded"})
        if mode is Mode.TAKE or (mode is Mode.DRIVE and self.driver in ("", person)):
            self._set_driver(seat)
        else:
            seat.tell(self._standing(seat))
        if self.tty:
            self.repeat(seat, after)
            seat.put(resize(*self._size))
            if late:
                self._nudge()
        return seat

    def leave(self, seat: Seat) -> None:
        """The client is gone; the shell goes on."""
        if seat in self._seats:
            self._seats.remove(seat)
        if seat is self._driver:
            self._set_driver(None)

    def connect(self) -> Line:
        """The worker's connection, in place of one that it had before; it first gets what was typed meanwhile."""
        self._typed = self._typed.handed_over()
        self._line = Line(self, self._typed)
        for seat in self._seats:
            seat.tell({"notice": "the machine is connected again"} if self._served else self._standing(seat))
        self._served = True
        return self._line

    def disconnect(self, line: Line) -> None:
        """The worker's connection is lost, and it is expected to come again."""
        if line is self._line:
            self._line = None
            if not self._ended:
                for seat in self._seats:
                    seat.tell({"notice": "the machine's connection is lost: waiting for it"})

    async def deliver_from_worker(self, line: Line, frame: Frame) -> None:
        """Something came from the worker; nothing that comes on a connection it gave up counts."""
        if line is not self._line:
            return
        if frame.channel is Channel.STATUS:
            await self._keeper.over(self._session, read_status(frame))
        elif frame.channel in _OUTPUT and frame.content and not self._ended:
            frame = replace(frame, content=self._masked(frame))
            self._recording.output(frame.content)
            if self.tty:
                self._scrollback.add(frame.content)
            for seat in self._seats:
                seat.show(frame, whole=seat is self._driver)
            if self._driver is not None:
                self._active = True
                await self._driver.room()

    def _masked(self, frame: Frame) -> bytes:
        """What was printed, or typed, without the secrets that the action was given."""
        before = self._before[frame.channel]
        content = self._masks.piece(before or b"", frame.content, known=before is not None)
        if self._masks.reach:
            self._before[frame.channel] = ((before or b"") + frame.content)[-self._masks.reach :]
        return content

    async def deliver_from_client(self, seat: Seat, frame: Frame) -> None:
        """Something came from a client; only the driver's typing counts."""
        if frame.channel is Channel.CONTROL:
            if read_control(frame).get("take") is True and self.tty:
                await self._take(seat)
        elif seat is self._driver and frame.channel is Channel.STDIN and frame.content:
            self._active = True
            if self._session.record_input:
                self._recording.input(self._masked(frame))
            self._typed.put(frame)
            await self._typed.room()
        elif seat is self._driver and frame.channel is Channel.RESIZE and self.tty:
            self._resize(*read_resize(frame))
        elif seat is self._driver and frame.channel is Channel.CLOSE and not self.tty:
            # In a terminal the end of input is a letter; whoever leaves one takes no shell with them.
            self._typed.put(frame)

    def repeat(self, seat: Seat, after: int) -> None:
        """Show somebody again what was printed behind that place, and tell where it ends."""
        for frame in pieces(Channel.STDOUT, self._scrollback.behind(after)):
            seat.put(frame)
        seat.tell({"place": self._scrollback.end})

    def stop_recording(self) -> None:
        """Nothing counts any more that comes from now on."""
        self._ended = True
        self._recording.close()

    def finish(self, end: ShellEnd) -> None:
        """Tell everybody that it is over."""
        self.stop_recording()
        for seat in self._seats:
            seat.end(status(end))
        self._typed.put(control({"end": True}))
        self._typed.close()

    def hang_up(self) -> None:
        """Cut everybody off; the worker, and who wants to, will come again."""
        for seat in self._seats:
            seat.hang_up()
        self._typed.cut_off()

    async def _take(self, seat: Seat) -> None:
        before = self.driver
        if seat is not self._driver:
            self._set_driver(seat)
            await self._keeper.driver_changed(self._session, seat, before)

    def _set_driver(self, seat: Seat | None) -> None:
        self._driver = seat
        self.alone_since = self._clock() if seat is None else None
        for each in self._seats:
            each.tell(self._standing(each))

    def _standing(self, seat: Seat) -> dict[str, object]:
        return {"driver": self.driver or None, "yours": seat is self._driver, "connected": self._line is not None}

    def _resize(self, rows: int, columns: int) -> None:
        if (rows, columns) == self._size:
            return
        self._size = (rows, columns)
        self._recording.resize(rows, columns)
        self._typed.put(resize(rows, columns))
        for seat in self._seats:
            if seat is not self._driver:
                seat.put(resize(rows, columns))

    def _nudge(self) -> None:
        """Have a program that fills the screen draw it anew, as it does when its size changes."""
        rows, columns = self._size
        self._typed.put(resize(rows - 1 if rows > 1 else 2, columns))
        asyncio.get_running_loop().call_later(NUDGE, lambda: self._typed.put(resize(*self._size)))
