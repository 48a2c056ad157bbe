"""A workflow's ephemeral data, as a folder on the machine that its actions see as /workflow."""

from functools import partial
from pathlib import Path
from typing import Final

from tinkbox.runtime.folders import pack, remove
from tinkbox.wire.ephemeral_data import Entry, decode
from tinkbox.worker.host.mounts import among_mounts_of
from tinkbox.worker.host.unlisted_name import forget_name, name_within

_WORKING: Final = ".names"  # no workflow is called so


class EphemeralData:
    """The folders of workflows, below one."""

    def __init__(self, root: Path) -> None:
        self._root = root

    def folder(self, workflow_id: str) -> Path:
        """Where a workflow's data is."""
        return self._root / workflow_id

    def name_within(self, workflow_id: str, engine: int) -> None:
        """Have the engine of this process show the folder as its own `<workflow id>` too, which nothing lists; raises OSError."""
        folder = self.folder(workflow_id)
        among_mounts_of(engine, lambda: name_within(folder, workflow_id, self._working(folder)))

    def forget_names(self, engine: int) -> None:
        """No folder is shown so any more, which containers that have it do not notice; raises OSError."""
        folders = [self._root / each.name for each in (self._root / _WORKING).glob("*")]
        for folder in folders:
            forget = partial(forget_name, folder, self._working(folder))
            among_mounts_of(engine, forget)
            forget()  # a worker with mounts of its own has copies of those that there were when it began

    def _working(self, folder: Path) -> Path:
        return self._root / _WORKING / folder.name

    def unpack(self, workflow_id: str, archive: bytes) -> None:
        """Make the folder hold exactly what the archive holds: all of it or, for whoever is killed, what there was.

        By then its names are forgotten.  Raises Invalid, TooLarge or OSError.
        """
        entries = decode(archive)
        fresh = self._root / f".{workflow_id}"
        remove(fresh)
        fresh.mkdir(parents=True)
        fresh.chmod(0o777)  # the image may run as any user
        for entry in entries:
            _write(fresh / entry.path, entry)
        remove(self.folder(workflow_id))
        fresh.rename(self.folder(workflow_id))

    def pack(self, workflow_id: str) -> bytes:
        """The folder as an archive; raises TooLarge, naming the largest files, or Invalid."""
        return pack(self.folder(workflow_id))


def _write(path: Path, entry: Entry) -> None:
    for parent in reversed(path.parents):
        if not parent.exists():
            parent.mkdir()
            parent.chmod(0o755)  # the image may run as any user
    if entry.link is not None:
        path.symlink_to(entry.link)
    elif entry.content is None:
        path.mkdir(exist_ok=True)
        path.chmod(entry.mode)
    else:
        path.write_bytes(entry.content)
        path.chmod(entry.mode)
