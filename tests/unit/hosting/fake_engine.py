"""An engine in memory, which fails when it is told to.

`FakeEngine` keeps the promises of `ServiceRuntime`: tests/integration/runtime runs the same tests on it and on Docker.
"""

import asyncio
import math
from collections.abc import AsyncIterator, Callable, Mapping
from dataclasses import dataclass, field
from ipaddress import IPv4Network

from tests.unit.worker.fakes import Faults
from tinkbox.runtime import Container, ContainerFailed, ContainerSpec, EngineAway, ImageCommand, nobody_listens
from tinkbox.runtime.hosting import Health, Look, Network


@dataclass
class Program:
    """What an image does: each start has the next of `lives` (seconds, exit code), the last one again and again.

    With a health check it is `healthy` between these seconds after its start.
    """

    lives: list[tuple[float, int]] = field(default_factory=lambda: [(math.inf, 0)])
    healthy: tuple[float, float] | None = None
    output: bytes = b""
    ports: tuple[int, ...] = ()
    stubborn: bool = False
    refuses: str = ""


@dataclass
class Made:
    spec: ContainerSpec
    program: Program
    starts: int = 0
    began: float = 0.0
    ends: float = 0.0
    code: int = 0
    output: bytes = b""
    witnessed: bool = True


class FakeEngine:
    """`away` while nothing answers; `taken` subnets are refused; time is the loop's."""

    def __init__(self, programs: Mapping[str, Program], faults: Faults | None = None) -> None:
        self.programs = dict(programs)
        self.faults = faults or Faults()
        self.digests: dict[str, str] = {}
        self.made: dict[str, Made] = {}
        self.ever: list[Made] = []
        self.nets: dict[str, tuple[str, Network]] = {}
        self.taken: list[IPv4Network] = []
        self.away = False
        self.unreachable: set[str] = set()

    def crash(self) -> None:
        """It dies with all that runs in it, and is away."""
        self.away = True
        for each in self.made.values():
            if each.starts and self._now() < each.ends:
                each.ends, each.code = self._now(), 255
            each.witnessed = False

    async def pull(self, image: str, heard: Callable[[], None] = nobody_listens) -> str:
        number = await self._call("pull")
        if image.split("/")[0] in self.unreachable:
            raise ContainerFailed("RegistryUnreachable", "connection refused")
        if self.programs.get(image) is None:
            raise ContainerFailed("ImageNotFound", f"the registry does not have this image: {image}")
        self.faults.behind(number)
        return self.digests.get(image, "")

    async def image_command(self, image: str) -> ImageCommand:
        await self._call("image_command")
        return ImageCommand()

    async def find(self, labels: Mapping[str, str]) -> list[Container]:
        number = await self._call("find")
        found = [
            Container(id=name, started=each.starts > 0, ended=0 < each.ends <= self._now(), labels=each.spec.labels)
            for name, each in self.made.items()
            if labels.items() <= each.spec.labels.items()
        ]
        self.faults.behind(number)
        return found

    async def create(self, spec: ContainerSpec) -> Container:
        number = await self._call("create")
        if spec.name in self.made:
            raise ContainerFailed("CreateFailed", f"the name {spec.name} is in use")
        self.made[spec.name] = Made(spec=spec, program=self.programs[spec.image])
        self.ever.append(self.made[spec.name])
        self.faults.behind(number)
        return Container(id=spec.name, started=False, labels=spec.labels)

    async def start(self, container_id: str) -> None:
        number = await self._call("start")
        each = self._container(container_id)
        if each.program.refuses:
            raise ContainerFailed("BadCommand", each.program.refuses)
        if not each.starts or each.ends <= self._now():
            seconds, each.code = each.program.lives[min(each.starts, len(each.program.lives) - 1)]
            each.starts, each.began, each.ends, each.witnessed = (
                each.starts + 1,
                self._now(),
                self._now() + seconds,
                True,
            )
            each.output += each.program.output
        self.faults.behind(number)

    async def stop(self, container_id: str, grace: int) -> None:
        number = await self._call("stop")
        each = self.made.get(container_id)
        if each is not None and each.starts and self._now() < each.ends:
            await asyncio.sleep(grace if each.program.stubborn else 0)
            each.ends, each.code, each.witnessed = self._now(), 137 if each.program.stubborn else 143, False
        self.faults.behind(number)

    async def remove(self, container_id: str) -> None:
        number = await self._call("remove")
        self.made.pop(container_id, None)
        self.faults.behind(number)

    async def output(self, container_id: str, *, follow: bool = True) -> AsyncIterator[bytes]:
        await self._call("output")
        each, sent = self._container(container_id), 0
        while True:
            if sent < len(each.output):
                yield each.output[sent:]
                sent = len(each.output)
            if self._now() >= each.ends or container_id not in self.made or not follow:
                return
            await asyncio.sleep(0.1)
            if self.away:
                raise EngineAway("the engine went away")

    async def look(self, container_id: str) -> Look:
        number = await self._call("look")
        each = self._container(container_id)
        running, up = each.starts > 0 and self._now() < each.ends, self._now() - each.began
        health = None
        if each.program.healthy is not None:
            begins, ends = each.program.healthy
            health = Health.STARTING if up < min(begins, 5) else Health.UNHEALTHY
            health = Health.HEALTHY if begins <= up < ends else health
        self.faults.behind(number)
        return Look(
            running=running,
            started_at=f"start {each.starts} of {id(each)}" if each.starts else "",
            ended_at=f"end {each.starts}" if each.starts and not running else "",
            seconds=0.0 if running else each.ends - each.began,
            exit_code=0 if running else each.code,
            health=health,
            probe="no answer" if health is Health.UNHEALTHY else "",
            address="10.9.0.2" if running else "",
            ports=each.program.ports,
        )

    async def ended_alone(self, container_id: str) -> bool:
        await self._call("ended_alone")
        return self._container(container_id).witnessed

    async def networks(self) -> list[Network]:
        await self._call("networks")
        return [network for _, network in self.nets.values()]

    async def create_network(self, name: str, subnet: IPv4Network, labels: Mapping[str, str]) -> Network | None:
        number = await self._call("create_network")
        if any(subnet.overlaps(other) for other in (*self.taken, *(net.subnets[0] for _, net in self.nets.values()))):
            return None
        made = Network(id=f"id of {subnet}", subnets=(subnet,), labels=labels)
        self.nets[made.id] = (name, made)
        self.faults.behind(number)
        return made

    async def remove_network(self, network_id: str) -> None:
        number = await self._call("remove_network")
        if any(each.spec.network == network_id for each in self.made.values()):
            raise ContainerFailed("EngineFailed", "the network has containers")
        self.nets.pop(network_id, None)
        self.faults.behind(number)

    def _now(self) -> float:
        return asyncio.get_running_loop().time()

    async def _call(self, name: str) -> int:
        number = len(self.faults.calls)
        self.faults.before(name)
        await asyncio.sleep(0)
        if self.away:
            raise EngineAway("no engine answers")
        return number

    def _container(self, container_id: str) -> Made:
        if container_id not in self.made:
            raise ContainerFailed("ContainerLost", f"no container {container_id}")
        return self.made[container_id]
