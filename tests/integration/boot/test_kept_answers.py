"""An answer that is kept is the one that would be made anew, whoever asks and whatever changes in between.

Machines ask the same again and again over a real engine, while their hardware, workflows, leases, firmware and services
change at random.  Beside every decision stands another that is made from nothing but what the engine knows then, and
what is sent is compared, byte by byte, with what is made of that.
"""

import asyncio
import copy
import json
import random
from collections.abc import Awaitable, Callable, Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path
from uuid import UUID

import pytest

from tests import golden
from tests.integration.boot.rooms import room
from tests.integration.engine.appliance import HELLO, Appliance, appliance, mac
from tests.unit.boot.dhcp_bench import Line
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.server import DhcpServer
from tinkbox.engine.boot.booting import Booting
from tinkbox.engine.boot.leases import Leases
from tinkbox.engine.machines.firmware_knowledge import FirmwareKnowledge
from tinkbox.engine.machines.machines import Machines
from tinkbox.model.boot import Asker, Client, Plan, Silence, Stage, Supply
from tinkbox.model.documents.hardware import parse_hardware
from tinkbox.model.errors import Refusal
from tinkbox.model.hardware import MacAddress
from tinkbox.model.leases import Subnet
from tinkbox.model.limits import ADDRESS_PROBES
from tinkbox.model.sightings import Fact, Note
from tinkbox.wire.dhcp.clients import identify
from tinkbox.wire.dhcp.packets import EVERYBODY, MessageType, Op, Packet, decode, destination, encode
from tinkbox.wire.dhcp.pxe import BootService, answer

OURS, RELAY = IPv4Address("172.30.0.1"), IPv4Address("172.31.0.1")
ADDRESSES = [IPv4Address(f"172.30.0.{number}") for number in (10, 11, 12, 101)]  # the last is one of the pool's
SUBNETS = (
    Subnet(
        network=IPv4Network("172.30.0.0/24"),
        interface="no-such-if",
        pool=(IPv4Address("172.30.0.100"), IPv4Address("172.30.0.102")),
        lease_seconds=600,
    ),
    Subnet(network=IPv4Network("172.31.0.0/24"), pool=(IPv4Address("172.31.0.100"), IPv4Address("172.31.0.101"))),
)
MACHINES = 4
SHAPES = 5
STEPS = 700
RECORDED = [decode(golden.packet(name)) for name in golden.names("dhcp")]
ASKED = [each.packed for each in (*ADDRESSES[:2], IPv4Address("172.30.0.100"))]


class Doubter:
    """The planner, which has every decision made once more, from nothing that was kept."""

    def __init__(self, booting: Callable[[Machines], Booting], machines: Machines) -> None:
        self._kept = booting(machines)
        self._booting = booting
        self._machines = machines
        self.fresh: Plan | None = None

    def plan_for(self, client: Client, interface: str) -> Plan | None:
        plan = self._kept.plan_for(client, interface)
        forgetful = copy.copy(self._machines)
        forgetful.boot_facts = copy.copy(forgetful.boot_facts)
        forgetful.boot_facts._kept = {}
        self.fresh = self._booting(forgetful).plan_for(client, interface)
        assert _told(plan) == _told(self.fresh)
        return plan

    def known(self) -> Collection[MacAddress]:
        return self._kept.known()

    def knows(self, mac: MacAddress) -> bool:
        return self._kept.knows(mac)

    def silence(self, client: Client, interface: str) -> Silence:
        return self._kept.silence(client, interface)

    def subnet_of(self, client: Client, interface: str) -> Subnet | None:
        return self._kept.subnet_of(client, interface)

    def booted(self, mac: MacAddress) -> None:
        self._kept.booted(mac)

    def note(self, mac: MacAddress, notes: Sequence[Note]) -> Callable[[], bool] | None:
        return self._kept.note(mac, notes)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None:
        self._kept.saw(mac, stage, detail, **facts)


def _told(plan: Plan | None) -> object:
    """What is told of a plan, which is all but how long its lease lasts."""
    lease = plan.lease if plan else None
    return plan and replace(plan, lease=None), lease and (lease.address, lease.mac, lease.proven)


class Server(DhcpServer):
    """Counts the answers that it makes."""

    made = 0

    def _made(self, *what: object) -> object:  # type: ignore[override]
        self.made += 1
        return super()._made(*what)  # type: ignore[arg-type]


class Prober:
    """Finds every address free."""

    async def occupant(self, address: IPv4Address, interface: str, asker: MacAddress | None = None) -> str | None:
        return None

    async def answers(self, address: IPv4Address, mac: MacAddress) -> bool:
        return False


