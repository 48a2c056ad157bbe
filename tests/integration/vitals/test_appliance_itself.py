"""What goes wrong with a real appliance while it runs, and how soon it says so by itself: nothing is asked but its health."""

import logging
import os
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from examples.lab.network import BRIDGE
from tests.integration.app.doctor_lab import DoctorLab, doctor_lab, until
from tests.integration.registry.serving import docker_archive, tar

_LOG = logging.getLogger(__name__)
OURS = "172.30.0.1/24"
LAYER = os.urandom(100_000)


def image(archive: Path) -> None:
    """What `docker save` writes of an image whole:v1."""
    archive.write_bytes(tar(docker_archive(["whole:v1"], [tar([("file", LAYER)])]).items()))


@pytest.fixture(scope="module")
def lab(tmp_path_factory: pytest.TempPathFactory) -> Iterator[DoctorLab]:
    with doctor_lab(tmp_path_factory.mktemp("appliance")) as made:
        made.host("172.30.0.9")  # so that the bridge has a link
        yield made


def conditions(lab: DoctorLab) -> dict[str, dict[str, Any]]:
    """What is wrong with the appliance itself, by rule."""
    found = lab.ask("GET", "/healthz?verbose")["conditions"]
    return {each["rule"]: each for each in found if not each["machine"]}


def told(lab: DoctorLab, rule: str) -> dict[str, Any]:
    """Wait until a rule tells; the log has how long that took."""
    begun = time.monotonic()
    until(lambda: rule in conditions(lab), f"{rule} to be told")
    _LOG.info("%s: told after %.1f s", rule, time.monotonic() - begun)
    return conditions(lab)[rule]


def over(lab: DoctorLab) -> None:
    """Wait until nothing is wrong any more."""
    until(lambda: not conditions(lab), "everything to be well again")


def remedy(found: dict[str, Any]) -> list[str]:
    """The first command of what there is to do, in words."""
    return str(found["remedy"]).split("`")[1].split()


def put(path: Path, content: bytes) -> None:
    """In the place of what another test may have as well."""
    path.unlink(missing_ok=True)
    path.write_bytes(content)


@pytest.fixture(autouse=True)
def well(lab: DoctorLab) -> None:
    """Every test begins with an appliance that says that nothing is wrong with it, and ends with one."""
    over(lab)


def test_an_interface_that_is_switched_off_is_told_until_it_is_on(lab: DoctorLab) -> None:
    lab.network.run(["ip", "link", "set", BRIDGE, "down"])
    found = told(lab, "InterfaceDown")
    assert found["cause"] == "The appliance's interface lab is down: no machine on it can reach the appliance."
    assert lab.doctor().document["unasked"] == "on lab: the interface is down"
    lab.network.run(remedy(found))
    over(lab)


def test_an_address_a_link_and_images_that_go_away_are_told_until_they_are_back(lab: DoctorLab, tmp_path: Path) -> None:
    image(tmp_path / "image.tar")
    lab.appliance.command("image", "load", tmp_path / "image.tar")
    listed = lab.network.run(["ip", "-o", "link", "show", "master", BRIDGE]).splitlines()
    ports = [line.split()[1].split("@")[0].rstrip(":") for line in listed]
    repositories = lab.appliance.data / "registry" / "repositories"
    lab.network.run(["ip", "addr", "del", OURS, "dev", BRIDGE])
    for each in ports:
        lab.network.run(["ip", "link", "set", each, "down"])
    repositories.rename(tmp_path / "repositories")
    found = told(lab, "AddressMissing")
    assert found["evidence"][0].endswith(" addresses of lab: none")
    assert told(lab, "NoCarrier")["gravity"] == "suspect"
    assert str(repositories) in told(lab, "RegistryUnusable")["evidence"][0]
    lab.network.run(remedy(found))
    for each in ports:
        lab.network.run(["ip", "link", "set", each, "up"])
    (tmp_path / "repositories").rename(repositories)
    over(lab)


