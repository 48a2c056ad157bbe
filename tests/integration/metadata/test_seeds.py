"""Seeds as install-image writes them on a disk, and cloud-init of Debian 12 and 13, which looks for them there."""

import os
import sys
from pathlib import Path

import pytest
import yaml

from tests.integration.actions.system_images import GPT, MIB, raw_image
from tests.integration.metadata.cloud_init_root import NoLoopDevices, boot
from tests.integration.metadata.first_boot_lab import KEY, SERVER, FirstBootLab, first_boot

pytestmark = pytest.mark.campaign
ACTION = Path(__file__).parents[3] / "examples" / "actions" / "install-image"
SOURCES = {"cidata": "DataSourceNoCloud", "config-2": "DataSourceConfigDrive"}


def installed(lab: FirstBootLab, work: Path, seed: str) -> Path:
    """A disk on which the action has put an image with this seed."""
    raw_image(work / "raw", GPT)
    lab.appliance.command("image", "import", work / "raw", "--id", "tiny", "--scratch", work)
    disk = work / "disk"
    with disk.open("wb") as file:
        file.truncate(64 * MIB)
    environment = {
        "PYTHONPATH": os.fspath(ACTION.parent),
        "IMAGE": "tiny",
        "DEST_DISK": os.fspath(disk),
        "TINKBOX_SERVER": SERVER,
        "TINKBOX_METADATA": lab.url,
        "SEED": seed,
    }
    settings = [f"{name}={value}" for name, value in environment.items()]
    lab.host.run("env", *settings, sys.executable, "-B", os.fspath(ACTION / "install_image.py"))
    return disk


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
@pytest.mark.parametrize("seed", SOURCES)
def test_a_seed_gives_a_system_its_name_its_keys_and_its_network_and_it_phones_home(
    seed: str, suite: str, tmp_path: Path
) -> None:
    with first_boot(tmp_path) as lab:
        disk = installed(lab, tmp_path, seed)
        before = len(lab.timeline())
        try:
            booted = boot(suite, lab.host, tmp_path, disk=disk)
        except NoLoopDevices as none:
            pytest.skip(f"no loop devices here: {none}")
        assert booted.source.startswith(SOURCES[seed]), booted.source
        assert (booted.errors, booted.complaints, booted.hostname) == ([], {}, "node7")
        assert booted.text("etc/from-user-data") == "hello"
        assert KEY in booted.text("home/debian/.ssh/authorized_keys")
        assert booted.text("etc/timezone").strip() == "Europe/Berlin"
        state, _, message = lab.ended()
        assert (state, "is up at 172.30.0.21, host key SHA256:" in message) == ("SUCCESS", True), message
        asked = [each for each in lab.timeline()[before:] if each.startswith("asked for its metadata")]
        assert asked == [], "all that it needs is on its disk"
        networks = list(Path(booted.root / "etc/netplan").glob("*.yaml"))
        assert [each.name for each in networks] == ["50-cloud-init.yaml"]
        assert "172.30.0.21/24" in networks[0].read_text()


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
@pytest.mark.parametrize("seed", SOURCES)
def test_addresses_vlans_and_routes_of_the_document_come_by_the_seed(seed: str, suite: str, tmp_path: Path) -> None:
    card = {
        "mac": "08:00:27:00:01:29",
        "vlan_id": "100",
        "name_servers": ["172.32.0.53"],
        "ip": {"address": "172.32.0.21", "netmask": "255.255.255.0"},
        "classless_static_routes": [{"destination_descriptor": "10.0.0.0/8", "router": "172.32.0.2"}],
    }
    with first_boot(tmp_path, second=card) as lab:
        booted = boot(suite, lab.host, tmp_path, disk=installed(lab, tmp_path, seed))
        assert (booted.errors, booted.complaints) == ([], {})
        told = yaml.safe_load(booted.text("etc/netplan/50-cloud-init.yaml"))["network"]
        (vlan,) = told["vlans"].values()
        assert (vlan["id"], vlan["addresses"]) == (100, ["172.32.0.21/24"])
        (route,) = vlan["routes"]
        assert (route["to"], route["via"]) == ("10.0.0.0/8", "172.32.0.2")
        assert "172.32.0.53" in vlan["nameservers"]["addresses"]
        cards = {each["match"]["macaddress"]: each for each in told["ethernets"].values()}
        assert cards["08:00:27:00:00:01"]["addresses"] == ["172.30.0.21/24"]
        assert not cards[card["mac"]].get("addresses")
        assert not any(each.get("dhcp4") for each in cards.values())
        assert lab.ended()[0] == "SUCCESS"


@pytest.mark.parametrize("suite", ["bookworm", "trixie"])
@pytest.mark.parametrize("seed", SOURCES)
def test_a_bond_of_the_document_comes_by_the_seed(seed: str, suite: str, tmp_path: Path) -> None:
    with first_boot(tmp_path, second={"mac": "08:00:27:00:01:29"}, bonding_mode=4) as lab:
        booted = boot(suite, lab.host, tmp_path, disk=installed(lab, tmp_path, seed))
        assert (booted.errors, booted.complaints) == ([], {})
        told = yaml.safe_load(booted.text("etc/netplan/50-cloud-init.yaml"))["network"]
        (name, bond), *others = told["bonds"].items()
        assert (name, others) == ("bond0", [])
        assert (sorted(bond["interfaces"]), bond["addresses"]) == (["eth0", "eth1"], ["172.30.0.21/24"])
        wanted = {
            "mode": "802.3ad",
            "mii-monitor-interval": "100",
            "lacp-rate": "fast",
            "transmit-hash-policy": "layer3+4",
        }
        assert {name: str(value) for name, value in bond["parameters"].items()} == wanted
        assert bond["macaddress"] == "08:00:27:00:00:01"
        assert not any(each.get("addresses") or each.get("dhcp4") for each in told["ethernets"].values())
