"""One hostile machine beside another that boots: it sends as fast as it can, as itself or with invented MACs."""

import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, replace

import pytest

from tests import golden
from tests.integration.boot.wires import Appliance, Firmware, Host, cable, hosts, serve
from tinkbox.model.hardware import MacAddress
from tinkbox.wire.dhcp.packets import MessageType, Packet, decode

FIRMWARE = decode(golden.packet("dhcp/ovmf-pxe-discover"))
OURS, HOSTILE = "172.30.0.1", "08:00:27:00:00:66"
BOOTS = 50
TRIES, PATIENCE = 10, 4.0  # the latter in seconds, as UEFI's
# argv: the MAC to use, or "invented" for another one each time; and "relayed" to invent a relay for each packet as well.
# Whole frames, so that nothing of the kernel slows it.
FLOOD = """
import itertools, random, socket, struct, sys
from tests import golden
payload = bytearray(golden.packet("dhcp/ovmf-pxe-discover"))
line = socket.socket(socket.AF_PACKET, socket.SOCK_RAW)
line.bind(("eth0", 0))
mac = bytes.fromhex(sys.argv[1].replace(":", "")) if sys.argv[1] != "invented" else b""
udp = struct.pack("!HHHH", 68, 67, 8 + len(payload), 0)
ip = struct.pack("!BBHHHBBH4s4s", 0x45, 0, 28 + len(payload), 0, 0, 64, 17, 0, bytes(4), b"\\xff" * 4)
total = sum(struct.unpack("!10H", ip))
ip = ip[:10] + struct.pack("!H", ~((total & 0xffff) + (total >> 16)) & 0xffff) + ip[12:]
print("ready", flush=True)
for number in itertools.count():
    own = mac or b"\\x02" + random.randbytes(5)
    payload[28:34] = own
    if "relayed" in sys.argv:
        payload[24:28] = random.randbytes(4)
    try:
        line.send(b"\\xff" * 6 + own + b"\\x08\\x00" + ip + udp + payload)
    except OSError:
        pass
"""


@dataclass(slots=True)
class Network:
    hostile: Host
    machine: Host
    appliance: Appliance


@pytest.fixture
def network() -> Iterator[Network]:
    with hosts("flood-ours", "flood-hostile", "flood-machine") as (ours, hostile, machine):
        ours.ip("link add lab type bridge forward_delay 0")
        ours.ip("link set lab up")
        for port, (host, mac) in enumerate(((hostile, HOSTILE), (machine, str(FIRMWARE.mac)))):
            cable(ours, f"port{port}", host, "eth0", mac)
            ours.ip(f"link set port{port} master lab")
        ours.ip(f"address add {OURS}/24 dev lab")
        known = {str(numbered(number)): {"lab": f"172.30.0.{100 + number}/24"} for number in range(1, BOOTS + 1)}
        known[HOSTILE] = {"lab": "172.30.0.6/24"}
        appliance = serve(ours, {"lab": OURS}, known)
        with drained(appliance):
            yield Network(hostile=hostile, machine=machine, appliance=appliance)


@contextmanager
def drained(appliance: Appliance) -> Iterator[None]:
    """Read what it tells, so that it never waits for us."""
    with subprocess.Popen(["cat"], stdin=appliance.output, stdout=subprocess.DEVNULL) as reader:
        try:
            yield
        finally:
            reader.kill()


def numbered(number: int) -> MacAddress:
    """Of one of the machines that boot: while a flood is held back each has a few answers a second."""
    return MacAddress(f"08:00:27:00:01:{number:02x}")


def boot(host: Host, number: int) -> int:
    """Obtain an address as firmware does; how many packets that took: two, when none had to be repeated."""
    machine = replace(FIRMWARE, mac=numbered(number))
    with host.firmware("eth0") as firmware:
        offer, offered = exchange(firmware, replace(machine, xid=2 * number))
        more = {53: b"\x03", 54: offer.options[54], 50: offer.yiaddr.packed}
        request = replace(machine, xid=2 * number + 1, options={**FIRMWARE.options, **more})
        granted, acknowledged = exchange(firmware, request)
    assert (offer.message_type, granted.message_type) == (MessageType.OFFER, MessageType.ACK)
    return offered + acknowledged


def exchange(firmware: Firmware, request: Packet) -> tuple[Packet, int]:
    """Ask until there is an answer; that, and how often it was asked."""
    for tries in range(1, TRIES + 1):
        firmware.ask(request)
        with suppress(TimeoutError):
            return firmware.answer(OURS, request.xid, PATIENCE), tries
    raise TimeoutError


@pytest.mark.parametrize(
    "as_whom", [HOSTILE, "08:00:27:00:00:67", "invented", f"{HOSTILE} relayed", "invented relayed"]
)
def test_a_flood_keeps_no_other_machine_from_booting(network: Network, as_whom: str) -> None:
    """The flood comes from a known machine, from one that nobody knows, with a new MAC in every packet, or a new relay."""
    words = [sys.executable, "-c", FLOOD, *as_whom.split()]
    flood = network.hostile.start(*words, stdout=subprocess.PIPE, env={"PYTHONPATH": "."})
    assert flood.stdout is not None
    assert flood.stdout.readline() == "ready\n"
    packets = sorted(boot(network.machine, number) for number in range(1, BOOTS + 1))
    # Packets are lost only in the moment in which the flood begins; and this host may stand still for a moment.
    assert packets[-5] == 2, packets
    assert flood.poll() is None
