"""Who made a card, by the vendor's number on the PCI bus: those whose network cards and storage controllers are met."""

from collections.abc import Mapping
from typing import Final

from tinkbox.model.inventory import Device

VENDORS: Final[Mapping[str, str]] = {
    "1000": "Broadcom (LSI)", "1014": "IBM", "1022": "AMD", "1028": "Dell", "103c": "HP", "1077": "QLogic",
    "108e": "Sun", "10b7": "3Com", "10de": "NVIDIA", "10df": "Emulex", "10ec": "Realtek", "1106": "VIA",
    "1179": "Toshiba", "11ab": "Marvell", "11f8": "Microchip (PMC-Sierra)", "1344": "Micron", "1425": "Chelsio",
    "144d": "Samsung", "14c1": "Myricom", "14e4": "Broadcom", "15ad": "VMware", "15b3": "NVIDIA (Mellanox)",
    "15b7": "Western Digital", "1657": "Brocade", "177d": "Marvell (Cavium)", "17d3": "Areca", "1924": "Solarflare",
    "1957": "NXP", "1969": "Qualcomm Atheros", "197b": "JMicron", "19a2": "Emulex", "19e5": "Huawei",
    "19ee": "Netronome", "1af4": "Red Hat (virtio)", "1b21": "ASMedia", "1b4b": "Marvell", "1b96": "Western Digital",
    "1bb1": "Seagate", "1c5c": "SK hynix", "1c8c": "Mobiveil", "1d0f": "Amazon", "1d6a": "Aquantia",
    "1dd8": "AMD (Pensando)", "1e0f": "Kioxia", "1fc9": "Tehuti", "4040": "NetXen", "8086": "Intel",
    "8088": "Wangxun", "9005": "Microchip (Adaptec)",
}  # fmt: skip
_KINDS: Final[Mapping[str, str]] = {"network": "network card", "storage": "storage controller"}


def named(device: Device) -> str:
    """A device for people: `the Broadcom network card 14e4:163b at 0000:03:00.0`."""
    vendor = VENDORS.get(device.id.partition(":")[0], "")
    words = ("the", vendor, _KINDS.get(device.kind, "device"), device.id, "at", device.place)
    return " ".join(word for word in words if word)
