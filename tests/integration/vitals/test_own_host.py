"""Faults of the appliance's own host of which a machine's boot alone shows nothing that names them."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.lab.network import BRIDGE
from tests.integration.app.doctor_lab import DoctorLab, doctor_lab, until
from tests.integration.vitals.test_appliance_itself import OURS, conditions, over, told
from tests.machine.lab import address, hardware, hostname, mac

SECOND = (
    "ip link add lab2 type veth peer name plug",
    f"ip link set plug master {BRIDGE} up",
    "ip address add 172.29.0.1/24 dev lab2",
    "ip link set lab2 up",
)
CARD = (
    f"ip address del {OURS} dev {BRIDGE}",
    "ip link add nic type veth peer name plug",
    f"ip link set plug master {BRIDGE} up",
    f"ip address add {OURS} dev nic",
    "ip link set nic up",
)


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    """An appliance that serves on a card instead of a bridge."""
    with doctor_lab(tmp_path_factory.mktemp("appliance"), "interface: nic\n", commands=CARD) as made:
        over(made)
        yield made


def types(lab: DoctorLab, found: dict[str, Any], *places: int) -> None:
    """Type the commands at these places of what there is to do."""
    for each in places:
        lab.network.run(str(found["remedy"]).split("`")[each].split())


def test_two_interfaces_on_one_network_are_told_and_no_other_server(tmp_path: Path) -> None:
    with doctor_lab(tmp_path, f"interface: [{BRIDGE}, lab2]\n", commands=SECOND) as lab:
        lab.known(7)
        box = lab.box(7)
        until(lambda: box.asks(tries=3), "the machine to take an address")
        stages = [each["stage"] for each in lab.ask("GET", f"/v1/hardware/{mac(7)}/timeline")]
        found = lab.doctor()
        assert "accepted an address of another server" not in stages
        assert "OtherServer" not in {each["rule"] for each in found.document["diagnoses"]}
        same = found.of()["SameNetwork"]
        assert same["gravity"] == "fault"
        assert same["cause"].startswith("The appliance's interfaces lab and lab2 are plugged into one network")
        assert "the appliance's own question" in same["evidence"][0]
        assert f"one question of {mac(7)}" in same["evidence"][1]
        lab.network.run(["ip", "link", "set", "plug", "nomaster"])
        lab.doctor()
        until(lambda: "SameNetwork" not in conditions(lab), "the second network to be on its own")


def test_an_interface_that_becomes_a_port_of_a_bridge_is_told_until_it_is_none(lab: DoctorLab) -> None:
    lab.known(1)
    box = lab.box(1)
    assert box.asks()
    for each in ("ip link add br9 type bridge", "ip link set br9 up", "ip link set nic master br9"):
        lab.network.run(each.split())
    port = told(lab, "InterfaceIsPort")
    assert "nic is a port of br9: what machines send reaches br9" in port["cause"]
    assert not box.asks(tries=2)
    lab.network.run(["ip", "address", "del", OURS, "dev", "nic"])
    lab.network.run(["ip", "address", "add", OURS, "dev", "br9"])
    until(lambda: "is on br9" in conditions(lab)["InterfaceIsPort"]["evidence"][1], "the address to be there")
    assert set(conditions(lab)) == {"InterfaceIsPort"}
    types(lab, conditions(lab)["InterfaceIsPort"], 1, 3, 5)
    over(lab)
    assert box.asks()
    lab.network.run(["ip", "link", "del", "br9"])


@pytest.mark.parametrize("where", ["lo", "nic"])
def test_a_machines_address_on_this_host_is_told_until_it_is_gone(lab: DoctorLab, where: str) -> None:
    lab.known(2, workflow=False)
    lab.network.run(["ip", "address", "add", f"{address(2)}/32", "dev", where])
    held = told(lab, "ReservedHere")
    assert held["cause"].startswith(
        f"This host itself has {address(2)} on {where}, which is reserved for {hostname(2)}"
    )
    (note,) = lab.ask("POST", "/v1/hardware", hardware(2))["notes"]
    assert f"the appliance's host itself has {address(2)}" in note["text"]
    types(lab, held, 1)
    over(lab)


def test_a_machine_with_the_mac_of_this_host_is_told_as_that(lab: DoctorLab) -> None:
    lab.network.run(["ip", "link", "set", "nic", "address", mac(3)])
    box = lab.box(3)
    assert not box.asks(tries=2)
    (found,) = lab.doctor(3).of(3).values()
    assert found["rule"] == "SameMac"
    assert found["cause"] == f"{mac(3)} is the MAC of this host's own interface nic: a machine asks with it too."
    assert "hardware add" not in found["remedy"]
    (note,) = lab.ask("POST", "/v1/hardware", hardware(3))["notes"]
    assert note["text"].startswith(f"{mac(3)} is the MAC of the appliance's own interface nic")


def test_a_network_behind_a_relay_without_a_route_is_told_until_there_is_one(tmp_path: Path) -> None:
    with doctor_lab(
        tmp_path, "dhcp: {mode: pool, subnets: [{network: 172.31.0.0/24, pool: 172.31.0.100-172.31.0.199}]}\n"
    ) as made:
        lacks = told(made, "NoRoute")
        assert lacks["cause"].startswith("This host has no route to 172.31.0.0/24, which it serves behind a relay")
        made.network.run(str(lacks["remedy"]).split("`")[1].replace("ROUTER", "172.30.0.2").split())
        until(lambda: "NoRoute" not in conditions(made), "the route to be found")
