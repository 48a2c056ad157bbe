"""DHCP that comes in, and that a firewall keeps from our socket."""

import socket
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tinkbox.boot.dhcp.other_servers import discover
from tinkbox.boot.dhcp.unheard import DhcpArrivals
from tinkbox.model.hardware import MacAddress
from tinkbox.model.vitals import Unheard
from tinkbox.wire.dhcp.packets import encode
from tinkbox.wire.dhcp.udp_frames import UdpFrame
from tinkbox.wire.dhcp.udp_frames import encode as encode_frame

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
DROP = ("INPUT", "-i", "lab", "-p", "udp", "-m", "multiport", "--dports", "67,68", "-j", "DROP")


def question(number: int) -> bytes:
    return encode(discover(number.to_bytes(9, "big")))


def invented(number: int) -> MacAddress:
    """The MAC that asks the question with this number."""
    return discover(number.to_bytes(9, "big")).mac


QUESTION = UdpFrame(
    source_mac=bytes.fromhex("0200000000aa"),
    target_mac=b"\xff" * 6,
    source=IPv4Address("0.0.0.0"),
    target=IPv4Address("255.255.255.255"),
    source_port=68,
    target_port=67,
    payload=question(1),
)


class Lab:
    """`look` is what is found; `asks` sends so many datagrams, and waits until they came in."""

    def __init__(
        self, appliance: Host, other: Host, ours: socket.socket, machine: socket.socket, sure: socket.socket
    ) -> None:
        self.appliance = appliance
        self._other = other
        self._ours = ours
        self._machine = machine
        self._sure = sure
        self.kept_out = 0
        self.known: list[MacAddress] = []
        self._now = NOW
        self._asked = 0
        self._arrivals = DhcpArrivals(
            "lab",
            IPv4Address("172.30.0.1"),
            IPv4Network("172.30.0.0/24"),
            self,
            lambda: self._now,
            lambda: self.known,
        )
        self._counting = self._arrivals.watching()

    def close(self) -> None:
        self._counting.close()

    def take_heard(self) -> set[bytes]:
        """The MACs of the questions that our socket got."""
        heard: set[bytes] = set()
        while True:
            try:
                heard.add(self._ours.recv(100)[28:34])
            except BlockingIOError:
                return heard

    def asks(self, count: int, to: str = "255.255.255.255", port: int = 67, payload: bytes = b"") -> None:
        """So many questions, all different or with one `payload`."""
        for _ in range(count):
            self._asked += 1
            self._machine.sendto(payload or question(self._asked), (to, port))
        self._settle()

    def sends(self, *frames: bytes) -> None:
        """Frames as they are, of another host on the wire."""
        with at_home_in(self._other.name), socket.socket(socket.AF_PACKET, socket.SOCK_RAW) as raw:
            raw.bind(("eth0", 0))
            for each in frames:
                raw.send(each)
        self._settle()

    def _settle(self) -> None:
        self._machine.sendto(b"!", ("172.30.0.1", 60000))
        self._sure.recv(10)

    def mac(self) -> bytes:
        """The appliance's."""
        mac: bytes = self._counting.getsockname()[4]
        return mac

    def found(self, after: timedelta = timedelta(seconds=3)) -> Unheard | None:
        self._now += after
        return self._arrivals.look(self._counting)

    def unclear(self) -> str:
        return self._arrivals.unclear

    def look(self) -> int:
        """How many are missed."""
        found = self.found()
        return found.frames if found else 0


@contextmanager
def lab() -> Iterator[Lab]:
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        appliance.ip("address add 172.30.0.1/24 dev lab")
        machine.ip("address add 172.30.0.9/24 dev eth0")
        machine.ip("route add default dev eth0")
        with at_home_in(machine.name):
            asking = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        with at_home_in(appliance.name):
            ours, sure = (socket.socket(socket.AF_INET, socket.SOCK_DGRAM) for _ in range(2))
            with ours, sure, asking:
                asking.setsockopt(socket.SOL_SOCKET, socket.SO_BROADCAST, 1)
                ours.setblocking(False)
                ours.bind(("", 67))
                sure.settimeout(30)
                sure.bind(("172.30.0.1", 60000))
                with closing(Lab(appliance, machine, ours, asking, sure)) as made:
                    yield made


