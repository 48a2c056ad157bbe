"""The appliance is told how far an action is, and nothing waits for that."""

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from itertools import cycle
from pathlib import Path

import pytest

from tests.unit.worker.actions import IMAGE, OFFER, bound, machine
from tests.unit.worker.fakes import FakeDoor, FakeRuntime
from tests.unit.worker.programs import Program
from tinkbox.client.node import SessionOver
from tinkbox.model.actions.progress import Told
from tinkbox.model.errors import Conflict, NotFound, TooMany, Unavailable
from tinkbox.model.workflow import State
from tinkbox.runtime import ContainerSpec
from tinkbox.wire.messages.progress import Telling
from tinkbox.worker.attempts.attempt import AttemptRun
from tinkbox.worker.attempts.progress_telling import ProgressTelling

pytestmark = pytest.mark.usefixtures("quick")
HALF, MORE = Told(done=2, total=4), Told(done=3, total=4)


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    where = "tinkbox.worker.attempts.progress_telling"
    for name, seconds in (("LOOK_EVERY", 0.001), ("TELL_EVERY", 0.004), ("REPEAT_AFTER", 60.0)):
        monkeypatch.setattr(f"{where}.{name}", seconds)


class Appliance:
    """Raises `errors` in turn, and then takes what it is told."""

    def __init__(self, *errors: Exception) -> None:
        self.errors = list(errors)
        self.calls = 0
        self.told: list[Told | None] = []
        self.news = asyncio.Event()

    async def progress(self, attempt: str, telling: Telling) -> None:
        assert (attempt, telling.workflow_id, telling.boot_id) == ("a1", "w1", "boot-1")
        self.calls += 1
        if self.errors:
            raise self.errors.pop(0)
        self.told.append(telling.progress)
        self.news.set()

    async def has_told(self, progress: Told | None) -> None:
        while not self.told or self.told[-1] != progress:
            self.news.clear()
            await self.news.wait()


class Words:
    """What an action said; `looked` is set when it was asked for often enough to be told again."""

    def __init__(self, *said: Told | None) -> None:
        self.said: list[Told | None] = [None, *said]
        self.looked = asyncio.Event()
        self.glances: Iterator[Told | None] | None = None
        self._looks = 0

    def __call__(self) -> Told | None:
        self._looks += 1
        if self._looks % 50 == 0:
            self.looked.set()
        return self.said[-1] if self.glances is None else next(self.glances)


@asynccontextmanager
async def telling(door: Appliance, said: Words) -> AsyncIterator[asyncio.Task[None]]:
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        task = group.create_task(ProgressTelling(door, OFFER, "boot-1", said).run())
        yield task
        task.cancel()


async def test_each_change_is_told_and_nothing_else() -> None:
    said, door = Words(), Appliance()
    async with telling(door, said):
        for progress in (HALF, MORE, None, HALF):
            said.said.append(progress)
            await door.has_told(progress)
        said.looked.clear()
        await said.looked.wait()
    assert door.told == [HALF, MORE, None, HALF]


async def test_a_file_that_is_empty_for_a_moment_takes_nothing_back() -> None:
    said, door = Words(HALF), Appliance()
    async with telling(door, said):
        await door.has_told(HALF)
        said.glances = cycle((HALF, None, HALF))
        said.looked.clear()
        await said.looked.wait()
    assert set(door.told) == {HALF}


async def test_what_stands_still_is_told_again_now_and_then(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.worker.attempts.progress_telling.REPEAT_AFTER", 0.01)
    door = Appliance()
    async with telling(door, Words(HALF)):
        for _ in range(3):
            door.told.clear()
            await door.has_told(HALF)


@pytest.mark.parametrize("error", [Unavailable("away"), TooMany("wait", 1)])
async def test_what_could_not_be_told_is_told_later(error: Exception) -> None:
    door = Appliance(error, error)
    async with telling(door, Words(HALF)):
        await door.has_told(HALF)
    assert door.calls == 3


@pytest.mark.parametrize("error", [NotFound("no such route"), Conflict("it is over"), SessionOver("another's")])
async def test_who_does_not_want_to_know_is_left_alone(error: Exception) -> None:
    door = Appliance(error)
    async with telling(door, Words(HALF)) as task:
        await task
    assert (door.calls, door.told) == (1, [])


class Hearing(FakeDoor):
    """`asked` is set when it was told of progress, or would have been."""

    def __init__(self, error: NotFound | None = None) -> None:
        super().__init__()
        self.unwanted_progress = error
        self.asked_for = asyncio.Event()

    async def progress(self, attempt: str, telling: Telling) -> None:
        self.asked_for.set()
        await super().progress(attempt, telling)


async def ran(folder: Path, door: Hearing) -> State:
    """The end of an action that writes its progress, and ends when somebody was told, or was to be."""
    runtime = FakeRuntime({IMAGE: Program(lasts=True, work=writes("1 2 files\n"))})
    async with asyncio.timeout(30), asyncio.TaskGroup() as group:
        running = group.create_task(AttemptRun(machine(runtime, door, folder, debug=False), OFFER).outcome())
        await door.asked_for.wait()
        (container,) = runtime.containers
        await runtime.stop(container, 0)
        outcome = await running
    assert outcome is not None
    return outcome.state


def writes(text: str) -> Callable[[ContainerSpec], None]:
    def work(spec: ContainerSpec) -> None:
        bound(spec, "/dev/progress").write_text(text)

    return work


async def test_an_action_is_heard_while_it_runs(tmp_path: Path) -> None:
    door = Hearing()
    await ran(tmp_path, door)
    assert door.progresses[0].progress == Told(done=1, total=2, unit="files")


async def test_a_worker_that_was_started_since_tells_what_the_action_said_before(tmp_path: Path) -> None:
    runtime = FakeRuntime({IMAGE: Program(lasts=True, work=writes("1 2 files\n"))})
    for _ in range(2):
        door = Hearing()
        async with asyncio.timeout(30), asyncio.TaskGroup() as group:
            running = group.create_task(AttemptRun(machine(runtime, door, tmp_path, debug=False), OFFER).outcome())
            await door.asked_for.wait()
            running.cancel()
        assert door.progresses[0].progress == Told(done=1, total=2, unit="files")
    assert runtime.starts() == 1


async def test_an_appliance_that_knows_of_no_progress_changes_nothing(tmp_path: Path) -> None:
    old = Hearing(NotFound("404: Not Found"))
    assert await ran(tmp_path / "old", old) == await ran(tmp_path / "new", Hearing())
    assert old.progresses == []


async def test_a_hook_tells_nothing_in_the_actions_name(tmp_path: Path) -> None:
    words = machine(FakeRuntime({}), FakeDoor(), tmp_path).folder.words
    hook = words.prepare("a1", "on-failure", (), bounded=False)
    Path(hook["/dev/progress"]).write_text("1 2\n")
    assert words.progress("a1", "action") is None
    assert words.progress("a1", "on-failure") == Told(done=1, total=2)
