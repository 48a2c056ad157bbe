"""A built OSIE on disk: FOLDER/<architecture>/{vmlinuz,initramfs,osie.json}, and mostly firmware beside them."""

import errno
import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tinkbox.host_users import user_name
from tinkbox.model.errors import Invalid, Unavailable
from tinkbox.model.program_versions import program_version

DESCRIPTION = "osie.json"
FILES = ("vmlinuz", "initramfs")
# The second ramdisk, and the licences of what is in it.
FIRMWARE = "firmware"
LICENCES = "firmware.copyright"


@dataclass(frozen=True, slots=True, kw_only=True)
class OsieFile:
    size: int
    sha256: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Firmware:
    """What the second ramdisk holds: `files` below /lib/firmware, and the `modules` that ask for them.

    `absent` are those that modules ask for and no package has.
    """

    files: tuple[str, ...]
    modules: Mapping[str, tuple[str, ...]]
    absent: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class OsieImage:
    """What an OSIE was made of; osie.json holds just this.  `firmware` is None where it has no second ramdisk.

    `https` tells that its worker and its container engine take a credential with an authority, which those of earlier releases do not.
    """

    architecture: str
    version: str
    kernel: str
    files: Mapping[str, OsieFile]
    packages: Mapping[str, str]
    firmware: Firmware | None = None
    https: bool = False


def describe(path: Path) -> OsieFile:
    """Size and digest of one of its files."""
    with path.open("rb") as stream:
        digest = hashlib.file_digest(stream, "sha256")
    return OsieFile(size=path.stat().st_size, sha256=digest.hexdigest())


def write(image: OsieImage, folder: Path) -> None:
    """Write osie.json beside the files."""
    (folder / DESCRIPTION).write_text(json.dumps(asdict(image), indent=2, sort_keys=True) + "\n")


def read(folder: Path) -> OsieImage:
    """The OSIE in the folder of one architecture.  Raises Invalid when its description is not one."""
    path = folder / DESCRIPTION
    try:
        entry = json.loads(path.read_text())
        return OsieImage(
            architecture=str(entry["architecture"]),
            version=program_version(str(entry["version"])),
            kernel=str(entry["kernel"]),
            files={
                name: OsieFile(size=int(file["size"]), sha256=str(file["sha256"]))
                for name, file in entry["files"].items()
            },
            packages={str(name): str(version) for name, version in entry["packages"].items()},
            firmware=_firmware(entry["firmware"]) if entry.get("firmware") is not None else None,
            https=entry.get("https") is True,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError, Invalid) as error:
        raise Invalid(f"{path} does not describe an OSIE ({error}): build it again with `tinkbox osie build`") from None


def _firmware(entry: Mapping[str, Any]) -> Firmware:
    return Firmware(
        files=tuple(map(str, entry["files"])),
        modules={str(name): tuple(map(str, files)) for name, files in entry["modules"].items()},
        absent=tuple(map(str, entry["absent"])),
    )


def _refuse_unreadable(folder: Path) -> None:
    """Raise Unavailable, with the way out, where this user cannot read all OSIEs below a data folder's osie/."""
    try:
        for place in folder.iterdir() if folder.is_dir() else ():
            if place.is_dir() and not place.name.startswith("."):
                for each in place.iterdir():
                    if each.name in (DESCRIPTION, *FILES, FIRMWARE):
                        _refuse_unreadable_file(each)
    except PermissionError as error:
        raise Unavailable(
            f"the user {user_name(os.geteuid())} cannot read the OSIE: {error.filename}: {error.strerror}: "
            f"`chmod -R a+rX {folder}` lets everybody, for every machine gets it"
        ) from None


def _refuse_unreadable_file(path: Path) -> None:
    if path.exists() and not path.is_file():
        raise Unavailable(
            f"{path} is no regular file: move it away, and build the OSIE again with `tinkbox osie build`"
        )
    if path.exists() and not os.access(path, os.R_OK, effective_ids=True):
        raise PermissionError(errno.EACCES, "Permission denied", str(path))


class TakesHttps:
    """Whether machines that are booted from the folder of an architecture take a credential with an authority."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._read: dict[str, tuple[object, bool]] = {}

    def __call__(self, architecture: str) -> bool:
        """By the description there, which is read when it was changed; one that is none says no."""
        try:
            found = (self._folder / architecture / DESCRIPTION).stat()
            state = (found.st_ino, found.st_mtime_ns, found.st_size)
            if self._read.get(architecture, (None, False))[0] != state:
                self._read[architecture] = state, read(self._folder / architecture).https
        except (OSError, Invalid):
            return False
        return self._read[architecture][1]


class BuiltImages:
    """All OSIEs below a folder, as `images` tells them.

    `gone` has the architectures of those that were there before and were not the last time, each with the folder to put back.
    """

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._had: set[str] = set()
        self.gone: Mapping[str, str] = {}

    def __call__(self) -> Mapping[str, OsieImage]:
        """By the names of the folders that they lie in, by which machines get them.  Raises what `images` raises."""
        found = _by_folder(self._folder)
        there = {each.architecture for each in found.values()}
        self._had |= there
        folder = self._folder
        self.gone = {each: str(folder / each if folder.exists() else folder) for each in sorted(self._had - there)}
        return found


def undescribed(folder: Path) -> list[Path]:
    """The descriptions that are missing beside the kernel of an OSIE, below a data folder's osie/."""
    kernels = sorted(folder.glob(f"[!.]*/{FILES[0]}"))
    return [path for each in kernels if not (path := each.with_name(DESCRIPTION)).exists()]


def images(folder: Path) -> list[OsieImage]:
    """All OSIEs below a data folder's osie/, by architecture.

    Raises Unavailable, with the way out, where this user cannot read one, and Invalid as `read` does.
    """
    return [*_by_folder(folder).values()]


def _by_folder(folder: Path) -> dict[str, OsieImage]:
    _refuse_unreadable(folder)
    found = {path.parent.name: read(path.parent) for path in sorted(folder.glob(f"[!.]*/{DESCRIPTION}"))}
    if not found and (missing := undescribed(folder)):
        raise Invalid(
            f"{missing[0]} is missing beside {FILES[0]}: put it back, or build the OSIE again with `tinkbox osie build`"
        )
    return found
