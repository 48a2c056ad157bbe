"""`tinkbox install`, from an empty disk to a person who is logged in."""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Final

import pytest

from examples.lab.firmware import Firmware
from tests.machine.installing import DISK, Site, site
from tests.machine.lab import address, hostname, tagged
from tinkbox.model.boot import Stage

pytestmark = [pytest.mark.machine, pytest.mark.campaign, pytest.mark.timeout(2400)]
CELLS: Final[tuple[tuple[str, Firmware], ...]] = (
    ("debian-13", "uefi"),
    ("debian-13", "bios"),
    ("debian-12", "uefi"),
    ("debian-12", "bios"),
)
SEEDS: Final = ("cidata", "config-2")
USER_DATA: Final = """\
#cloud-config
write_files:
  - {path: /etc/from-user-data, content: "written by cloud-init\\n"}
runcmd:
  - [sh, -c, "echo ran > /var/lib/from-runcmd"]
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.mark.parametrize(("system", "firmware"), [pytest.param(*cell, id="-".join(cell)) for cell in CELLS])
def test_an_empty_disk_becomes_a_system_that_lets_the_operator_in(
    home: Site, system: str, firmware: Firmware, tmp_path: Path
) -> None:
    number = 1 + CELLS.index((system, firmware))
    home.add(system)
    home.lab.push(number)
    user_data = tmp_path / "user-data"
    user_data.write_text(USER_DATA)
    command = home.begins(system, number, "--user-data", user_data)
    with home.machine(number, firmware) as machine:
        machine.power_on()
        lines = home.succeeds(command, machine)
        up = re.fullmatch(rf"{hostname(number)} is up at ([\d.]+), host key (SHA256:\S+) \(\w+\)", lines[-2])
        assert up is not None, lines
        assert (up[1], lines[-1]) == (address(number), f"ssh debian@{address(number)}")

        told = home.on(
            number,
            "hostname; df --block-size=1 --output=size / | tail -1; cat /etc/from-user-data /var/lib/from-runcmd; "
            "sudo cloud-init status --long; cat /etc/os-release; test -d /sys/firmware/efi && echo uefi || echo bios",
        ).splitlines()
        assert told[0] == hostname(number)
        # ext4 keeps some of it for itself.
        assert 0.9 * DISK < int(told[1]) < DISK
        assert told[2:4] == ["written by cloud-init", "ran"]
        assert "status: done" in told
        assert f'VERSION_ID="{system.partition("-")[2]}"' in told
        assert told[-1] == firmware
        assert up[2] in home.operator.host_keys()
        stages = home.lab.stages(number)
        assert stages.count(Stage.PHONED_HOME) == 1
        assert Stage.CLOUD_INIT in stages

        if firmware == "uefi":
            entries = home.logs(home.workflow(command))
            assert re.search(rf"boot entry [0-9A-F]{{4}} \(tinkbox {system}\S*\) starts \\EFI\\\w+\\\w+\.efi", entries)
        # Once more by the button: the appliance, if it is asked, says the disk.
        before = home.on(number, "cat /proc/sys/kernel/random/boot_id")
        machine.power_off()
        machine.power_on()
        assert home.on(number, "cat /proc/sys/kernel/random/boot_id") != before
        later = home.lab.stages(number)[len(stages) :]
        assert Stage.WORKER not in later
        assert (Stage.LOCAL_DISK in later) == (firmware == "bios")


@pytest.mark.parametrize("seed", SEEDS)
def test_addresses_without_dhcp_come_by_the_seed_also_one_of_a_vlan(home: Site, seed: str) -> None:
    turn = SEEDS.index(seed)
    number, vlan, on_vlan, second = 41 + turn, 20 + turn, f"172.{32 + turn}.0.21", f"08:00:27:00:01:{41 + turn:02x}"
    home.add("debian-13")
    network = home.lab.network
    tagged(network, vlan, f"172.{32 + turn}.0.1/24")
    card = {"mac": second, "vlan_id": str(vlan), "ip": {"address": on_vlan, "netmask": "255.255.255.0"}}
    home.lab.push(number, second=card)
    command = home.begins("debian-13", number, "--seed", seed)
    cable = ("-netdev", f"tap,id=second,ifname={network.add_tap()},script=no,downscript=no")
    # What tags its frames here sees them before the host would finish their checksums.
    cable += ("-device", f"virtio-net-pci,netdev=second,mac={second},romfile=,csum=off")
    with home.machine(number, extra=cable) as machine:
        machine.power_on()
        home.succeeds(command, machine)
        told = home.on(number, "ip -brief -4 address; sudo grep -rh dhcp4 /etc/netplan || true", on_vlan)
    # Debian's netplan gives systemd-networkd what the seed says; how cards are called then differs.
    assert re.search(rf"^\S+ +UP +{re.escape(address(number))}/24", told, re.MULTILINE), told
    assert re.search(rf"^\S+\.{vlan}@\S+ +UP +{re.escape(on_vlan)}/24", told, re.MULTILINE), told
    assert "dhcp4: true" not in told
    assert Stage.DISK_BOOTED not in home.lab.stages(number)
