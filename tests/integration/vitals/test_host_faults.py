"""Faults of the host that a stranger provoked on a real appliance: each is told, and none ends the appliance."""

import json
import re
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.demo.appliance import ApplianceFailed
from examples.lab.network import BRIDGE
from tests.integration.app.doctor_lab import DoctorLab, doctor_lab, until
from tests.integration.boot.wires import inside
from tests.integration.vitals.test_appliance_itself import OURS, conditions, image, over, remedy, told
from tests.machine.hosts import Host
from tests.machine.lab import address
from tinkbox.model.hardware import MacAddress
from tinkbox.vitals.bridge_entries import learned_port

TINKBOX = (sys.executable, "-m", "tinkbox")


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    with doctor_lab(tmp_path_factory.mktemp("appliance")) as made:
        made.host("172.30.0.9")  # so that the bridge has a link
        over(made)
        yield made


def serve(host: Host, work: Path) -> Path:
    """Another appliance, on this host; returns its data folder when it answers."""
    data, file = work / "other", work / "other.yaml"
    file.write_text("interface: eth0\noperator: {listen: 127.0.0.1:7172}\n")
    host.start(*TINKBOX, "serve", "--config", str(file), "--data", str(data))
    until(lambda: "conditions" in asked(data), "the other appliance to answer")
    return data


def asked(data: Path) -> str:
    """What an appliance says of its health."""
    socket = ["curl", "-s", "--max-time", "5", "--unix-socket", str(data / "operator.sock")]
    return subprocess.run(
        [*socket, "http://appliance/healthz?verbose"], check=False, stdout=subprocess.PIPE, text=True
    ).stdout


def found(data: Path, rule: str) -> dict[str, Any] | None:
    answer = asked(data)
    return next((each for each in json.loads(answer)["conditions"] if each["rule"] == rule), None) if answer else None


def test_folders_that_are_moved_away_do_not_end_the_appliance(lab: DoctorLab, tmp_path: Path) -> None:
    image(tmp_path / "image.tar")
    lab.appliance.command("image", "load", tmp_path / "image.tar")
    data = lab.appliance.data
    names = [each for each in ("registry", "recordings", "osie", "services") if (data / each).exists()]
    for each in names:
        (data / each).rename(tmp_path / each)
    assert str(data / "registry") in told(lab, "RegistryUnusable")["evidence"][0]
    with pytest.raises(ApplianceFailed, match="its folder is gone"):
        lab.appliance.command("image", "load", tmp_path / "image.tar")
    assert told(lab, "NoOsie")["remedy"].startswith(f"Put {data / 'osie'} back from where it was moved to")
    lab.appliance.check()
    assert not (data / "registry").exists()
    for each in names:
        (tmp_path / each).rename(data / each)
    over(lab)
    assert "whole" in lab.appliance.command("image", "list")


def test_another_host_with_our_address_is_told_with_its_mac(lab: DoctorLab) -> None:
    with Host(lab.network, [(BRIDGE, OURS.partition("/")[0])]) as other:
        mac = json.loads(other.run("ip", "-j", "link", "show", "eth0"))[0]["address"]
        taken = told(lab, "AddressTaken")
        assert taken["cause"].startswith(f"Another host ({mac}) has the appliance's address 172.30.0.1 on lab")
    over(lab)


def test_replies_that_this_host_drops_are_told_until_they_go_out(lab: DoctorLab) -> None:
    box = lab.box(7)
    lab.known(7)
    rule = ["OUTPUT", "-p", "udp", "--sport", "67", "-j", "DROP"]
    lab.network.run(["iptables", "-A", *rule])
    assert not box.asks(tries=2, seconds=10)
    refused = told(lab, "RepliesRefused")
    assert refused["cause"].startswith("The appliance's host does not let DHCP replies out on lab")
    assert "(Operation not permitted)" in refused["evidence"][0]
    until(lambda: "iptables -A OUTPUT" in str(conditions(lab)["RepliesRefused"]["evidence"]), "the rule to be told")
    lab.network.run(remedy(conditions(lab)["RepliesRefused"]))
    over(lab)
    assert box.asks()
    lab.network.run(["iptables", "-F", "OUTPUT"])


