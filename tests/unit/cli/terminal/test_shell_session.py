"""A session between a terminal and an appliance that tests play; with real ones it is in tests/integration/cli."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field

import pytest

from tinkbox.cli.terminal import shell_session as session
from tinkbox.cli.terminal.shell_session import Session
from tinkbox.model.errors import Conflict, Refusal, Unavailable
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages.shell import Channel, Frame, control, resize, status


@dataclass
class FakeTerminal:
    """`said` is what was shown, our own words in brackets."""

    said: bytes = b""
    size: tuple[int, int] = (24, 80)
    typed: asyncio.Queue[bytes] = field(default_factory=asyncio.Queue)
    resized: asyncio.Event = field(default_factory=asyncio.Event)

    async def read(self) -> bytes:
        return await self.typed.get()

    async def write(self, content: bytes) -> None:
        self.said += content

    async def say(self, text: str) -> None:
        self.said += f"[{text}]".encode()


@dataclass
class FakeOperator:
    """Each connection brings what `frames` has for it, then it is lost; `asked` notes how it was asked for."""

    frames: list[list[Frame] | Refusal]
    asked: list[object] = field(default_factory=list)
    sent: list[Frame] = field(default_factory=list)

    @property
    def shells(self) -> "FakeOperator":
        return self

    async def open(self, key: str, wish: dict[str, object]) -> dict[str, object]:
        self.asked.append((key, wish))
        return {"id": "s", "ticket": "another"}

    @asynccontextmanager
    async def attach(
        self, opened: dict[str, object], *, tty: bool, mode: str, after: int
    ) -> AsyncIterator["FakeOperator"]:
        assert tty
        self.asked.append((opened["ticket"], mode, after))
        if self.frames and isinstance(self.frames[0], Refusal):
            raise self.frames.pop(0)  # type: ignore[misc]
        try:
            yield self
        finally:
            self.frames.pop(0)

    async def send_frame(self, frame: Frame) -> None:
        self.sent.append(frame)

    async def receive_frame(self) -> Frame | None:
        await asyncio.sleep(0)
        assert isinstance(self.frames[0], list)
        if not self.frames[0]:
            if len(self.frames) == 1:
                await asyncio.sleep(600)
            raise Unavailable("gone")
        return self.frames[0].pop(0)


@pytest.fixture(autouse=True)
def _quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "FIRST_WAIT", 0.001)


async def run(operator: FakeOperator, terminal: FakeTerminal | None = None, mode: str = "drive") -> ShellEnd | None:
    async with asyncio.timeout(60):
        opened = {"id": "s", "ticket": "first"}
        return await Session(operator, "w", opened, mode, terminal or FakeTerminal()).run()  # type: ignore[arg-type]


def out(content: bytes) -> Frame:
    return Frame(Channel.STDOUT, content)


END = status(ShellEnd(0))
DRIVES = control({"driver": "anna", "yours": True, "connected": True})
LOOKS_ON = control({"driver": "ben", "yours": False, "connected": True})


@pytest.mark.parametrize(("mode", "again"), [("drive", "drive"), ("view", "view"), ("take", "drive")])
async def test_a_lost_connection_goes_on_where_it_was_and_takes_no_keyboard_back(mode: str, again: str) -> None:
    # What is shown again is filtered: only the appliance knows where it ends.
    operator = FakeOperator([[out(b"abc"), control({"place": 10}), out(b"de")], Unavailable("away"), [END]])
    terminal = FakeTerminal()
    assert await run(operator, terminal, mode) == ShellEnd(0)
    ask = ("w", {"session": "s"})
    assert operator.asked == [("first", mode, 0), ask, ("another", again, 12), ask, ("another", again, 12)]
    assert terminal.said == b"abcde[gone: trying again; Enter ~. leaves][connected again]"


async def test_whoever_is_not_let_in_again_is_told_why() -> None:
    operator = FakeOperator([[out(b"x")], Conflict("it is over")])
    with pytest.raises(Conflict, match="it is over"):
        await run(operator)


async def test_whoever_types_from_now_on_sets_the_size() -> None:
    operator, terminal = FakeOperator([[LOOKS_ON, LOOKS_ON, DRIVES, DRIVES, END]]), FakeTerminal(size=(50, 132))
    await run(operator, terminal)
    assert operator.sent == [resize(50, 132), resize(50, 132)]
    assert terminal.said == b"[ben types here, and you look on; Enter ~t takes the keyboard][you type now]"


async def test_the_size_follows_the_terminal() -> None:
    operator, terminal = FakeOperator([[]]), FakeTerminal()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(operator, terminal))
        while not operator.sent:  # noqa: ASYNC110  nothing rings when a fake was told something
            await asyncio.sleep(0)
        terminal.size = (9, 9)
        terminal.resized.set()
        while len(operator.sent) < 2:  # noqa: ASYNC110
            await asyncio.sleep(0)
        terminal.typed.put_nowait(b"~.")
        assert await running is None
    assert operator.sent == [resize(24, 80), resize(9, 9)]


async def test_what_is_typed_is_passed_on_and_what_is_for_us_is_not() -> None:
    operator, terminal = FakeOperator([[DRIVES]]), FakeTerminal()
    async with asyncio.TaskGroup() as group:
        running = group.create_task(run(operator, terminal))
        while not operator.sent:  # noqa: ASYNC110
            await asyncio.sleep(0)
        terminal.typed.put_nowait("ü\r~".encode())
        terminal.typed.put_nowait(b"t~?~.")
        assert await running is None
    assert operator.sent[1:] == [Frame(Channel.STDIN, "ü\r".encode()), control({"take": True})]
    assert b"~t   take the keyboard" in terminal.said


async def test_who_waits_for_a_machine_is_told_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "QUIET", 0.01)
    for frames, hint in (([], b"[waiting for the machine; Enter ~. leaves]"), ([DRIVES], b""), ([out(b"$ ")], b"$ ")):
        terminal = FakeTerminal()
        async with asyncio.TaskGroup() as group:
            running = group.create_task(run(FakeOperator([list(frames)]), terminal))
            await asyncio.sleep(0.05)
            terminal.typed.put_nowait(b"~.")
            await running
        assert terminal.said == hint


async def test_a_terminal_that_is_gone_ends_the_session() -> None:
    terminal = FakeTerminal()
    terminal.typed.put_nowait(b"")
    assert await run(FakeOperator([[]]), terminal) is None


async def test_a_terminal_that_shows_nothing_any_more_ends_the_session(monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = FakeTerminal()

    async def write(content: bytes) -> None:
        raise OSError(5, "Input/output error")

    monkeypatch.setattr(terminal, "write", write)
    assert await run(FakeOperator([[out(b"x")]]), terminal) == session.GONE
