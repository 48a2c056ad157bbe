"""Makes the system in a tree of files one that boots from a disk of its own: what GRUB reads, what is mounted, who the disk is."""

import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final
from uuid import UUID, uuid5

from tinkbox.model.errors import Invalid
from tinkbox.model.text import quoted
from tinkbox.system_images.found import Found
from tinkbox.wire.disk.bootable_disk import ESP_LABEL, FSTAB_ESP, FSTAB_ROOT, Identities, Kernel, grub_cfg
from tinkbox.wire.ext4.tree import Kind, Node, file, find, folder, locate, put

Read = Callable[[Node, int], bytes]
_INITS: Final = ("/sbin/init", "/usr/lib/systemd/systemd", "/usr/sbin/init", "/bin/init")
_LIBRARIES: Final[Mapping[str, Sequence[str]]] = {
    "x86_64": ("/lib64/ld-linux-x86-64.so.2", "/lib/ld-musl-x86_64.so.1"),
    "aarch64": ("/lib/ld-linux-aarch64.so.1", "/lib/ld-musl-aarch64.so.1"),
}
# What GRUB reads as a word, whatever is around it.
_PATH: Final = re.compile(r"/[A-Za-z0-9._+~/-]+\Z")
_RAMDISKS: Final = (
    "initrd.img-{}",
    "initramfs-{}.img",
    "initramfs-{}",
    "initrd-{}.img",
    "initrd-{}",
    "initrd.img",
    "initramfs.img",
)
# Of a kernel for PCs (Documentation/arch/x86/boot.rst).
_MAGIC, _MAGIC_AT = b"HdrS", 0x202
_MAX_FSTAB: Final = 64 << 10
_SERIAL: Final = re.compile(r"([0-9A-Fa-f]{4})-([0-9A-Fa-f]{4})\Z")
_NO_KERNEL: Final = (
    "install them in it (Debian: `apt-get install linux-image-amd64 initramfs-tools cloud-init openssh-server`), "
    "and make the tar again"
)


@dataclass(slots=True)
class _Mounts:
    """What /etc/fstab names: `root` and `esp` are None where it names nothing for them."""

    root: str | None = None
    root_type: str = ""
    esp: str | None = None
    others: list[tuple[str, str]] = field(default_factory=list)


def make_bootable(root: Node, identity: UUID, read: Read) -> Found:
    """Write what is missing into the tree; `read(file, length)` gives the begin of a file's content.

    Where /etc/fstab names the disk by UUID or label, the disk becomes that one; else it is made of `identity`.  Raises Invalid for
    what is no system for x86_64, or has no kernel.
    """
    _refuse_other_things(root)
    kernels = _kernels(root, read)
    wanted = Wanted(identity)
    warnings = [*_doubts(root, kernels), *_mount(root, wanted, read)]
    grub = _folder(root, "/boot/grub")
    text = grub_cfg(kernels, file_system=wanted.file_system, root=wanted.root)
    put(grub, b"grub.cfg", file(text.encode(), modified=root.modified))
    return Found(
        file_system=wanted.file_system,
        label=wanted.label,
        identities=wanted.identities(),
        warnings=warnings,
    )


class Wanted:
    """Who the disk is to be: by default made of an identity, or what a system asks for."""

    def __init__(self, identity: UUID) -> None:
        self._identity = identity
        self.file_system = uuid5(identity, "file system")
        self.root = uuid5(identity, "partition 1")
        self.esp = uuid5(identity, "partition 15")
        self.esp_serial = self.esp.fields[0]
        self.label = ""

    def identities(self) -> Identities:
        return Identities(
            disk=uuid5(self._identity, "disk"),
            root=self.root,
            bios_boot=uuid5(self._identity, "partition 14"),
            esp=self.esp,
            esp_serial=self.esp_serial,
        )

    def take_root(self, device: str) -> bool:
        """Become the disk whose root is called so; False where no name of ours can be that."""
        kind, value = _tag(device)
        found = _uuid(value)
        if kind == "UUID" and found:
            self.file_system = found
        elif kind == "PARTUUID" and found:
            self.root = found
        elif kind == "LABEL" and value.isprintable() and 0 < len(value.encode()) <= 16:
            self.label = value
        else:
            return False
        return True

    def take_esp(self, device: str) -> bool:
        kind, value = _tag(device)
        serial, found = _SERIAL.match(value), _uuid(value)
        if kind == "UUID" and serial:
            self.esp_serial = int(serial[1] + serial[2], 16)
        elif kind == "PARTUUID" and found:
            self.esp = found
        else:
            return kind == "LABEL" and value == ESP_LABEL
        return True


