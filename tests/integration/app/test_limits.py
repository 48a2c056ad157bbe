"""What strangers and hostile machines do to the doors of a real appliance, and who is served meanwhile."""

import http.client
import json
import os
import re
import select
import socket
import ssl
import subprocess
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.integration.cli.serving import PROGRAM, configure, give_osie, run_here, serving
from tests.workers import begin
from tinkbox.model.limits import NODE_CONNECTIONS
from tinkbox.wire.ephemeral_data import Entry, encode
from tinkbox.wire.ephemeral_limits import MAX_ARCHIVE_BYTES, MAX_DATA_BYTES
from tinkbox.wire.messages.worker import Hello, decode_offer
from tinkbox.wire.messages.worker import encode as encode_hello

HALF_HANDSHAKE = b"\x16\x03\x01\x02\x00\x01"
HERE = "127.0.0.1"
HALF = b"GET /worker/time HTTP/1.1\r\nHost: x\r\n"
STRANGER, OTHER = "127.0.0.66", "127.0.0.7"
MACHINE, MAC = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94", "08:00:27:00:00:01"
HALF_REQUESTS = 1100
UPLOADS = 60
HANDING_IN = 8
TEMPLATE = """
version: "0.1"
name: one
global_timeout: 600
tasks: [{name: t, worker: "{{.machine}}", actions: [{name: a, image: "bb:v1"}]}]
"""
PATIENCE = 60.0
LOG_BYTES = 1 << 20
# As many as most shells let a program have open until it asks for more, and some hosts even then.
FEW_FILES = ["sh", "-c", 'ulimit -n 1024; exec "$0" "$@"', *PROGRAM]


@dataclass
class Attacked:
    """An appliance on loopback; its log is what it wrote to stderr."""

    data: Path
    node: int
    operator: int
    trusting: Callable[[], ssl.SSLContext]
    pid: int
    log: Path

    def command(self, *arguments: str, status: int = 0) -> str:
        ended = run_here("--data", str(self.data), *arguments)
        assert ended.status == status, ended.err
        return ended.out

    def tells_the_time(self, source: str) -> bool:
        return answered(self.node, source, "/worker/time") == 200

    def is_healthy(self, source: str) -> bool:
        token = (self.data / "operator.token").read_text().strip()
        asking = http.client.HTTPSConnection(
            "127.0.0.1", self.operator, timeout=PATIENCE, source_address=(source, 0), context=self.trusting()
        )
        return answer_to(asking, "/healthz", Authorization=f"Bearer {token}") == 200

    def memory(self) -> int:
        """Bytes of it that are resident."""
        status = Path(f"/proc/{self.pid}/status").read_text()
        (kibibytes,) = re.findall(r"^VmRSS:\s+(\d+) kB$", status, re.MULTILINE)
        return int(kibibytes) * 1024

    def credential(self, folder: Path) -> str:
        """The session of a machine that was just made known, at the address STRANGER."""
        document = folder / "machine.json"
        document.write_text(json.dumps({"id": MACHINE, "network": {"interfaces": [{"dhcp": {"mac": MAC}}]}}))
        self.command("hardware", "push", "--file", str(document))
        return begin(self.node, json.loads(self.command("hardware", "credential", MAC))["token"], STRANGER)

    def attempt(self, folder: Path, number: int) -> tuple[str, str, str]:
        """Of another machine: its address, its session and the attempt that it works on."""
        mac, address = f"08:00:27:00:01:{number:02x}", f"127.0.1.{number + 1}"
        document, template = folder / f"{number}.json", folder / "one.yaml"
        own = {"mac": mac, "ip": {"address": address, "netmask": "255.0.0.0"}}
        document.write_text(
            json.dumps({"id": MACHINE[:-2] + f"{number:02x}", "network": {"interfaces": [{"dhcp": own}]}})
        )
        self.command("hardware", "push", "--file", str(document))
        if not template.exists():
            template.write_text(TEMPLATE)
            self.command("template", "create", "-n", "one", "--file", str(template))
        self.command("workflow", "create", "-t", "one", "-r", json.dumps({"machine": mac}))
        session = begin(self.node, json.loads(self.command("hardware", "credential", mac))["token"], address)
        hello = encode_hello(Hello(boot_id="boot-1", version="0"))
        status, offered = asked(self.node, address, "POST", "/worker/next", hello.encode(), session)
        assert status == 200, offered
        return address, session, str(json.loads(offered)["attempt"])

    def hand_in(self, address: str, session: str, attempt: str, archive: bytes) -> int:
        """The status with which the attempt's data was taken or not."""
        return asked(self.node, address, "PUT", f"/worker/attempts/{attempt}/data", archive, session)[0]


