"""A workflow's ephemeral data, as a folder on the machine that its actions see as /workflow."""

import shutil
from collections.abc import Iterator
from pathlib import Path

from tinkbox.model.errors import Invalid
from tinkbox.wire.bundle import Entry, check_sizes, decode, encode


class EphemeralData:
    """The folders of workflows, below one."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder(self, workflow_id: str) -> Path:
        """Where a workflow's data is."""
        return self._root / workflow_id

    def unpack(self, workflow_id: str, archive: bytes) -> None:
        """Make the folder hold exactly what the archive holds: all of it or, for whoever is killed, what there was.

        Raises Invalid, TooLarge or OSError.
        """
        entries = decode(archive)
        fresh = self._root / f".{workflow_id}"
        shutil.rmtree(fresh, ignore_errors=True)
        fresh.mkdir(parents=True)
        fresh.chmod(0o777)  # the image may run as any user
        for entry in entries:
            _write(fresh / entry.path, entry)
        shutil.rmtree(self.folder(workflow_id), ignore_errors=True)
        fresh.rename(self.folder(workflow_id))

    def pack(self, workflow_id: str) -> bytes:
        """The folder as an archive.  Raises TooLarge, naming the largest files, or Invalid.

        Nothing is read before it is known to be small enough.  What is neither file, folder nor link is left out.
        """
        try:
            check_sizes({name: path.lstat().st_size if path.is_file() else 0 for name, path in self._kept(workflow_id)})
            return encode(_entry(name, path) for name, path in self._kept(workflow_id))
        except OSError as error:
            raise Invalid(f"the workflow's data cannot be read: {error}") from None

    def _kept(self, workflow_id: str) -> Iterator[tuple[str, Path]]:
        for name, path in _below(self.folder(workflow_id)):
            # To show the folder as /workflow/<workflow id> too, the engine makes one in it to mount it on.
            if name != workflow_id or not _is_empty_folder(path):
                yield name, path


def _below(folder: Path, prefix: str = "") -> Iterator[tuple[str, Path]]:
    for path in sorted(folder.iterdir()) if folder.is_dir() else ():
        name = prefix + path.name
        if path.is_symlink() or path.is_file():
            yield name, path
        elif path.is_dir():
            yield name, path
            yield from _below(path, f"{name}/")


def _is_empty_folder(path: Path) -> bool:
    return path.is_dir() and not path.is_symlink() and not any(path.iterdir())


def _entry(name: str, path: Path) -> Entry:
    if path.is_symlink():
        return Entry(path=name, link=str(path.readlink()))
    mode = path.stat().st_mode & 0o777
    return Entry(path=name, mode=mode, content=None if path.is_dir() else path.read_bytes())


def _write(path: Path, entry: Entry) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    if entry.link is not None:
        path.symlink_to(entry.link)
    elif entry.content is None:
        path.mkdir(exist_ok=True)
        path.chmod(entry.mode)
    else:
        path.write_bytes(entry.content)
        path.chmod(entry.mode)
