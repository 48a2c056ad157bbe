"""The doctor's rules about this host's network, its neighbours and its database's file."""

from dataclasses import replace
from datetime import timedelta
from ipaddress import IPv4Address, IPv4Network

import pytest

from tests.unit.engine.boot_story import BEGIN, appliance
from tinkbox.engine.doctor.case import Case
from tinkbox.engine.doctor.doctor import diagnose
from tinkbox.model.diagnosis import Diagnosis, Gravity
from tinkbox.model.hardware import MacAddress
from tinkbox.model.host_vitals import (
    HostVitals,
    LinkSettings,
    LostDatabase,
    OtherAppliance,
    RefusedReplies,
    TakenAddress,
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
    ("host", "rule", "gravity", "cause", "remedy"),
    [
        (HostVitals(taken=(TakenAddress(interface="lab", address=OURS, mac=MAC),)), "AddressTaken", Gravity.FAULT, f"Another host ({MAC}) has the appliance's address 172.30.0.1 on lab", "arping -D"),
        (HostVitals(refused_replies=(REFUSED,)), "RepliesRefused", Gravity.FAULT, "does not let DHCP replies out on lab", "`sudo iptables -S OUTPUT` and `sudo nft list ruleset`"),
        (HostVitals(appliances=(OTHER,)), "OtherAppliance", Gravity.SUSPECT, f"Another tinkbox, at 172.30.0.2 (MAC {MAC}), serves this network too.", "Stop one of them"),
        (HostVitals(appliances=(replace(OTHER, address=OURS),)), "OtherAppliance", Gravity.SUSPECT, "too with the same address.", "Stop one of them"),
        (HostVitals(links=(replace(LINK, networks=frozenset({IPv4Network("172.30.0.0/30")})),)), "NetmaskChanged", Gravity.FAULT, "172.30.0.0/24 is not on the interface lab any more", "`ip addr add 172.30.0.1/24 dev lab`"),
        (HostVitals(links=(replace(LINK, mtu=1400),)), "MtuSmall", Gravity.SUSPECT, "The MTU of lab is 1400", "`ip link set lab mtu 1500`"),
        (HostVitals(database=LostDatabase(path="/d/tinkbox.sqlite", replaced=False, open_files=(("", "/proc/7/fd/9"), ("-wal", "/proc/7/fd/10")))), "DatabaseGone", Gravity.FAULT, "was deleted while tinkbox runs", "`sudo cp /proc/7/fd/9 /d/tinkbox.sqlite.rescued && sudo cp /proc/7/fd/10 /d/tinkbox.sqlite.rescued-wal`"),
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