def test_what_is_delivered_is_not_missed() -> None:
    with lab() as made:
        for _ in range(4):
            made.asks(5)
            assert made.look() == 0


def test_what_a_firewall_drops_is_missed_until_it_is_let_through() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *DROP))
        made.asks(2)
        assert made.look() == 0
        made.asks(2)
        assert made.look() == 0  # two are too few, and the others may be on their way to our socket
        made.asks(1, to="172.30.0.1")
        assert made.look() == 0  # four, which are not more than one look apart
        assert made.look() == 5
        run(*made.appliance.command("iptables", "-D", *DROP))
        made.asks(1)
        assert (made.look(), made.look()) == (0, 0)


def test_what_a_rule_at_the_interfaces_ingress_drops_is_missed() -> None:
    rules = [
        "add table netdev lab",
        "add chain netdev lab in { type filter hook ingress device lab priority 0 ; }",
        "add rule netdev lab in udp dport 67 drop",
    ]
    with lab() as made:
        for each in rules:
            run(*made.appliance.command("nft", each))
        for _ in range(3):
            made.asks(2)
            made.look()
        assert made.look() == 6


def tagged(vlan_id: int) -> bytes:
    """A question with a tag, as IEEE 802.1Q has it."""
    frame = encode_frame(QUESTION)
    return frame[:12] + b"\x81\x00" + vlan_id.to_bytes(2, "big") + frame[12:]


@pytest.mark.parametrize(("vlan_id", "counted"), [(0xE000, 3), (1, 0), (4094, 0)])
def test_what_is_tagged_for_a_vlan_is_not_counted_and_a_priority_is_no_vlan(vlan_id: int, counted: int) -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *DROP))
        made.asks(1)
        assert made.look() == 0
        made.sends(tagged(vlan_id), tagged(vlan_id), tagged(vlan_id))
        assert made.look() == 0
        made.asks(1)
        made.look()
        assert made.look() == (counted + 2 if counted else 0)


def test_the_last_packet_has_its_own_time_however_long_ago_it_was() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *DROP))
        for _ in range(3):
            made.asks(1)
            made.found()
        for _ in range(40):
            found = made.found()
        at = [NOW + timedelta(seconds=each) for each in (3, 9)]
        macs = {invented(each): NOW + timedelta(seconds=3 * each) for each in (1, 2, 3)}
        assert found == Unheard(interface="lab", port=67, frames=3, since=at[0], until=at[1], macs=macs)


def test_one_question_that_comes_again_and_again_is_not_enough() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *DROP))
        for _ in range(5):
            made.asks(2, payload=question(1))
            assert made.look() == 0
        made.asks(1)
        assert (made.look(), made.look()) == (0, 11)


def test_questions_that_come_all_at_once_are_not_enough() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *DROP))
        made.asks(9)
        assert [made.look() for _ in range(5)] == [0] * 5


def test_what_is_for_others_or_for_other_ports_is_not_counted() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *DROP))
        for _ in range(3):
            made.asks(9, port=68)
            with at_home_in(made.appliance.name), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as own:
                for _ in range(9):
                    own.sendto(question(1), ("172.30.0.9", 67))
            assert made.look() == 0
        assert made.look() == 0


def summed_wrong(number: int) -> bytes:
    """A question whose UDP checksum is there, and wrong."""
    octets = bytearray(encode_frame(replace(QUESTION, payload=question(number))))
    octets[40:42] = b"\x12\x34"
    return bytes(octets)