@dataclass
class Life:
    """What may happen to machines, each by chance."""

    box: Appliance
    leases: Leases
    doubter: Doubter
    supply: dict[str, Supply]
    chance: random.Random

    def machine(self) -> int:
        return self.chance.randrange(1, MACHINES + 1)

    async def push(self) -> None:
        number, chance = self.machine(), self.chance
        dhcp: dict[str, object] = {"mac": mac(number), "arch": chance.choice(["x86_64", "aarch64"])}
        if chance.random() < 0.6:
            dhcp["ip"] = {"address": str(chance.choice(ADDRESSES)), "netmask": "255.255.255.0", "gateway": str(OURS)}
        dhcp["hostname"] = chance.choice(["", "one", "two"])
        dhcp["lease_time"] = chance.choice([60, 3600])
        dhcp["name_servers"] = chance.choice([[], ["172.30.0.53"]])
        dhcp["vlan_id"] = chance.choice(["", "7"])
        route = {"destination_descriptor": "10.0.0.0/8", "router": "172.30.0.9"}
        dhcp["classless_static_routes"] = chance.choice([[], [route]])
        interface = {"dhcp": dhcp, "netboot": {"allow_pxe": chance.random() < 0.9, "allow_workflow": True}}
        document = {"id": str(UUID(int=number)), "network": {"interfaces": [interface]}}
        await self.box.machines.push(parse_hardware(json.dumps(document)))

    async def delete(self) -> None:
        await self.box.machines.delete(mac(self.machine()))

    async def install(self) -> None:
        await self.box.workflows.create(self.chance.choice(["hello", "other"]), {"device_1": mac(self.machine())})

    async def finish(self) -> None:
        await self.box.finish(str(UUID(int=self.machine())))

    async def cancel(self) -> None:
        for each in await self.box.workflows.all():
            await self.box.workflows.cancel(each.id)

    async def leave(self) -> None:
        worker = str(UUID(int=self.machine()))
        if offer := await self.box.offer(worker):
            await self.box.leave(worker, offer)

    async def come_further(self) -> None:
        of, chance = mac(self.machine()), self.chance
        stage = chance.choice([*[Stage.SCRIPT] * 4, Stage.KERNEL, Stage.LOCAL_DISK, Stage.DISK_BOOTED])
        for _ in range(chance.choice([1, 3])):  # three boots without progress, and it is parked
            self.doubter.saw(of, stage)

    async def refuse(self) -> None:
        """Firmware with Secure Boot refuses the program that it was given; without it, the signed one."""
        of, program = mac(self.machine()), self.chance.choice(["snponly.efi", "shimx64.efi"])
        asking: dict[str, Fact] = {"asker": Asker.PXE.value, "architecture": 7}
        self.doubter.saw(of, Stage.LOADER, name=program)
        self.doubter.saw(of, Stage.DISCOVER, **asking)

    async def give_back(self) -> None:
        say = self.chance.choice([self.leases.release, self.leases.decline])
        for each in self.leases.all():
            say(Client(mac=each.mac), each.address)

    async def lend_elsewhere(self) -> None:
        for each in self.leases.all():
            self.leases.taken(each.address, self.chance.choice(["", str(mac(9))]))

    async def supplied(self) -> None:
        supply = Supply(service="boot", url="http://boot/auto.ipxe", ready=self.chance.random() < 0.5)
        self.supply[str(UUID(int=self.machine()))] = supply

    async def wait(self) -> None:
        self.box.clock.forward(self.chance.choice([1, 61, 130, 601, 4_000]))

    async def set_the_clock(self) -> None:
        self.box.clock.now -= timedelta(hours=1)

    def changes(self) -> list[Callable[[], Awaitable[None]]]:
        often = [
            self.push,
            self.install,
            self.install,
            self.come_further,
            self.refuse,
            self.wait,
            self.give_back,
            self.supplied,
        ]
        seldom = [self.delete, self.finish, self.cancel, self.leave, self.lend_elsewhere, self.set_the_clock]
        return often * 4 + seldom


