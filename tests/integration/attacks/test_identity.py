"""Another host uses what was given to a machine: its boot ticket and its session, on real wires with real MACs."""

import json
import re
import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest

from examples.demo.appliance import ApplianceFailed
from examples.lab.network import BRIDGE
from tests.golden import packet
from tests.integration.attacks.attacked import HOSTILE, KNOWN, PATIENCE, SERVER, Attacked, attacked
from tests.integration.boot.wires import inside
from tests.machine.hosts import Host
from tests.machine.lab import address, mac, until
from tests.workers import opening
from tinkbox.model.hardware import MacAddress
from tinkbox.model.workflow import State
from tinkbox.wire.dhcp.packets import decode
from tinkbox.wire.dhcp.packets import encode as encode_packet
from tinkbox.wire.messages.breakpoints import decode_orders
from tinkbox.wire.messages.session import encode
from tinkbox.wire.messages.worker import Hello, Leaving, decode_offer
from tinkbox.wire.messages.worker import encode as encode_message

HELLO = encode_message(Hello(boot_id="boot-1", finishing=True))
WORK = encode_message(Hello(boot_id="boot-1"))
AWAY = """
version: "0.1"
name: away
tasks:
  - name: away
    worker: "{{.device_1}}"
    actions:
      - {name: reboot, image: "shell:v1", timeout: 600, reboot: true}
      - {name: next, image: "shell:v1", timeout: 600}
"""


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
    shown = json.loads(box.appliance.command("hardware", "get", mac(KNOWN), "--format", "json"))
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
    shown = json.loads(box.appliance.command("hardware", "get", mac(KNOWN), "--format", "json"))
    assert f"at {address(KNOWN)}, by another host" in str(shown["timeline"])
    assert exchange(box, given, box.hostile)[0] == 403
    said = told(box)
    assert f"Two hosts have the address {address(KNOWN)}" in said
    assert "on purpose looks the same" in said


def test_a_host_that_takes_the_address_of_a_machine_that_works_is_answered_nothing_with_its_session(
    box: Attacked,
) -> None:
    _, secret = exchange(box, ticket(box, box.machine), box.machine)
    assert asks_for_work(box, secret, box.machine) == 204
    takes_the_address(box)
    with inside(box.network):
        subprocess.run(["ip", "neigh", "flush", "all"], check=True)
    assert [asks_for_work(box, secret, box.hostile) for _ in range(2)] == [503, 503]
    services = box.get("/worker/services?seen=", f"Authorization: Bearer {secret}", by=box.hostile)
    assert b" 503 " in services.split(b"\r\n")[0]
    assert "FAULT TicketRefused" in told(box)
    assert f"Two hosts have the address {address(KNOWN)}" in told(box)
    box.hostile.run("ip", "link", "set", "eth0", "down")
    box.machine.run("ip", "link", "set", "eth0", "up")
    with inside(box.network):
        subprocess.run(["ip", "neigh", "flush", "all"], check=True)
    assert asks_for_work(box, secret, box.machine) == 204, "the machine itself works on"
    assert "FAULT TicketRefused" not in told(box)


def test_a_second_ticket_is_not_given_before_the_machine_boots_again(box: Attacked) -> None:
    given = ticket(box, box.machine)
    assert exchange(box, given, box.machine)[0] == 200
    again = box.get(f"/boot/{mac(KNOWN).replace(':', '-')}/credential.cpio", by=box.machine)
    assert b" 409 " in again.split(b"\r\n")[0]
    assert "exchanged its boot ticket already" in json.loads(again.partition(b"\r\n\r\n")[2])["detail"]
    assert ticket(box, box.machine) != given


def sent_away(box: Attacked) -> str:
    """A workflow for the known machine, which reboots it and goes on; the workflow's id."""
    template = box.work / "away.yaml"
    template.write_text(AWAY)
    box.appliance.command("workflow", "cancel", box.workflow)
    box.appliance.command("template", "create", "-n", "away", "--file", template)
    made = box.appliance.command("workflow", "create", "-t", "away", "-r", json.dumps({"device_1": mac(KNOWN)}))
    return made.split()[-1]


def actions(box: Attacked, workflow: str) -> list[str]:
    shown = json.loads(box.appliance.command("workflow", "get", workflow, "--format", "json"))
    return [each["state"] for each in shown["actions"]]


def test_a_forged_question_completes_no_action_that_reboots_its_machine(box: Attacked) -> None:
    workflow = sent_away(box)
    _, secret = exchange(box, ticket(box, box.machine), box.machine)
    shows = f"Authorization: Bearer {secret}"

    def worker(path: str, body: str = "", method: str = "GET") -> tuple[int, bytes]:
        head, _, told = box.get(path, shows, by=box.machine, method=method, body=body).partition(b"\r\n\r\n")
        return int(head.split()[1]), told

    offer = decode_offer(worker("/worker/next", WORK, "POST")[1])
    asked = f"/worker/attempts/{offer.attempt}"
    leaving = encode_message(Leaving(workflow_id=workflow, boot_id="boot-1"))
    assert worker(f"{asked}/leaving", leaving, "POST")[0] == 200
    seen = decode_orders(worker(f"{asked}/orders?seen=")[1]).mark
    hello = encode_packet(replace(decode(packet("dhcp/seabios-ipxe-rom-discover")), mac=MacAddress(mac(KNOWN))))
    with ThreadPoolExecutor(1) as beside, box.datagrams(box.hostile, port=68) as line:
        poll = beside.submit(worker, f"{asked}/orders?seen={seen}")

        def is_answered() -> bool:
            line.sendto(hello, ("255.255.255.255", 67))
            return poll.done()

        until(is_answered, "the worker's poll to be answered", PATIENCE)
        assert poll.result()[0] == 204, "the action goes on"
        assert worker(f"{asked}/orders?seen=")[0] == 200
        assert actions(box, workflow) == [State.LEAVING, State.PENDING]
        said = told(box)
        assert "SUSPECT AskedInItsName" in said
        # As if the machine had gone: nobody shows the session, and somebody boots.
        line.sendto(hello, ("255.255.255.255", 67))
        until(lambda: actions(box, workflow) == [State.SUCCESS, State.PENDING], "the action to succeed", PATIENCE)
    assert worker("/worker/next", WORK, "POST")[0] == 401, "the boot is over, and is offered nothing more"