def test_a_port_that_this_host_diverts_is_told_until_it_is_given_back(lab: DoctorLab) -> None:
    box = lab.host("172.30.0.77")
    fetch = ["curl", "-s", "-o", "/dev/null", f"http://{OURS.partition('/')[0]}/"]
    rule = "PREROUTING -p tcp --dport 80 -j REDIRECT --to-ports 81"
    lab.network.run(["iptables", "-t", "nat", "-A", *rule.split()])
    with pytest.raises(subprocess.CalledProcessError):
        box.run(*fetch)
    taken = told(lab, "PortTaken")
    assert taken["cause"].startswith("What machines on lab send to TCP port 80 (HTTP) does not reach tinkbox: ")
    lab.network.run(remedy(taken))
    over(lab)
    box.run(*fetch)


def test_a_route_to_machines_by_another_interface_is_told_until_it_is_gone(lab: DoctorLab) -> None:
    lab.known(9, workflow=False)
    lab.network.run(["ip", "link", "add", "vpn", "type", "veth", "peer", "name", "far"])
    lab.network.run(["ip", "link", "set", "vpn", "up"])
    lab.network.run(["ip", "link", "set", "far", "up"])
    lab.network.run(["ip", "route", "add", address(9), "dev", "vpn"])
    stray = told(lab, "LeadsElsewhere")
    assert stray["cause"] == f"Replies to {address(9)} leave through vpn, not through lab, where the machine is."
    assert stray["evidence"][0].endswith(f"`ip route get {address(9)} from 172.30.0.1`: {address(9)}/32 dev vpn")
    lab.network.run(stray["remedy"].split("`")[3].split())
    over(lab)
    lab.network.run(["ip", "link", "del", "vpn"])


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is not installed here")
def test_a_table_of_the_bridge_and_a_filter_of_tc_are_told(lab: DoctorLab) -> None:
    rules = ("add table bridge own", "add chain bridge own in { type filter hook input priority 0 ; }")
    for each in (*rules, "add rule bridge own in udp dport 67 drop"):
        lab.network.run(["nft", *each.split()])
    assert "nft, table bridge own, chain in: udp dport 67 drop" in told(lab, "PortShut")["evidence"][0]
    lab.network.run(["nft", "delete", "table", "bridge", "own"])
    over(lab)
    lab.network.run(["tc", "qdisc", "add", "dev", BRIDGE, "clsact"])
    matching = "protocol ip u32 match ip dport 67 0xffff classid 1:1"
    lab.network.run(["tc", "filter", "add", "dev", BRIDGE, "ingress", *matching.split()])
    assert "the tc filters on lab" in str(lab.doctor().document["unexamined"])
    lab.network.run(["tc", "qdisc", "del", "dev", BRIDGE, "clsact"])
    assert "the tc filters on lab" not in str(lab.doctor().document["unexamined"])


def test_a_network_and_an_mtu_that_become_smaller_are_told(lab: DoctorLab) -> None:
    lab.network.run(["ip", "link", "set", BRIDGE, "mtu", "1400"])
    lab.network.run(["ip", "addr", "add", "172.30.0.1/30", "dev", BRIDGE])
    lab.network.run(["ip", "addr", "del", OURS, "dev", BRIDGE])
    changed = told(lab, "NetmaskChanged")
    assert changed["evidence"][0].endswith("networks of lab: 172.30.0.0/30; tinkbox serves 172.30.0.0/24")
    assert told(lab, "MtuSmall")["cause"].startswith("The MTU of lab is 1400, below 1500")
    lab.network.run(changed["remedy"].split("`")[1].split())
    lab.network.run(["ip", "addr", "del", "172.30.0.1/30", "dev", BRIDGE])
    lab.network.run(["ip", "link", "set", BRIDGE, "mtu", "1500"])
    over(lab)


