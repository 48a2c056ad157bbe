"""One file with its owner and mode, written into a file system of a disk."""

import contextlib
import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path, PurePosixPath

from failure import Failure, required
from filesystem import mounted, root_moved_to

MODES = 0o7777


@dataclass(frozen=True, slots=True, kw_only=True)
class Parameters:
    """`path` is absolute, as the installed system will name it."""

    disk: str
    fs_type: str
    path: PurePosixPath
    contents: str
    uid: int
    gid: int
    mode: int
    directory_mode: int


def parameters(environment: Mapping[str, str]) -> Parameters:
    """Read the environment of `writefile`; raises Failure."""
    known = dict(environment)
    disk, fs_type, path = required(known, "DEST_DISK", "FS_TYPE", "DEST_PATH")
    required(known, "UID", "GID", "MODE", "DIRMODE")
    if "CONTENTS" not in known:
        raise Failure("MissingParameter", "set CONTENTS in the action's environment (it may be empty)")
    wanted = PurePosixPath(path)
    if not wanted.is_absolute() or ".." in wanted.parts or path.endswith("/") or len(wanted.parts) < 2:
        raise Failure("InvalidParameter", f"DEST_PATH is an absolute path of a file, without '..': {path!r}")
    return Parameters(
        disk=disk,
        fs_type=fs_type,
        path=wanted,
        contents=known["CONTENTS"],
        uid=_number(known, "UID", 10, 2**32 - 2),
        gid=_number(known, "GID", 10, 2**32 - 2),
        mode=_number(known, "MODE", 8, MODES),
        directory_mode=_number(known, "DIRMODE", 8, MODES),
    )


def _number(environment: Mapping[str, str], name: str, base: int, largest: int) -> int:
    text = environment[name]
    try:
        value = int(text, base)
    except ValueError:
        value = -1
    if not 0 <= value <= largest:
        kind = "an octal number like 0644" if base == 8 else "a whole number"
        raise Failure("InvalidParameter", f"{name} is {kind}, not {text!r}")
    return value


def write(root: Path, wanted: Parameters) -> None:
    """Write the file below `root`, making the folders that are missing; raises Failure."""
    try:
        with root_moved_to(root):
            _make_folders(Path(wanted.path.parent), wanted)
            # A link at the file's own place is followed too, as it would be by an editor.
            place = Path(os.path.realpath(wanted.path))
            beside = place.with_name(f"{place.name[:200]}.writefile")
            beside.unlink(missing_ok=True)
            descriptor = os.open(beside, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, 0o600)
            with os.fdopen(descriptor, "wb") as file:
                file.write(wanted.contents.encode("utf-8", "surrogateescape"))
                os.fchown(descriptor, wanted.uid, wanted.gid)
                os.fchmod(descriptor, wanted.mode)
                file.flush()
                os.fsync(descriptor)
            beside.rename(place)
    except OSError as error:
        raise Failure("WriteFailed", f"{wanted.path} on {wanted.disk}: {error.strerror}") from None


def _make_folders(folder: Path, wanted: Parameters) -> None:
    for path in [*reversed(folder.parents), folder]:
        real = Path(os.path.realpath(path))
        with contextlib.suppress(FileExistsError):
            real.mkdir()
            os.chown(real, wanted.uid, wanted.gid)
            real.chmod(wanted.directory_mode)


def write_on_disk(wanted: Parameters) -> None:
    with mounted(wanted.disk, wanted.fs_type, writable=True) as root:
        write(root, wanted)
    print(
        f"{wanted.path} written to {wanted.disk}: {len(wanted.contents)} characters, mode {wanted.mode:04o}", flush=True
    )
