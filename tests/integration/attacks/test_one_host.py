"""A host that has many addresses, some of them known machines', has one host's share of each limit."""

import json
import socket
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from examples.lab.network import BRIDGE
from tests.integration.attacks.attacked import CONFIGURATION, KNOWN, PATIENCE, SERVER, Attacked, attacked
from tests.integration.boot.wires import inside
from tests.machine.hosts import Host
from tests.machine.lab import address, hardware, mac
from tinkbox.model.limits import NODE_CONNECTIONS

ADDRESSES = [f"172.30.0.{number}" for number in range(200, 208)]
EACH = 32
TRANSFERS, ALL_TRANSFERS = 4, 40
CONNECTIONS, ALL_CONNECTIONS = 16, 48
NAMES = range(2, 6)  # known machines that are off
OFF = range(2, 14)  # known machines, whose addresses are free to be taken
# What the client agrees on has it be waited for.
HELD = b"\0\1undionly.kpxe\0octet\0timeout\x00255\0"
CONFIGURED = f"{CONFIGURATION}limits: {{tftp_transfers: {{each: {TRANSFERS}, all: {ALL_TRANSFERS}}}}}\n"
ASKS = b"GET /worker/time HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("attacked"), CONFIGURED) as made:
        yield made
        made.appliance.check()


def test_connections_from_many_addresses_of_a_host_are_one_hosts(box: Attacked) -> None:
    for each in ADDRESSES:
        box.hostile.run("ip", "address", "add", f"{each}/24", "dev", "eth0")
    assert len(ADDRESSES) * EACH > NODE_CONNECTIONS.each
    with ExitStack() as stack:
        with inside(box.hostile.path):
            lines = [
                stack.enter_context(socket.create_connection((SERVER, 80), PATIENCE, source_address=(each, 0)))
                for each in ADDRESSES for _ in range(EACH)
            ]  # fmt: skip
        assert sum(answered(each) for each in lines) == NODE_CONNECTIONS.each
        assert b" 200 " in box.script().split(b"\r\n")[0], "others are served"


@pytest.mark.parametrize("sent", [b"", ASKS], ids=["half-open", "idle"])
def test_one_host_in_the_names_of_many_known_machines_leaves_others_their_connections(
    tmp_path: Path, sent: bytes
) -> None:
    crowded = f"{CONFIGURATION}limits: {{node_connections: {{each: {CONNECTIONS}, all: {ALL_CONNECTIONS}}}}}\n"
    with attacked(tmp_path, crowded) as box, ExitStack() as stack:
        document = box.work / "off.json"
        for number in NAMES:
            document.write_text(json.dumps(hardware(number)))
            box.appliance.command("hardware", "push", "--file", document)
            name = stack.enter_context(Host(box.switch, [(BRIDGE, address(number))]))
            name.run("ip", "link", "set", "eth0", "address", mac(number))
            for _ in range(CONNECTIONS):
                with inside(name.path):
                    line = stack.enter_context(socket.create_connection((SERVER, 80), PATIENCE))
                with suppress(ConnectionError):
                    line.sendall(sent)
        assert b" 200 " in box.script().split(b"\r\n")[0]
        told = [each["cause"] for each in box.appliance.doctor("")]
        assert any(mac(number) in each for each in told for number in NAMES), told
        assert not any(mac(KNOWN) in each for each in told), told


def test_transfers_by_tftp_of_many_machines_addresses_are_one_hosts(box: Attacked) -> None:
    document = box.work / "off.json"
    for number in OFF:
        document.write_text(json.dumps(hardware(number)))
        box.appliance.command("hardware", "push", "--file", document)
        box.hostile.run("ip", "address", "add", f"{address(number)}/24", "dev", "eth0")
    assert len(OFF) * TRANSFERS > ALL_TRANSFERS
    with ExitStack() as stack:
        held = [
            stack.enter_context(box.datagrams(box.hostile, where=address(number)))
            for number in OFF for _ in range(TRANSFERS)
        ]  # fmt: skip
        for line in held:
            line.settimeout(0.2)  # who has too many is not answered
            line.sendto(HELD, (SERVER, 69))
            with suppress(TimeoutError):
                line.sendto(b"\0\4\0\0", line.recvfrom(65536)[1])
        with box.datagrams(box.machine) as line:
            line.sendto(b"\0\1undionly.kpxe\0octet\0", (SERVER, 69))
            assert line.recv(65536).startswith(b"\0\3\0\1"), "others are served"


def answered(line: socket.socket) -> bool:
    """Whether one request is; its connection stays."""
    try:
        line.sendall(ASKS)
        return line.recv(65536).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        return False
