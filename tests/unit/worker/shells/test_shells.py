"""The shells of an attempt: which begin, which end, and what a worker's next life makes of them."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, suppress
from pathlib import Path

import pytest

from tests.unit.worker.fakes import Killed
from tests.unit.worker.shell_fakes import FakeDoor, FakeEngine, until
from tinkbox.model.errors import NotFound, Unavailable
from tinkbox.model.shells import ShellEnd, ShellWish
from tinkbox.runtime import Container, EngineAway
from tinkbox.worker.files.notes import Notes
from tinkbox.worker.shells import line, shells
from tinkbox.worker.shells.shells import ShellHost

ONE, TWO = ShellWish(id="one", tty=True), ShellWish(id="two", tty=False, command=("ls",))
CONTAINER = Container(id="c1", started=True)


@pytest.fixture(autouse=True)
def short_waits(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(line, "FIRST_WAIT", 0.01)
    monkeypatch.setattr(shells, "TELL_SECONDS", 0.2)


class Machine:
    """What outlives a worker: the engine, the appliance, and the notes."""

    def __init__(self, folder: Path) -> None:
        self.engine = FakeEngine()
        self.door = FakeDoor()
        self.notes = Notes(folder)
        self.notes.begin("a")

    def host(self) -> ShellHost:
        return ShellHost(self.engine, self.door, "a", self.notes)  # type: ignore[arg-type]

    @asynccontextmanager
    async def life(self) -> AsyncIterator[ShellHost]:
        """One life of a worker, in a held container."""
        async with asyncio.timeout(20), self.host() as host:
            host.enter(CONTAINER)
            yield host

    @asynccontextmanager
    async def last_life(self, *wishes: ShellWish) -> AsyncIterator[None]:
        """A life in which these are wanted, and run; then the worker is killed."""
        with suppress(Killed):
            async with self.life() as host:
                host.wanted(wishes)
                await until(lambda: len(self.engine.execs) == len(wishes))
                yield
                raise Killed

    def begun(self) -> list[str]:
        """The sessions of which a process ever began."""
        return [each.spec.command[2] for each in self.engine.execs]

    def ends(self, session: str) -> list[ShellEnd]:
        """How the appliance was told that it ended."""
        return [end for each in self.door.connections.get(session, []) for end in each.ends]


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    return Machine(tmp_path)


async def test_nothing_begins_before_there_is_a_container(machine: Machine) -> None:
    async with machine.host() as host:
        host.wanted((ONE,))
        await asyncio.sleep(0.02)
        assert machine.begun() == []
        host.enter(CONTAINER)
        await until(lambda: machine.begun() == ["one"])


async def test_every_wish_begins_once_however_often_it_is_said(machine: Machine) -> None:
    async with machine.life() as host:
        host.wanted((ONE,))
        host.wanted((ONE, TWO))
        host.enter(CONTAINER)
        await until(lambda: machine.begun() == ["one", "two"])
        machine.engine.execs[1].end(0)
        await until(lambda: machine.ends("two") == [ShellEnd(0)])
        host.wanted((ONE, TWO))
        await asyncio.sleep(0.02)
        assert machine.begun() == ["one", "two"]


async def test_one_that_is_wanted_no_more_is_ended_and_the_others_go_on(machine: Machine) -> None:
    async with machine.life() as host:
        host.wanted((ONE, TWO))
        await until(lambda: len(machine.begun()) == 2)
        host.wanted((ONE,))
        await until(lambda: machine.engine.execs[1].code is not None)
        assert machine.engine.execs[0].code is None
        assert {session for _, session, _ in machine.engine.reaped} == {"two"}
        await until(lambda: machine.notes.sessions("a") == {"one": None, "two": ShellEnd(129)})


async def test_leaving_the_container_ends_all_in_it_and_begins_none(machine: Machine) -> None:
    async with machine.life() as host:
        host.wanted((ONE,))
        await until(lambda: machine.begun() == ["one"])
        await host.leave()
        assert machine.engine.execs[0].code == 129
        assert machine.ends("one") == [ShellEnd(129)]
        host.wanted((ONE, TWO))
        await asyncio.sleep(0.02)
        assert machine.begun() == ["one"]


async def test_what_cannot_be_ended_keeps_nobody_for_ever(machine: Machine, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shells, "LEAVE_SECONDS", 0.05)

    async def never(*_: object) -> None:
        await asyncio.Event().wait()

    monkeypatch.setattr("tinkbox.worker.shells.session.reap", never)
    async with machine.life() as host:
        host.wanted((ONE,))
        await until(lambda: machine.begun() == ["one"])


async def test_the_end_of_the_attempt_is_the_end_of_its_shells_and_the_appliance_is_told(machine: Machine) -> None:
    async with machine.life() as host:
        host.wanted((ONE, TWO))
        await until(lambda: len(machine.begun()) == 2)
    assert machine.ends("one") == machine.ends("two") == [ShellEnd(129)]


async def test_an_appliance_that_is_away_holds_no_attempt_up(machine: Machine) -> None:
    async with machine.life() as host:
        host.wanted((ONE,))
        await until(lambda: machine.begun() == ["one"])
        machine.door.refusal = Unavailable("away")
        machine.door.connections["one"][0].break_off()
    assert machine.ends("one") == []


async def test_what_ends_the_attempt_passes_through_as_it_is_and_waits_for_nothing(machine: Machine) -> None:
    async def attempt() -> None:
        async with machine.life() as host:
            host.wanted((ONE, TWO))
            await until(lambda: len(machine.begun()) == 2)
            raise Killed

    with pytest.raises(Killed):
        await attempt()
    assert [each.code for each in machine.engine.execs] == [None, None]


async def test_a_killed_workers_shells_are_ended_and_told_as_lost_and_none_begins_again(machine: Machine) -> None:
    async with machine.last_life(ONE, TWO):
        pass
    async with machine.life() as host:
        host.wanted((ONE, TWO))
        for session in ("one", "two"):
            await until(lambda session=session: machine.ends(session))  # type: ignore[misc]
            (end,) = machine.ends(session)
            assert (end.exit_code, end.reason) == (None, "ShellLost")
        assert [each.code for each in machine.engine.execs] == [129, 129]
        assert machine.begun() == ["one", "two"]


async def test_a_killed_workers_shells_are_ended_though_nobody_wants_them_any_more(machine: Machine) -> None:
    async with machine.last_life(ONE):
        pass
    async with machine.life():
        await until(lambda: machine.engine.execs[0].code == 129)


async def test_what_a_killed_worker_had_still_to_end_of_a_shell_is_ended_in_its_next_life(machine: Machine) -> None:
    machine.engine.refusals["0"] = EngineAway("it is being started")
    async with machine.last_life(ONE):
        machine.engine.execs[0].end(0)
        await until(lambda: machine.ends("one") == [ShellEnd(0)])
    machine.engine.refusals.clear()
    async with machine.life():
        await until(lambda: ("c1", "one", "0") in machine.engine.reaped)


async def test_how_a_command_ended_is_known_to_the_workers_next_life(machine: Machine) -> None:
    machine.door.refusal = NotFound("not now")
    async with machine.last_life(TWO):
        machine.engine.execs[0].end(7)
        await until(lambda: machine.notes.sessions("a") == {"two": ShellEnd(7)})
    machine.door.refusal = None
    async with machine.host() as host:
        host.wanted((TWO,))
        await until(lambda: machine.ends("two") == [ShellEnd(7)])
    assert machine.begun() == ["two"]


async def test_one_that_breaks_is_told_and_neither_the_others_nor_the_attempt_notice(machine: Machine) -> None:
    machine.engine.refusals["broken"] = AssertionError("a fault of ours")
    async with machine.life() as host:
        host.wanted((ShellWish(id="bad", tty=True, user="broken"), ONE))
        await until(lambda: machine.ends("bad"))
        (end,) = machine.ends("bad")
        assert (end.exit_code, end.reason) == (None, "ShellLost")
        assert machine.engine.execs[0].code is None
        host.wanted((ONE,))
        await until(lambda: "bad" not in host._sessions)
