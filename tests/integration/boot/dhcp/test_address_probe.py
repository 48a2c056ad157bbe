"""Whether an address is in use: asked for real, in network namespaces."""

import os
import subprocess
import sys
from collections.abc import Iterator

import pytest

US, THEM = f"tinkbox-probe-{os.getpid()}", f"tinkbox-probed-{os.getpid()}"
THEIR_MAC = "08:00:27:00:00:07"
# Arguments: the interface, its network, who asks or nothing, and addresses.  One after another would take half a minute.
PROBE = """
import asyncio, sys, time
from ipaddress import IPv4Address, IPv4Network
from tinkbox.boot.dhcp.address_probe import Prober
from tinkbox.model.hardware import MacAddress
interface, network, asker, *addresses = sys.argv[1:]
prober = Prober({interface: IPv4Network(network)})
async def main():
    for turn in range(2):  # the second after the first let go of its socket
        async with asyncio.TaskGroup() as asking:
            begun = time.monotonic()
            tasks = [asking.create_task(prober.occupant(IPv4Address(each), interface, MacAddress(asker) if asker else None)) for each in addresses]
        print(*["free" if task.result() is None else task.result() or "taken" for task in tasks])
        print("soon" if time.monotonic() - begun < 20 else "late", file=sys.stderr)
asyncio.run(main())
"""


def run(*words: str) -> None:
    subprocess.run(words, check=True, timeout=60)


@pytest.fixture
def network() -> Iterator[None]:
    """Their host has 172.30.0.7 on the link and 172.31.0.7 behind it, where 172.31.0.9 is unreachable."""
    for name in (US, THEM):
        run("ip", "netns", "add", name)
        run("ip", "-n", name, "link", "set", "lo", "up")
    run("ip", "-n", US, "link", "add", "provision", "type", "veth", "peer", "name", "eth0", "netns", THEM)
    run("ip", "-n", US, "address", "add", "172.30.0.1/24", "dev", "provision")
    run("ip", "-n", US, "link", "set", "provision", "up")
    run("ip", "-n", THEM, "link", "set", "eth0", "address", THEIR_MAC, "up")
    run("ip", "-n", THEM, "address", "add", "172.30.0.7/24", "dev", "eth0")
    run("ip", "-n", THEM, "address", "add", "172.31.0.7/32", "dev", "lo")
    run("ip", "-n", US, "route", "add", "172.31.0.0/24", "via", "172.30.0.7")
    run("ip", "-n", THEM, "route", "add", "unreachable", "172.31.0.9/32")
    run("ip", "netns", "exec", THEM, "sysctl", "-q", "-w", "net.ipv4.ip_forward=1")
    yield
    for name in (US, THEM):
        run("ip", "netns", "delete", name)


def probed(*words: str) -> str:
    command = ["ip", "netns", "exec", US, sys.executable, "-c", PROBE, *words]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stderr == "soon\nsoon\n", done.stderr
    first, second = done.stdout.splitlines()
    assert first == second
    return first


def test_on_a_link_whoever_answers_arp_has_the_address(network: None) -> None:
    assert probed("provision", "172.30.0.0/24", "", "172.30.0.7", "172.30.0.8") == f"{THEIR_MAC} free"


def test_the_machine_that_asks_may_have_it_already(network: None) -> None:
    assert probed("provision", "172.30.0.0/24", THEIR_MAC, "172.30.0.7") == "free"
    assert probed("provision", "172.30.0.0/24", "08:00:27:00:00:08", "172.30.0.7") == THEIR_MAC


# Arguments: an address and a MAC, and so on.
ANSWERS = """
import asyncio, sys
from ipaddress import IPv4Address, IPv4Network
from tinkbox.boot.dhcp.address_probe import Prober
from tinkbox.model.hardware import MacAddress
prober = Prober({"provision": IPv4Network("172.30.0.0/24")})
async def main():
    for address, mac in zip(sys.argv[1::2], sys.argv[2::2]):
        print(await prober.answers(IPv4Address(address), MacAddress(mac)))
    for address in ("172.30.0.7", "172.30.0.8", "172.31.0.7"):
        print(await prober.is_anybody(IPv4Address(address)))
    for address in ("172.31.0.7", "172.31.0.9", "10.9.9.9"):
        print(await prober.echoes(IPv4Address(address)))
asyncio.run(main())
"""


def test_a_host_is_known_by_its_own_mac_whoever_else_answers(network: None) -> None:
    run("ip", "-n", THEM, "link", "add", "link", "eth0", "name", "other", "type", "macvlan")
    run("ip", "-n", THEM, "link", "set", "other", "address", "08:00:27:00:00:09", "up")
    # Both cards of their host answer, the other one perhaps first.
    command = ["ip", "netns", "exec", US, sys.executable, "-c", ANSWERS]
    command += ["172.30.0.7", THEIR_MAC, "172.30.0.7", "08:00:27:00:00:09", "172.30.0.7", "08:00:27:00:00:08"]
    command += ["172.30.0.8", THEIR_MAC, "172.31.0.7", THEIR_MAC]  # nobody is there; it is behind their host
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=True)
    assert done.stdout.split()[:5] == ["True", "True", "False", "False", "False"]
    assert done.stdout.split()[5:] == [
        *["True", "False", "None"],  # whoever it is; what is behind a host cannot be asked
        *["True", "False", "False"],  # by ping it can; where there is no route nobody answers
    ]


def test_many_are_asked_at_once_and_the_same_one_by_several(network: None) -> None:
    many = [f"172.30.0.{number}" for number in range(2, 60)]
    answers = probed("provision", "172.30.0.0/24", "", *many, "172.30.0.7")
    assert answers.split() == [THEIR_MAC if each == "172.30.0.7" else "free" for each in [*many, "172.30.0.7"]]


def test_behind_a_relay_whoever_answers_an_echo_has_the_address(network: None) -> None:
    assert probed("provision", "172.30.0.0/24", "", "172.31.0.7", "172.31.0.8") == "taken free"


def test_an_address_that_a_router_knows_nothing_of_is_free(network: None) -> None:
    assert probed("provision", "172.30.0.0/24", "", "172.31.0.9") == "free"


def test_what_cannot_be_asked_counts_as_free(network: None) -> None:
    run("ip", "-n", US, "link", "set", "provision", "down")
    command = ["ip", "netns", "exec", US, sys.executable, "-c", PROBE, "provision", "172.30.0.0/24", "", "172.30.0.7"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "free\nfree\n"
    assert "cannot ask whether 172.30.0.7 is in use" in done.stderr
