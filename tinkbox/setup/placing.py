"""Files that are put on the host: each at once and whole, and none that is there already as it should be."""

import os
import stat
import sys
import tempfile
from collections.abc import Mapping
from importlib import resources
from importlib.resources.abc import Traversable
from itertools import count
from pathlib import Path
from typing import Final

from tinkbox.folder_sync import sync_folder
from tinkbox.model.errors import Unavailable

PROGRAM: Final = Path("/usr/local/bin/tinkbox")
CHECKOUT: Final = Path(__file__).parents[2]  # where this runs from source
# What systemd reads, by its name in the folder systemd/ of the checkout.
PLACES: Final[Mapping[str, Path]] = {
    "tinkbox.service": Path("/etc/systemd/system/tinkbox.service"),
    "sysusers.conf": Path("/usr/lib/sysusers.d/tinkbox.conf"),
    "sysctl.conf": Path("/etc/sysctl.d/tinkbox.conf"),
}
_MODE: Final = 0o644


def packed(name: str) -> bytes:
    """A file of systemd/, out of the executable or, in a checkout, out of that folder."""
    inside: Traversable = resources.files("tinkbox.setup") / "systemd" / name
    beside = CHECKOUT / "systemd" / name
    try:
        return inside.read_bytes() if inside.is_file() else beside.read_bytes()
    except OSError as error:
        raise Unavailable(
            f"this program lacks systemd/{name} ({error.strerror}): type `make binary` in a checkout, then "
            "`dist/tinkbox init` there"
        ) from None


def running_program() -> Path | None:
    """The executable file that this is; None in a checkout, where it is many files."""
    return Path(sys.executable) if getattr(sys, "frozen", False) else None


def put(path: Path, content: bytes, mode: int = _MODE) -> bool:
    """Have a file hold this; returns whether that changed anything.  Raises Unavailable."""
    try:
        if path.is_file() and path.read_bytes() == content:
            return False
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=f".{path.name}.", delete=False) as file:
            try:
                file.write(content)
                file.flush()
                os.fchmod(file.fileno(), mode)
                os.fsync(file.fileno())
                Path(file.name).replace(path)
            except BaseException:
                Path(file.name).unlink(missing_ok=True)
                raise
    except OSError as error:
        raise Unavailable(f"cannot write {path}: {error.strerror}") from None
    return True


def keep(path: Path) -> Path:
    """Have what a file holds now under a second name, which nothing had before; returns that name.  Raises Unavailable."""
    names = (f"{path.name}.before-init{'' if at == 1 else f'.{at}'}" for at in count(1))
    for kept in map(path.with_name, names):
        try:
            kept.hardlink_to(path)  # `put` gives the first name to a new file
        except FileExistsError:
            continue
        except OSError as error:
            raise Unavailable(f"cannot keep {path} as {kept}: {error.strerror}") from None
        return kept
    raise AssertionError("there is always a next name")


def put_instead(path: Path, content: bytes) -> Path:
    """Have a file that is there hold this, for the same readers; returns where its former content is.

    Raises Unavailable.
    """
    kept = keep(path)
    of = kept.stat()
    put(path, content, stat.S_IMODE(of.st_mode))
    try:
        os.chown(path, of.st_uid, of.st_gid)
    except OSError as error:
        raise Unavailable(f"cannot give {path} the owner that it had: {error.strerror}") from None
    return kept


def put_program(program: Path, place: Path = PROGRAM) -> bool:
    """Have the executable at its place; returns whether it was put there.  Raises Unavailable."""
    try:
        if place.exists() and place.samefile(program):
            return False
        return put(place, program.read_bytes(), 0o755)
    except OSError as error:
        raise Unavailable(f"cannot read {program}: {error.strerror}") from None


def put_folder(source: Path, place: Path) -> None:
    """Have a copy of a folder of files at a place, readable by everybody, whole or not at all.  Raises Unavailable."""
    try:
        place.parent.mkdir(mode=0o755, parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=place.parent, prefix=f".{place.name}.") as scratch:
            made, old = Path(scratch, "new"), Path(scratch, "old")
            made.mkdir(mode=0o755)
            made.chmod(0o755)
            for each in sorted(source.iterdir()):
                if each.is_file():
                    put(made / each.name, each.read_bytes())
            sync_folder(made)
            if place.exists():
                place.rename(old)
            made.rename(place)
            sync_folder(place.parent)
    except OSError as error:
        raise Unavailable(f"cannot copy {source} to {place}: {error.strerror}") from None
