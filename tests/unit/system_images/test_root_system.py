"""What is made of a root file system so that it boots, and what is said of one that cannot."""

import re
from collections.abc import Mapping
from typing import Final
from uuid import UUID

import pytest

from tests.root_tars import KERNEL, VERSION, system, tar
from tinkbox.model.errors import Invalid
from tinkbox.system_images.found import MOST_WARNINGS, Found, decode_found, encode_found
from tinkbox.system_images.root_system import make_bootable
from tinkbox.system_images.tar_tree import read_tree
from tinkbox.wire.ext4.tree import Kind, Node, file, find, folder, put

IDENTITY: Final = UUID("0e8f5a34-8c5e-4dfb-9a7e-2b7c1f0a9d11")
OTHER: Final = UUID("11111111-2222-4333-8444-555555555555")


class System:
    """A tree, and what came of it."""

    def __init__(self, files: Mapping[str, bytes | None] | None = None, links: Mapping[str, str] | None = None) -> None:
        content = tar(system(files=files or {}))
        self.read = lambda place, number: content[place : place + number]
        self.root = read_tree(self.read, len(content)).root
        for path, target in (links or {}).items():
            above, _, name = path.rpartition("/")
            parent = find(self.root, above) if above else self.root
            assert parent is not None
            put(parent, name.encode(), Node(kind=Kind.LINK, content=target.encode()))

    def make(self) -> Found:
        return make_bootable(self.root, IDENTITY, self.begin)

    def begin(self, node: Node, number: int) -> bytes:
        if node.content or not node.segments:
            return node.content[:number]
        return self.read(node.segments[0].place, min(number, node.segments[0].length))

    def text(self, path: str) -> str:
        node = find(self.root, path)
        assert node is not None
        return self.begin(node, node.size).decode()


def test_grub_starts_the_kernel_from_this_disk() -> None:
    one = System()
    found = one.make()
    text = one.text("/boot/grub/grub.cfg")
    assert f"search --no-floppy --fs-uuid --set=root {found.file_system}\n" in text
    assert f"linux /boot/vmlinuz-{VERSION} root=PARTUUID={found.identities.root} ro " in text
    assert f"initrd /boot/initrd.img-{VERSION}\n" in text
    assert list(found.warnings) == []


def test_the_newest_kernel_that_has_a_ramdisk_is_started() -> None:
    kernels = {
        "boot/vmlinuz-6.1.0-9-amd64": KERNEL,
        "boot/initrd.img-6.1.0-9-amd64": b"r",
        "boot/vmlinuz-6.1.0-10-amd64": KERNEL,
        "boot/initrd.img-6.1.0-10-amd64": b"r",
        "boot/vmlinuz-6.1.0-11-amd64": KERNEL,
        "boot/vmlinuz-0-rescue-0123": KERNEL,
        "boot/vmlinuz-9.9'; halt": KERNEL,
        "boot/initrd.img-9.9'; halt": b"r",
        "boot/vmlinuz-8.8-arm64": b"\0" * 4096,
        "boot/initrd.img-8.8-arm64": b"r",
    }
    one = System(kernels)
    one.make()
    assert "linux /boot/vmlinuz-6.1.0-10-amd64 " in one.text("/boot/grub/grub.cfg")


@pytest.mark.parametrize(
    ("kernel", "ramdisk"),
    [
        ("vmlinuz-lts", "initramfs-lts"),
        ("vmlinuz-linux", "initramfs-linux.img"),
        ("vmlinuz-6.12.0-1.fc41.x86_64", "initramfs-6.12.0-1.fc41.x86_64.img"),
        ("vmlinuz", "initrd.img"),
    ],
)
def test_other_distributions_names_are_known(kernel: str, ramdisk: str) -> None:
    mine = {f"boot/vmlinuz-{VERSION}": None, f"boot/initrd.img-{VERSION}": None}
    one = System({**mine, f"boot/{kernel}": KERNEL, f"boot/{ramdisk}": b"r"})
    one.make()
    assert f"linux /boot/{kernel} " in one.text("/boot/grub/grub.cfg")
    assert f"initrd /boot/{ramdisk}\n" in one.text("/boot/grub/grub.cfg")


def test_links_that_packages_keep_are_started_first() -> None:
    one = System(
        {"usr/sbin/update-grub": None},
        links={"/vmlinuz": f"boot/vmlinuz-{VERSION}", "/initrd.img": f"/boot/initrd.img-{VERSION}"},
    )
    found = one.make()
    text = one.text("/boot/grub/grub.cfg")
    assert text.index("linux /vmlinuz ") < text.index(f"linux /boot/vmlinuz-{VERSION} ")
    assert list(found.warnings) == []


