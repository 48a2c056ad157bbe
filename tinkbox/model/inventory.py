"""What a machine says that it is made of."""

from dataclasses import dataclass

_GIB = 2**30


@dataclass(frozen=True, slots=True, kw_only=True)
class Disk:
    """`device` as in /dev/vda; `size` in bytes."""

    device: str
    size: int
    serial: str = ""
    model: str = ""
    rotational: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class Card:
    """One network card; `speed` in Mbit/s, 0 when it does not say."""

    name: str
    mac: str
    link: bool
    speed: int = 0
    driver: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Device:
    """What is plugged in for a network or for disks, by its `place`, such as 0000:03:00.0 on the PCI bus.

    `id` is vendor and device there, such as 14e4:163b, empty on other buses.  `kind` is `network` or `storage`.  `driver` is
    what drives it, empty: nothing; `module` the kernel module for it, empty: the OSIE has none.  It `asks_firmware` if that
    module may load some, and `missing` are the files that it asked for and did not find.
    """

    place: str
    id: str = ""
    kind: str = ""
    driver: str = ""
    module: str = ""
    asks_firmware: bool = False
    missing: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Inventory:
    """`memory` in bytes; `firmware` is `bios` or `uefi`; `bmc` the address of its management controller, or empty."""

    architecture: str
    processor: str
    processors: int
    memory: int
    firmware: str
    secure_boot: bool = False
    firmware_version: str = ""
    manufacturer: str = ""
    product: str = ""
    serial: str = ""
    uuid: str = ""
    bmc: str = ""
    disks: tuple[Disk, ...] = ()
    cards: tuple[Card, ...] = ()
    devices: tuple[Device, ...] = ()


def summary(inventory: Inventory) -> str:
    """A machine in one line, for people."""
    disks = ", ".join(f"{each.device} {each.size / _GIB:.0f} GiB {each.serial}".strip() for each in inventory.disks)
    parts = (
        f"{inventory.manufacturer} {inventory.product}".strip(),
        f"{inventory.processors} processors",
        f"{inventory.memory / _GIB:.1f} GiB",
        disks or "no disk",
    )
    return "; ".join(part for part in parts if part)
