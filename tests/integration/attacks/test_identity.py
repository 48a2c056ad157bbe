"""Another host uses what was given to a machine: its boot ticket and its session, on real wires with real MACs."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator

import pytest

from examples.demo.appliance import ApplianceFailed
from examples.lab.network import BRIDGE
from tests.integration.attacks.attacked import HOSTILE, KNOWN, PATIENCE, SERVER, Attacked, attacked
from tests.integration.boot.wires import inside
from tests.machine.hosts import Host
from tests.machine.lab import address, mac
from tests.workers import opening
from tinkbox.wire.messages.session import encode
from tinkbox.wire.messages.worker import Hello
from tinkbox.wire.messages.worker import encode as encode_message

HELLO = encode_message(Hello(boot_id="boot-1", finishing=True))


@pytest.fixture
def box(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Attacked]:
    with attacked(tmp_path_factory.mktemp("attacked")) as made:
        yield made
        made.appliance.check()


def ticket(box: Attacked, by: Host) -> str:
    """What a host is given that boots as the known machine."""
    assert b" 200 " in box.script(by=by).split(b"\r\n")[0]
    ramdisk = box.get(f"/boot/{mac(KNOWN).replace(':', '-')}/credential.cpio", by=by)
    return re.findall(r'"token": *"([^"]+)"', ramdisk.decode(errors="replace"))[0]


def exchange(box: Attacked, given: str, by: Host, *, whose: str = "") -> tuple[int, str]:
    """The status of an exchange, and the secret that was sent."""
    wanted = opening(whose or given, instance="")
    answer = box.get("/worker/session", f"Authorization: Bearer {given}", by=by, method="POST", body=encode(wanted))
    return int(answer.split()[1]), wanted.secret


def asks_for_work(box: Attacked, secret: str, by: Host) -> int:
    """The status of the answer."""
    return int(box.get("/worker/next", f"Authorization: Bearer {secret}", by=by, method="POST", body=HELLO).split()[1])


def told(box: Attacked) -> str:
    """What the doctor says of the machine, in one line."""
    try:
        said = box.appliance.command("doctor", mac(KNOWN))
    except ApplianceFailed as fault:
        said = str(fault)
    return " ".join(said.split())


def test_a_ticket_that_was_read_on_the_wire_is_worth_nothing_before_and_after_the_machine_used_it(
    box: Attacked,
) -> None:
    given = ticket(box, box.machine)
    assert exchange(box, given, box.hostile, whose="a thief")[0] == 403
    status, secret = exchange(box, given, box.machine)
    assert (status, asks_for_work(box, secret, box.machine)) == (200, 204)
    assert exchange(box, given, box.hostile, whose="a thief")[0] == 403
    assert asks_for_work(box, secret, box.hostile) == 403
    assert asks_for_work(box, secret, box.machine) == 204
    said = told(box)
    assert "FAULT TicketRefused" in said
    assert HOSTILE in said


def takes_the_address(box: Attacked) -> None:
    """The hostile host has the machine's address, and a MAC of its own."""
    box.machine.run("ip", "link", "set", "eth0", "down")
    box.hostile.run("ip", "address", "add", f"{address(KNOWN)}/32", "dev", "eth0")
    box.hostile.run("ip", "route", "replace", "172.30.0.0/24", "dev", "eth0", "src", address(KNOWN))


def test_another_host_at_its_address_parks_no_machine_by_asking_for_its_script(box: Attacked) -> None:
    takes_the_address(box)
    for _ in range(5):
        assert b" 200 " in box.script(by=box.hostile).split(b"\r\n")[0]
    (shown,) = json.loads(box.appliance.command("hardware", "get", mac(KNOWN), "--format", "json"))
    assert (shown["parked"], shown["boots"]) == ("", 0)
    assert "by another host" in str(shown["timeline"])


def test_a_host_that_does_not_answer_arp_is_told_to_ask_again(box: Attacked) -> None:
    takes_the_address(box)
    given = ticket(box, box.hostile)
    wanted = encode(opening("a thief", instance=""))
    with inside(box.hostile.path):
        line = socket.create_connection((SERVER, 80), timeout=PATIENCE)
    with line:
        line.sendall(f"POST /worker/session HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer {given}\r\n".encode())
        with inside(box.network):
            # As when it answers no more, and the entry is not valid any more.
            subprocess.run(["ip", "neigh", "replace", address(KNOWN), "nud", "failed", "dev", BRIDGE], check=True)
        box.hostile.run("sysctl", "-q", "-w", "net.ipv4.conf.all.arp_ignore=8")
        line.sendall(f"Content-Length: {len(wanted)}\r\n\r\n{wanted}".encode())
        box.hostile.run("sysctl", "-q", "-w", "net.ipv4.conf.all.arp_ignore=0")
        answer = line.recv(65536)
    assert answer.split()[1] in (b"403", b"503")


def test_a_host_that_takes_the_address_of_a_machine_is_known_by_its_mac(box: Attacked) -> None:
    takes_the_address(box)
    given = ticket(box, box.hostile)
    assert exchange(box, given, box.hostile)[0] == 403
    said = told(box)
    assert "Another host used this machine's credential" in said


def test_a_second_ticket_is_not_given_before_the_machine_boots_again(box: Attacked) -> None:
    given = ticket(box, box.machine)
    assert exchange(box, given, box.machine)[0] == 200
    again = box.get(f"/boot/{mac(KNOWN).replace(':', '-')}/credential.cpio", by=box.machine)
    assert b" 409 " in again.split(b"\r\n")[0]
    assert "exchanged its boot ticket already" in json.loads(again.partition(b"\r\n\r\n")[2])["detail"]
    assert ticket(box, box.machine) != given
