"""A workflow's ephemeral data, as a folder on the machine that its actions see as /workflow."""

from pathlib import Path

from tinkbox.runtime.folders import pack, remove
from tinkbox.wire.ephemeral_data import Entry, decode


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
        remove(fresh)
        fresh.mkdir(parents=True)
        fresh.chmod(0o777)  # the image may run as any user
        for entry in entries:
            _write(fresh / entry.path, entry)
        remove(self.folder(workflow_id))
        fresh.rename(self.folder(workflow_id))

    def pack(self, workflow_id: str) -> bytes:
        """The folder as an archive; raises TooLarge, naming the largest files, or Invalid."""
        return pack(self.folder(workflow_id), mount_point=workflow_id)


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
