"""What is measured of this host, where the kernel does not tell all of it."""

import errno
import os
from ipaddress import IPv4Address, IPv4Network

import pytest

from tinkbox.model.host_vitals import StrayRoute, TakenAddress
from tinkbox.model.leases import Subnet
from tinkbox.vitals import host_watch
from tinkbox.vitals.host_watch import HostSources, HostWatch

OURS = IPv4Address("127.0.0.1")
LOOPBACK = Subnet(network=IPv4Network("127.0.0.0/8"), interface="lo")


async def nobody() -> tuple[TakenAddress, ...]:
    return ()


SOURCES = HostSources(
    taken=nobody,
    refused_replies=tuple,
    appliances=tuple,
    database=lambda: None,
    reserved=lambda: [IPv4Address("127.0.0.9")],
)


def test_addresses_of_this_host_itself_are_led_nowhere_else() -> None:
    vitals = HostWatch({"lo": OURS}, [LOOPBACK], SOURCES).look()
    assert vitals.stray_routes == ()
    assert "routes" not in vitals.unexamined


def test_routes_that_the_kernel_does_not_tell_are_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> tuple[StrayRoute, ...]:
        raise OSError(errno.EMFILE, os.strerror(errno.EMFILE))

    monkeypatch.setattr(host_watch, "stray_routes", full)
    vitals = HostWatch({"lo": OURS}, [LOOPBACK], SOURCES).look()
    assert vitals.unexamined["routes"] == "the kernel does not tell them: Too many open files"


def test_policies_of_ipsec_on_our_networks_are_not_examined(monkeypatch: pytest.MonkeyPatch) -> None:
    def found(ours: object, networks: object) -> dict[str, str]:
        return {"IPsec policies": f"{ours} {networks}"}

    monkeypatch.setattr(host_watch, "unread_policies", found)
    vitals = HostWatch({"lo": OURS}, [LOOPBACK], SOURCES).look()
    assert vitals.unexamined["IPsec policies"] == f"{ {'lo': OURS} } {[LOOPBACK.network]}"
