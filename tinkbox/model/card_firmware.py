"""Which machines are sent the firmware of cards with the OSIE: the second ramdisk.

Rule 1: a card that works only with firmware must work at the machine's first boot, so a machine of which nothing is known
is sent it.
Rule 2: a virtual machine is not, unless it told that a card of it asks for some.
Rule 3: a machine that fetched the OSIE, and whose worker never came, is sent it at its next boot, whatever was known of it.
"""

from enum import StrEnum
from typing import Final

from tinkbox.model.inventory import Inventory


class Need(StrEnum):
    """Whether a machine's cards need firmware."""

    NEEDED = "needed"
    UNNEEDED = "not needed"
    UNKNOWN = "unknown"


# By SMBIOS: what the tables of virtual machines begin with, as manufacturer or product.
VIRTUAL_MAKERS: Final = (
    "QEMU", "VMware", "innotek GmbH", "Xen", "Bochs", "Parallels", "BHYVE", "Nutanix AHV", "KubeVirt",
)  # fmt: skip
VIRTUAL_PRODUCTS: Final = (
    "KVM", "Standard PC (", "VMware", "VirtualBox", "Virtual Machine", "HVM domU", "OpenStack", "Google Compute Engine",
    "Apple Virtualization", "BHYVE", "Parallels", "Cloud Hypervisor",
)  # fmt: skip
_MAKERS: Final = tuple(map(str.lower, VIRTUAL_MAKERS))
_PRODUCTS: Final = tuple(map(str.lower, VIRTUAL_PRODUCTS))


def is_virtual(manufacturer: str, product: str) -> bool:
    """Whether firmware that calls its machine this is that of a virtual one."""
    return manufacturer.lower().startswith(_MAKERS) or product.lower().startswith(_PRODUCTS)


def need(inventory: Inventory | None) -> Need:
    """What a machine told; one of which the kernel could not tell which cards it has may have any."""
    if inventory is None:
        return Need.UNKNOWN
    if any(each.asks_firmware or each.missing for each in inventory.devices):
        return Need.NEEDED
    virtual = is_virtual(inventory.manufacturer, inventory.product)
    return Need.UNNEEDED if inventory.devices or virtual else Need.UNKNOWN
