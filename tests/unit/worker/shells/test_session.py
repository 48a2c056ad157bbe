"""One shell, its process and the appliance's end of it both in memory."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.unit.worker.shell_fakes import FakeConnection, FakeDoor, FakeEngine, FakeExec, until
from tinkbox.model.errors import NotFound
from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.runtime import ContainerFailed, EngineAway, ExecSpec, retrying
from tinkbox.wire.messages.shell import MAX_FRAME, Channel, Frame, close, control, resize
from tinkbox.worker.shells import line, session
from tinkbox.worker.shells.session import ShellSession, reap

TERMINAL = ShellWish(id="s1", tty=True, term="xterm-256color", rows=30, columns=100, environment={"A": "1"})
COMMAND = ShellWish(id="s1", tty=False, command=("ls", "-l"), user="1000", folder="/tmp", environment={"A": "1"})
END = control({"end": True})


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, name in ((line, "FIRST_WAIT"), (retrying, "FIRST_WAIT"), (session, "SETTLE")):
        monkeypatch.setattr(module, name, 0.01)


class Running:
    """A session that runs, and everything around it."""

    def __init__(self, engine: FakeEngine, door: FakeDoor, wish: ShellWish, end: ShellEnd | None) -> None:
        self.engine = engine
        self.door = door
        self.ends: list[ShellEnd] = []
        self.shell = ShellSession(engine, "c1", wish, lambda: door.shell("a", wish.id), self.ends.append, end)  # type: ignore[arg-type]

    async def process(self) -> FakeExec:
        await until(lambda: self.engine.execs)
        return self.engine.execs[0]

    async def connection(self, number: int = 0) -> FakeConnection:
        await until(lambda: len(self.door.connections.get("s1", [])) > number)
        return self.door.connections["s1"][number]

    async def told(self) -> ShellEnd:
        """How it ended, as the appliance knows; by then everything of it is gone."""
        await self.shell.told.wait()
        await self.shell.gone.wait()
        (end,) = self.door.connections["s1"][-1].ends
        return end


@asynccontextmanager
async def running(
    wish: ShellWish = TERMINAL,
    engine: FakeEngine | None = None,
    door: FakeDoor | None = None,
    end: ShellEnd | None = None,
) -> AsyncIterator[Running]:
    it = Running(engine or FakeEngine(), door or FakeDoor(), wish, end)
    async with asyncio.timeout(20), asyncio.TaskGroup() as group:
        group.create_task(it.shell.run())
        yield it
        it.shell.drop()
    assert it.shell.gone.is_set()


async def test_a_terminal_is_the_helpers_shell_in_the_actions_own_place() -> None:
    async with running() as it:
        assert (await it.process()).spec == ExecSpec(
            command=("/tinkbox/bin/entrypoint", "shell", "s1"),
            tty=True,
            rows=30,
            columns=100,
            environment={"TERM": "xterm-256color", "A": "1"},
        )


async def test_a_command_is_run_as_it_is_wished() -> None:
    async with running(COMMAND) as it:
        assert (await it.process()).spec == ExecSpec(
            command=("/tinkbox/bin/entrypoint", "shell", "s1", "--", "ls", "-l"),
            user="1000",
            folder="/tmp",
            environment={"A": "1"},
        )


async def test_what_it_prints_arrives_stream_by_stream_and_then_its_end() -> None:
    async with running(COMMAND) as it:
        process = await it.process()
        process.print(b"out")
        process.print(b"problem", stream=2)
        process.print(b"put")
        process.end(3)
        assert await it.told() == ShellEnd(3)
        connection = await it.connection()
        assert (connection.output(), connection.output(Channel.STDERR)) == (b"output", b"problem")
        assert connection.sent[-1].channel is Channel.STATUS
        assert it.ends == [ShellEnd(3)]
        assert process.closed


async def test_much_at_once_is_cut_into_frames() -> None:
    async with running(COMMAND) as it:
        process = await it.process()
        process.print(bytes(200_000))
        process.end(0)
        await it.told()
        sent = [frame for frame in (await it.connection()).sent if frame.channel is Channel.STDOUT]
        assert sum(len(frame.content) for frame in sent) == 200_000
        assert max(len(frame.content) for frame in sent) == MAX_FRAME - 1


async def test_what_is_typed_reaches_it_and_so_does_the_end_of_input() -> None:
    async with running(COMMAND) as it:
        process = await it.process()
        (await it.connection()).say(Frame(Channel.STDIN, b"one"), Frame(Channel.STDIN, b"two"))
        await until(lambda: process.typed == b"onetwo")
        assert not process.input_closed
        (await it.connection()).say(close(Channel.STDIN))
        await until(lambda: process.input_closed)


async def test_the_process_waits_while_the_appliance_has_no_room() -> None:
    async with running(door=FakeDoor(room=False)) as it:
        process = await it.process()
        for _ in range(5):
            process.print(b"x")
        connection = await it.connection()
        await asyncio.sleep(0.05)
        assert (process.taken, connection.sent) == (1, [])
        connection.room.set()
        await until(lambda: connection.output() == b"xxxxx")


async def test_a_broken_line_loses_nothing_that_was_not_on_its_way() -> None:
    async with running() as it:
        process = await it.process()
        process.print(b"before ")
        first = await it.connection()
        await until(lambda: first.output() == b"before ")
        first.break_off()
        process.print(b"behind")
        second = await it.connection(1)
        await until(lambda: second.output() == b"behind")
        second.say(Frame(Channel.STDIN, b"still me"))
        await until(lambda: process.typed == b"still me")
        assert len(it.engine.execs) == 1


async def test_a_window_that_is_dragged_settles_on_its_last_size(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(session, "SETTLE", 0.1)
    async with running() as it:
        process = await it.process()
        for rows in range(10, 50):
            (await it.connection()).say(resize(rows, 80))
            await asyncio.sleep(0)
        await until(lambda: process.sizes and process.sizes[-1] == (49, 80))
        assert len(process.sizes) <= 2
        (await it.connection()).say(resize(24, 80))
        await until(lambda: process.sizes[-1] == (24, 80))


async def test_a_command_without_a_terminal_has_no_size() -> None:
    async with running(COMMAND) as it:
        process = await it.process()
        (await it.connection()).say(resize(10, 10), Frame(Channel.STDIN, b"x"))
        await until(lambda: process.typed)
        await asyncio.sleep(0.03)
        assert process.sizes == []


async def test_nonsense_and_faults_of_a_single_wish_hurt_nothing() -> None:
    async with running() as it:
        process = await it.process()
        connection = await it.connection()
        connection.say(Frame(Channel.RESIZE, b"{"), Frame(Channel.CONTROL, b"[]"), control({"end": False}))
        process.fault = EngineAway("away")
        connection.say(Frame(Channel.STDIN, b"lost"), resize(10, 10))
        await asyncio.sleep(0.05)
        process.fault = None
        connection.say(Frame(Channel.STDIN, b"x"), resize(20, 20))
        await until(lambda: process.typed == b"x" and process.sizes == [(20, 20)])
        assert it.door.dialled == 1


@pytest.mark.parametrize(
    ("refusal", "end"),
    [
        (ContainerFailed("ExecFailed", "no such folder"), ShellEnd(None, "ExecFailed", "no such folder")),
        (EngineAway("the engine is away"), ShellEnd(None, "ShellLost", "the engine is away")),
    ],
)
async def test_what_cannot_begin_is_told_with_the_reason(refusal: ContainerFailed | EngineAway, end: ShellEnd) -> None:
    async with running(engine=FakeEngine(refusals={"": refusal})) as it:
        assert await it.told() == end
        assert it.engine.reaped == []


async def test_one_that_the_engine_lost_is_told_as_lost_and_its_processes_are_ended() -> None:
    async with running() as it:
        process = await it.process()
        process.fault = ContainerFailed("ExecFailed", "no such exec")
        process.end(0)
        assert await it.told() == ShellEnd(None, "ShellLost", "the engine has lost it: no such exec")
        assert ("c1", "s1", "0") in it.engine.reaped


async def test_an_engine_that_is_away_at_the_end_is_asked_again() -> None:
    async with running() as it:
        process = await it.process()
        process.fault = EngineAway("away")
        process.end(6)
        await asyncio.sleep(0.05)
        assert not it.shell.told.is_set()
        process.fault = None
        assert await it.told() == ShellEnd(6)


async def test_whatever_it_left_running_is_ended_with_it() -> None:
    async with running(COMMAND) as it:
        (await it.process()).end(0)
        await it.told()
        assert it.engine.reaped == [("c1", "s1", "0"), ("c1", "s1", "1000")]


async def test_the_appliance_can_have_it_end_and_is_told_how() -> None:
    async with running() as it:
        await it.process()
        (await it.connection()).say(END)
        assert await it.told() == ShellEnd(129)
        assert it.engine.reaped == [("c1", "s1", "0"), ("c1", "s1", "")]


async def test_one_that_is_not_wanted_any_more_ends_though_the_appliance_does_not_listen() -> None:
    async with running(door=FakeDoor(refusal=NotFound("no such shell"))) as it:
        process = await it.process()
        process.print(b"nobody hears it")
        it.shell.drop()
        await it.shell.gone.wait()
        assert process.code == 129


async def test_the_end_is_told_to_an_appliance_that_comes_back() -> None:
    async with running() as it:
        (await it.connection()).break_off()
        it.door.refusal = NotFound("it has just been started")
        (await it.process()).end(0)
        await it.shell.gone.wait()
        assert not it.shell.told.is_set()
        it.door.refusal = None
        assert await it.told() == ShellEnd(0)


async def test_one_that_ended_before_is_only_told_of() -> None:
    async with running(end=ShellEnd(4)) as it:
        assert await it.told() == ShellEnd(4)
        assert it.engine.execs == it.engine.reaped == []


async def test_where_root_may_start_nothing_the_sessions_own_user_ends_it() -> None:
    engine = FakeEngine(refusals={"0": ContainerFailed("ExecFailed", "no root here")})
    await reap(engine, "c1", "s1", "1000")  # type: ignore[arg-type]
    assert engine.reaped == [("c1", "s1", "1000")]


async def test_a_session_of_root_is_ended_by_root_alone() -> None:
    engine = FakeEngine()
    await reap(engine, "c1", "s1", "0")  # type: ignore[arg-type]
    assert engine.reaped == [("c1", "s1", "0")]


async def test_the_wished_terminal_kind_gives_way_to_a_wished_variable() -> None:
    async with running(replace(TERMINAL, environment={"TERM": "dumb"})) as it:
        assert (await it.process()).spec.environment == {"TERM": "dumb"}
