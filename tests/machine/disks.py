"""Machines whose disk has a system already, in the ways in which their firmware finds it or does not."""

import sqlite3
import subprocess
from contextlib import closing
from pathlib import Path

from tests.machine.lab import Lab, built, hardware

INSTALLED = "tinkbox-demo: the installed system is up"
# The first partition of the demo's disk, as mtools name it.
_PARTITION = "{}@@1M"
_START = """\
search --no-floppy --file --set=root /vmlinuz
linux /vmlinuz console=tty0 console=ttyS0,115200 quiet panic=10
initrd /initrd
boot
"""


def installed_before(lab: Lab, number: int) -> None:
    """Have the appliance know that a workflow once succeeded on machine `number`, as if that had been long ago."""
    lab.push(number)
    lab.appliance.kill()
    with closing(sqlite3.connect(lab.appliance.data / "tinkbox.sqlite")) as store, store:
        store.execute("UPDATE hardware SET installed = 1 WHERE id = ?", (hardware(number)["id"],))
    lab.appliance.start_again()


def under_a_name_of_its_own(disk: Path) -> Path:
    """The system's UEFI boot loader lies where its installer puts it, and the firmware has forgotten of that."""
    _mtools(disk, "mmd", "::/EFI/debian")
    _mtools(disk, "mmove", "::/EFI/BOOT/BOOTX64.EFI", "::/EFI/debian/grubx64.efi")
    return disk


def signed(disk: Path) -> Path:
    """The system has the boot loaders of one that was installed under Secure Boot, and again only the installer knows where."""
    _mtools(disk, "mmd", "::/EFI/debian", "::/grub")
    _mtools(disk, "mdel", "::/EFI/BOOT/BOOTX64.EFI")
    for name in ("shimx64.efi", "grubx64.efi"):
        _mtools(disk, "mcopy", str(built(f"tinkbox/boot/loaders/{name}")), f"::/EFI/debian/{name}")
    start = disk.with_name("grub.cfg")
    start.write_text(_START)
    _mtools(disk, "mcopy", str(start), "::/grub/grub.cfg")
    return disk


def _mtools(disk: Path, command: str, *words: str) -> None:
    subprocess.run([command, "-i", _PARTITION.format(disk), *words], check=True, timeout=60)