@contextmanager
def attacked(folder: Path, program: Sequence[str], limits: str) -> Iterator[Attacked]:
    configuration = configure(folder)
    with configuration.path.open("a") as more:
        more.write(f"limits: {{{limits}}}\n")
    with serving(configuration, program) as process:
        ports = configuration.http_port, configuration.operator_port
        yield Attacked(configuration.data, *ports, configuration.trusting, process.pid, folder / "stderr")


def connected(port: int, source: str, sent: bytes) -> socket.socket:
    connection = socket.create_connection(("127.0.0.1", port), PATIENCE, source_address=(source, 0))
    connection.sendall(sent)
    return connection


def closed(connection: socket.socket) -> bool:
    """Wait until the other side closes."""
    try:
        return connection.recv(1) == b""
    except ConnectionError:
        return True


def answered(port: int, source: str, path: str, **headers: str) -> int:
    return answer_to(
        http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=(source, 0)), path, **headers
    )


def answer_to(asking: http.client.HTTPConnection, path: str, **headers: str) -> int:
    try:
        asking.request("GET", path, headers=headers)
        return asking.getresponse().status
    finally:
        asking.close()


def asked(port: int, source: str, method: str, path: str, body: bytes, session: str) -> tuple[int, bytes]:
    """Status and body of the answer to a worker."""
    asking = http.client.HTTPConnection("127.0.0.1", port, timeout=PATIENCE, source_address=(source, 0))
    try:
        asking.request(method, path, body, {"Authorization": f"Bearer {session}"})
        answer = asking.getresponse()
        return answer.status, answer.read()
    finally:
        asking.close()


def test_a_limit_on_the_size_of_files_is_told(tmp_path: Path) -> None:
    limited = ["sh", "-c", 'ulimit -f 20480; exec "$0" "$@"', *PROGRAM]
    with attacked(tmp_path, limited, "head: 2s") as appliance:
        doctor = json.loads(appliance.command("doctor", "-o", "json", status=1))
        listed = run_here("--data", str(appliance.data), "image", "list").err
    assert " in blobs of at most " in listed
    assert "`LimitFSIZE=` of tinkbox's unit, or `ulimit -f`" in listed
    (found,) = (each for each in doctor["diagnoses"] if each["rule"] == "FileSizeLimited")
    assert found["gravity"] == "fault"
    assert "may be larger than " in found["cause"]


def test_half_sent_requests_of_one_address_stop_nobody_else(tmp_path: Path) -> None:
    with attacked(tmp_path, FEW_FILES, "head: 2s") as appliance, ExitStack() as stack:
        begun = ((appliance.node, HALF), (appliance.operator, HALF_HANDSHAKE))
        flood = [
            stack.enter_context(connected(port, STRANGER, sent)) for port, sent in begun for _ in range(HALF_REQUESTS)
        ]
        assert appliance.tells_the_time(OTHER)
        assert appliance.is_healthy(OTHER)
        assert f"{STRANGER} (" in appliance.command("status")
        assert all(closed(each) for each in flood), "half-open ones are closed at their deadline"
        assert appliance.tells_the_time(STRANGER)
        assert f"{STRANGER} was held back" in appliance.command("doctor", status=1)
        assert appliance.log.stat().st_size < LOG_BYTES


