"""A folder that is written again and again, such as one that Git keeps: a file for each thing, nothing removed.

Rule 1: nothing is written through a link, and none is replaced: only DIR itself may be one.
Rule 2: a file is whole at every moment, and one that says the same already is not touched.
"""

import os
import re
import stat
from pathlib import Path
from types import TracebackType
from typing import Final, Self

from tinkbox.model.errors import Conflict, Unavailable
from tinkbox.model.text import quoted

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_TEMPORARY: Final = ".tinkbox-export"
_MAX_NAME: Final = 200
_ODD: Final = re.compile(r"[^A-Za-z0-9._-]+")


class TendedFolder:
    """A context manager; raises Conflict for a link, Unavailable when the disk refuses."""

    def __init__(self, folder: Path) -> None:
        self._folder = folder
        self._below: dict[str, int] = {}
        self._names: dict[tuple[str, str], int] = {}

    def __enter__(self) -> Self:
        try:
            self._folder.mkdir(parents=True, exist_ok=True)
            self._top = os.open(self._folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            raise Unavailable(f"cannot write to {self._folder}: {error.strerror}") from None
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (*self._below.values(), self._top):
            os.close(each)

    def write(self, kind: str, name: str, suffix: str, text: str) -> tuple[Path, bool]:
        """Have a file of this kind and name say `text`; returns its path, and whether it was written."""
        called = self._called(kind, name) + suffix
        path, content = self._folder / kind / called, text.encode()
        try:
            below = self._open(kind)
            if self._says(below, called, path) == content:
                return path, False
            new = os.open(
                _TEMPORARY, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600, dir_fd=below
            )
            with os.fdopen(new, "wb") as file:
                file.write(content)
            os.replace(_TEMPORARY, called, src_dir_fd=below, dst_dir_fd=below)
        except OSError as error:
            raise Unavailable(f"cannot write {path}: {error.strerror}") from None
        return path, True

    def _called(self, kind: str, name: str) -> str:
        """A name that no file system takes for something else, another for each thing."""
        safe = _ODD.sub("-", name)[:_MAX_NAME].lstrip(".-") or "unnamed"
        times = self._names[kind, safe] = self._names.get((kind, safe), 0) + 1
        return safe if times == 1 else f"{safe}-{times}"

    def _open(self, kind: str) -> int:
        if kind not in self._below:
            try:
                os.mkdir(kind, dir_fd=self._top)
            except FileExistsError:
                if stat.S_ISLNK(os.stat(kind, dir_fd=self._top, follow_symlinks=False).st_mode):
                    raise Conflict(f"{self._folder / kind} is a link, and nothing is written through one") from None
            self._below[kind] = os.open(kind, _FOLDER, dir_fd=self._top)
        return self._below[kind]

    @staticmethod
    def _says(below: int, called: str, path: Path) -> bytes | None:
        """What a file says; None when there is none.  Raises Conflict for what is no file."""
        try:
            held = os.stat(called, dir_fd=below, follow_symlinks=False)
        except FileNotFoundError:
            return None
        if not stat.S_ISREG(held.st_mode):
            raise Conflict(f"{path} is a link, or no file, and is not replaced: take {quoted(called)} away first")
        with os.fdopen(os.open(called, os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=below), "rb") as file:
            return file.read()
