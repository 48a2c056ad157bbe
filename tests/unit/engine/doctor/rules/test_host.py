"""The doctor's rules about this host's network, its neighbours and its database's file."""

from dataclasses import replace
from datetime import datetime, timedelta
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.case import Case, KnownHost
from tinkbox.engine.doctor.doctor import diagnose, faults
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import (
    MOST_APPLIANCES,
    HeldAddress,
    HostVitals,
    JoinedInterfaces,
    LinkSettings,
    LostDatabase,
    OtherAppliance,
    RefusedReplies,
    StrayRoute,
    TakenAddress,
    UnroutedNetwork,
)
from tinkbox.model.leases import Subnet
from tinkbox.model.vitals import Attachment, Vitals

OURS = IPv4Address("172.30.0.1")
MAC = MacAddress("00:25:90:00:00:09")
NETWORK = IPv4Network("172.30.0.0/24")
LAB = Attachment(interface="lab", address=OURS, present=True, up=True, carrier=True, addresses=frozenset({OURS}))
LINK = LinkSettings(interface="lab", networks=frozenset({NETWORK}), mtu=1500)
SOUND = HostVitals(links=(LINK,))
REFUSED = RefusedReplies(
    interface="lab", what="DHCP", times=8, since=BEGIN - timedelta(minutes=1), error="Operation not permitted",
    to="255.255.255.255",
)  # fmt: skip
OTHER = OtherAppliance(interface="lab", address=IPv4Address("172.30.0.2"), mac=MAC, at=BEGIN)


def case(host: HostVitals, attached: Attachment = LAB) -> Case:
    vitals = Vitals(at=BEGIN, attachments=(attached,), host=host)
    return replace(
        appliance(vitals=vitals, subnets=(Subnet(network=NETWORK, interface="lab"),)), now=BEGIN, address=OURS
    )


def found(host: HostVitals) -> Diagnosis:
    (one,) = diagnose(case(host))
    return one


@pytest.mark.parametrize(
    ("host", "command"),
    [
        (HostVitals(taken=(TakenAddress(interface="lab", address=OURS, mac=MAC),)), f"`arping -D -c 2 -I lab {OURS}`"),
        (HostVitals(appliances=(replace(OTHER, address=OURS),)), f"`arping -c 2 -I lab {OURS}`"),
        (HostVitals(appliances=(OTHER,)), f"`arping -c 2 -I lab {OTHER.address}`"),
    ],
)
def test_arping_is_told_with_its_package_or_with_what_does_without(host: HostVitals, command: str) -> None:
    told = found(host).remedy
    assert command in told
    # To our own address ping goes round on this host.
    by_ping = f"`ping -c 1 {OTHER.address}; ip neigh show {OTHER.address}`" in told
    assert (by_ping, "package iputils-arping" in told) in ((True, False), (False, True))
    assert by_ping is (str(OTHER.address) in command)


@pytest.mark.parametrize(
    ("host", "rule", "gravity", "cause", "remedy"),
    [
        (HostVitals(taken=(TakenAddress(interface="lab", address=OURS, mac=MAC),)), "AddressTaken", Gravity.FAULT, f"Another host ({MAC}) has the appliance's address 172.30.0.1 on lab", "arping -D"),
        (HostVitals(refused_replies=(REFUSED,)), "RepliesRefused", Gravity.FAULT, "does not let DHCP replies out on lab", "`iptables -S OUTPUT` and `nft list ruleset`"),
        (HostVitals(appliances=(OTHER,)), "OtherAppliance", Gravity.SUSPECT, f"Another tinkbox, at 172.30.0.2 (MAC {MAC}), serves this network too.", "Stop one of them"),
        (HostVitals(appliances=(replace(OTHER, address=OURS),)), "OtherAppliance", Gravity.SUSPECT, "too with the same address.", "Stop one of them"),
        (HostVitals(links=(replace(LINK, networks=frozenset({IPv4Network("172.30.0.0/30")})),)), "NetmaskChanged", Gravity.FAULT, "172.30.0.0/24 is not on the appliance's interface lab any more", "`ip addr add 172.30.0.1/24 dev lab`"),
        (HostVitals(links=(replace(LINK, mtu=1400),)), "MtuSmall", Gravity.SUSPECT, "The MTU of lab is 1400", "`ip link set lab mtu 1500`"),
        (HostVitals(database=LostDatabase(path="/d/tinkbox.sqlite", replaced=False, open_files=(("", "/proc/7/fd/9"), ("-wal", "/proc/7/fd/10")))), "DatabaseGone", Gravity.FAULT, "was deleted while tinkbox runs", "`cp /proc/7/fd/9 /d/tinkbox.sqlite.rescued && cp /proc/7/fd/10 /d/tinkbox.sqlite.rescued-wal`"),
        (HostVitals(database=LostDatabase(path="/d/tinkbox.sqlite", replaced=True)), "DatabaseGone", Gravity.FAULT, "was replaced by another file", "`systemctl restart tinkbox`"),
    ],
)  # fmt: skip
def test_what_is_wrong_with_the_host_is_told(
    host: HostVitals, rule: str, gravity: Gravity, cause: str, remedy: str
) -> None:
    told = found(host)
    assert (told.rule, told.gravity) == (rule, gravity)
    assert cause in told.cause
    assert remedy in told.remedy


