"""IPsec policies in a network namespace, what is told of them, and whether packets get through there."""

import socket
from collections.abc import Iterator
from contextlib import suppress
from ipaddress import IPv4Address, IPv4Network
from pathlib import Path

import pytest

from tests.integration.boot.wires import Host, at_home_in, cable, hosts, run
from tinkbox.vitals import ipsec_policies
from tinkbox.vitals.ipsec_policies import unread_policies

OURS = {"lab": IPv4Address("172.33.0.1"), "gone": IPv4Address("172.34.0.1")}
NETWORKS = [IPv4Network("172.33.0.0/24")]
needs_ipsec = pytest.mark.skipif(not Path("/proc/net/xfrm_stat").exists(), reason="this kernel has no IPsec")


@pytest.fixture
def lab() -> Iterator[Host]:
    with hosts("appliance", "machine") as (appliance, machine):
        cable(appliance, "lab", machine, "eth0")
        appliance.ip("address add 172.33.0.1/24 dev lab")
        yield appliance


def told(host: Host) -> dict[str, str]:
    with at_home_in(host.name):
        return unread_policies(OURS, NETWORKS)


def policy(host: Host, words: str) -> None:
    run(*host.command("ip", "xfrm", "policy", "add", *words.split()))


def is_sent(host: Host) -> bool:
    with at_home_in(host.name), socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sending:
        with suppress(OSError):
            return bool(sending.sendto(b"?", ("172.33.0.9", 69)))
        return False


@needs_ipsec
def test_a_policy_that_blocks_replies_is_told_with_the_command_that_shows_it(lab: Host) -> None:
    assert (told(lab), is_sent(lab)) == ({}, True)
    policy(lab, "dst 172.33.0.0/24 dir out action block")
    assert not is_sent(lab)
    (why,) = told(lab).values()
    assert "(blocks 0.0.0.0/0 to 172.33.0.0/24, out): `ip xfrm policy` shows them" in why
    policy(lab, "src 172.33.0.0/24 dst 172.33.0.1 proto udp dir in action block")
    assert "and 1 more" in told(lab)["IPsec policies"]


TEMPLATE = "tmpl src 172.33.0.1 dst 172.33.0.2 proto esp mode tunnel"


@needs_ipsec
@pytest.mark.parametrize(
    ("words", "is_told"),
    [
        (f"src 172.33.0.1 dst 172.33.0.0/24 dir out {TEMPLATE}", True),
        ("dst 255.255.255.255 dir in action block", True),
        ("dst 172.33.0.0/24 dev lab dir out action block", True),
        ("dst 172.33.0.0/24 dev lo dir out action block", False),
        ("dst 172.33.0.0/24 dir out action allow", False),
        ("dst 172.33.0.0/24 dir fwd action block", False),
        ("dst 172.33.0.0/24 proto icmp dir out action block", False),
        ("dst 10.0.0.0/8 dir out action block", False),
        ("src 172.30.0.1 dst 172.33.0.0/24 dir out action block", False),
        ("src ::/0 dst ::/0 dir out action block", False),
        (f"src 172.33.0.0/24 dst 10.0.0.0/8 dir out {TEMPLATE}", False),
    ],
)
def test_policies_are_told_where_they_may_drop_what_is_ours(lab: Host, words: str, is_told: bool) -> None:
    policy(lab, words)
    assert bool(told(lab)) is is_told


def test_without_the_right_to_read_them_what_they_dropped_is_told(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    def refused(*_: object) -> None:
        raise PermissionError(1, "Operation not permitted")

    counts = tmp_path / "xfrm_stat"
    monkeypatch.setattr(ipsec_policies.Rtnetlink, "all", refused)
    monkeypatch.setattr(ipsec_policies, "_COUNTS", counts)
    assert unread_policies(OURS, NETWORKS) == {}
    counts.write_text("XfrmInError 4\nXfrmInPolBlock 0\nXfrmOutPolBlock 0\n")
    assert unread_policies(OURS, NETWORKS) == {}
    counts.write_text("XfrmInError 4\nXfrmInPolBlock 1\nXfrmOutPolBlock 2\n")
    assert "they dropped 3 packets" in unread_policies(OURS, NETWORKS)["IPsec policies"]
