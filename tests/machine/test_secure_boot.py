"""Secure Boot with Microsoft's keys: firmware that refuses iPXE is given what is signed, without being asked."""

from pathlib import Path

import pytest

from tests import rotation
from tests.machine.disks import INSTALLED, installed_before, signed
from tests.machine.lab import PATIENCE, Lab, installed_disk, laboratory, mac, shell, until
from tests.machine.matrix import SIGNED_DISK, SIGNED_OSIE, WAYS
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State

pytestmark = pytest.mark.machine
ONE = 1
NO_SHELL = "boot: {console: none}\n"
OFFERS = ("press Enter to activate this console", "Enter on a console")


def refused(lab: Lab) -> bool:
    return bool(lab.appliance.hardware(mac(ONE))["habits"]["secure_boot"])


def fetched(lab: Lab) -> list[str]:
    """The programs and files that the machine got, in their order."""
    stages = (Stage.LOADER, Stage.SCRIPT, Stage.LOCAL_DISK, Stage.KERNEL, Stage.RAMDISK)
    seen = [each for each in lab.appliance.timeline(mac(ONE)) if each["stage"] in stages]
    return [each["facts"].get("name", "") or each["facts"]["file"] for each in seen]


@rotation.mark(SIGNED_OSIE, WAYS)
def test_signed_loaders_boot_to_the_worker_after_one_reset(shell_archive: Path) -> None:
    """No console offers a shell there, either."""
    with laboratory(configured=NO_SHELL) as lab:
        lab.push(ONE)
        lab.load(shell_archive)
        workflow = lab.workflow(ONE, shell("install", "true"))
        machine = lab.machine(ONE, "secure", memory=3072)
        machine.power_on()
        until(lambda: refused(lab), "the refusal to be noticed")
        assert fetched(lab) == ["snponly.efi"]
        machine.reset()
        until(lambda: Stage.WORKER in lab.stages(ONE), "the worker's first contact")
        osie = ["osie/x86_64/vmlinuz", "osie/x86_64/initramfs"]
        assert fetched(lab) == ["snponly.efi", "shimx64.efi", "grubx64.efi", "grub/turn.cfg", *osie]
        assert lab.ended(workflow).state is State.SUCCESS
        assert refused(lab)
        assert not [line for line in machine.console.lines if any(each in line for each in OFFERS)]


@rotation.mark(SIGNED_DISK, WAYS)
def test_signed_loaders_boot_the_installed_disk() -> None:
    with laboratory() as lab:
        installed_before(lab, ONE)
        disk = signed(installed_disk(lab.work / "machine1" / "disk.raw"))
        machine = lab.machine(ONE, "secure", memory=1024, disk=disk)
        machine.power_on()
        until(lambda: refused(lab), "the refusal to be noticed")
        machine.reset()
        machine.console.wait_for(INSTALLED, PATIENCE)
        until(lambda: Stage.DISK_BOOTED in lab.stages(ONE), "the disk's system to be seen")
        assert fetched(lab) == ["snponly.efi", "shimx64.efi", "grubx64.efi", "grub/turn.cfg"]
        learned = lab.json("hardware", "get", mac(ONE))["habits"]
        assert learned == {"secure_boot": True, "local_boot": "grub", "proven": True}