def test_nothing_is_wrong_with_a_sound_host_or_an_unknown_one() -> None:
    assert diagnose(case(SOUND)) == ()
    assert diagnose(case(HostVitals())) == ()


HELD = HeldAddress(interface="lo", address=IPv4Address("172.30.0.27"), prefix=32)


def test_an_address_of_a_machine_that_this_host_has_itself_is_told_with_the_machines_name() -> None:
    known = {"172.30.0.27": KnownHost(name="n7", in_touch=False)}
    (told,) = diagnose(replace(case(HostVitals(held=(HELD,))), hosts=known))
    assert (told.rule, told.gravity, told.subject) == ("ReservedHere", Gravity.FAULT, "lo 172.30.0.27")
    assert told.cause.startswith("This host itself has 172.30.0.27 on lo, which is reserved for n7:")
    assert told.remedy.startswith("`ip addr del 172.30.0.27/32 dev lo`")
    assert told.remedy.endswith("(`tinkbox hardware edit n7 --address IP`).")
    assert "which is reserved for a machine" in found(HostVitals(held=(HELD,))).cause


RELAYED = IPv4Network("172.31.0.0/24")
ENDS = (IPv4Address("172.31.0.5"), IPv4Address("172.31.0.9"))
UNROUTED = UnroutedNetwork(network=RELAYED, addresses=ENDS, why="Network is unreachable")


def test_a_network_behind_a_relay_without_a_route_is_told_with_the_command_that_makes_one() -> None:
    told = found(HostVitals(unrouted=(UNROUTED,)))
    assert (told.rule, told.gravity, told.subject) == ("NoRoute", Gravity.FAULT, "172.31.0.0/24")
    assert told.cause.startswith("This host has no route to 172.31.0.0/24, which it serves behind a relay")
    assert told.evidence == ("2026-11-21 03:00:00 `ip route get 172.31.0.5`: Network is unreachable",)
    assert told.remedy.startswith("`ip route add 172.31.0.0/24 via ROUTER dev lab`")
    (stops,) = (each.stops for each in faults(case(HostVitals(unrouted=(UNROUTED,)))))
    assert stops.to == {RELAYED}
    part = found(HostVitals(unrouted=(replace(UNROUTED, whole=False, filtering=("lab",)),)))
    assert part.cause.startswith("This host has no route to 172.31.0.5 and 1 more address of 172.31.0.0/24, which")
    assert "this host drops what comes from there on lab" in part.evidence[1]


def test_a_route_that_went_with_its_interface_is_told_as_that_alone() -> None:
    down = case(HostVitals(unrouted=(UNROUTED,)), replace(LAB, up=False, carrier=None))
    assert [each.rule for each in diagnose(down)] == ["InterfaceDown"]


JOINED = JoinedInterfaces(interfaces=("lab", "lab2"), at=BEGIN, mac=MAC)


@pytest.mark.parametrize(("own_at", "gravity"), [(None, Gravity.SUSPECT), (BEGIN, Gravity.FAULT)])
def test_two_interfaces_on_one_network_are_sure_by_our_own_question_alone(
    own_at: datetime | None, gravity: Gravity
) -> None:
    told = found(HostVitals(joined=(replace(JOINED, own_at=own_at),)))
    assert (told.rule, told.gravity, told.subject) == ("SameNetwork", gravity, "lab lab2")
    assert told.cause.startswith("The appliance's interfaces lab and lab2 are plugged into one network")
    assert told.evidence[-1] == f"2026-11-21 03:00:00 one question of {MAC} came in on lab and on lab2"
    assert len(told.evidence) == (1 if own_at is None else 2)
    assert "name only one of the two under `interface:`" in told.remedy


