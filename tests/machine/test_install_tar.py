"""A tar of a root file system, from `tinkbox image import` to a person who is logged in."""

from collections.abc import Iterator
from typing import Final

import pytest

from examples.lab.firmware import Firmware
from tests.machine.installing import DISK, USER, Site, site
from tests.machine.lab import address, built, hostname
from tinkbox.model.boot import Stage

pytestmark = [pytest.mark.machine, pytest.mark.campaign, pytest.mark.timeout(2400)]
CELLS: Final[tuple[tuple[str, Firmware], ...]] = (
    ("debian-13", "bios"),
    ("debian-13", "uefi"),
    ("debian-12", "bios"),
    ("debian-12", "uefi"),
)
LOOK: Final = """\
hostname; df --block-size=1 --output=size / | tail -1; test -d /sys/firmware/efi && echo uefi || echo bios
findmnt --noheadings --output OPTIONS / | cut -d, -f1; stat --format '%a %U:%G' /usr/bin/sudo /etc/shadow /tmp
python3 -c 'import os; print(*os.listxattr("/usr/bin/ping"), sep=",")'
systemctl is-system-running --wait; grep VERSION_ID /etc/os-release; sudo dmesg | grep -c 'EXT4-fs error' || true
"""


@pytest.fixture(scope="module")
def home() -> Iterator[Site]:
    with site() as made:
        yield made


@pytest.mark.parametrize(("system", "firmware"), [pytest.param(*cell, id="-".join(cell)) for cell in CELLS])
def test_a_tar_of_a_root_file_system_becomes_a_system_that_lets_the_operator_in(
    home: Site, system: str, firmware: Firmware
) -> None:
    number, image = 1 + CELLS.index((system, firmware)), f"lab-{system}"
    if image not in {each["name"] for each in home.lab.json("image", "list")}:
        file = built(f"build/system-images/{system}.tar.zst")
        named = ["--id", image, "--default-user", USER, "--scratch", str(home.lab.work)]
        home.lab.appliance.typed("image", "import", file, *named)
    home.lab.push(number)
    command = home.begins(image, number)
    with home.machine(number, firmware) as machine:
        machine.power_on()
        lines = home.succeeds(command, machine)
        assert lines[-1] == f"ssh {USER}@{address(number)}"
        told = home.on(number, LOOK).splitlines()
        assert told[0] == hostname(number)
        assert 0.9 * DISK < int(told[1]) < DISK
        assert told[2:4] == [firmware, "rw"]
        assert told[4:7] == ["4755 root:root", "640 root:shadow", "1777 root:root"]
        # Debian 13's has no capability any more.
        assert told[7] == ("security.capability" if system == "debian-12" else "")
        assert told[8] == "running"
        assert told[9:] == [f'VERSION_ID="{system.partition("-")[2]}"', "0"]
        # Its own packages go on from here: a kernel's installation writes GRUB's configuration anew, and that boots as well.
        home.on(number, "sudo update-grub && sudo sync && grep -c menuentry /boot/grub/grub.cfg")
        before = home.on(number, "cat /proc/sys/kernel/random/boot_id")
        machine.power_off()
        machine.power_on()
        assert home.on(number, "cat /proc/sys/kernel/random/boot_id") != before
        assert home.lab.stages(number).count(Stage.PHONED_HOME) == 1
