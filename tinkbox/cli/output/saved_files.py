"""Files that came from machines, written below a folder of the operator's: nothing outside of it is touched.

Rule 1: the folder is new or empty, so there is nothing in it to overwrite, and nothing in it to be led astray by.
Rule 2: a link is made only when it cannot lead out of the folder, and never is anything written through one.
Rule 3: modes and names are as a tar that no root unpacks: modes within the umask and without setuid, setgid and sticky bit,
names as they are, whatever letters they have.
"""

import os
from collections.abc import Iterable, Sequence
from pathlib import Path, PurePosixPath

from tinkbox.model.errors import Conflict, Invalid, Unavailable
from tinkbox.wire.ephemeral_data import Entry
from tinkbox.wire.ephemeral_limits import MAX_DEPTH


def save(entries: Iterable[Entry], folder: Path) -> list[str]:
    """Write the entries; returns what was left out, each with the reason.

    Raises Conflict when there is something in the folder already, Invalid when a path leaves it,
    Unavailable when the files cannot be written.
    """
    listed = list(entries)
    links = {entry.path for entry in listed if entry.link is not None}
    for entry in listed:
        _check(entry.path, links)
    try:
        _make_empty(folder)
        return _write(listed, folder)
    except OSError as error:
        raise Unavailable(f"cannot save to {folder}: {error.strerror} ({error.filename})") from None


def leads_out(path: str, target: str) -> bool:
    """Whether a link at `path` below a folder could lead out of it.

    Its way up must come first and end inside: what goes up behind a name could do so behind another link.
    """
    parts = [part for part in target.split("/") if part not in ("", ".")]
    up = next((number for number, part in enumerate(parts) if part != ".."), len(parts))
    return target.startswith("/") or ".." in parts[up:] or up > len(PurePosixPath(path).parts) - 1


def _check(path: str, links: set[str]) -> None:
    parts = path.split("/")
    if len(parts) > MAX_DEPTH + 1:
        raise Invalid(f"{path[:100]!r} is nested more than {MAX_DEPTH} folders deep: nothing was saved")
    above = {"/".join(parts[:depth]) for depth in range(1, len(parts))}
    if any(part in ("", ".", "..") for part in parts) or "\0" in path or above & links:
        raise Invalid(f"{path[:100]!r} would leave the folder: nothing was saved")


def _make_empty(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        raise Conflict(f"{folder} is not empty, and nothing is overwritten: name a new folder")


def _write(entries: Sequence[Entry], folder: Path) -> list[str]:
    left_out = []
    folders = []
    for entry in entries:
        path = folder / entry.path
        path.parent.mkdir(parents=True, exist_ok=True)
        if entry.link is not None:
            if leads_out(entry.path, entry.link):
                left_out.append(f"{entry.path}: it links to {entry.link}, which leads out of the folder")
            else:
                path.symlink_to(entry.link)
        elif entry.content is None:
            path.mkdir(exist_ok=True)
            folders.append((path, entry.mode))
        else:
            _write_file(path, entry.content, entry.mode)
    # Only now, for nothing can be written into a folder that is read-only.  It was made within the umask.
    for path, mode in reversed(folders):
        path.chmod(path.stat().st_mode & mode & 0o777)
    return left_out


def _write_file(path: Path, content: bytes, mode: int) -> None:
    new = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_NOFOLLOW, mode & 0o777)  # within the umask
    with os.fdopen(new, "wb") as file:
        file.write(content)