def test_a_wider_network_is_no_fault() -> None:
    wide = replace(LINK, networks=frozenset({IPv4Network("172.30.0.0/16")}))
    assert diagnose(case(HostVitals(links=(wide,)))) == ()


def test_an_interface_without_our_address_is_told_as_that_alone() -> None:
    bare = case(HostVitals(links=(replace(LINK, networks=frozenset()),)), replace(LAB, addresses=frozenset()))
    assert [each.rule for each in diagnose(bare)] == ["AddressMissing"]


def test_replies_are_told_with_how_many_and_which_error() -> None:
    told = found(HostVitals(refused_replies=(REFUSED,)))
    assert (
        "8 times the kernel refused a reply (Operation not permitted), the last one to 255.255.255.255"
        in told.evidence[0]
    )


def test_many_macs_that_answer_for_our_address_are_one_condition_with_the_newest_of_them() -> None:
    macs = [MacAddress(f"02:00:00:00:00:{each:02x}") for each in range(40)]
    told = found(HostVitals(taken=tuple(TakenAddress(interface="lab", address=OURS, mac=each) for each in macs)))
    assert told.cause.startswith(f"Other hosts ({macs[-1]} and 39 others) have the appliance's address 172.30.0.1 on")
    assert told.evidence == (
        *(f"2026-11-21 03:00:00 {each} answered ARP for 172.30.0.1 on lab" for each in macs[-3:]),
        "40 MACs answered it one after the other, and one host can answer with many",
    )
    assert told.subject == "lab 172.30.0.1"


def test_of_more_marks_than_there_are_places_it_is_said_that_there_are_more() -> None:
    marks = [replace(OTHER, mac=MacAddress(f"02:00:00:00:00:{each:02x}")) for each in range(MOST_APPLIANCES + 1)]
    few, many = (found(HostVitals(appliances=tuple(each))) for each in (marks[:-1], marks))
    assert "and 15 others like it." in few.cause
    assert "and at least 16 others like it." in many.cause
    assert "more than 16 were heard on lab" in many.evidence[-2]
    assert not [each for each in few.evidence if "more than" in each]
    assert len(many.evidence) == 7
    assert str(marks[-1].mac) in many.evidence[4], "the newest"
    assert few.subject == many.subject


def test_an_appliance_that_did_not_answer_is_told_in_the_past_unless_another_one_is_there() -> None:
    silent = replace(OTHER, unanswered=BEGIN + timedelta(seconds=30))
    told = found(HostVitals(appliances=(silent,)))
    assert told.cause == (
        f"Another tinkbox, at 172.30.0.2 (MAC {MAC}), was heard at 2026-11-21 03:00:00 and not since: it served this network too."
    )
    assert told.evidence[1].startswith(f"2026-11-21 03:00:30 {MAC} did not answer our question")
    there = replace(OTHER, mac=MacAddress("00:25:90:00:00:0a"))
    both = found(HostVitals(appliances=(silent, there)))
    assert both.cause.startswith("Another tinkbox, at 172.30.0.2 (MAC 00:25:90:00:00:0a), serves this network too")
    assert both.subject == told.subject


@pytest.mark.parametrize("in_touch", [True, False])
def test_our_address_with_the_mac_of_a_machine_of_ours_is_told_with_its_name_and_is_suspect_while_that_is_in_touch(
    in_touch: bool,
) -> None:
    host = HostVitals(taken=(TakenAddress(interface="lab", address=OURS, mac=MAC),))
    (told,) = diagnose(replace(case(host), hosts={MAC: KnownHost(name="node1", in_touch=in_touch)}))
    assert (told.rule, told.gravity) == ("AddressTaken", Gravity.SUSPECT if in_touch else Gravity.FAULT)
    assert told.cause.startswith(f"Another host ({MAC} of machine node1) has the appliance's address")
    assert "any host on the network can send in its name" in told.evidence[-1]
    assert ("Else another host sends in its name." in told.remedy) == in_touch
    both = replace(host, taken=(*host.taken, replace(host.taken[0], mac=MacAddress("02:00:00:00:00:01"))))
    (told,) = diagnose(replace(case(both), hosts={MAC: KnownHost(name="node1", in_touch=True)}))
    assert told.gravity is Gravity.FAULT