def shape(chance: random.Random) -> Packet:
    """A question as some firmware or system asks it, of any machine."""
    base = chance.choice(RECORDED)
    options = {**base.options}
    kind = chance.choice([MessageType.DISCOVER] * 4 + [MessageType.REQUEST] * 3 + [MessageType.INFORM])
    options[53] = bytes((kind,))
    options.pop(54, None)
    if kind is MessageType.REQUEST:
        options |= chance.choice([{}, {54: OURS.packed}, {54: OURS.packed}, {54: b"\x0a\0\0\1"}])
        options |= chance.choice([{}, *({50: each} for each in ASKED)])
    for option in (12, 55, 57, 60, 61, 77, 82, 93, 97):
        if chance.random() < 0.1:
            options[option] = chance.choice([b"", b"\0\7", b"PXEClient", b"\x01\x04eth1", chance.randbytes(20)])
    return replace(
        base,
        op=Op.REQUEST,
        mac=mac(chance.choice([1, 1, 2, 2, 3, 3, 4, 4, 5])),  # one more than there ever is
        flags=chance.choice([0, 0x8000]),
        giaddr=chance.choice([IPv4Address(0), RELAY]),
        ciaddr=chance.choice([IPv4Address(0), IPv4Address(0), *ADDRESSES[:1]]),
        options=options,
    )


def expected(request: Packet, fresh: Plan | None, service: BootService) -> tuple[bytes, tuple[str, int]] | None:
    """What is sent where, made of nothing that was kept."""
    if request.message_type is MessageType.REQUEST and 54 in request.options and request.options[54] != OURS.packed:
        return None
    reply = answer(request, identify(request), fresh, service) if fresh is not None else Silence.UNKNOWN
    if isinstance(reply, Silence):
        return None
    to = destination(request, reply)
    return encode(reply, request.longest_answer), (str(EVERYBODY if to.mac else to.address), to.port)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mode", ["reservation", "pool", "proxy"])
async def test_kept_answer_is_the_one_that_would_be_made_anew(mode: str, seed: int, tmp_path: Path) -> None:
    chance = random.Random(f"{mode} {seed}")
    service = BootService(address=OURS, url=f"http://{OURS}", proxy=mode == "proxy")
    supply: dict[str, Supply] = {}
    async with appliance(tmp_path / "db") as box:
        box.machines.boot_facts._supply = supply.get
        for name in ("hello", "other"):
            await box.templates.create(name, HELLO.replace("hello_world_workflow", name))
        leases = Leases(box.store, SUBNETS, box.clock, box.clock.steady)
        firmware_knowledge = FirmwareKnowledge(box.store, box.clock, box.machines.known.knows, box.machines.known.cards)

        def booting(machines: Machines) -> Booting:
            return Booting(
                machines,
                leases,
                None,
                SUBNETS,
                mode,
                lambda _: None,
                lambda _: False,
                box.clock.steady,
                firmware_knowledge,
                own={OURS},
            )

        doubter = Doubter(booting, box.machines)
        life = Life(box, leases, doubter, supply, chance)
        seconds = iter(range(10**9))
        with Line() as line:
            rate_limit = RateLimit(lambda _: True, lambda: float(next(seconds)))
            server = Server(line, "no-such-if", doubter, leases, Prober(), service, rate_limit, room(ADDRESS_PROBES))
            async with asyncio.TaskGroup() as parts:
                running = parts.create_task(server.serve())
                await asyncio.sleep(0)
                answers = await _live(life, server, line, service)
                running.cancel()
        assert answers > STEPS // 20, "many are answered"
        assert answers - server.made > answers // 4, "and many of the answers are kept ones"
        assert len(server._questions) <= MACHINES * 8


async def _live(life: Life, server: Server, line: Line, service: BootService) -> int:
    """Machines ask, and things change; how many answers were compared."""
    chance, answers = life.chance, 0
    for _ in range(8):
        with suppress(Refusal):
            await life.push()
            await life.install()
    shapes = [shape(chance) for _ in range(SHAPES * MACHINES)]
    for _ in range(STEPS):
        if chance.random() < 0.15:
            with suppress(Refusal):
                await chance.choice(life.changes())()
        if chance.random() < 0.02:
            shapes[chance.randrange(len(shapes))] = shape(chance)
        request = replace(chance.choice(shapes), xid=chance.randrange(2**32), secs=chance.randrange(2**16))
        request = decode(encode(request))
        life.doubter.fresh = None
        server._receive(encode(request))
        while server._proving:  # noqa: ASYNC110 - what is only noted rings no bell
            await asyncio.sleep(0)
        made = expected(request, life.doubter.fresh, service)
        if made is None:
            assert line.sent.empty(), (request, life.doubter.fresh)
            continue
        answers += 1
        assert await asyncio.wait_for(line.sent.get(), 60) == made, (request, life.doubter.fresh)
        assert line.sent.empty()
    return answers
