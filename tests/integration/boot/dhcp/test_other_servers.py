"""Other DHCP servers, found by asking on a real link."""

import asyncio
import json
import subprocess
import sys
from ipaddress import IPv4Address
from pathlib import Path

import pytest

from examples.lab.network import BRIDGE, Network
from tests.machine.hosts import Host, give_addresses
from tinkbox.boot.dhcp.other_servers import other_servers_on, rivals
from tinkbox.model.errors import Unavailable

ROOT = Path(__file__).parents[4]
ASK = """
import asyncio, json, sys
from tinkbox.boot.dhcp.other_servers import other_servers_on
found = asyncio.run(other_servers_on(sys.argv[1:], lambda: bytes(range(9))))
print(json.dumps([[each.interface, str(each.server), each.mac, str(each.offered), each.boot_file] for each in found]))
"""


def asked(network: Network, *interfaces: str) -> list[list[str]]:
    command = ["env", f"PYTHONPATH={ROOT}", sys.executable, "-c", ASK, *interfaces]
    return [list(each) for each in json.loads(network.run(command))]


def test_two_servers_on_one_link_are_found_each_once_with_their_macs(tmp_path: Path) -> None:
    with (
        Network() as network,
        Host(network, [(BRIDGE, "172.30.0.3")]) as one,
        Host(network, [(BRIDGE, "172.30.0.4")]) as two,
    ):
        give_addresses(one, "172.30.0.100", "172.30.0.109", tmp_path / "one.log")
        give_addresses(two, "172.30.0.110", "172.30.0.119", tmp_path / "two.log")
        macs = [json.loads(host.run("ip", "-j", "link", "show", "eth0"))[0]["address"] for host in (one, two)]
        for _ in range(5):  # one that is held up is not heard in time
            found = sorted(asked(network, BRIDGE), key=lambda each: each[1])
            if len(found) > 1:
                break
        assert [each[:3] for each in found] == [[BRIDGE, "172.30.0.3", macs[0]], [BRIDGE, "172.30.0.4", macs[1]]]
        assert [IPv4Address(each[3]) in range_ for each, range_ in zip(found, [POOLS[0], POOLS[1]], strict=True)] == [
            True,
            True,
        ]


POOLS = [{IPv4Address(f"172.30.0.{last}") for last in range(first, first + 10)} for first in (100, 110)]


def test_where_nobody_answers_nobody_is_found() -> None:
    with Network() as network:
        network.run(["ip", "link", "add", "other", "type", "bridge"])
        network.run(["ip", "link", "set", "other", "up"])
        assert asked(network, BRIDGE, "other") == []


async def test_an_interface_that_is_not_there_is_refused() -> None:
    with pytest.raises(Unavailable, match="cannot ask on nowhere"):
        await other_servers_on(["lo", "nowhere"], lambda: bytes(9), seconds=0.1)


async def test_without_the_right_to_ask_that_is_said() -> None:
    command = ["setpriv", "--bounding-set=-net_raw", sys.executable, "-c", ASK, "lo"]
    process = await asyncio.create_subprocess_exec(*command, cwd=ROOT, stderr=subprocess.PIPE)
    _, said = await asyncio.wait_for(process.communicate(), 60)
    assert b"no right to ask who else answers DHCP: run as root, or with CAP_NET_RAW" in said


async def test_on_loopback_nobody_hears_himself() -> None:
    assert await rivals("lo", bytes(9), seconds=0.2) == ()
