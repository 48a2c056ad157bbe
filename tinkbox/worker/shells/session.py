"""One shell in a held container: a process on one side, a line to the appliance on the other."""

import asyncio
import logging
from collections.abc import Callable
from contextlib import AbstractAsyncContextManager, suppress
from functools import partial

from tinkbox.model.errors import Invalid
from tinkbox.model.reasons import Reason
from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.runtime import ContainerFailed, EngineAway, Exec, ExecSpec, Runtime
from tinkbox.runtime.retrying import patiently
from tinkbox.wire.messages.shell import Channel, Frame, pieces, read_control, read_resize, status
from tinkbox.worker.files.helper_files import ENTRYPOINT
from tinkbox.worker.shells.line import Connection, Line

SETTLE = 0.05  # a window that is dragged has many sizes
_ROOT = "0"
_FIRST_LOOK, _LONGEST_LOOK = 0.02, 1.0
_CHANNELS = {2: Channel.STDERR}
_log = logging.getLogger(__name__)


class ShellSession:
    """`gone` is set when neither its process nor any child of it is left, `told` when the appliance was told how it ended.

    One that has its `end` from the beginning is only told of; `ended` is called with how any other ends, once it is gone.
    """

    def __init__(
        self,
        runtime: Runtime,
        container_id: str,
        wish: ShellWish,
        dial: Callable[[], AbstractAsyncContextManager[Connection]],
        ended: Callable[[ShellEnd], None],
        end: ShellEnd | None = None,
    ) -> None:
        self._runtime = runtime
        self.container_id = container_id
        self._wish = wish
        self._ended = ended
        self._end = end
        self._line = Line(dial, self._frame_from_appliance)
        self._process: Exec | None = None
        self._begun = asyncio.Event()
        self._over = asyncio.Event()
        self._unwanted = asyncio.Event()
        self._size = (wish.rows, wish.columns)
        self._resized = asyncio.Event()
        self.told = self._line.finished
        self.gone = asyncio.Event()

    def end(self) -> None:
        """Have it and its children end."""
        self._over.set()

    def drop(self) -> None:
        """Have it end, whether or not anybody can be told: it is not wanted any more."""
        self._over.set()
        self._unwanted.set()
        self._line.hang_up()

    async def run(self) -> None:
        """From its beginning until it is dropped, however it ends."""
        async with asyncio.TaskGroup() as group:
            beside = [group.create_task(self._line.keep()), group.create_task(self._keep_size())]
            group.create_task(self._reap())
            end = self._end or await self._played()
            self._begun.set()
            self._over.set()
            group.create_task(self._note(end))
            await self._line.finish(status(end))
            await self._unwanted.wait()
            for task in beside:
                task.cancel()

    async def _played(self) -> ShellEnd:
        """Run the process to its end; what it prints goes out as fast as the appliance takes it."""
        try:
            self._process = await self._runtime.exec(self.container_id, self._spec())
        except ContainerFailed as error:
            return ShellEnd(None, error.reason, str(error))
        except EngineAway as error:
            return ShellEnd(None, Reason.SHELL_LOST, str(error))
        finally:
            self._begun.set()
        try:
            with suppress(EngineAway):
                await self._print(self._process)
            return ShellEnd(await self._exit_code(self._process))
        except ContainerFailed as error:
            return ShellEnd(None, Reason.SHELL_LOST, f"the engine has lost it: {error}")
        finally:
            with suppress(EngineAway):
                await self._process.close()

    async def _print(self, process: Exec) -> None:
        while (printed := await process.read()) is not None:
            stream, content = printed
            for frame in pieces(_CHANNELS.get(stream, Channel.STDOUT), content):
                await self._line.send_when_up(frame)

    async def _exit_code(self, process: Exec) -> int:
        wait = _FIRST_LOOK
        while (code := await patiently(process.exit_code, EngineAway)) is None:
            await asyncio.sleep(wait)
            wait = min(2 * wait, _LONGEST_LOOK)
        return code

    async def _frame_from_appliance(self, frame: Frame) -> None:
        """What comes from the appliance."""
        try:
            if frame.channel is Channel.CONTROL and read_control(frame).get("end") is True:
                self.end()
            elif frame.channel is Channel.RESIZE:
                self._size = read_resize(frame)
                self._resized.set()
            elif frame.channel in (Channel.STDIN, Channel.CLOSE):
                await self._feed(frame)
        except (Invalid, EngineAway, ContainerFailed) as error:
            _log.info("%s", error, extra={"action": "shell.refused"})

    async def _feed(self, frame: Frame) -> None:
        await self._begun.wait()
        if self._process is None:
            return
        if frame.channel is Channel.STDIN:
            await self._process.write(frame.content)
        elif frame.content == bytes((Channel.STDIN,)):
            await self._process.close_input()

    async def _keep_size(self) -> None:
        await self._begun.wait()
        while self._process is not None and self._wish.tty:
            await self._resized.wait()
            await asyncio.sleep(SETTLE)
            self._resized.clear()
            with suppress(EngineAway, ContainerFailed):
                await self._process.resize(*self._size)

    async def _reap(self) -> None:
        await self._over.wait()
        await self._begun.wait()
        if self._process is not None:
            await reap(self._runtime, self.container_id, self._wish.id, self._wish.user)
        self.gone.set()

    async def _note(self, end: ShellEnd) -> None:
        await self.gone.wait()  # the worker's next life ends only what has no end in the notes
        self._ended(end)

    def _spec(self) -> ExecSpec:
        wish = self._wish
        command = ("--", *wish.command) if wish.command else ()
        return ExecSpec(
            command=(ENTRYPOINT, "shell", wish.id, *command),
            tty=wish.tty,
            rows=wish.rows,
            columns=wish.columns,
            user=wish.user,
            folder=wish.folder,
            environment={"TERM": wish.term, **wish.environment} if wish.tty else wish.environment,
        )


async def reap(runtime: Runtime, container_id: str, session: str, user: str = "") -> None:
    """End every process of a session in a container, if there are any; `user` is whose shell it was.

    In a container without privileges not even its root sees what belongs to others, hence twice.
    """
    for each in dict.fromkeys((_ROOT, user)):
        spec = ExecSpec(command=(ENTRYPOINT, "reap", session), user=each)
        try:
            await patiently(partial(_carried_out, runtime, container_id, spec), EngineAway)
        except ContainerFailed as error:
            _log.info("shell %s: nothing is ended as user %r: %s", session, each, error, extra={"action": "shell.reap"})


async def _carried_out(runtime: Runtime, container_id: str, spec: ExecSpec) -> None:
    process = await runtime.exec(container_id, spec)
    try:
        while await process.read() is not None:
            pass
    finally:
        await process.close()