def test_two_appliances_find_each_other_and_are_no_machines(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab, Host(lab.network, [(BRIDGE, "172.30.0.2")]) as host:
        mac = json.loads(host.run("ip", "-j", "link", "show", "eth0"))[0]["address"]
        data = serve(host, tmp_path)
        lab.doctor()  # asks who else answers
        theirs = told(lab, "OtherAppliance")
        assert (theirs["gravity"], theirs["cause"]) == (
            "suspect",
            f"Another tinkbox, at 172.30.0.2 (MAC {mac}), serves this network too.",
        )
        until(lambda: found(data, "OtherAppliance") is not None, "the other one to find us")
        ours = found(data, "OtherAppliance")
        assert ours is not None
        assert ours["cause"].startswith("Another tinkbox, at 172.30.0.1 (MAC 02:00:ac:1e:00:01)")
        assert lab.ask("GET", "/v1/discovered") == []
        host.close()
        first = lab.doctor().of()["OtherAppliance"]
        assert "and not since: it served this network too." in first["cause"]
        assert "OtherAppliance" not in lab.doctor().of(), "two questions in a row were not answered"
        until(lambda: "OtherAppliance" not in conditions(lab), "the other one to be over")


def test_two_appliances_with_one_address_find_each_other(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab, Host(lab.network, [(BRIDGE, OURS.partition("/")[0])]) as host:
        data = serve(host, tmp_path)
        lab.doctor()
        theirs = told(lab, "OtherAppliance")
        assert (theirs["gravity"], theirs["cause"].endswith("too with the same address.")) == ("suspect", True)
        until(lambda: found(data, "OtherAppliance") is not None, "the other one to find us")


def test_a_database_that_is_deleted_takes_nothing_and_can_be_rescued(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab:
        lab.known(3, workflow=False)
        file = lab.appliance.data / "tinkbox.sqlite"
        for each in lab.appliance.data.glob("tinkbox.sqlite*"):
            each.unlink()
        with pytest.raises(AssertionError, match="was deleted while tinkbox runs"):
            lab.known(4, workflow=False)
        gone = told(lab, "DatabaseGone")
        copies, back, _ = (each for each in re.findall(r"`([^`]*)`", gone["remedy"]) if "sqlite" in each)
        for each in copies.split(" && "):
            subprocess.run(each.split(), check=True)
        lab.appliance.process.terminate()
        lab.appliance.process.wait()
        for each in back.split(" && "):
            subprocess.run(each.split(), check=True)
        check = subprocess.run(
            [
                "python3",
                "-c",
                "import sqlite3, sys; print(sqlite3.connect(sys.argv[1]).execute('select count(*) from hardware').fetchone())",
                str(file),
            ],
            check=True,
            stdout=subprocess.PIPE,
            text=True,
        )
        assert check.stdout == "(1,)\n"


@pytest.mark.skipif(shutil.which("nft") is None, reason="nft is not installed here")
def test_long_packets_that_this_host_drops_at_a_machines_port_are_blamed_for_its_boot_that_stopped(
    lab: DoctorLab, tmp_path: Path
) -> None:
    lab.known(21)
    box = lab.served(21)
    with inside(lab.network.path):
        port = learned_port([BRIDGE], MacAddress(box.mac))
    chain = f'chain out {{ type filter hook egress device "{port}" priority 0; ip length > 500 drop; }}'
    rules = tmp_path / "rules.nft"
    rules.write_text(f"table netdev own {{\n{chain}\n}}\n")
    lab.network.run(["nft", "-f", str(rules)])
    cause = told(lab, "RepliesRefused")["cause"]
    packets = "HTTP, HTTPS and TFTP packets of more than 500 bytes"
    assert cause.startswith(f"The appliance's own firewall drops {packets} to machines behind port {port} of lab: ")
    assert box.gives_up()
    lab.until_stopped(21)
    found = lab.doctor(21).of(21)
    assert {rule: each["cause"] for rule, each in found.items()} == {"RepliesRefused": cause}
    lab.network.run(["nft", "delete", "table", "netdev", "own"])
    over(lab)
