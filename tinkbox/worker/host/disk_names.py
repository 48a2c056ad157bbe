"""What a disk is called: its serial, its model, its world wide name, and the names that udev would give it.

The OSIE has no udev, so the names below /dev/disk are made from /sys after the rules of systemd's udev
(60-persistent-storage.rules, scsi_id, ata_id, path_id): of virtio, NVMe, ATA, SCSI and MMC by-id, of the first four by-path.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Self

from tinkbox.worker.host.sys_files import clean, entries, number, octets, text

_PCI: Final = re.compile(r"/([0-9a-f]{4,8}:[0-9a-f]{2}:[0-9a-f]{2}\.[0-7])/")
_ATA: Final = re.compile(r"(.*/(ata[0-9]+))/host[0-9]+/")
_SCSI: Final = re.compile(r"(.*)/host([0-9]+)/target[0-9:]+/[0-9]+:([0-9]+):([0-9]+):([0-9]+)/block/")
_UNSAFE: Final = re.compile(r"[^0-9A-Za-z#+\-.:=@_\x80-\U0010ffff]")
_T10, _EUI, _NAA = 1, 2, 3  # SPC-4 §7.8.6.1, types of designators
_ATA_MODEL, _ATA_SERIAL = slice(8, 48), slice(48, 68)  # SAT-3 §12.4.2
_LOGICAL_UNIT: Final = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Names:
    """What a disk tells of itself, and `ids`, its names below /dev/disk/by-id."""

    models: tuple[str, ...] = ()
    serials: tuple[str, ...] = ()
    wwn: str = ""
    ids: tuple[str, ...] = ()

    @classmethod
    def of(cls, block: Path, place: str, transport: str) -> Self:
        """Of a disk with this folder in /sys/block, which is at this place below /sys/devices."""
        if block.name.startswith("nvme"):
            return cls._nvme(block)
        if transport == "mmc":
            return cls._mmc(block)
        if _SCSI.match(place) or ((block / "device/vendor").is_file() and transport not in ("virtio", "xen")):
            return cls._scsi(block)
        serial = text(block / "serial")
        return cls(serials=_there(serial), ids=_ids(("virtio", serial)) if transport == "virtio" else ())

    @classmethod
    def _nvme(cls, block: Path) -> Self:
        model, serial, wwid = text(block / "device/model"), text(block / "device/serial"), text(block / "wwid")
        wwn = wwid.partition(".")[2] if wwid.startswith(("eui.", "uuid.")) else ""
        whole = f"{model} {serial}" if model and serial else ""
        numbered = f"{whole} {number(block / 'nsid') or 1}" if whole else ""
        return cls(
            models=_there(model),
            serials=_there(serial, whole, wwid),
            wwn=wwn,
            ids=_ids(("nvme", wwid), ("nvme", whole), ("nvme", numbered)),
        )

    @classmethod
    def _mmc(cls, block: Path) -> Self:
        model, serial, cid = (text(block / "device" / name) for name in ("name", "serial", "cid"))
        return cls(models=_there(model), serials=_there(serial, cid), ids=_ids(("mmc", f"{model} {serial}".strip())))

    @classmethod
    def _scsi(cls, block: Path) -> Self:
        vendor, model = text(block / "device/vendor"), text(block / "device/model")
        serial = clean(octets(block / "device/vpd_pg80")[4:]) or text(block / "device/serial")
        designators = list(_designators(octets(block / "device/vpd_pg83")))
        by_kind = dict(reversed(designators))
        wwid = text(block / "device/wwid")
        wwn = by_kind[_NAA].hex() if _NAA in by_kind else by_kind[_EUI].hex() if _EUI in by_kind else ""
        wwn = wwn or (wwid.partition(".")[2] if wwid.startswith(("naa.", "eui.")) else "")
        ids = [("wwn", f"0x{wwn}" if wwn else "")]
        if vendor == "ATA":
            told = by_kind.get(_T10, b"")
            whole_model = clean(told[_ATA_MODEL]) if told.startswith(b"ATA") else ""
            serial = serial or (clean(told[_ATA_SERIAL]) if told.startswith(b"ATA") else "")
            # The kernel keeps 16 letters of the model; only a longer one is known whole from the other page.
            whole = f"{whole_model or model} {serial}".strip()
            models = _there(whole_model, model)
            ids += [("ata", whole)] if whole_model or len(model) < 15 else []
        else:
            whole, models = f"{vendor} {model} {serial}".strip(), _there(f"{vendor} {model}".strip(), model)
            ids += [("scsi", scsi_id) for scsi_id in _scsi_ids(by_kind)]
            ids += [("scsi", f"S{vendor} {model} {serial}")] if serial else []
        return cls(models=models, serials=_there(serial, f"{whole}" if serial else "", wwid), wwn=wwn, ids=_ids(*ids))


def links_of(block: Path, place: str, names: Names) -> list[str]:
    """Its names below /dev/disk, as far as they can be told without udev."""
    ids = [f"/dev/disk/by-id/{each}" for each in names.ids]
    return ids + [f"/dev/disk/by-path/{each}" for each in _places(block, place)]


def _places(block: Path, place: str) -> Iterator[str]:
    """Where it is plugged in, in the words of path_id."""
    slots = _PCI.findall(place)
    if not slots or re.search(r"/(usb[0-9]+|end_device-[0-9:]+|rport-[0-9:-]+|session[0-9]+)/", place):
        return
    slot = f"pci-{slots[-1]}"
    if block.name.startswith("nvme"):
        yield f"{slot}-nvme-{number(block / 'nsid') or 1}"
    elif ata := _ATA.match(place):
        port = number(Path(ata[1]) / "ata_port" / ata[2] / "port_no")
        scsi = _SCSI.match(place)
        if port and scsi and scsi[3] == "0":
            yield from (f"{slot}-ata-{port}", f"{slot}-ata-{port}.{scsi[4]}")
    elif scsi := _SCSI.match(place):
        hosts = [int(each.name[4:]) for each in entries(Path(scsi[1])) if re.fullmatch(r"host[0-9]+", each.name)]
        yield f"{slot}-scsi-{int(scsi[2]) - min(hosts, default=int(scsi[2]))}:{scsi[3]}:{scsi[4]}:{scsi[5]}"
    elif "/virtio" in place:
        yield from (slot, f"virtio-{slot}")


def _designators(page: bytes) -> Iterator[tuple[int, bytes]]:
    """Of page 83h (SPC-4 §7.8.6): what the logical unit is called, by type."""
    place = 4
    while place + 4 <= len(page):
        head, content = page[place : place + 4], page[place + 4 : place + 4 + page[place + 3]]
        if head[1] >> 4 & 3 == _LOGICAL_UNIT:
            yield head[1] & 15, content
        place += 4 + head[3]


def _scsi_ids(by_kind: dict[int, bytes]) -> Iterator[str]:
    """As scsi_id puts the type of the designator before it."""
    for kind in (_NAA, _EUI):
        if kind in by_kind:
            yield f"{kind}{by_kind[kind].hex()}"
    for kind in (_T10, 0):
        if kind in by_kind:
            yield f"{kind}{clean(by_kind[kind])}"


def _ids(*named: tuple[str, str]) -> tuple[str, ...]:
    """Names below by-id: udev has `_` for blanks and for what is not safe in a name."""
    return tuple(
        dict.fromkeys(f"{kind}-{_UNSAFE.sub('_', '_'.join(told.split()))}" for kind, told in named if told.strip())
    )


def _there(*values: str) -> tuple[str, ...]:
    return tuple(dict.fromkeys(filter(None, values)))
