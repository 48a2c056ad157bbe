"""What other programs say of file systems that we made, and what is mounted where."""

import os
import subprocess
from collections.abc import Iterable
from pathlib import Path
from typing import Final

_ENVIRONMENT: Final = {**os.environ, "PATH": f"{os.environ.get('PATH', '')}:/usr/sbin:/sbin", "LC_ALL": "C"}


def lay(path: Path, pieces: Iterable[bytes | int]) -> Path:
    """Write pieces into a file; what is zeros becomes a hole."""
    with path.open("wb") as file:
        for piece in pieces:
            if isinstance(piece, int):
                file.seek(piece, os.SEEK_CUR)
            else:
                file.write(piece)
        file.truncate()
    return path


def run(*words: str | Path) -> str:
    """What a program prints that has to succeed."""
    done = subprocess.run(
        [str(word) for word in words], env=_ENVIRONMENT, capture_output=True, text=True, errors="replace"
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def check(path: Path) -> None:
    """Fail unless e2fsck finds nothing at all."""
    said = run("e2fsck", "-fn", path)
    assert "Fix" not in said, said


def debugfs(path: Path, command: str) -> bytes:
    return subprocess.run(["debugfs", "-R", command, path], env=_ENVIRONMENT, capture_output=True, check=True).stdout


def dumped(path: Path, folder: Path) -> Path:
    """All files of a file system, in a folder."""
    folder.mkdir()
    debugfs(path, f"rdump / {folder}")
    return folder


def unmount_below(folder: Path) -> None:
    """Take off everything that is mounted within a folder, what was mounted last first."""
    places = [line.split()[1] for line in Path("/proc/self/mounts").read_text().splitlines()]
    # A mount table writes blanks and their like in octal (proc(5)).
    found = (Path(each.encode().decode("unicode_escape")) for each in reversed(places))
    for place in found:
        if folder in place.parents:
            run("umount", "--lazy", place)