def _refuse_other_things(root: Node) -> None:
    names = set(root.children)
    if names & {b"manifest.json", b"oci-layout"}:
        raise Invalid("it is an archive of container images: load it with `tinkbox image load FILE`")
    if any(name.endswith(b".ovf") for name in names):
        raise Invalid(
            "it is an appliance (ova): unpack it, and convert its disk with `qemu-img convert -O qcow2 DISK disk.qcow2`"
        )
    disks = [name for name in names if name.endswith((b".raw", b".img", b".qcow2", b".vmdk"))]
    if disks and b"etc" not in names:
        raise Invalid(f"it holds the disk {_quoted(min(disks))}: unpack it, and import that")
    if b"etc" not in names:
        inner = [name for name, node in root.children.items() if b"etc" in node.children]
        if inner:
            raise Invalid(
                f"its system is in the folder {_quoted(inner[0])}: make it with `tar -C {{that folder}} -c .`"
            )
        raise Invalid("it is no root file system: it has no /etc")
    here = {name for name, paths in _LIBRARIES.items() if any(find(root, path) for path in paths)}
    if here == {"aarch64"}:
        raise Invalid(
            "its system is for arm64, and tinkbox makes disks of x86_64 systems only: import its disk image (qcow2 or raw)"
        )


def _kernels(root: Node, read: Read) -> list[Kernel]:
    """The newest kernel that has a ramdisk: first by the links that its packages keep, so that an update changes nothing here."""
    boot = locate(root, "/boot")
    files = boot[1].children if boot else {}
    names = sorted((name.decode("ascii", "replace") for name in files if name.startswith(b"vmlinuz")), key=_version)
    kernels = [name for name in names if boot and _is_kernel(root, f"{boot[0]}/{name}", read)]
    if not boot or not kernels:
        other = f" ({quoted(names[-1])} is none for x86_64)" if names else ""
        raise Invalid(
            f"it has no kernel in /boot (vmlinuz-…){other}: it is the file system of a container, not of a machine. "
            f"A machine needs a kernel, its ramdisk and cloud-init: {_NO_KERNEL}"
        )
    for name in reversed(kernels):
        of = name.removeprefix("vmlinuz").removeprefix("-")
        ramdisk = next(
            (each for each in (form.format(of) for form in _RAMDISKS) if _is_filled(root, f"{boot[0]}/{each}")), ""
        )
        if ramdisk:
            newest = Kernel("Linux", f"{boot[0]}/{name}", f"{boot[0]}/{ramdisk}")
            return [*_linked(root, newest), newest]
    raise Invalid(f"its kernel {quoted(kernels[-1])} has no ramdisk in /boot (initrd.img-…): {_NO_KERNEL}")


def _linked(root: Node, newest: Kernel) -> list[Kernel]:
    for kernel, ramdisk in (("/vmlinuz", "/initrd.img"), ("/boot/vmlinuz", "/boot/initrd.img")):
        if find(root, kernel) is find(root, newest.kernel) and find(root, ramdisk) is find(root, newest.ramdisk):
            return [] if newest.kernel == kernel else [Kernel("Linux, the newest", kernel, ramdisk)]
    return []


def _is_kernel(root: Node, path: str, read: Read) -> bool:
    node = find(root, path)
    if node is None or node.kind is not Kind.FILE or not _PATH.match(path) or "rescue" in path:
        return False
    return read(node, _MAGIC_AT + len(_MAGIC))[_MAGIC_AT:] == _MAGIC


def _is_filled(root: Node, path: str) -> bool:
    node = find(root, path)
    return node is not None and node.kind is Kind.FILE and node.size > 0 and bool(_PATH.match(path))


def _version(name: str) -> list[tuple[int, int, str]]:
    """Numbers count as numbers."""
    return [(1, int(part), "") if part.isdecimal() else (0, 0, part) for part in re.split(r"(\d+)", name)]


def _doubts(root: Node, kernels: Sequence[Kernel]) -> list[str]:
    found = []
    if not any(find(root, path) for path in _INITS):
        raise Invalid(
            "it has no /sbin/init: it is the file system of a container, not of a machine. Install systemd-sysv in it"
        )
    replaced = bool(find(root, "/usr/bin/cloud-init"))
    if not replaced:
        found.append(
            "it has no cloud-init: a machine gets no name, no key and no address of it, and never phones home. "
            "Install cloud-init in it, unless that is meant (`--data-source none`)"
        )
    if len(kernels) == 1 and not any(find(root, f"/usr/sbin/{name}") for name in ("update-grub", "grub-mkconfig")):
        found.append(
            f"nothing in it tells GRUB of a newer kernel: after an update it goes on booting {kernels[0].kernel}, "
            "which /boot/grub/grub.cfg names"
        )
    ssh = find(root, "/etc/ssh")
    if not replaced and ssh and any(name.startswith(b"ssh_host_") and name.endswith(b"_key") for name in ssh.children):
        found.append("it has ssh host keys, and every machine would have the same: delete /etc/ssh/ssh_host_* in it")
    machine = find(root, "/etc/machine-id")
    if machine and machine.kind is Kind.FILE and machine.size > len("uninitialized\n"):
        found.append("it has a machine id, and every machine would have the same: empty /etc/machine-id in it")
    return found


