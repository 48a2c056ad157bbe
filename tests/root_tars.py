"""Tars of root file systems: as small as one can be of which a disk is made."""

import io
import tarfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Final

AT: Final = 1_700_000_000
KERNEL: Final = bytes(0x202) + b"HdrS" + b"a kernel" * 400
VERSION: Final = "6.1.0-1-amd64"


def entry(
    name: str, kind: bytes = tarfile.REGTYPE, content: bytes = b"", **more: object
) -> tuple[tarfile.TarInfo, bytes]:
    """One entry; `more` are fields of TarInfo."""
    info = tarfile.TarInfo(name)
    info.type, info.size, info.mtime = kind, len(content), AT
    info.mode = 0o755 if kind == tarfile.DIRTYPE else 0o644
    for key, value in more.items():
        setattr(info, key, value)
    return info, content


def folder(name: str, **more: object) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, tarfile.DIRTYPE, **more)


def link(name: str, target: str) -> tuple[tarfile.TarInfo, bytes]:
    return entry(name, tarfile.SYMTYPE, linkname=target, mode=0o777)


def system(prefix: str = "./", **changed: Mapping[str, bytes | None]) -> list[tuple[tarfile.TarInfo, bytes]]:
    """What a system is at least; None takes a file out of it."""
    files: dict[str, bytes | None] = {
        f"boot/vmlinuz-{VERSION}": KERNEL,
        f"boot/initrd.img-{VERSION}": b"a ramdisk",
        "usr/lib/systemd/systemd": b"\x7fELF",
        "usr/bin/cloud-init": b"#!/usr/bin/python3\n",
        "etc/os-release": b"PRETTY_NAME=lab\n",
        "etc/fstab": b"# UNCONFIGURED\n",
        "usr/sbin/update-grub": b"#!/bin/sh\n",
        **changed.get("files", {}),
    }
    folders = sorted({"/".join(name.split("/")[:depth]) for name in files for depth in range(1, name.count("/") + 1)})
    made = [folder(prefix)] if prefix else []
    made += [folder(f"{prefix}{name}/") for name in folders]
    return made + [entry(prefix + name, content=content) for name, content in files.items() if content is not None]


def tar(entries: Sequence[tuple[tarfile.TarInfo, bytes]], form: int = tarfile.PAX_FORMAT) -> bytes:
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w:", format=form, encoding="utf-8", errors="surrogateescape") as archive:
        for info, content in entries:
            archive.addfile(info, io.BytesIO(content))
    return made.getvalue()


def write(path: Path, entries: Sequence[tuple[tarfile.TarInfo, bytes]]) -> Path:
    path.write_bytes(tar(entries))
    return path