def test_a_system_that_does_not_keep_grubs_configuration_is_told_of() -> None:
    (warning,) = System({"usr/sbin/update-grub": None}).make().warnings
    assert f"it goes on booting /boot/vmlinuz-{VERSION}" in warning


REFUSED: Mapping[str, tuple[Mapping[str, bytes | None], str]] = {
    "a container's": (
        {f"boot/vmlinuz-{VERSION}": None, f"boot/initrd.img-{VERSION}": None},
        r"no kernel in /boot .*of a container.*apt-get install linux-image-amd64",
    ),
    "another processor's kernel": (
        {f"boot/vmlinuz-{VERSION}": b"MZ" + bytes(4096)},
        "no kernel in /boot .*is none for x86_64",
    ),
    "no ramdisk": ({f"boot/initrd.img-{VERSION}": None}, "has no ramdisk in /boot"),
    "an empty ramdisk": ({f"boot/initrd.img-{VERSION}": b""}, "has no ramdisk in /boot"),
    "no init": ({"usr/lib/systemd/systemd": None}, "no /sbin/init"),
    "arm64": ({"lib/ld-linux-aarch64.so.1": b"\x7fELF"}, "for arm64.*import its disk image"),
    "a docker archive": ({"manifest.json": b"[]"}, "load it with `tinkbox image load FILE`"),
    "an appliance": ({"box.ovf": b"<"}, "an appliance"),
    "an fstab of megabytes": ({"etc/fstab": bytes(70_000)}, "no such file"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_what_cannot_boot_is_refused_with_what_to_do(name: str) -> None:
    files, text = REFUSED[name]
    with pytest.raises(Invalid, match=text):
        System(files).make()


@pytest.mark.parametrize(
    ("tree", "text"),
    [
        ({"disk.raw": file(b"x")}, "holds the disk 'disk.raw': unpack it"),
        ({"rootfs": folder()}, "no root file system: it has no /etc"),
    ],
)
def test_what_is_no_root_file_system_is_told(tree: Mapping[str, Node], text: str) -> None:
    root = folder()
    for name, node in tree.items():
        put(root, name.encode(), node)
    with pytest.raises(Invalid, match=text):
        make_bootable(root, IDENTITY, lambda node, number: b"")


def test_a_system_below_a_folder_is_told_how_to_be_packed() -> None:
    outer = folder()
    put(outer, b"rootfs", System().root)
    with pytest.raises(Invalid, match="in the folder 'rootfs': make it with `tar -C"):
        make_bootable(outer, IDENTITY, lambda node, number: b"")


def test_without_a_line_for_the_root_one_is_written() -> None:
    one = System({"etc/fstab": b"tmpfs /tmp tmpfs defaults 0 0", "boot/efi/x": b""})
    found = one.make()
    lines = one.text("/etc/fstab").splitlines()
    assert lines[0] == "tmpfs /tmp tmpfs defaults 0 0"
    assert lines[1].startswith(f"PARTUUID={found.identities.root} / ext4 ")
    assert lines[2].startswith(f"PARTUUID={found.identities.esp} /boot/efi vfat defaults,nofail ")
    without = System({"etc/fstab": None})
    without.make()
    assert " / ext4 " in without.text("/etc/fstab")


@pytest.mark.parametrize(
    ("device", "taken"),
    [
        (f"UUID={OTHER}", lambda found: found.file_system == OTHER),
        (f'UUID="{OTHER}"', lambda found: found.file_system == OTHER),
        (f"/dev/disk/by-uuid/{OTHER}", lambda found: found.file_system == OTHER),
        (f"PARTUUID={OTHER}", lambda found: found.identities.root == OTHER),
        ("LABEL=cloudimg-rootfs", lambda found: found.label == "cloudimg-rootfs"),
    ],
)
def test_the_disk_becomes_the_one_that_fstab_names(device: str, taken: object) -> None:
    text = f"{device} / ext4 defaults 0 1\n"
    one = System({"etc/fstab": text.encode()})
    found = one.make()
    assert callable(taken)
    assert taken(found)
    assert list(found.warnings) == []
    assert one.text("/etc/fstab") == text
    grub = one.text("/boot/grub/grub.cfg")
    assert (str(found.file_system) in grub, f"root=PARTUUID={found.identities.root} " in grub) == (True, True)


@pytest.mark.parametrize(
    "device",
    [
        "/dev/sda1",
        "/dev/mapper/vg-root",
        "LABEL=a-label-of-more-than-16",
        "PARTUUID=0001-01",
        f"UUID={UUID(int=0)}",
        "UUID=x",
    ],
)
def test_a_root_that_the_disk_cannot_be_is_told(device: str) -> None:
    (warning,) = System({"etc/fstab": f"{device} / ext4 defaults 0 1\n".encode()}).make().warnings
    assert f"names '{device}' for /" in warning


def test_an_fstab_of_any_bytes_is_read() -> None:
    content = b"LABEL=\xff\xfe / ext4 \xff\nUUID=\xff /boot/efi\n\x00\n/dev/\xff /x\n" + bytes(range(256))
    found = System({"etc/fstab": content}).make()
    assert len(found.warnings) == 3
    assert decode_found(encode_found(found)).warnings == tuple(found.warnings)


def test_a_root_of_another_type_is_told() -> None:
    (warning,) = System({"etc/fstab": f"UUID={OTHER} / btrfs subvol=root 0 0\n".encode()}).make().warnings
    assert "says that / is 'btrfs', and on the new disk it is ext4" in warning


def test_a_root_without_a_type_is_told() -> None:
    (warning,) = System({"etc/fstab": f"UUID={OTHER} /\n".encode()}).make().warnings
    assert warning.startswith("/etc/fstab gives / no type, so mount ignores the line")


def test_warnings_that_are_too_many_are_counted() -> None:
    lines = "".join(f"LABEL=disk{number} /srv/{number} ext4 defaults 0 2\n" for number in range(30))
    found = System({"etc/fstab": lines.encode()}).make()
    told = decode_found(encode_found(found)).warnings
    assert list(told[:-1]) == list(found.warnings[: MOST_WARNINGS - 1])
    assert told[-1].startswith("there are 11 more warnings")


def test_the_efi_system_partition_becomes_the_one_that_fstab_names() -> None:
    found = System({"etc/fstab": b"UUID=ABCD-1234 /boot/efi vfat umask=0077 0 1\n"}).make()
    assert (found.identities.esp_serial, list(found.warnings)) == (0xABCD1234, [])
    (warning,) = System({"etc/fstab": b"/dev/sda1 /boot/efi vfat umask=0077 0 1\n"}).make().warnings
    assert "a machine may stop at its first boot" in warning


def test_other_disks_that_fstab_names_are_told() -> None:
    lines = f"UUID={OTHER} /home ext4 defaults 0 2\nLABEL=data /data ext4 defaults,nofail 0 2\n/dev/sdb1 none swap sw 0 0\nproc /proc proc defaults 0 0\n"
    found = System({"etc/fstab": lines.encode()}).make()
    assert [f"'UUID={OTHER}' at '/home'" in found.warnings[0], "'/dev/sdb1' at 'none'" in found.warnings[1]] == [
        True,
        True,
    ]
    assert len(found.warnings) == 2


def test_what_would_be_the_same_on_every_machine_is_told() -> None:
    found = System(
        {"etc/ssh/ssh_host_ed25519_key": b"k", "etc/machine-id": b"0" * 33, "usr/bin/cloud-init": None}
    ).make()
    texts = " ".join(found.warnings)
    for text in ("no cloud-init", "ssh host keys", "machine id"):
        assert text in texts
    assert list(System({"etc/machine-id": b"uninitialized\n"}).make().warnings) == []


def test_grubs_folder_is_never_outside() -> None:
    one = System(links={"/boot/grub": "/../../../../tmp"})
    put(one.root, b"tmp", folder())
    one.make()
    assert "menuentry" in one.text("/tmp/grub.cfg")
    with pytest.raises(Invalid, match="/boot/grub is no folder"):
        System({"boot/grub": b"a file"}).make()


def test_what_is_found_is_told_and_believed_only_as_it_should_be() -> None:
    found = System({"usr/bin/cloud-init": None}).make()
    assert decode_found(encode_found(found)) == Found(
        file_system=found.file_system, label="", identities=found.identities, warnings=tuple(found.warnings)
    )
    for wrong in (
        b"",
        b"[]",
        b"{}",
        b"[" * 100_000,
        encode_found(found).replace(b'"esp_serial": ', b'"esp_serial": -1'),
        encode_found(found).replace(b'"warnings": [', b'"warnings": [7, '),
        encode_found(found).replace(b'"warnings": [', b'"warnings": ["", ' + b'"", ' * MOST_WARNINGS),
        re.sub(rb'"warnings": \[.*\]', b'"warnings": {"a": 1}', encode_found(found)),
        re.sub(rb'"warnings": \[.*\]', b'"warnings": "text"', encode_found(found)),
    ):
        with pytest.raises(ValueError):
            decode_found(wrong)
