"""A host that has many addresses, some of them known machines', has one host's share of each limit."""

import socket
from collections.abc import Iterator
from contextlib import ExitStack

import pytest

from tests.integration.attacks.attacked import PATIENCE, SERVER, Attacked, attacked
from tests.integration.boot.wires import inside
from tinkbox.model.limits import NODE_CONNECTIONS

ADDRESSES = [f"172.30.0.{number}" for number in range(200, 208)]
EACH = 32
ASKS = b"GET /worker/time HTTP/1.1\r\nHost: x\r\n\r\n"


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("attacked")) as made:
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


def answered(line: socket.socket) -> bool:
    """Whether one request is; its connection stays."""
    try:
        line.sendall(ASKS)
        return line.recv(65536).startswith(b"HTTP/1.1 200")
    except ConnectionError:
        return False