def _mount(root: Node, wanted: Wanted, read: Read) -> list[str]:
    """Let /etc/fstab and the disk agree."""
    there = find(root, "/etc/fstab")
    text = ""
    if there is not None and there.kind is Kind.FILE:
        if there.size > _MAX_FSTAB:
            raise Invalid(f"its /etc/fstab has {there.size} bytes, which is no such file")
        text = read(there, there.size).decode("utf-8", "surrogateescape")
    mounts = _mounts(text)
    found = [
        f"/etc/fstab mounts {quoted(device)} at {quoted(place)}, which the new disk does not have: a machine waits for it, and may "
        "stop at its first boot. Take the line out, or add the option nofail"
        for device, place in mounts.others
    ]
    if mounts.root is not None and not wanted.take_root(mounts.root):
        found.append(
            f"/etc/fstab names {quoted(mounts.root)} for /, which the new disk may not be: name it by UUID or LABEL, which it then gets, "
            "or take the line out"
        )
    if mounts.root is not None and not mounts.root_type:
        found.append(
            "/etc/fstab gives / no type, so mount ignores the line, and / may stay read-only: write ext4 behind it, or take "
            "the line out"
        )
    elif mounts.root is not None and mounts.root_type not in ("ext4", "auto"):
        found.append(
            f"/etc/fstab says that / is {quoted(mounts.root_type)}, and on the new disk it is ext4: with options of the other one it "
            "stays read-only. Change the line, or take it out"
        )
    if mounts.esp is not None and not wanted.take_esp(mounts.esp):
        found.append(
            f"/etc/fstab names {quoted(mounts.esp)} for /boot/efi, which the new disk does not have: a machine may stop at its first boot. "
            "Name it by UUID, which it then gets, or take the line out"
        )
    if mounts.root is None:
        added = FSTAB_ROOT.format(root=wanted.root)
        place = find(root, "/boot/efi")
        if mounts.esp is None and place is not None and place.kind is Kind.FOLDER:
            added += FSTAB_ESP.format(esp=wanted.esp)
        text += ("" if not text or text.endswith("\n") else "\n") + added
        written = file(text.encode("utf-8", "surrogateescape"), modified=root.modified)
        put(_folder(root, "/etc"), b"fstab", written)
    return found


def _mounts(text: str) -> _Mounts:
    """The lines of fstab(5) that matter at boot."""
    found = _Mounts()
    for line in text.split("\n"):
        words = line.split()
        if len(words) < 2 or words[0].startswith("#"):
            continue
        device, place, options = words[0], words[1].rstrip("/") or "/", words[3].split(",") if len(words) > 3 else []
        if place == "/":
            found.root, found.root_type = device, words[2] if len(words) > 2 else ""
        elif place in ("/boot/efi", "/efi"):
            found.esp = device
        elif _tag(device)[0] and not {"nofail", "noauto"} & set(options):
            found.others.append((device, place))
    return found


def _tag(device: str) -> tuple[str, str]:
    """How a device is named, and its name; both empty for what is none, such as tmpfs."""
    for kind in ("UUID", "LABEL", "PARTUUID", "PARTLABEL"):
        for begin in (f"{kind}=", f"/dev/disk/by-{kind.lower()}/"):
            if device.startswith(begin):
                return kind, device.removeprefix(begin).strip('"')
    return ("PATH", device) if device.startswith("/dev/") else ("", "")


def _uuid(text: str) -> UUID | None:
    try:
        found = UUID(text)
    except ValueError:
        return None
    return found if found.int and len(text) == 36 else None


def _folder(root: Node, path: str) -> Node:
    """A folder of the tree, made where it is missing."""
    found = find(root, path)
    if found is None:
        above, _, name = path.rpartition("/")
        found = folder(modified=root.modified)
        put(_folder(root, above) if above else root, name.encode(), found)
    if found.kind is not Kind.FOLDER:
        raise Invalid(f"its {path} is no folder")
    return found


def _quoted(name: bytes) -> str:
    return quoted(name.decode("utf-8", "surrogateescape"))
