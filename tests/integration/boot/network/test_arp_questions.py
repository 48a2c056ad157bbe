"""Machines that ask by ARP for the appliance's address, and whether our answers reach them."""

import socket
import struct
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address

import pytest

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tests.unit.engine.boot_story import BEGIN, answered, asked, case
from tinkbox.boot.network.arp_questions import ArpAsked
from tinkbox.engine.doctor.case import Case
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.model.diagnosis import Gravity
from tinkbox.model.hardware import MacAddress

OURS, MINE, OTHER = "172.30.0.1", "172.30.0.21", "172.30.0.9"
MAC = "08:00:27:00:00:01"
ALL = b"\xff" * 6
INSPECTION = (
    "table netdev t { chain c { type filter hook ingress device eth0 priority 0; arp operation reply drop; }; }"
)


@contextmanager
def network() -> Iterator[tuple[Host, Host]]:
    """The appliance at OURS, and a machine at MINE, on one wire."""
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        machine.ip(f"link set eth0 address {MAC}")
        appliance.ip(f"addr add {OURS}/24 dev lab")
        machine.ip(f"addr add {MINE}/24 dev eth0")
        yield appliance, machine


def question(target: str = OURS, *, asker: str = MINE, to: bytes = ALL, operation: int = 1, sender: str = MAC) -> bytes:
    mac = bytes.fromhex(MAC.replace(":", ""))
    source = bytes.fromhex(sender.replace(":", ""))
    arp = struct.pack("!HHBBH", 1, 0x0800, 6, 4, operation)
    addresses = mac + socket.inet_aton(asker) + bytes(6) + socket.inet_aton(target)
    return to + source + struct.pack("!H", 0x0806) + arp + addresses


def heard(frames: list[bytes]) -> ArpAsked:
    """What the appliance heard of frames that came in."""
    asked_here = ArpAsked("lab", IPv4Address(OURS))
    with network() as (appliance, machine):
        with at_home_in(appliance.name):
            watching = asked_here.watching()
            arrived = socket.socket(socket.AF_PACKET, socket.SOCK_RAW, socket.htons(3))
        with watching, arrived, at_home_in(machine.name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as sending:
            arrived.bind(("lab", 3))
            own = arrived.getsockname()[4]
            sending.bind(("eth0", 0))
            for frame in frames:
                sent = own + frame[6:] if frame[:6] == bytes(6) else frame
                sending.send(sent)
                while not arrived.recv(2048).endswith(sent[-12:]):
                    pass
            asked_here.look(watching)
    return asked_here


def test_question_of_a_machine_is_noted_with_its_address_and_when_it_came_in() -> None:
    before = datetime.now(UTC)
    (found,) = heard([question()] * 2).found
    assert (found.mac, found.interface, found.address, found.asker) == (
        MacAddress(MAC), "lab", IPv4Address(OURS), IPv4Address(MINE),
    )  # fmt: skip
    assert [before <= each <= datetime.now(UTC) for each in found.times] == [True, True]


@pytest.mark.parametrize(
    "frame",
    [
        question(OTHER),
        question(operation=2),
        question(asker="0.0.0.0"),
        question(asker=OURS),
        question(sender="08:00:27:00:00:02"),
        question()[:12] + struct.pack("!HH", 0x8100, 20) + question()[12:],
        question()[:30],
    ],
    ids=["another address", "an answer", "a probe", "an announcement", "in another's name", "in a VLAN", "too short"],
)
def test_what_is_no_question_of_a_machine_for_our_address_counts_for_nothing(frame: bytes) -> None:
    assert heard([frame]).found == []


def test_machine_that_sends_the_question_to_our_mac_has_had_an_answer() -> None:
    assert heard([question(), question(to=bytes(6))]).found == []


def test_only_the_newest_questions_of_a_machine_are_kept() -> None:
    (found,) = heard([question()] * 20).found
    assert len(found.times) == 16


def boot_beside(asked_here: ArpAsked) -> Case:
    """A machine whose boot stands still with its address for a minute, which it had before it asked."""
    times = [each for one in asked_here.found for each in one.times]
    later = min(times, default=datetime.now(UTC)) - BEGIN - timedelta(seconds=2)
    boot = case(asked(0), *answered(1, MINE), after=60)
    return replace(
        boot,
        now=boot.now + later,
        sightings=tuple(replace(each, at=each.at + later) for each in boot.sightings),
        arp_questions={each.mac: each for each in asked_here.found},
    )


@pytest.mark.parametrize(("drops", "rule"), [(True, "ArpUnanswered"), (False, "Stalled")])
def test_machine_whose_kernel_gets_no_answer_of_ours_is_told_apart_from_one_that_does(drops: bool, rule: str) -> None:
    asked_here = ArpAsked("lab", IPv4Address(OURS))
    with network() as (appliance, machine):
        if drops:
            run(*machine.command("nft", INSPECTION))
        with at_home_in(appliance.name):
            watching = asked_here.watching()
        with watching:
            pinged = subprocess.run(
                machine.command("busybox", "ping", "-c", "1", "-W", "4", OURS), timeout=60, check=False
            )
            asked_here.look(watching)
    assert pinged.returncode == drops
    (found,) = (each for each in diagnose(boot_beside(asked_here)) if each.gravity is Gravity.SUSPECT)
    assert found.rule == rule