def test_too_few_open_files_are_told(tmp_path: Path) -> None:
    configuration = configure(tmp_path)
    give_osie(configuration.data)
    check = [*FEW_FILES, "serve", "--check", "--config", str(configuration.path)]
    told = subprocess.run(check, capture_output=True, text=True, timeout=PATIENCE, check=True).stdout
    assert "limits of connections are lowered: this host allows 1024 open files" in told


def test_unfinished_uploads_of_a_machine_keep_no_memory(tmp_path: Path) -> None:
    with attacked(tmp_path, PROGRAM, "body: 1h") as appliance, ExitStack() as stack:
        head = announced(appliance, tmp_path)
        before = appliance.memory()
        flood = []
        for _ in range(UPLOADS):
            flood.append(stack.enter_context(connected(appliance.node, STRANGER, head)))
            with suppress(ConnectionError):
                flood[-1].sendall(b"x" * (MAX_ARCHIVE_BYTES - 1))
        grown = appliance.memory() - before
        assert grown < 6 * MAX_ARCHIVE_BYTES, f"{grown >> 20} MiB"
        unanswered, statuses = set(flood), Counter[int]()
        while len(unanswered) > 2:
            answered = select.select(unanswered, [], [], PATIENCE)[0]
            assert answered, statuses
            statuses.update(status_of(each) for each in answered)
            unanswered.difference_update(answered)
        assert statuses == {429: UPLOADS - 2}, "two have their place"


def test_an_unfinished_upload_is_over_when_it_stood_still_for_too_long(tmp_path: Path) -> None:
    with attacked(tmp_path, PROGRAM, "body: 6s") as appliance, ExitStack() as stack:
        head = announced(appliance, tmp_path)
        both = [stack.enter_context(connected(appliance.node, STRANGER, head)) for _ in range(2)]
        for each in both:
            with suppress(ConnectionError):
                each.sendall(b"x" * (MAX_ARCHIVE_BYTES - 1))
        assert [status_of(each) for each in both] == [408, 408]


def announced(appliance: Attacked, folder: Path) -> bytes:
    """The head of an upload as large as may be."""
    return (
        f"PUT /worker/attempts/none/data HTTP/1.1\r\nHost: x\r\n"
        f"Authorization: Bearer {appliance.credential(folder)}\r\nContent-Length: {MAX_ARCHIVE_BYTES}\r\n\r\n"
    ).encode()


def status_of(asked: socket.socket) -> int:
    return int(asked.makefile("rb").readline().split()[1])


def test_answers_that_a_machine_does_not_read_keep_no_memory(tmp_path: Path) -> None:
    with attacked(tmp_path, PROGRAM, "") as appliance, ExitStack() as stack:
        bearer = f"Authorization: Bearer {appliance.credential(tmp_path)}\r\n"
        template = tmp_path / "template.yaml"
        template.write_text(TEMPLATE)
        appliance.command("template", "create", "-n", "one", "--file", str(template))
        appliance.command("workflow", "create", "-t", "one", "-r", json.dumps({"machine": MAC}))

        def ask(method: str, path: str, body: bytes = b"") -> socket.socket:
            head = f"{method} {path} HTTP/1.1\r\nHost: x\r\n{bearer}Content-Length: {len(body)}\r\n\r\n"
            return stack.enter_context(connected(appliance.node, STRANGER, head.encode() + body))

        def whole(asked: socket.socket) -> bytes:
            answer = http.client.HTTPResponse(asked)
            answer.begin()
            return answer.read()

        offered = whole(ask("POST", "/worker/next", encode_hello(Hello(boot_id="boot-1")).encode()))
        data = f"/worker/attempts/{decode_offer(offered).attempt}/data"
        archive = encode([Entry(path="large", mode=0o644, content=os.urandom(10 << 20))])
        assert b" 200 " in ask("PUT", data, archive).makefile("rb").readline()
        before = appliance.memory()
        unread = [ask("GET", data) for _ in range(100)]
        assert all(b" 200 " in each.recv(20) for each in unread)
        grown = appliance.memory() - before
        assert grown < 6 * MAX_ARCHIVE_BYTES, f"{grown >> 20} MiB"
        assert appliance.tells_the_time(OTHER)
        assert whole(ask("GET", data)) == archive
        token = (appliance.data / "operator.token").read_text().strip()
        looks = f"GET /v1/workflows/one/data HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {token}\r\n\r\n".encode()
        before = appliance.memory()
        context = appliance.trusting()
        looking = [
            stack.enter_context(context.wrap_socket(connected(appliance.operator, STRANGER, b""), server_hostname=HERE))
            for _ in range(20)
        ]
        for each in looking:
            each.sendall(looks)
        statuses = Counter(int(each.recv(20).split()[1]) for each in looking)
        assert statuses == {200: 1, 429: 19}, "one has its answer, until it is read"
        grown = appliance.memory() - before
        assert grown < 12 * MAX_ARCHIVE_BYTES, f"{grown >> 20} MiB"


