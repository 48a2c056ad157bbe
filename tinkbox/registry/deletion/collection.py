"""Blobs that no manifest refers to, such as those of pushes that were broken off: they are collected by themselves.

A blob stays as long as a manifest refers to it, and for an hour after a client was told of it.  What a damaged manifest
refers to cannot be read any more, and was here before it: older blobs stay until that image is deleted or pushed again.
"""

import asyncio
import logging
from collections.abc import Collection, Iterable
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from tinkbox.model.errors import Unavailable
from tinkbox.model.images.room import Amount, Collected
from tinkbox.registry.blobs.blobs import Blobs
from tinkbox.registry.manifests.parsed_manifests import ParsedManifests
from tinkbox.registry.manifests.repositories import Key, Link, Repositories

EVERY: Final = 600.0
# How many go in one turn, in which no image is stored or deleted.
AT_ONCE: Final = 200
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True, kw_only=True)
class _Unneeded:
    """Blobs that no manifest refers to, by what becomes of them."""

    free: list[str]
    promised: list[str]
    unknown: list[str]
    untagged: list[str]  # which some of these images need alone


class Collector:
    """A part.  Whoever changes what refers to what holds `turn` meanwhile."""

    def __init__(
        self,
        blobs: Blobs,
        repositories: Repositories,
        parsed: ParsedManifests,
        turn: asyncio.Lock,
    ) -> None:
        self._blobs = blobs
        self._repositories = repositories
        self._parsed = parsed
        self._turn = turn

    async def run(self) -> NoReturn:
        """Read all manifests, so that nobody waits for that later; then collect every so often, for ever."""
        with suppress(Unavailable):
            await self.warm_up()
        while True:
            await asyncio.sleep(EVERY)
            try:
                collected = await self.collect(())
            except Unavailable:  # a folder cannot be read, or is missing, which the log tells: look again later
                continue
            if collected.freed.number:
                told = str(collected.freed)
                _log.info("freed, since no image needs them: %s", told, extra={"action": "registry.collected"})

    def refuse(self, *, now: bool = False) -> None:
        """Raise Unavailable where nothing may be freed: a folder that says what is needed cannot be listed, or is missing, or was put back lately.

        `now`: what is missing is meant to be gone.  This blocks.
        """
        self._repositories.refuse_unlisted()
        self._repositories.refuse_missing(meant=now)
        if not now:
            self._repositories.refuse_settling()

    async def look(self, untagged: Collection[Key], gone: Collection[Key] = (), *, now: bool = False) -> Collected:
        """What would be collected, were the manifests deleted that are `gone`; else as `collect`."""
        async with self._turn:
            found = await asyncio.to_thread(self._unneeded, untagged, gone, now=now)
        return self._summed(found, self._sum(found.free))

    async def collect(self, untagged: Collection[Key], *, now: bool = False) -> Collected:
        """Free what nothing needs, some at a time: between two steps it can be cancelled, and images be stored.

        What the manifests `untagged` need alone is told.  `now`: though a client was told of it within the hour.
        """
        number = octets = 0
        while True:
            async with self._turn:
                before = self._blobs.usage()
                found = await asyncio.to_thread(self._unneeded, untagged, now=now)
                aside = await asyncio.to_thread(self._put_aside, found.free, now=now)
                after = self._blobs.usage()
            await asyncio.to_thread(_remove, aside)
            number += len(aside)
            octets += before.octets - after.octets
            if len(found.free) <= AT_ONCE:
                if now:
                    await asyncio.to_thread(self._repositories.forget_missing)
                return self._summed(found, Amount(number=number, octets=octets))

    def step(self) -> None:
        """Free some now; the caller has the turn, and this blocks."""
        _remove(self._put_aside(self._unneeded().free))

    async def warm_up(self) -> None:
        """Read the manifests that were not read yet, while others have the turn."""
        for repository in self._repositories.names():
            links = list(self._repositories.links(repository).values())
            for begin in range(0, len(links), AT_ONCE):
                some = links[begin : begin + AT_ONCE]
                if not all(self._parsed.knows(each.digest) for each in some):
                    await asyncio.to_thread(self._read, repository, some)

    def _read(self, repository: str, links: Iterable[Link]) -> None:
        for each in links:
            self._parsed.of(repository, each)

    def _put_aside(self, digests: list[str], *, now: bool = False) -> list[Path]:
        aside: list[Path] = []
        try:
            found = (self._blobs.put_aside(each, though_promised=now) for each in digests[:AT_ONCE])
            aside.extend(each for each in found if each is not None)
        except Unavailable:
            _remove(aside)
            raise
        return aside

    def _unneeded(self, untagged: Collection[Key] = (), gone: Collection[Key] = (), *, now: bool = False) -> _Unneeded:
        self.refuse(now=now)
        needed: set[str] = set()
        needed_untagged: set[str] = set()
        unknown_before = 0.0
        for repository in self._repositories.names():
            for digest, link in self._repositories.links(repository).items():
                if (repository, digest) in gone:
                    continue
                needing = needed_untagged if (repository, digest) in untagged else needed
                needing.add(digest)
                parsed = self._parsed.of(repository, link)
                if parsed is not None:
                    needing.update(parsed.manifest.digests)
                else:
                    unknown_before = max(unknown_before, self._repositories.linked_at(repository, digest))
        found = _Unneeded(free=[], promised=[], unknown=[], untagged=[])
        for digest in self._blobs:
            if digest in needed:
                continue
            if digest in needed_untagged:
                found.untagged.append(digest)
            elif self._blobs.is_promised(digest) and not now:
                found.promised.append(digest)
            elif unknown_before and self._blobs.is_older(digest, unknown_before):
                found.unknown.append(digest)
            else:
                found.free.append(digest)
        self._blobs.note_unneeded(found.promised)
        return found

    def _summed(self, found: _Unneeded, freed: Amount) -> Collected:
        return Collected(
            freed=freed,
            promised=self._blobs.waiting(found.promised),
            unknown=self._sum(found.unknown),
            untagged=self._sum(found.untagged),
        )

    def _sum(self, digests: Iterable[str]) -> Amount:
        sizes = [self._blobs.size(each) or 0 for each in digests]
        return Amount(number=len(sizes), octets=sum(sizes))


def _remove(files: Iterable[Path]) -> None:
    for each in files:
        each.unlink(missing_ok=True)
