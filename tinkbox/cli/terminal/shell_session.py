"""A shell on a machine, in the operator's terminal: over lost connections too, until it ends or is left."""

import asyncio
from contextlib import suppress
from typing import NoReturn

from tinkbox.cli.terminal.escape_keys import HELP, Escapes, Wish
from tinkbox.cli.terminal.raw_terminal import Terminal
from tinkbox.client.operator import Document, Operator
from tinkbox.client.shell import ShellConnection
from tinkbox.model.errors import Refusal, Unavailable
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages.shell import Channel, Frame, control, pieces, read_control, read_status, resize

FIRST_WAIT, LONGEST_WAIT = 0.25, 4.0
QUIET = 3.0
GONE = ShellEnd(None, "TerminalGone", "the terminal is gone")


class Session:
    """One session, `opened` in the workflow `key`, in a terminal: to `drive` it, `view` it or `take` it over."""

    def __init__(self, operator: Operator, key: str, opened: Document, mode: str, terminal: Terminal) -> None:
        self._operator = operator
        self._key = key
        self._opened = opened
        self._mode = mode
        self._terminal = terminal
        self._connection: ShellConnection | None = None
        self._place = 0
        self._there = False
        self._seat: tuple[str, bool] | None = None

    async def run(self) -> ShellEnd | None:
        """How it ended, None when it was left and goes on.

        Raises a Refusal when the appliance does not let us in, or not again after the connection was lost.
        """
        async with asyncio.TaskGroup() as group:
            shown, typed = group.create_task(self._shown()), group.create_task(self._typed())
            parts = [shown, typed, group.create_task(self._sized()), group.create_task(self._hinted())]
            await asyncio.wait({shown, typed}, return_when=asyncio.FIRST_COMPLETED)
            end = shown.result() if shown.done() else None
            for part in parts:
                part.cancel()
        if isinstance(end, Refusal):
            raise end
        return end

    async def _shown(self) -> ShellEnd | Refusal:
        """Show what it prints until it ends; a lost connection is made again."""
        try:
            wait, opened = 0.0, self._opened
            while True:
                try:
                    async with self._operator.shells.attach(
                        opened, tty=True, mode=self._mode, after=self._place
                    ) as connection:
                        if wait:
                            await self._terminal.say("connected again")
                        wait = 0.0
                        end = await self._followed(connection)
                    if end is not None:
                        return end
                    why = "the connection is lost"
                except Unavailable as error:
                    why = str(error)
                if not wait:
                    await self._terminal.say(f"{why}: trying again; Enter ~. leaves")
                wait, opened = await self._opened_again(wait)
        except Refusal as refusal:
            return refusal
        except OSError:
            return GONE

    async def _opened_again(self, wait: float) -> tuple[float, Document]:
        """A new ticket for the session, as soon as the appliance gives one; and how long that took to wait."""
        while True:
            wait = min(2 * wait, LONGEST_WAIT) or FIRST_WAIT
            await asyncio.sleep(wait)
            try:
                return wait, await self._operator.shells.open(self._key, {"session": self._opened["id"]})
            except Unavailable:
                continue

    async def _followed(self, connection: ShellConnection) -> ShellEnd | None:
        """How it ended, None when only the connection did."""
        self._connection = connection
        # Whoever took the keyboard once does not take it back from whoever took it since.
        self._mode = "view" if self._mode == "view" else "drive"
        try:
            await connection.send_frame(resize(*self._terminal.size))
            while (frame := await connection.receive_frame()) is not None:
                if frame.channel is Channel.STATUS:
                    return read_status(frame)
                await self._show_frame(frame)
            return None
        finally:
            self._connection = None

    async def _show_frame(self, frame: Frame) -> None:
        if frame.channel in (Channel.STDOUT, Channel.STDERR):
            self._there = True
            self._place += len(frame.content)
            await self._terminal.write(frame.content)
        elif frame.channel is Channel.CONTROL:
            told = read_control(frame)
            if isinstance(told.get("place"), int):
                self._place = told["place"]
            if "notice" in told:
                await self._terminal.say(str(told["notice"]))
            if "driver" in told:
                self._there = self._there or told.get("connected") is True
                await self._seated(str(told["driver"] or ""), yours=told.get("yours") is True)

    async def _seated(self, driver: str, *, yours: bool) -> None:
        before, self._seat = self._seat, (driver, yours)
        if before == self._seat:
            return
        if not yours:
            who = f"{driver} types here, and you look on" if driver else "you look on, and the keyboard is free"
            await self._terminal.say(f"{who}; Enter ~t takes the keyboard")
        elif before is not None:
            await self._send_if_connected(resize(*self._terminal.size))
            await self._terminal.say("you type now")

    async def _typed(self) -> None:
        """Pass on what is typed, until it says to leave or the terminal is gone."""
        escapes = Escapes()
        while content := await self._terminal.read():
            for each in escapes.read(content):
                if isinstance(each, bytes):
                    for frame in pieces(Channel.STDIN, each):
                        await self._send_if_connected(frame)
                elif each is Wish.DETACH:
                    return
                elif each is Wish.TAKE:
                    await self._send_if_connected(control({"take": True}))
                else:
                    await self._terminal.say(HELP)

    async def _sized(self) -> NoReturn:
        while True:
            await self._terminal.resized.wait()
            self._terminal.resized.clear()
            await self._send_if_connected(resize(*self._terminal.size))

    async def _hinted(self) -> None:
        await asyncio.sleep(QUIET)
        if not self._there:
            await self._terminal.say("waiting for the machine; Enter ~. leaves")

    async def _send_if_connected(self, frame: Frame) -> None:
        """Nothing is kept for a connection that is lost: what it is typed into then is not what one sees."""
        if self._connection is not None:
            with suppress(Unavailable):
                await self._connection.send_frame(frame)