@pytest.mark.parametrize(
    ("source", "target"),
    [
        ("127.0.0.1", "172.30.0.1"),
        ("127.0.0.1", "255.255.255.255"),
        ("172.30.0.1", "172.30.0.1"),
        ("172.30.0.1", "255.255.255.255"),
        ("10.9.9.9", "255.255.255.255"),
        ("172.30.0.255", "255.255.255.255"),
        ("224.0.0.1", "172.30.0.1"),
        ("255.255.255.255", "172.30.0.1"),
        ("240.0.0.1", "172.30.0.1"),
        ("0.0.0.0", "172.30.0.1"),
        ("0.0.0.7", "172.30.0.1"),
    ],
)
def test_packets_that_the_kernel_drops_whoever_sends_them_are_not_counted(source: str, target: str) -> None:
    with lab() as made:
        to = made.mac() if target == "172.30.0.1" else QUESTION.target_mac
        forged = replace(QUESTION, source=IPv4Address(source), target=IPv4Address(target), target_mac=to)
        run(*made.appliance.command("sysctl", "-qw", "net.ipv4.conf.lab.rp_filter=1"))
        for number in range(4):
            made.sends(*(encode_frame(replace(forged, payload=question(3 * number + each))) for each in range(3)))
            assert made.look() == 0


def test_damaged_packets_and_what_is_no_question_are_not_counted() -> None:
    torn = encode_frame(QUESTION)[:-20]
    header = bytearray(encode_frame(QUESTION))
    header[24:26] = b"\x12\x34"
    with lab() as made:
        for number in range(4):
            made.sends(torn, bytes(header), summed_wrong(number))
            assert made.look() == 0
        run(*made.appliance.command("iptables", "-A", *DROP))
        for number in range(4):
            made.sends(encode_frame(replace(QUESTION, payload=b"?" * (300 + number))))
            assert made.look() == 0


def test_the_questions_of_a_relay_beyond_the_network_are_counted_where_the_routes_let_them_in() -> None:
    relayed = replace(QUESTION, source=IPv4Address("10.9.9.9"), target=IPv4Address("172.30.0.1"))
    with lab() as made:
        relayed = replace(relayed, target_mac=made.mac())
        run(*made.appliance.command("sysctl", "-qw", "net.ipv4.conf.lab.rp_filter=1"))
        run(*made.appliance.command("iptables", "-A", *DROP))
        made.appliance.ip("route add 10.9.9.0/24 via 172.30.0.9 dev lab")
        for number in range(4):
            made.sends(encode_frame(replace(relayed, payload=question(number))))
            missed = made.look()
        assert missed == 3
        made.appliance.ip("route del 10.9.9.0/24 via 172.30.0.9 dev lab")
        made.sends(encode_frame(relayed))
        assert [made.look(), made.look()] == [4, 4], "the filter of the routes has it now"


SHUT_OUT, HEARD = MacAddress("02:00:00:00:00:26"), MacAddress("02:00:00:00:00:27")
OF_ONE = ("INPUT", "-i", "lab", "-m", "mac", "--mac-source", SHUT_OUT, "-j", "DROP")


def asked_by(mac: MacAddress, number: int) -> bytes:
    """The frame of a machine's question, of which each number makes another one."""
    asks = replace(discover(number.to_bytes(9, "big")), mac=mac)
    return encode_frame(replace(QUESTION, source_mac=mac.octets, payload=encode(asks)))


def test_a_machine_whose_frames_alone_are_dropped_is_told_by_its_mac() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *OF_ONE))
        for number in range(4):
            assert made.found() is None
            made.sends(asked_by(SHUT_OUT, number), asked_by(HEARD, number))
        at = [NOW + timedelta(seconds=each) for each in (6, 12, 15)]
        told = made.found()
        assert told == Unheard(
            interface="lab", port=67, frames=3, since=at[0], until=at[1], macs={SHUT_OUT: at[1]}, others_at=at[2]
        )
        made.sends(asked_by(SHUT_OUT, 9))
        told = made.found()
        assert told is not None
        assert (told.frames, told.macs, told.others_at) == (4, {SHUT_OUT: at[2]}, at[2]), "the others were heard before"
        run(*made.appliance.command("iptables", "-D", *OF_ONE))
        made.sends(asked_by(SHUT_OUT, 10))
        assert [made.look() for _ in range(4)] == [0] * 4, "it is heard now"


