"""`tinkbox init` as a person types it on a fresh Debian with its own systemd, which then starts the appliance at each boot."""

import os
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from ipaddress import IPv4Interface
from pathlib import Path

import pytest

from examples.lab.network import BRIDGE, Network
from tests.integration.api.door import image_archive
from tests.machine.box import Box
from tests.machine.lab import built
from tests.machine.reader import Reader
from tinkbox.osie.image import OsieImage, write

pytestmark = [pytest.mark.skipif(os.geteuid() != 0, reason="makes namespaces"), pytest.mark.timeout(900)]


@pytest.fixture(params=["trixie", pytest.param("bookworm", marks=pytest.mark.campaign)])
def box(request: pytest.FixtureRequest) -> Iterator[Box]:
    """eth0 leads to people, eth1 to machines; /root has a release."""
    with ExitStack() as stack:
        work = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="tinkbox-lab-")))
        network = stack.enter_context(Network(IPv4Interface("198.18.0.1/32")))
        network.run(["ip", "link", "add", "people", "type", "bridge"])
        network.run(["ip", "link", "set", "people", "up"])
        made = Box(network, work / "box", [("people", "192.0.2.7"), (BRIDGE, "")], "192.0.2.1", request.param)
        osie = work / "x86_64"
        osie.mkdir()
        write(OsieImage(architecture="x86_64", version="7", kernel="6.12", files={}, packages={}), osie)
        made.lay("root/tinkbox", built("dist/tinkbox"))
        made.lay("root/osie/x86_64", osie)
        made.lay("root/images/reboot.tar", image_archive("reboot:v1"))
        yield stack.enter_context(made)


def test_a_fresh_host_serves_and_serves_again_after_a_reboot(box: Box) -> None:
    with box.terminal() as terminal:
        anna = Reader(terminal)
        anna.types("umask 077")
        first = anna.types(
            "./tinkbox init", [(r"interface \[eth1\]: ", "eth9"), (r"\(yes or no\) \[yes\]: ", "perhaps")]
        )
        assert anna.status == 0, first
        for said in (
            "eth0 (192.0.2.7/24, the default route: your network)",
            "which interface are machines on?",
            "type yes or no",
            "172.30.0.1/24 is on eth1, also after a reboot: /etc/network/interfaces.d/eth1",
            "appliance       runs (`systemctl status tinkbox`)",
            "images          reboot:v1",
        ):
            assert said in first

        assert "active (running)" in anna.types("systemctl status --no-pager tinkbox")
        assert "node door       http://172.30.0.1" in anna.types("journalctl --no-pager --unit tinkbox")
        assert "Nothing had to be changed." in anna.types("./tinkbox init")
        # What is typed next is answered: systemctl has waited.
        anna.types("systemctl restart tinkbox && tinkbox hardware add 08:00:27:00:00:01 --name node7")
        assert (anna.status, "node7 08:00:27:00:00:01 172.30.0.2" in anna.shown) == (0, True), anna.shown

    box.reboot()
    with box.terminal() as terminal:
        anna = Reader(terminal)
        assert "node7" in anna.types("systemctl start tinkbox && tinkbox hardware list")
        again = anna.types("cd / && tinkbox init")
        for said in (
            "appliance       runs already",
            "images          reboot:v1: already there",
            "Nothing had to be changed.",
        ):
            assert said in again


@pytest.mark.campaign
@pytest.mark.parametrize("box", ["trixie"], indirect=True)  # Debian 12's networkd does not get on with newer kernels
def test_the_address_is_kept_by_networkd_where_that_sets_addresses(box: Box) -> None:
    file = box.files / "etc/systemd/network/20-eth0.network"
    file.write_text("[Match]\nName=eth0\n[Network]\nAddress=192.0.2.7/24\nGateway=192.0.2.1\n")
    box.run("systemctl", "enable", "--now", "systemd-networkd")
    with box.terminal() as terminal:
        said = Reader(terminal).types("./tinkbox init --yes --set-address --dhcp reservation")
    assert "172.30.0.1/24 is on eth1, also after a reboot: /etc/systemd/network/10-eth1.network" in said
    box.reboot()
    box.run("systemctl", "start", "tinkbox")
    assert "172.30.0.1/24" in box.run("ip", "-brief", "address", "show", "dev", "eth1")


@pytest.mark.campaign
def test_a_start_that_fails_says_where_to_look(box: Box) -> None:
    with box.terminal() as terminal:
        anna = Reader(terminal)
        anna.types("./tinkbox init --no-unit")
        anna.types("mkdir -p /etc/systemd/system/tinkbox.service.d")
        anna.types(
            "printf '[Service]\\nReadOnlyPaths=/var/lib/tinkbox\\n' > /etc/systemd/system/tinkbox.service.d/ro.conf"
        )
        failed = anna.types("./tinkbox init")
        assert anna.status == 1
        assert "`systemctl restart tinkbox.service` failed: " in failed
        assert "`journalctl -u tinkbox.service` says more" in failed
        anna.types("rm -r /etc/systemd/system/tinkbox.service.d")
        assert "appliance       runs" in anna.types("./tinkbox init")
        assert anna.status == 0
