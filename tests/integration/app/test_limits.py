"""What strangers do to the doors of a real appliance, and who is served meanwhile."""

import http.client
import socket
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path

import pytest

from tests.integration.cli.serving import PROGRAM, Configuration, configure, run_here, serving

HALF = b"GET /worker/time HTTP/1.1\r\nHost: x\r\n"
STRANGER, OTHER = "127.0.0.66", "127.0.0.7"
HALF_REQUESTS = 1100
PATIENCE = 60.0
LOG_BYTES = 1 << 20


# Most shells let a program have 1024 files open until it asks for more; some hosts never let it.
SOFT = ["sh", "-c", 'ulimit -Sn 1024; exec "$0" "$@"', *PROGRAM]
HARD = ["sh", "-c", 'ulimit -n 1024; exec "$0" "$@"', *PROGRAM]


@contextmanager
def appliance(folder: Path, program: Sequence[str]) -> Iterator[Configuration]:
    """One that closes what is half-sent after 3 seconds."""
    configuration = configure(folder)
    with configuration.path.open("a") as more:
        more.write("limits: {head: 3s}\n")
    with serving(configuration, program):
        yield configuration


def connected(port: int, source: str, sent: bytes = b"") -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(source, 0))
    if sent:
        connection.sendall(sent)
    return connection


@contextmanager
def half_sent(port: int, source: str, number: int = HALF_REQUESTS) -> Iterator[list[socket.socket]]:
    with ExitStack() as stack:
        yield [stack.enter_context(connected(port, source, HALF)) for _ in range(number)]


def closed(connection: socket.socket) -> bool:
    """Wait until the other side closes."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def answered(port: int, source: str, path: str, **headers: str) -> int:
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=(source, 0))
    try:
        asking.request("GET", path, headers=headers)
        return asking.getresponse().status
    finally:
        asking.close()


def time_as_told(port: int, source: str) -> int:
    return answered(port, source, "/worker/time")


def health(of: Configuration, source: str) -> int:
    token = (of.data / "operator.token").read_text().strip()
    return answered(of.operator_port, source, "/healthz", Authorization=f"Bearer {token}")


@pytest.mark.parametrize(("door", "program"), [("node", HARD), ("operator", SOFT)], ids=["node", "operator"])
def test_half_sent_requests_of_one_address_stop_nobody_else(tmp_path: Path, door: str, program: Sequence[str]) -> None:
    with appliance(tmp_path, program) as attacked:
        port = attacked.http_port if door == "node" else attacked.operator_port
        with half_sent(port, STRANGER) as flood:
            assert time_as_told(attacked.http_port, OTHER) == 200
            assert run_here("--data", str(attacked.data), "status").status == 0
            assert health(attacked, OTHER) == 200
            assert all(closed(each) for each in flood), "half-open ones are closed at their deadline"
            assert time_as_told(attacked.http_port, STRANGER) == 200
        assert (tmp_path / "stderr").stat().st_size < LOG_BYTES
