"""A workflow's ephemeral data, which its actions and its services write at the same time.

An action pulls everything, and pushes everything when it is done; a service has a folder of its own, and says from time to
time what is in it.  What a service wrote is its own for as long as its run lasts: no action undoes it by pushing the older
copy that it pulled, nor brings back what the service removed meanwhile.
"""

import asyncio
import hashlib
from collections.abc import AsyncIterator, Callable, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Final, TypeVar

from tinkbox.model.errors import NotFound
from tinkbox.store.database import Store, Tables
from tinkbox.store.ephemeral_data import DataVersion
from tinkbox.store.services import Written
from tinkbox.wire.ephemeral_data import Entry, check, decode, encode, fingerprint, overlaid

# How much of it is read at a time for one who fetches it: each that reads slowly keeps as much, and there may be thousands.
PIECE: Final = 64 * 1024
# What is larger has its turn: of actions' data and of services' one each is in memory several times.
SMALL: Final = 256 * 1024
T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class Base:
    """The newest data, 0 and empty when there is none yet, and what services have in it.

    `since` is when the attempt began that may have older copies of it, None when none runs.  Where services have nothing
    in it the archive is left out, unless it was asked for.
    """

    version: int
    archive: bytes = field(compare=False)
    written: tuple[Written, ...] = ()
    since: datetime | None = None


@dataclass(frozen=True, slots=True)
class Reading:
    """A version of the data that is read piece by piece, so that one who reads slowly keeps no memory; `size` in bytes."""

    store: Store
    workflow_id: str
    version: int
    size: int

    async def __aiter__(self) -> AsyncIterator[bytes]:
        """Raises NotFound when it is not kept any more."""
        offset = 0

        def next_one(tables: Tables) -> bytes:
            return tables.data.piece(self.workflow_id, self.version, offset, PIECE)

        while offset < self.size:
            piece = await self.store.read(next_one)
            if not piece:
                raise NotFound(
                    f"version {self.version} of the data of workflow {self.workflow_id} is not kept any more"
                )
            offset += len(piece)
            yield piece


async def keep(
    store: Store,
    workflow_id: str,
    merge: Callable[[Base], T],
    write: Callable[[Tables, T], int],
    *,
    whole: bool = False,
) -> int:
    """Merge something into the newest data, store it, and return what `write` does; again, when others were quicker.

    Merging may take a while, so it is done in a thread, and nobody waits for it.  With `whole` it is given the newest
    archive in any case.
    """
    while True:
        base = await store.read(lambda tables: _base(tables, workflow_id, whole=whole))
        merged = await asyncio.to_thread(merge, base)

        def use_case(tables: Tables, base: Base = base, merged: T = merged) -> int | None:
            return write(tables, merged) if _unread_base(tables, workflow_id) == base else None

        kept = await store.write(use_case)
        if kept is not None:
            return kept


def pushed(base: Base, archive: bytes, since: datetime) -> bytes:
    """What becomes of the data when an attempt that began at `since` pushes everything it has.

    Where no service has written anything the archive is taken as it is.  Raises Invalid for what nobody can unpack, and
    TooLarge.
    """
    owned = {path for each in base.written for path in each.files}
    owned |= {path for each in base.written for path, at in each.removed.items() if at >= since}
    if not owned:
        check(archive)
        return archive
    newest = [entry for entry in decode(base.archive) if entry.path in owned]
    return encode(overlaid((entry for entry in decode(archive) if entry.path not in owned), newest))


def served(base: Base, run: str, entries: Sequence[Entry], now: datetime) -> tuple[bytes, Written] | None:
    """What becomes of the data, and is to be known of `run`, when it has these files; None when nothing changes.

    Raises Invalid and TooLarge.
    """
    before = next((each for each in base.written if each.run == run), Written(run=run))
    files = {entry.path: fingerprint(entry) for entry in entries}
    changed = [entry for entry in entries if before.files.get(entry.path) != files[entry.path]]
    gone = before.files.keys() - files.keys()
    if not changed and not gone:
        return None
    of_others = {path for each in base.written if each.run != run for path in each.files}
    kept = (entry for entry in decode(base.archive) if entry.path not in gone or entry.path in of_others)
    removed = {**before.removed, **dict.fromkeys(gone, now)} if base.since is not None else {}
    remembered = {path: at for path, at in removed.items() if path not in files and at >= (base.since or now)}
    return encode(overlaid(kept, changed)), Written(run=run, files=files, removed=remembered)


def _base(tables: Tables, workflow_id: str, *, whole: bool) -> Base:
    base = _unread_base(tables, workflow_id)
    newest = tables.data.newest(workflow_id) if whole or base.written else None
    return replace(base, archive=newest.archive) if newest is not None and newest.archive else base


def _unread_base(tables: Tables, workflow_id: str) -> Base:
    going = tables.workflows.under_way(workflow_id)
    return Base(
        version=tables.data.newest_version(workflow_id),
        archive=b"",
        written=tuple(tables.services.written(workflow_id)),
        since=next((each.attempt.started_at for each in going if each.attempt is not None), None),
    )


def is_large(tables: Tables, workflow_id: str, archive: bytes) -> bool:
    """Whether merging an archive into the newest data takes much memory, and so has its turn."""
    return max(len(archive), tables.data.newest_size(workflow_id)) > SMALL


def unchanged(tables: Tables, workflow_id: str, archive: bytes) -> int | None:
    """The number of the newest version of the data when it is this, else None."""
    return tables.data.newest_if(workflow_id, hashlib.sha256(archive).hexdigest())


def add_version(tables: Tables, workflow_id: str, who: str, archive: bytes, now: datetime) -> int:
    """Store a new version of the data; returns its number."""
    number = 1 + tables.data.newest_version(workflow_id)
    digest = hashlib.sha256(archive).hexdigest()
    tables.data.add(
        workflow_id,
        DataVersion(version=number, at=now, worker=who, size=len(archive), digest=digest, archive=archive),
    )
    return number
