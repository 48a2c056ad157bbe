"""Our DHCP and boot servers, for tests that have them run in a namespace: `python -m … JSON`.

Prints `ready`, and then everything that was seen of machines.
"""

import asyncio
import json
import sys
import time
from collections.abc import Collection, Sequence
from ipaddress import IPv4Address, IPv4Interface, IPv4Network
from typing import Any

from tests.integration.boot.rooms import room
from tinkbox.boot.dhcp.boot_server import BootServer
from tinkbox.boot.dhcp.rate_limit import RateLimit
from tinkbox.boot.dhcp.server import DhcpServer
from tinkbox.boot.network.sockets import bind_udp
from tinkbox.model.boot import Boot, Client, Plan, Silence, Stage
from tinkbox.model.hardware import Interface, MacAddress
from tinkbox.model.leases import Lease, Subnet
from tinkbox.model.limits import ADDRESS_PROBES
from tinkbox.model.sightings import Fact, Note
from tinkbox.wire.dhcp.packets import BOOT_SERVER_PORT, NOWHERE, SERVER_PORT
from tinkbox.wire.dhcp.pxe import BootService


class Lab:
    """Machines by MAC, each with its address (with the length of its network) by interface or by relay's network."""

    def __init__(self, machines: dict[str, dict[str, str]]) -> None:
        self._machines = {MacAddress(mac): addresses for mac, addresses in machines.items()}

    def known(self) -> Collection[MacAddress]:
        return self._machines.keys()

    def knows(self, mac: MacAddress) -> bool:
        return mac in self._machines

    def plan_for(self, client: Client, interface: str) -> Plan | None:
        addresses = self._machines.get(client.mac)
        if addresses is None:
            return None
        hint = client.relay if client.relay != NOWHERE else client.held
        behind = [each for each in addresses if "/" in each and hint in IPv4Network(each)]
        where = behind[0] if behind else interface if client.relay == NOWHERE else ""
        given = Interface(mac=client.mac)
        if where in addresses:
            found = IPv4Interface(addresses[where])
            given = Interface(mac=client.mac, address=found.ip, netmask=found.netmask, lease_seconds=600)
        return Plan(boot=Boot.OSIE if client.netboots else Boot.NOTHING, hardware_id="h", interface=given)

    def silence(self, client: Client, interface: str) -> Silence:
        return Silence.UNKNOWN

    def subnet_of(self, client: Client, interface: str) -> Subnet | None:
        return None

    def booted(self, mac: MacAddress) -> None: ...

    def note(self, mac: MacAddress, notes: Sequence[Note]) -> None:
        for each in notes:
            self.saw(mac, each.stage, each.detail, **each.facts)

    def saw(self, mac: MacAddress, stage: Stage, detail: str = "", **facts: Fact) -> None:
        tell(json.dumps({"mac": mac, "stage": stage.name, "detail": detail, **facts}))


class Nothing:
    """There is no pool."""

    def confirm(self, client: Client, address: IPv4Address, subnet: Subnet) -> Lease | None:
        return None

    async def committed(self, addresses: Collection[IPv4Address]) -> set[IPv4Address]:
        return set()

    def lent(self, client: Client, address: IPv4Address) -> Lease | None:
        return None

    def release(self, client: Client, address: IPv4Address) -> None: ...
    def decline(self, client: Client, address: IPv4Address) -> None: ...
    def proven(self, lease: Lease) -> None: ...

    def taken(self, address: IPv4Address, by: str) -> bool:
        return False

    async def occupant(self, address: IPv4Address, interface: str, asker: MacAddress | None = None) -> str | None:
        return None

    async def answers(self, address: IPv4Address, mac: MacAddress) -> bool:
        return False


def tell(line: str) -> None:
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()


async def main(told: dict[str, Any]) -> None:
    lab, nothing = Lab(told["machines"]), Nothing()
    rate_limit = RateLimit(lab.knows, time.monotonic)
    async with asyncio.TaskGroup() as group:
        for name, address in told["interfaces"].items():
            service = BootService(address=IPv4Address(address), url=f"http://{address}", proxy=told["proxy"])
            dhcp = bind_udp(interface=name, address="", port=SERVER_PORT)
            group.create_task(
                DhcpServer(dhcp, name, lab, nothing, nothing, service, rate_limit, room(ADDRESS_PROBES)).serve()
            )
            boot = bind_udp(interface=name, address=address, port=BOOT_SERVER_PORT)
            group.create_task(BootServer(boot, name, lab, service, rate_limit).serve())
        tell("ready")


if __name__ == "__main__":
    asyncio.run(main(json.loads(sys.argv[1])))
