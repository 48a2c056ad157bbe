"""What a host keeps of one run on disk: the service's /workflow, and a note."""

import logging
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

from tinkbox.hosting.restarts import Note, decode, encode
from tinkbox.model.errors import Invalid
from tinkbox.model.secret import SecretUse
from tinkbox.runtime import Containers, folders
from tinkbox.runtime.authority_file import keep_authority
from tinkbox.runtime.secret_files import SecretFiles

_RUN = re.compile(r"[A-Za-z0-9_-]{1,128}\Z")  # whatever else is there, or on a label, is no run of ours
_CONTAINER = "container"
_log = logging.getLogger(__name__)


class RunFolder:
    """`workflow` is what its container has as /workflow; both are there from `make` to `remove`."""

    def __init__(self, root: Path, run: str) -> None:
        self._path = root / run
        self._note = self._path / "note.json"
        self.workflow = self._path / "workflow"
        self._secrets = SecretFiles(self._path)

    def make(self) -> None:
        """Make it, or find it; raises OSError."""
        # Everybody may write to /workflow, as the image may run as any user, but nobody else on this machine gets to it.
        self._path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        self._path.mkdir(mode=0o700, exist_ok=True)
        self.workflow.mkdir(exist_ok=True)
        self.workflow.chmod(0o777)

    def remove(self) -> None:
        """Remove it with all that is in it; nothing when there is none.  Raises OSError."""
        self._secrets.forget(_CONTAINER)
        folders.remove(self._path)

    async def secrets(
        self, uses: Sequence[SecretUse], given: Mapping[str, bytes], engine: Containers, image: str
    ) -> dict[str, str]:
        """The secrets that its container has as files, sources by target; raises as `SecretFiles.for_container`."""
        return await self._secrets.for_container(_CONTAINER, uses, given, engine, image)

    def authority(self, pem: str) -> str:
        """The file with these certificates, for its container; raises OSError."""
        return keep_authority(self._path, pem)

    def keep(self, note: Note) -> None:
        """Note it for the next host; what cannot be written is done without."""
        fresh = self._note.with_suffix(".new")
        try:
            fresh.write_text(encode(note))
            fresh.replace(self._note)
        except OSError as error:
            _log.warning("%s is not noted: %s", self._note, error, extra={"action": "service.unnoted"})

    def note(self) -> Note | None:
        """What was noted last; None when nothing legible was."""
        try:
            return decode(self._note.read_bytes())
        except (OSError, Invalid):
            return None


def is_run(name: str) -> bool:
    """Whether this may be a run's token, which is used as a file's name."""
    return _RUN.match(name) is not None


def runs(root: Path) -> list[str]:
    """The runs of which there is a folder."""
    if not root.is_dir():
        return []
    with os.scandir(root) as listing:
        return [entry.name for entry in listing if is_run(entry.name) and entry.is_dir(follow_symlinks=False)]