def test_data_that_many_machines_hand_in_at_once_takes_little_memory_and_gives_it_back(tmp_path: Path) -> None:
    archive = encode([Entry(path="image", content=b"x" * MAX_DATA_BYTES)])
    with attacked(tmp_path, PROGRAM, "") as appliance:
        sessions = [appliance.attempt(tmp_path, number) for number in range(HANDING_IN)]
        before = appliance.memory()
        with ThreadPoolExecutor(3 * HANDING_IN) as threads:
            handing = [threads.submit(appliance.hand_in, *each, archive) for each in sessions for _ in range(3)]
            peak = before
            while not all(each.done() for each in handing):
                peak = max(peak, appliance.memory())
                wait(handing, timeout=0.02)
        statuses = {each.result() for each in handing}
        assert 200 in statuses
        assert statuses <= {200, 429}
        assert peak - before < 180 << 20, f"{(peak - before) >> 20} MiB more"
        left = appliance.memory() - before
        assert left < 60 << 20, f"{left >> 20} MiB are kept"


def test_what_is_no_request_and_clients_that_go_away_leave_the_log_small(tmp_path: Path) -> None:
    half_a_body = b"POST /v2/x/blobs/uploads/ HTTP/1.1\r\nHost: x\r\nContent-Length: 1000\r\n\r\nabc"
    with attacked(tmp_path, PROGRAM, "") as appliance:
        for number, sent in enumerate((b"GET / HTTP/1.1\r\nno header\r\n\r\n", b"\x16\x03\x01\r\n\r\n", half_a_body)):
            for _ in range(100):
                connected(appliance.node, f"127.0.1.{number}", sent).close()
        assert appliance.tells_the_time(OTHER)
        assert appliance.log.stat().st_size < 10_000


@pytest.mark.campaign
def test_half_sent_requests_of_twenty_addresses_stop_nobody_else(tmp_path: Path) -> None:
    with attacked(tmp_path, PROGRAM, "head: 60s") as appliance, ExitStack() as stack:
        for number in range(20):
            for count in range(2000):
                with suppress(ConnectionError):
                    half = connected(appliance.node, f"127.0.2.{number + 1}", HALF)
                    # The first ones stay open, the others are closed by the appliance.
                    if count < 2 * NODE_CONNECTIONS.each:
                        stack.enter_context(half)
                    else:
                        half.close()
        held = re.search(r"limit node_connections: (\d+) of", appliance.command("status"))
        assert held is not None
        assert int(held[1]) >= 20 * NODE_CONNECTIONS.each, "they stand"
        assert appliance.tells_the_time(OTHER)
        assert appliance.is_healthy(OTHER)
        assert appliance.memory() < 300 << 20
        assert appliance.log.stat().st_size < LOG_BYTES