def test_a_host_that_answers_no_arp_is_told_until_it_does(lab: DoctorLab) -> None:
    lab.network.run(["sysctl", "-qw", "net.ipv4.conf.all.arp_ignore=8"])
    silent = told(lab, "ArpSilent")
    assert silent["gravity"] == "fault"
    assert "net.ipv4.conf.all.arp_ignore is 8" in silent["evidence"][0]
    lab.network.run(remedy(silent))
    over(lab)
    lab.network.run(["ip", "link", "set", BRIDGE, "arp", "off"])
    lab.network.run(remedy(told(lab, "ArpSilent")))
    over(lab)


def test_a_firewall_and_files_that_change_are_told_until_they_are_mended(lab: DoctorLab, tmp_path: Path) -> None:
    osie = lab.appliance.data / "osie" / "x86_64"
    kernel, description = (osie / "vmlinuz").read_bytes(), (osie / "osie.json").read_text()
    image(tmp_path / "image.tar")
    lab.appliance.command("image", "load", tmp_path / "image.tar")
    blobs = (lab.appliance.data / "registry" / "blobs" / "sha256").iterdir()
    (layer,) = (each for each in blobs if each.stat().st_size > len(LAYER))

    lab.network.run(["iptables", "-A", "INPUT", "-i", BRIDGE, "-p", "udp", "--dport", "69", "-j", "DROP"])
    put(osie / "vmlinuz", kernel[:70] + b"\1" + kernel[71:])
    put(osie / "osie.json", description.replace('"version": "', '"version": "0.0.1-').encode())
    put(layer, b"\1" + layer.read_bytes()[1:])

    shut = told(lab, "PortShut")
    assert shut["cause"].endswith("drops what machines on lab send to UDP port 69 (TFTP).")
    assert "-A INPUT -i lab -p udp -m udp --dport 69 -j DROP" in shut["evidence"][0]
    damaged = told(lab, "OsieDamaged")
    assert damaged["cause"].startswith("The OSIE for x86_64 is damaged (vmlinuz)")
    assert f"{osie / 'vmlinuz'}: its SHA-256 is " in damaged["evidence"][0]
    assert "it was made by tinkbox 0.0.1-" in told(lab, "OtherVersion")["evidence"][0]
    rotten = told(lab, "ImageDamaged")
    assert rotten["cause"].startswith("The registry's files of whole:v1 are damaged")
    assert f"sha256:{layer.name}" in rotten["evidence"][0]

    (osie / "vmlinuz").unlink()
    until(lambda: "it is missing" in str(conditions(lab).get("OsieDamaged")), "the missing kernel to be told")
    lab.network.run(remedy(shut))
    lab.network.run(["iptables", "-A", "INPUT", "-m", "addrtype", "--src-type", "BROADCAST", "-j", "DROP"])
    until(
        lambda: "UDP port 67 (DHCP)" in str(conditions(lab).get("PortShut")),
        "what no machine without an address gets through",
    )
    lab.network.run(remedy(told(lab, "PortShut")))
    put(osie / "vmlinuz", kernel)
    put(osie / "osie.json", description.encode())
    lab.appliance.command("image", "load", tmp_path / "image.tar")
    over(lab)


def test_an_interface_that_is_created_anew_is_told_until_tinkbox_listens_on_it(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab:
        for words in ("link del lab", "link add lab type bridge", f"addr add {OURS} dev lab", "link set lab up"):
            lab.network.run(["ip", *words.split()])
        found = told(lab, "InterfaceRecreated")
        assert found["gravity"] == "fault"
        assert "in `ip link`, and tinkbox listens on " in found["evidence"][0]
        assert "it is a bridge without a port" in told(lab, "NoCarrier")["evidence"][0]
        box = lab.box(1)
        until(lambda: "NoCarrier" not in conditions(lab), "the link to be back")
        lab.known(1)
        assert not box.asks(tries=2), "its packets come to no socket"
        assert "InterfaceRecreated" in conditions(lab)


def test_an_interface_that_is_gone_is_told(tmp_path: Path) -> None:
    with doctor_lab(tmp_path) as lab:
        lab.network.run(["ip", "link", "del", BRIDGE])
        assert (
            told(lab, "InterfaceGone")["cause"]
            == "The appliance's interface lab is gone: no machine on it can reach the appliance."
        )
        assert lab.doctor().document["unasked"] == "on lab: the interface is gone"
