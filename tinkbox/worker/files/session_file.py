"""What makes a worker the one of its data folder: a lock, and the secret of the session that it works with."""

import fcntl
import hashlib
import json
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from tinkbox.model.errors import Unavailable


@contextmanager
def only_worker(folder: Path) -> Iterator[None]:
    """Be the only worker of a data folder meanwhile.  Raises Unavailable when there is another, also one that stands still."""
    descriptor = os.open(folder / "lock", os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    try:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            raise Unavailable(
                f"another worker uses {folder} already: end that one, or name another folder with --data"
            ) from None
        yield
    finally:
        os.close(descriptor)


class SessionFile:
    """Keeps the secret of a session, so that a worker that is started again goes on where the one before it was.

    The file names its own place on the disk: a copy of it is somebody else's.
    """

    def __init__(self, path: Path) -> None:
        self._path = path

    def secret(self, ticket: str) -> str:
        """The secret for the session of a boot ticket: the same whenever this is asked for the same ticket.

        Raises Unavailable when the file is a copy.
        """
        kept = self._kept(ticket)
        return self._made(ticket) if kept is None else kept

    def _kept(self, ticket: str) -> str | None:
        try:
            with self._path.open() as file:
                kept, here = json.load(file), _place(file.fileno())
                found = str(kept["secret"]), list(kept["place"]), str(kept["ticket"])
        except (OSError, ValueError, KeyError, TypeError):
            return None  # with another secret, the appliance says that the ticket was exchanged already
        secret, place, used = found
        if used != _digest(ticket):
            return None
        if place != here:
            raise Unavailable(
                f"{self._path.parent} is a copy of another worker's folder, and a credential is for one worker: "
                "make a new one with `tinkbox hardware credential MAC`"
            )
        return secret

    def _made(self, ticket: str) -> str:
        secret, fresh = secrets.token_urlsafe(32), self._path.with_suffix(".new")
        fresh.unlink(missing_ok=True)
        descriptor = os.open(fresh, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
        with os.fdopen(descriptor, "w") as file:
            json.dump({"secret": secret, "ticket": _digest(ticket), "place": _place(descriptor)}, file)
            file.flush()
            os.fsync(descriptor)
        fresh.replace(self._path)
        return secret


def name_of(secret: str) -> str:
    """A name of a session that others may see."""
    return _digest(secret)[:16]


def _place(descriptor: int) -> list[int]:
    found = os.fstat(descriptor)
    return [found.st_dev, found.st_ino]


def _digest(ticket: str) -> str:
    return hashlib.sha256(ticket.encode()).hexdigest()
