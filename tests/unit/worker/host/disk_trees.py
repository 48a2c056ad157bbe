"""Machines' disks as /sys shows them."""

from pathlib import Path

PCI = "devices/pci0000:00/0000:00"
NAA = bytes.fromhex("5000c500a1b2c3d4")


def designator(kind: int, content: bytes, of_port: bool = False) -> bytes:
    """One of page 83h."""
    return bytes((1, kind | (0x10 if of_port else 0), 0, len(content))) + content


def page_83(*designators: bytes) -> bytes:
    content = b"".join(designators)
    return b"\0\x83" + len(content).to_bytes(2, "big") + content


def ata_page(model: str, serial: str, naa: bytes = NAA) -> bytes:
    told = designator(1, b"ATA     " + model.ljust(40).encode() + serial.ljust(20).encode())
    port = designator(3, bytes.fromhex("5111111111111111"), of_port=True)
    return page_83(told, port, designator(3, naa) if naa else b"")


class Tree:
    """A /sys and a /dev below one folder."""

    def __init__(self, root: Path) -> None:
        self.sys, self.dev = root / "sys", root / "dev"
        (self.sys / "block").mkdir(parents=True)
        self.dev.mkdir()

    def block(self, name: str, place: str, size: int, /, **files: str | bytes) -> Path:
        """A disk at a place below /sys; `files` by their paths, with `__` for the slash.  Its device is the folder above."""
        folder = self.sys / place / "block" / name if "/nvme" not in place else self.sys / place / name
        folder.mkdir(parents=True)
        device = self.sys / place
        device.mkdir(parents=True, exist_ok=True)
        if "/virtual/" not in f"/{place}/":
            (folder / "device").symlink_to(device)
        for path, content in {"size": f"{size // 512}\n", "queue__rotational": "1\n", **files}.items():
            file = folder / path.replace("__", "/")
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_bytes(content if isinstance(content, bytes) else content.encode())
        (self.sys / "block" / name).symlink_to(folder)
        return folder

    def virtio(self, name: str, slot: str, size: int, serial: str = "", /, **files: str | bytes) -> Path:
        told = {"serial": serial} if serial else {}
        return self.block(name, f"{PCI}:{slot}/virtio{slot[:2]}", size, **told, **files)

    def nvme(self, name: str, slot: str, size: int, model: str, serial: str, wwid: str, **files: str | bytes) -> Path:
        controller = f"{PCI}:{slot}/nvme/{name.partition('n1')[0]}"
        return self.block(
            name, controller, size, device__model=f"{model}   \n", device__serial=f"{serial}\n", wwid=f"{wwid}\n",
            nsid="1\n", queue__rotational="0\n", **files,
        )  # fmt: skip

    def ata(
        self, name: str, port: int, size: int, model: str, serial: str, naa: bytes = NAA, **files: str | bytes
    ) -> Path:
        place = f"{PCI}:1f.2/ata{port}/host{port}/target{port}:0:0/{port}:0:0:0"
        (self.sys / f"{PCI}:1f.2/ata{port}/ata_port/ata{port}").mkdir(parents=True)
        (self.sys / f"{PCI}:1f.2/ata{port}/ata_port/ata{port}/port_no").write_text(f"{port}\n")
        return self.block(
            name, place, size, device__vendor="ATA     \n", device__model=f"{model[:16]}\n", device__type="0\n",
            device__vpd_pg80=b"\0\x80\0\x14" + serial.rjust(20).encode(), device__vpd_pg83=ata_page(model, serial, naa), **files,
        )  # fmt: skip

    def scsi(self, name: str, lun: int, size: int, serial: str, naa: bytes = NAA, **files: str | bytes) -> Path:
        place = f"{PCI}:05.0/virtio2/host6/target6:0:0/6:0:0:{lun}"
        return self.block(
            name, place, size, device__vendor="QEMU    \n", device__model="QEMU HARDDISK   \n", device__type="0\n",
            device__vpd_pg80=b"\0\x80\0\x04" + serial.encode(),
            device__vpd_pg83=page_83(designator(0, serial.encode()), designator(3, naa) if naa else b""), **files,
        )  # fmt: skip

    def usb(self, name: str, size: int, **files: str | bytes) -> Path:
        place = f"{PCI}:14.0/usb1/1-2/1-2:1.0/host9/target9:0:0/9:0:0:0"
        return self.block(name, place, size, device__vendor="Stick\n", device__model="Fast\n", **files)
