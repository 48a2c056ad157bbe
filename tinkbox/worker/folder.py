"""What the worker keeps on its machine: below one folder, so that actions can be given parts of it."""

import re
import shutil
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.bundle import Entry, decode, encode
from tinkbox.wire.worker import MAX_MESSAGE, MAX_REASON

REASON = re.compile(r"[A-Za-z][A-Za-z0-9]*\Z")
FAILURE_MOUNTS = {
    "reason": ("/dev/reason", "/tinkerbell/failure-reason"),
    "message": ("/dev/message", "/tinkerbell/failure-message"),
}


@dataclass(frozen=True, slots=True)
class Told:
    """What a failing action said of its failure (seed: Tink Worker Failure Reasons)."""

    reason: str
    message: str


class WorkerFolder:
    """The worker's `--data` folder."""

    def __init__(self, root: Path) -> None:
        self._root = root

    @property
    def reboot_wanted(self) -> bool:
        """Whether an action asked for the machine to be rebooted or powered off, by writing `reboot` here."""
        return (self._root / "reboot").exists()

    def prepare_attempt(self, attempt: str, volumes: Iterable[str]) -> list[str]:
        """Make the files by which an action tells why it failed; returns their binds."""
        shares_dev = any(volume.split(":")[1:2] == ["/dev"] for volume in volumes)
        folder = self._root / "attempts" / attempt
        folder.mkdir(parents=True, exist_ok=True)
        binds = []
        for name, targets in FAILURE_MOUNTS.items():
            path = folder / name
            path.touch()
            path.chmod(0o666)  # the image may run as any user
            binds += [f"{path}:{target}" for target in targets]
            if shares_dev:
                # The mount point is then looked for in the machine's own /dev, maybe bound read-only.
                with suppress(OSError):
                    Path(f"/dev/{name}").touch(mode=0o444)
        return binds

    def told(self, attempt: str) -> Told:
        """What the action wrote, bounded."""
        folder = self._root / "attempts" / attempt
        return Told(_head(folder / "reason", MAX_REASON), _head(folder / "message", MAX_MESSAGE))

    def forget_attempt(self, attempt: str) -> None:
        shutil.rmtree(self._root / "attempts" / attempt, ignore_errors=True)

    def data_folder(self, workflow_id: str) -> Path:
        """Where a workflow's ephemeral data is."""
        return self._root / "workflow" / workflow_id

    def unpack_data(self, workflow_id: str, archive: bytes) -> None:
        """Make the folder hold exactly what the archive holds.  Raises Invalid or TooLarge."""
        entries = decode(archive)
        folder = self.data_folder(workflow_id)
        shutil.rmtree(folder, ignore_errors=True)
        folder.mkdir(parents=True)
        folder.chmod(0o777)  # the image may run as any user
        for entry in entries:
            _write(folder / entry.path, entry)

    def pack_data(self, workflow_id: str) -> bytes:
        """The folder as an archive.  Raises TooLarge, naming the largest files."""
        folder = self.data_folder(workflow_id)
        return encode(_entries(folder, folder)) if folder.is_dir() else b""


def failure(told: Told, fallback: Outcome) -> Outcome:
    """The outcome of a failed action: in its own words when it left any, else in ours."""
    reason, message = told.reason.strip(), told.message.strip()
    if reason and not REASON.match(reason):
        message = f"the action's reason {reason!r} is not one CamelCase word. {message}".strip()
        reason = "InvalidReason"
    return Outcome(
        state=State.FAILED,
        exit_code=fallback.exit_code,
        reason=reason or fallback.reason,
        message=message or fallback.message,
        tail=fallback.tail,
    )


def _head(path: Path, limit: int) -> str:
    try:
        with path.open("rb") as file:
            return file.read(limit).replace(b"\0", b"").decode(errors="replace")
    except OSError:
        return ""


def _entries(folder: Path, root: Path) -> Iterator[Entry]:
    for path in sorted(folder.iterdir()):
        name = str(path.relative_to(root))
        if path.is_symlink():
            yield Entry(path=name, link=str(path.readlink()))
        elif path.is_dir():
            yield Entry(path=name, mode=path.stat().st_mode & 0o777)
            yield from _entries(path, root)
        elif path.is_file():
            yield Entry(path=name, mode=path.stat().st_mode & 0o777, content=path.read_bytes())


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