def test_a_mark_with_the_mac_of_a_machine_of_ours_is_told_with_its_name_and_behind_the_others() -> None:
    hosts = {MAC: KnownHost(name="node1", in_touch=True)}
    (told,) = diagnose(replace(case(HostVitals(appliances=(OTHER,))), hosts=hosts))
    assert f"Another tinkbox, at 172.30.0.2 (MAC {MAC} of machine node1)," in told.cause
    assert f"{MAC} is that of machine node1, whose worker is in touch" in told.evidence[1]
    stranger = replace(OTHER, mac=MacAddress("02:00:00:00:00:01"), address=IPv4Address("172.30.0.3"))
    (told,) = diagnose(replace(case(HostVitals(appliances=(OTHER, stranger))), hosts=hosts))
    assert "Another tinkbox, at 172.30.0.3 (MAC 02:00:00:00:00:01)" in told.cause


STRAY = StrayRoute(
    interface="lab", ours=OURS, network=NETWORK, address=IPv4Address("172.30.0.41"), among=frozenset({IPv4Network("172.30.0.0/26")}), through="tun0",
    route="172.30.0.0/26 via 10.8.0.1 dev tun0",
)  # fmt: skip


def strays(*found: StrayRoute, **more: tuple[LinkSettings, ...]) -> HostVitals:
    return replace(SOUND, stray_routes=found, **more)


@pytest.mark.parametrize(
    ("stray", "gravity", "cause", "remedy"),
    [
        (STRAY, Gravity.FAULT, "Replies to 172.30.0.41 leave through tun0, not through lab, where the machine is.", "`ip route del 172.30.0.0/26 via 10.8.0.1 dev tun0` takes it back"),
        (replace(STRAY, route="default via 10.8.0.1 dev tun0 table 77"), Gravity.FAULT, "leave through tun0, not through lab", "`ip rule` and `ip route show table all` show what leads there"),
        (replace(STRAY, through="", route="", why="Permission denied"), Gravity.FAULT, "Replies to 172.30.0.41 go nowhere, not through lab", "`ip rule` and `ip route show table all`"),
        (replace(STRAY, through="eth2", route="172.30.0.0/24 dev eth2", twin=True), Gravity.SUSPECT, "where the machine is: eth2 has an address in 172.30.0.0/24 too.", "take the address of eth2 away"),
        (replace(STRAY, through="eth2", route="172.30.0.0/24 dev eth2", twin=True, refused=True), Gravity.FAULT, "where the machine is: eth2 has an address in 172.30.0.0/24 too.", "take the address of eth2 away"),
    ],
)  # fmt: skip
def test_a_route_that_leads_elsewhere_is_told(stray: StrayRoute, gravity: Gravity, cause: str, remedy: str) -> None:
    told = found(strays(stray))
    assert (told.rule, told.gravity) == ("LeadsElsewhere", gravity)
    assert cause in told.cause
    assert remedy in told.remedy
    assert "`ip route get 172.30.0.41 from 172.30.0.1`" in told.evidence[0]
    assert any("reverse path filtering is strict" in each for each in told.evidence) == stray.refused


def test_addresses_that_one_route_leads_elsewhere_are_told_together() -> None:
    others = [replace(STRAY, address=IPv4Address(f"172.30.0.{each}")) for each in (42, 43)]
    told = found(strays(STRAY, *others))
    assert told.cause.startswith("Replies to 172.30.0.41 and to 2 more addresses in 172.30.0.0/24 leave through tun0")
    assert told.subject == found(strays(STRAY)).subject


@pytest.mark.parametrize(
    "attached",
    [
        replace(LAB, up=False, carrier=None),
        replace(LAB, carrier=False),
        replace(LAB, addresses=frozenset()),
        replace(LAB, present=False, up=False),
    ],
)
def test_routes_of_an_interface_that_is_not_as_it_should_be_are_not_told(attached: Attachment) -> None:
    assert "LeadsElsewhere" not in [each.rule for each in diagnose(case(strays(STRAY), attached))]


def test_routes_of_a_network_that_is_not_on_its_interface_any_more_are_not_told() -> None:
    narrow = replace(LINK, networks=frozenset({IPv4Network("172.30.0.0/30")}))
    assert found(strays(STRAY, links=(narrow,))).rule == "NetmaskChanged"
