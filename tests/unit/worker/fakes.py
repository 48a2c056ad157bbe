"""An engine and an appliance in memory, which fail when they are told to.

`FakeRuntime` keeps the promises of `Runtime`: tests/integration/runtime runs the same tests on it and on Docker.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Mapping
from dataclasses import dataclass, field, replace
from itertools import count

from tests.unit.worker.fake_helper import FakeHelper
from tests.unit.worker.programs import Program
from tinkbox.model.disks.disks import Refused
from tinkbox.model.errors import Conflict, NotFound, Refusal, Unavailable
from tinkbox.model.journal import Standing
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, Ended, EngineAway, ImageCommand, nobody_listens
from tinkbox.wire.messages.breakpoints import Asked, Held, Orders, Resumed
from tinkbox.wire.messages.disks import Looked
from tinkbox.wire.messages.journal import Answer
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.worker import Hello, Leaving, Offer, Order, Pulled, Report

GLANCE = 0.002  # between two looks of a helper


class Killed(Exception):
    """The process that made this call died with it."""


class Finished(Exception):
    """The worker asked for more, and there is no more."""


async def lives_until_finished(serve: Callable[[], Awaitable[None]]) -> int:
    """Have a worker serve, and another one whenever it is killed; returns how many there were until all was done."""
    for lives in count(1):
        try:
            await serve()
        except Finished:
            return lives
        except Killed:
            continue
        except BaseExceptionGroup as ended:
            if ended.split(Killed)[1] is not None:
                raise
    raise AssertionError


@dataclass
class Faults:
    """What goes wrong: call number `at` (from 0) raises `error`, before or after it had its effect."""

    error: Exception | None = None
    at: int = -1
    after: bool = False
    calls: list[str] = field(default_factory=list)

    def before(self, name: str) -> None:
        self.calls.append(name)
        if not self.after and len(self.calls) - 1 == self.at and self.error:
            raise self.error

    def behind(self, number: int) -> None:
        if self.after and number == self.at and self.error:
            raise self.error


@dataclass
class FakeContainer:
    spec: ContainerSpec
    program: Program
    starts: int = 0
    output: bytes = b""
    ended: asyncio.Event = field(default_factory=asyncio.Event)
    result: Ended | None = None
    helper: FakeHelper | None = None


class FakeRuntime:
    """`programs` by image, or by image and first word of the command; `removed` holds what was removed.

    While `pulls` is cleared no image arrives, but its registry answers when there are `layers`; while `away` is set nothing answers.
    To who follows a log so many of its last bytes are `untold`, as Docker 20.10 does it.
    """

    def __init__(self, programs: Mapping[str, Program], faults: Faults | None = None) -> None:
        self.programs = dict(programs)
        self.faults = faults or Faults()
        self.pulled: set[str] = set()
        self.digests: dict[str, str] = {}
        self.containers: dict[str, FakeContainer] = {}
        self.removed: list[FakeContainer] = []
        self.pulls = asyncio.Event()
        self.pulls.set()
        self.away = False
        self.layers = False
        self.untold = 0
        self.networks = {"host", "none"}
        self.memory: tuple[str, ...] = ("create", "start", "die")
        self.foreign_to_it = ""
        self._numbers = count(1)

    @property
    def ever(self) -> list[FakeContainer]:
        """Every container there was."""
        return [*self.removed, *self.containers.values()]

    def starts(self, role: str = "action") -> int:
        """How often a process of this role began."""
        return sum(each.starts for each in self.ever if each.spec.labels.get("tinkbox.role") == role)

    async def has_network(self, name: str) -> bool:
        return name in self.networks

    async def version(self) -> str:
        if self.away:
            raise EngineAway("no Docker engine answers")
        return "26.1"

    async def process(self) -> int:
        return 0

    async def shares_mounts(self) -> bool:
        return False

    async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
        number = self._call("pull")
        if self.layers:
            heard()
        await self.pulls.wait()
        if image not in self.programs:
            raise ContainerFailed("ImageNotFound", f"no image {image}")
        self.pulled.add(image)
        self.faults.behind(number)
        return self.digests.get(image, "")

    async def has(self, image: str) -> bool:
        self._call("has")
        return image in self.pulled

    async def find(self, labels: Mapping[str, str]) -> list[Container]:
        number = self._call("find")
        await asyncio.sleep(0)  # time for what ends it
        found = [
            Container(id=identity, started=each.starts > 0, ended=each.ended.is_set(), labels=each.spec.labels)
            for identity, each in self.containers.items()
            if labels.items() <= each.spec.labels.items()
        ]
        self.faults.behind(number)
        return found

    async def create(self, spec: ContainerSpec) -> Container:
        number = self._call("create")
        if spec.image not in self.pulled:
            raise ContainerFailed("ImageNotFound", f"no image {spec.image}")
        if spec.name and spec.name in {each.spec.name for each in self.containers.values()}:
            raise ContainerFailed("CreateFailed", f"the name {spec.name} is in use")
        command = f"{spec.image} {spec.command[0]}" if spec.command else ""
        identity = f"c{next(self._numbers)}"
        program = self.programs.get(command, self.programs[spec.image])
        container = self.containers[identity] = FakeContainer(spec=spec, program=program)
        if "/tinkbox/control" in spec.mounts:
            container.helper = FakeHelper(spec, lambda word: self.programs.get(f"{spec.image} {word}", program))
        self.faults.behind(number)
        return Container(id=identity, started=False, labels=spec.labels)

    async def start(self, container_id: str) -> None:
        number = self._call("start")
        container = self._container(container_id)
        if container.program.error:
            self.faults.behind(number)
            raise ContainerFailed("BadCommand", container.program.error)
        if not container.starts or container.ended.is_set():
            container.starts += 1
            container.ended.clear()
            if container.helper is not None:
                self._helped(container, container.helper, container.helper.begin())
            else:
                container.output += container.program.output
                container.program.work(container.spec)
                if not container.program.lasts:
                    self._end(container, container.program.exit_code)
        self.faults.behind(number)

    async def wait(self, container_id: str) -> Ended:
        number = self._call("wait")
        container = self._container(container_id)
        while container.helper is not None and not container.ended.is_set():
            self._helped(container, container.helper, container.helper.obey())
            await asyncio.sleep(GLANCE)
        await container.ended.wait()
        self.faults.behind(number)
        assert container.result is not None
        return container.result

    async def stop(self, container_id: str, grace: int) -> None:
        number = self._call("stop")
        if container_id in self.containers and self.containers[container_id].starts:
            self._end(self.containers[container_id], 143 if grace else 137)
        self.faults.behind(number)

    async def remove(self, container_id: str) -> None:
        number = self._call("remove")
        if container_id in self.containers:
            self._end(self.containers[container_id], 137)
            self.removed.append(self.containers.pop(container_id))
        self.faults.behind(number)

    async def image_command(self, image: str) -> ImageCommand:
        self._call("image_command")
        return ImageCommand(command=("program",))

    async def foreign(self, image: str) -> str:
        self._call("foreign")
        return self.foreign_to_it

    async def ran_out_of_memory(self, container_id: str) -> bool:
        self._call("ran_out_of_memory")
        return self._container(container_id).program.out_of_memory

    async def remembered(self, container_id: str) -> tuple[str, ...]:
        self._call("remembered")
        return self.memory

    async def changed_bytes(self, container_id: str) -> int:
        self._container(container_id)
        return 0

    async def commit(self, container_id: str, image: str) -> None:
        self.programs[image] = self._container(container_id).program
        self.pulled.add(image)

    async def remove_image(self, image: str) -> None:
        self._call("remove_image")

    async def output(self, container_id: str, *, follow: bool = True) -> AsyncIterator[bytes]:
        number = self._call("output")
        container = self._container(container_id)
        sent, untold = 0, self.untold if follow else 0
        while True:
            while sent < (told := len(container.output) - untold):
                piece = container.output[sent : min(sent + 7, told)]
                sent += len(piece)
                yield piece
                self.faults.behind(number)
            if container.ended.is_set() or not follow:
                return
            await container.ended.wait()

    def _call(self, name: str) -> int:
        number = len(self.faults.calls)
        self.faults.before(name)
        if self.away:
            raise EngineAway("the engine is away")
        return number

    def _container(self, container_id: str) -> FakeContainer:
        if container_id not in self.containers:
            raise ContainerFailed("ContainerLost", f"no container {container_id}")
        return self.containers[container_id]

    def _helped(self, container: FakeContainer, helper: FakeHelper, code: int | None) -> None:
        container.output = helper.output
        if code is not None:
            self._end(container, code)

    def _end(self, container: FakeContainer, code: int) -> None:
        if not container.ended.is_set():
            container.result = Ended(exit_code=code, out_of_memory=container.program.out_of_memory)
            container.ended.set()


class FakeDoor:
    """The node door of an appliance with one workflow: `offers` in turn, each until it is reported.

    `answers` is what is said to who waits for orders, one after the other, and then nothing.
    """

    def __init__(self, offers: list[Offer] | None = None, faults: Faults | None = None) -> None:
        self.offers = offers or []
        self.faults = faults or Faults()
        self.printed: dict[str, bytes] = {}
        self.reports: dict[str, Report] = {}
        self.archive = b""
        self.digest: str | None = None
        self.hello: Hello | None = None
        self.refusal: Refusal | None = None
        self.left: list[str] = []
        self.looked: list[Looked] = []
        self.refused: Refused | None = None
        self.progresses: list[Telling] = []
        self.unwanted_progress: Refusal | None = None
        self.answers: list[Order | Orders | Refusal | None] = []
        self.holds: dict[int, Held] = {}
        self.is_held = asyncio.Event()
        self.resumptions: list[int] = []
        self.asked: list[Asked] = []
        self.engine_away = 0.0
        self.winner = ""
        self._asked = asyncio.Event()

    def order_now(self, *answers: Order | Orders | Refusal | None) -> None:
        self.answers += answers
        self._asked.set()

    async def orders(self, attempt: str, seen: str, engine_away: float = 0.0) -> Orders | None:
        self.engine_away = engine_away
        while not self.answers:
            self._asked.clear()
            await self._asked.wait()
        answer = self.answers.pop(0)
        if isinstance(answer, Refusal):
            raise answer
        return Orders(stop=answer) if isinstance(answer, Order) else answer

    async def held(self, attempt: str, held: Held) -> None:
        number = self._call("held")
        self.holds[held.sequence] = held
        self.is_held.set()
        self.faults.behind(number)

    async def resumed(self, attempt: str, resumed: Resumed) -> None:
        number = self._call("resumed")
        self.resumptions.append(resumed.sequence)
        self.is_held.clear()
        self.faults.behind(number)

    async def verdict(self, attempt: str, asked: Asked) -> None:
        number = self._call("verdict")
        if self.winner:
            raise Conflict(f"{self.winner} decided already")
        self.asked.append(asked)
        self.faults.behind(number)

    async def may_wipe(self, attempt: str, looked: Looked) -> Refused | None:
        number = self._call("may_wipe")
        self.looked.append(looked)
        self.faults.behind(number)
        return self.refused

    async def progress(self, attempt: str, telling: Telling) -> None:
        if self.unwanted_progress is not None:
            raise self.unwanted_progress
        self.progresses.append(telling)

    async def leaving(self, attempt: str, leaving: Leaving) -> None:
        number = self._call("leaving")
        if self.refusal is not None:
            raise self.refusal
        if attempt not in self.left:
            self.left.append(attempt)
            self.offers = [replace(each, left=each.left or each.attempt == attempt) for each in self.offers]
        self.faults.behind(number)

    async def next(self, hello: Hello) -> Offer | None:
        number = self._call("next")
        self.hello = hello
        if not self.offers and self.faults.calls.count("next") > 1 and self.faults.calls[-2] == "next":
            raise Finished
        if not self.offers:
            return None
        self.faults.behind(number)
        return self.offers[0]

    async def settled(self) -> Answer:
        return Answer(standing=Standing.KNOWN)

    async def report(self, attempt: str, report: Report) -> Offer | None:
        number = self._call("report")
        if replace(self.reports.setdefault(attempt, report), next=report.next) != report:
            raise Conflict(f"attempt {attempt} ended otherwise")
        self.offers = [offer for offer in self.offers if offer.attempt != attempt]
        self.faults.behind(number)
        return self.offers[0] if self.offers and report.next and not report.next.finishing else None

    async def output(self, attempt: str, offset: int, chunk: bytes) -> int:
        number = self._call("output")
        if self.refusal is not None:
            raise self.refusal
        printed = self.printed.get(attempt, b"")
        if offset <= len(printed):
            self.printed[attempt] = printed + chunk[len(printed) - offset :]
        self.faults.behind(number)
        return len(self.printed.get(attempt, b""))

    async def pulled(self, attempt: str, pulled: Pulled) -> str:
        self._call("pulled")
        if self.digest is None:
            raise NotFound("it is not known what images are pinned to")
        return self.digest or pulled.digest

    async def data(self, attempt: str) -> bytes:
        number = self._call("data")
        self.faults.behind(number)
        return self.archive

    async def keep_data(self, attempt: str, archive: bytes) -> None:
        number = self._call("keep_data")
        self.archive = archive
        self.faults.behind(number)

    def _call(self, name: str) -> int:
        number = len(self.faults.calls)
        self.faults.before(name)
        return number


AWAY: tuple[Exception, ...] = (EngineAway("the engine is away"), Unavailable("the appliance is away"))