def test_one_machine_that_asks_alone_is_told_by_its_mac_until_another_is_heard() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *OF_ONE))
        for number in range(4):
            made.sends(asked_by(SHUT_OUT, number))
            told = made.found()
        assert told is not None
        assert ([*told.macs], told.others_at) == ([SHUT_OUT], None)
        made.sends(asked_by(HEARD, 1))
        told = made.found()
        assert told is not None
        assert ([*told.macs], told.others_at) == ([SHUT_OUT], NOW + timedelta(seconds=15))
        assert made.found(timedelta(minutes=9)) is not None
        assert made.found(timedelta(minutes=1)) is None, "it asks no more, so that nothing is known of it"


def test_a_firewall_that_then_drops_everything_is_told_of_all_that_ask() -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *OF_ONE))
        for number in range(4):
            made.sends(asked_by(SHUT_OUT, number), asked_by(HEARD, number))
            made.found()
        run(*made.appliance.command("iptables", "-A", *DROP))
        for number in range(10, 14):
            made.sends(asked_by(SHUT_OUT, number), asked_by(HEARD, number))
            told = made.found()
            assert told is None or told.others_at is not None or {*told.macs} == {SHUT_OUT, HEARD}
        made.asks(1)
        made.found()
        told = made.found()
        assert told is not None
        assert {SHUT_OUT, HEARD} < {*told.macs}


def test_nothing_is_told_of_some_while_not_all_of_what_comes_in_is_known(monkeypatch: pytest.MonkeyPatch) -> None:
    with lab() as made:
        run(*made.appliance.command("iptables", "-A", *OF_ONE))
        for number in range(6):
            made.kept_out += 1
            made.sends(asked_by(SHUT_OUT, number), asked_by(HEARD, number))
            assert made.found() is None
        monkeypatch.setattr(
            "tinkbox.boot.dhcp.unheard._MOST", 2
        )  # frames at a look, so that others wait for the next one
        for number in range(6):
            made.sends(asked_by(SHUT_OUT, number), asked_by(HEARD, number), asked_by(HEARD, number))
            assert made.found() is None


def test_that_more_comes_in_than_can_be_compared_is_said_until_it_can_be_again() -> None:
    with lab() as made:
        made.asks(1)
        made.found()
        assert made.unclear() == ""
        made.kept_out += 1
        made.found()
        assert (
            made.unclear()
            == "more came in on lab than could be compared with what was delivered, the last time at 2026-11-29 12:00:06"
        )
        for _ in range(3):
            made.found()
        assert made.unclear() == ""


def test_a_known_machine_that_is_dropped_is_told_beside_more_than_can_be_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.boot.dhcp.unheard._MOST", 8)
    with lab() as made:
        made.known = [SHUT_OUT, HEARD]
        run(*made.appliance.command("iptables", "-A", *OF_ONE))
        asked = 100
        for number in range(7):
            flood = [
                asked_by(MacAddress.from_bytes(b"\x02\x99" + each.to_bytes(4, "big")), 1)
                for each in range(asked, asked + 40)
            ]
            asked += 40
            made.sends(*flood[:20], asked_by(SHUT_OUT, number), asked_by(HEARD, number), *flood[20:])
            told = made.found()
        assert told is not None
        assert ({*told.macs}, told.others_at is not None) == ({SHUT_OUT}, True)
        assert made.unclear().endswith(": only what registered machines ask is")
        run(*made.appliance.command("iptables", "-D", *OF_ONE))
        made.sends(asked_by(SHUT_OUT, 10))
        assert [made.look() for _ in range(4)] == [0] * 4
        for _ in range(30):
            made.found()
        assert made.unclear() == ""
