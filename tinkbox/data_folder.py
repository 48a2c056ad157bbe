"""What is wrong in the data folder before anything is served, beyond whose it is: each with the way out."""

import os
import stat
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import Final

from tinkbox.appliance import BOOT_KEY, REGISTRY, STORE
from tinkbox.host_users import user_name
from tinkbox.model.errors import Unavailable
from tinkbox.model.images.references import ALGORITHMS
from tinkbox.osie.image import images as osie_images
from tinkbox.vital_sources import osie_files
from tinkbox.vitals.file_digests import FileDigests, glance

_BLOBS: Final = tuple(f"{REGISTRY}/blobs/{each}" for each in ALGORITHMS)
_FOLDERS: Final = (
    "people",
    "tls",
    "recordings",
    "services",
    REGISTRY,
    *_BLOBS,
    f"{REGISTRY}/incoming",
    f"{REGISTRY}/repositories",
)
_FILES: Final = (STORE, *(f"{REGISTRY}/{each}" for each in ("known-repositories", "promised", "verified")))


def refuse_emptied_store(data: Path) -> None:
    """Raise Unavailable where the store's file is empty in a folder that had an appliance: it was lost.

    A first start that is killed may leave an empty file, but before it makes the boot key.
    """
    path = data / STORE
    if _had_appliance(data) and _size(path) == 0:
        raise Unavailable(
            f"the store {path} is empty, and {data} had an appliance: its hardware, templates and workflows are lost. Put a "
            f"backup of the data folder in its place, or type `rm {path}` to begin anew without them"
        )


def missing_store(data: Path) -> Iterator[str]:
    """A warning where the store's file is gone from a folder that had an appliance."""
    if _had_appliance(data) and _size(data / STORE) is None:
        yield (
            f"warning: {data} had an appliance, and its store {STORE} is gone: this begins anew, without its hardware, templates "
            "and workflows. If that is wrong, stop tinkbox and put a backup of the data folder in its place"
        )


def missing_registry(data: Path) -> Iterator[str]:
    """A warning where the registry's folder is gone from a folder that had an appliance."""
    if _had_appliance(data) and not os.path.lexists(data / REGISTRY):
        yield (
            f"{data} had an appliance, and its folder {REGISTRY} is gone: this begins anew, without any image. If that is wrong, stop "
            f"tinkbox and put the folder back as {data / REGISTRY}, from where it was moved to or from a backup"
        )


def shut_away(data: Path) -> Iterator[str]:
    """The folders and files of ours that the present user may not use because of their modes; those of links are left out."""
    for names, wanted, letters in ((_FOLDERS, stat.S_IRWXU, "rwx"), (_FILES, stat.S_IRUSR | stat.S_IWUSR, "rw")):
        for path in (data / name for name in names):
            if _is_shut(path, wanted):
                yield (
                    f"{user_name(os.geteuid())} may not read and write {path} (mode {stat.S_IMODE(path.lstat().st_mode):03o}): "
                    f"`chmod u+{letters} {path}`"
                )


def broken_osie(data: Path, named: str = "tinkbox") -> Iterator[str]:
    """What is not as it was built in the OSIEs; it reads all of them.  Raises Unavailable or Invalid as they are read.

    `named` is how a command that works with this folder begins.
    """
    folder = data / "osie"
    if os.path.lexists(folder) and not folder.is_dir():
        what = f"a link to {folder.readlink()}, which is not there" if folder.is_symlink() else "no folder"
        raise Unavailable(f"{folder} is {what}: move it away, and build the OSIE again with `{named} osie build`")
    described = [*osie_files(folder, partial(osie_images, folder))]
    for each in FileDigests(time.monotonic, rest=_unrested).look(described):
        yield f"the OSIE's {each.path}: {each.how}: build it again with `{named} osie build`"


def osie_at_a_glance(data: Path, named: str) -> Iterator[str]:
    """The same, as far as names and sizes tell; it reads none of them."""
    folder = data / "osie"
    for each in glance(osie_files(folder, partial(osie_images, folder))):
        yield f"the OSIE's {each.path}: {each.how}: build it again with `{named} osie build`"


def _unrested(_: float) -> None:
    return None


def _had_appliance(data: Path) -> bool:
    """Whether one was started here once: the first start makes the boot key when its store is there."""
    try:
        return (data / BOOT_KEY).exists() or any(
            any((data / each).iterdir()) for each in _BLOBS if (data / each).is_dir()
        )
    except OSError:
        return False


def _size(path: Path) -> int | None:
    try:
        return path.stat().st_size
    except OSError:
        return None


def _is_shut(path: Path, wanted: int) -> bool:
    try:
        found = path.lstat()
    except OSError:
        return False
    return (
        os.geteuid() != 0
        and found.st_uid == os.geteuid()
        and not stat.S_ISLNK(found.st_mode)
        and (found.st_mode & wanted) != wanted
    )
