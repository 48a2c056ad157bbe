"""A process in a container and the appliance's end of a shell, in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

from tinkbox.model.errors import Refusal, Unavailable
from tinkbox.model.shells import ShellEnd
from tinkbox.runtime import ContainerFailed, EngineAway, ExecSpec
from tinkbox.wire.messages.shell import Channel, Frame, read_status


async def until(condition: object) -> None:
    """Let everybody else go on until `condition()` holds."""
    async with asyncio.timeout(60):
        while not condition():  # type: ignore[operator]  # noqa: ASYNC110  whatever a test looks at
            await asyncio.sleep(0.001)


@dataclass
class FakeExec:
    """Prints what it is told to `print`, until it is told to `end`; `taken` counts what was read of it."""

    spec: ExecSpec
    typed: bytes = b""
    input_closed: bool = False
    sizes: list[tuple[int, int]] = field(default_factory=list)
    taken: int = 0
    closed: bool = False
    fault: Exception | None = None
    code: int | None = None
    _printed: asyncio.Queue[tuple[int, bytes] | None] = field(default_factory=asyncio.Queue)

    def print(self, content: bytes, stream: int = 1) -> None:
        self._printed.put_nowait((stream, content))

    def end(self, code: int) -> None:
        if self.code is None:
            self.code = code
            self._printed.put_nowait(None)

    async def read(self) -> tuple[int, bytes] | None:
        printed = await self._printed.get()
        self._check()
        self.taken += 1
        return printed

    async def write(self, content: bytes) -> None:
        self._check()
        self.typed += content

    async def close_input(self) -> None:
        self.input_closed = True

    async def resize(self, rows: int, columns: int) -> None:
        self._check()
        self.sizes.append((rows, columns))

    async def exit_code(self) -> int | None:
        self._check()
        return self.code

    async def close(self) -> None:
        self.closed = True

    def _check(self) -> None:
        if self.fault is not None:
            raise self.fault


@dataclass
class FakeEngine:
    """A runtime of which only `exec` works; `refusals` says which users may start nothing."""

    execs: list[FakeExec] = field(default_factory=list)
    reaped: list[tuple[str, str, str]] = field(default_factory=list)
    refusals: dict[str, ContainerFailed | EngineAway | AssertionError] = field(default_factory=dict)

    async def exec(self, container_id: str, spec: ExecSpec) -> FakeExec:
        if spec.user in self.refusals:
            raise self.refusals[spec.user]
        process = FakeExec(spec)
        word, session = spec.command[1:3]
        if word == "reap":
            self.reaped.append((container_id, session, spec.user))
            for each in self.execs:
                if each.spec.command[2] == session:
                    each.end(129)
            process.end(0)
        else:
            self.execs.append(process)
        return process


@dataclass
class FakeConnection:
    """The appliance's end: `sent` came from the worker, which waits while there is no `room`."""

    sent: list[Frame] = field(default_factory=list)
    room: asyncio.Event = field(default_factory=asyncio.Event)
    _said: asyncio.Queue[Frame | Refusal | None] = field(default_factory=asyncio.Queue)
    broken: bool = False

    def say(self, *frames: Frame | Refusal | None) -> None:
        for frame in frames:
            self._said.put_nowait(frame)

    def break_off(self) -> None:
        self.broken = True
        self.room.set()
        self.say(Unavailable("the connection broke"))

    async def send_frame(self, frame: Frame) -> None:
        await self.room.wait()
        if self.broken:
            raise Unavailable("the connection broke")
        self.sent.append(frame)

    async def receive_frame(self) -> Frame | None:
        said = await self._said.get()
        if isinstance(said, Refusal):
            raise said
        return said

    def output(self, channel: Channel = Channel.STDOUT) -> bytes:
        return b"".join(frame.content for frame in self.sent if frame.channel is channel)

    @property
    def ends(self) -> list[ShellEnd]:
        return [read_status(frame) for frame in self.sent if frame.channel is Channel.STATUS]


@dataclass
class FakeDoor:
    """Every connection that was made, by session; with a `refusal` there is none.  Made without `room` they take nothing."""

    room: bool = True
    refusal: Refusal | None = None
    dialled: int = 0
    connections: dict[str, list[FakeConnection]] = field(default_factory=dict)

    @asynccontextmanager
    async def shell(self, attempt: str, session: str, *, tty: bool = True) -> AsyncIterator[FakeConnection]:
        self.dialled += 1
        if self.refusal is not None:
            raise self.refusal
        connection = FakeConnection()
        if self.room:
            connection.room.set()
        self.connections.setdefault(session, []).append(connection)
        yield connection
