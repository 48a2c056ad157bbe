"""`tinkbox hardware add`."""

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import MACHINE
from tests.unit.model.test_ssh_keys import key

Tinkbox = Callable[..., Printed]
MAC = "08:00:27:00:00:01"


@pytest.fixture
def machines(appliance: FakeAppliance) -> FakeAppliance:
    appliance.answers = {"POST /v1/hardware/add": MACHINE}
    return appliance


def test_a_mac_is_enough_and_name_mac_and_address_are_printed(tinkbox: Tinkbox, machines: FakeAppliance) -> None:
    assert tinkbox("hardware", "add", MAC).out == f"machine-1 {MAC} 172.30.0.11\n"
    assert json.loads(machines.asked[0][1]) == {"mac": MAC}


def test_all_that_is_told_is_sent(tinkbox: Tinkbox, machines: FakeAppliance, tmp_path: Path) -> None:
    path = tmp_path / "id.pub"
    path.write_text(f"{key()} anna\n")
    words = ["--name", "node7", "--address", "172.30.0.11/24", "--gateway", "172.30.0.1", "--interface-mac", "x"]
    tinkbox("hardware", "add", MAC, *words, "--ssh-key", str(path), "--disk", "/dev/sda", "--disk", "/dev/sdb")
    assert json.loads(machines.asked[0][1]) == {
        "mac": MAC,
        "name": "node7",
        "address": "172.30.0.11/24",
        "gateway": "172.30.0.1",
        "interface_macs": ["x"],
        "ssh_keys": [f"{key()} anna"],
        "disks": ["/dev/sda", "/dev/sdb"],
    }


def test_a_private_key_is_not_sent(tinkbox: Tinkbox, machines: FakeAppliance, tmp_path: Path) -> None:
    path = tmp_path / "id"
    path.write_text("-----BEGIN OPENSSH PRIVATE KEY-----\n")
    refused = tinkbox("hardware", "add", MAC, "--ssh-key", str(path))
    assert refused.status == 1
    assert "PRIVATE key" in refused.err
    assert "cannot read" in tinkbox("hardware", "add", MAC, "--ssh-key", str(tmp_path / "none")).err
    assert machines.asked == []


@pytest.mark.parametrize("disk", ["/etc/passwd", "", "sd a", "/dev/sd a", "sda", "/dev/../etc", "smallest"])
def test_a_disk_that_is_no_path_below_dev_is_refused(tinkbox: Tinkbox, machines: FakeAppliance, disk: str) -> None:
    ended = tinkbox("hardware", "add", MAC, "--disk", disk)
    assert (ended.status, machines.asked) == (2, [])
    assert "expected the disk's path below /dev" in ended.err


@pytest.mark.parametrize("flag", ["--name", "--address", "--gateway"])
def test_a_flag_without_a_value_is_refused(tinkbox: Tinkbox, machines: FakeAppliance, flag: str) -> None:
    ended = tinkbox("hardware", "add", MAC, flag, "")
    assert (ended.status, machines.asked) == (2, [])
    assert f"{flag}" in ended.err
    assert "it is empty" in ended.err
