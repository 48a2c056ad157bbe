"""What this machine is made of, as the kernel tells: /sys, /proc, the firmware's tables, its management controller.

What cannot be read is left empty: a machine that hides its serial number can be discovered all the same.
"""

import os
import re
from collections.abc import Iterator
from pathlib import Path

from tinkbox.model.inventory import Card, Disk, Inventory
from tinkbox.wire.kernel_log import missing_firmware
from tinkbox.worker.host.bmc import controller_address
from tinkbox.worker.host.devices import devices
from tinkbox.worker.host.kernel_log import read_kernel_log
from tinkbox.worker.host.smbios import installed_memory
from tinkbox.worker.host.sys_files import entries, number, octets

SECTOR = 512  # what /sys counts in, whatever the disk does
# Made by the kernel, or of other disks, or nothing to install on.
_NO_DISKS = ("loop", "ram", "zram", "dm-", "md", "sr", "fd", "nbd", "mtd")
_SECURE_BOOT = "efivars/SecureBoot-8be4df61-93ca-11d2-aa0d-00e098032b8c"  # of EFI_GLOBAL_VARIABLE, UEFI §3.3


def inventory(root: Path = Path("/")) -> Inventory:
    """Read everything, below another root in tests.  Blocks for some milliseconds."""
    identity, firmware = root / "sys/class/dmi/id", root / "sys/firmware/efi"
    processor, processors = _processors(root / "proc/cpuinfo")
    return Inventory(
        architecture=os.uname().machine,
        processor=processor or _text(root / "proc/device-tree/compatible"),
        processors=processors,
        memory=_memory(root),
        firmware="uefi" if firmware.is_dir() else "bios",
        secure_boot=_secure_boot(firmware),
        firmware_version=f"{_text(identity / 'bios_vendor')} {_text(identity / 'bios_version')}".strip(),
        manufacturer=_text(identity / "sys_vendor"),
        product=_text(identity / "product_name") or _text(root / "proc/device-tree/model"),
        serial=_text(identity / "product_serial") or _text(root / "proc/device-tree/serial-number"),
        uuid=_text(identity / "product_uuid").lower(),
        bmc=controller_address(root / "dev/ipmi0"),
        disks=tuple(_disks(root / "sys/block")),
        cards=tuple(_cards(root / "sys/class/net")),
        devices=devices(
            root, root / "lib/modules" / os.uname().release, missing_firmware(read_kernel_log(root / "dev/kmsg"))
        ),
    )


def _processors(path: Path) -> tuple[str, int]:
    """The model of the first, and how many there are."""
    lines = [line.partition(":") for line in octets(path).decode(errors="replace").splitlines()]
    models = [value.strip() for name, _, value in lines if name.strip() == "model name"]
    return models[0] if models else "", sum(name.strip() == "processor" for name, _, _ in lines)


def _memory(root: Path) -> int:
    """What is built in, where the firmware says so: the kernel's own figure lacks what it keeps for itself."""
    found = re.search(rb"^MemTotal: *([0-9]+) kB", octets(root / "proc/meminfo"))
    of_kernel = int(found[1]) * 1024 if found else 0
    return max(of_kernel, installed_memory(octets(root / "sys/firmware/dmi/tables/DMI")))


def _secure_boot(firmware: Path) -> bool:
    # Four bytes of attributes stand before the value.
    return octets(firmware / _SECURE_BOOT)[4:5] == b"\1"


def _disks(blocks: Path) -> Iterator[Disk]:
    for block in entries(blocks):
        size = number(block / "size") * SECTOR
        if block.name.startswith(_NO_DISKS) or not size or not (block / "device").exists():
            continue
        yield Disk(
            device=f"/dev/{block.name}",
            size=size,
            serial=_text(block / "serial") or _text(block / "device/serial") or _page(block / "device/vpd_pg80"),
            model=_text(block / "device/model") or _text(block / "device/name"),
            rotational=_text(block / "queue/rotational") == "1",
        )


def _cards(network: Path) -> Iterator[Card]:
    for card in entries(network):
        if (card / "device").exists():
            driver = card / "device/driver"
            yield Card(
                name=card.name,
                mac=_text(card / "address"),
                link=_text(card / "carrier") == "1",
                speed=max(number(card / "speed"), 0),  # -1: it does not know
                driver=driver.resolve().name if driver.exists() else "",
            )


def _page(path: Path) -> str:
    """A unit serial number: SPC-4 §7.8.15, whose first four bytes are a head."""
    return _clean(octets(path)[4:])


def _text(path: Path) -> str:
    return _clean(octets(path))


def _clean(content: bytes) -> str:
    return " ".join(content.replace(b"\0", b" ").decode(errors="replace").split())
