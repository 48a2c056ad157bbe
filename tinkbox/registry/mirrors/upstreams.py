"""What the appliance lacks is fetched from the mirror of its host, when a machine asks for it: `HOST/PATH` (`Reference.kept_as`).

Hosts without a mirror are never asked, and of a mirror only what a manifest of it lists.  However many ask, each manifest and
each blob is fetched once.  What came is kept: blobs first, then the manifest, then the tag, unless a person gave that to an image.
A manifest whose blobs are still to come is answered from memory, so that machines fetch blobs while they come.
"""

import asyncio
import logging
import secrets
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import AsyncExitStack, contextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Final, TypeVar

from tinkbox.model.errors import Full, Invalid, NotFound, Refusal, TooMany, Unavailable
from tinkbox.model.images.mirrors import Mirror, MirrorTrouble
from tinkbox.model.images.references import digest_of, familiar, official
from tinkbox.registry.blobs.uploads import MAX_BLOB
from tinkbox.registry.manifests.manifests import Descriptor, Manifest, StoredManifest, parse_manifest
from tinkbox.registry.mirrors.upstream_client import UpstreamClient, UpstreamFailed
from tinkbox.registry.mirrors.via import MAX_HOPS, Via, new_hop
from tinkbox.registry.mirrors.watch import MirrorWatch
from tinkbox.registry.storage import ImageStore

# A tag is asked for again behind so many seconds; where that failed, sooner.
ASKED_AGAIN: Final = 300.0
TRIED_AGAIN: Final = 60.0
BLOBS_AT_ONCE: Final = 8
MAX_FLIGHTS: Final = 512
MAX_ARRIVING: Final = 64
ARRIVING_SECONDS: Final = 1800.0
MAX_TAGS: Final = 10_000
HASHED_AT_MOST_EVERY: Final = timedelta(minutes=1)
_log = logging.getLogger(__name__)
T = TypeVar("T")
Key = tuple[str, ...]


@dataclass(slots=True)
class _Arriving:
    """A manifest some of whose blobs are still to come, with the tags that it is to have; `asked_at` is when it was last wanted."""

    repository: str
    stored: StoredManifest
    manifest: Manifest
    asked_at: float
    tags: set[str] = field(default_factory=set)


class Upstreams:
    """All images, those that a mirror has to be asked for included.  `mirrors` are by host; `monotonic` is a steady clock in seconds.

    `run` has to run for anything to be fetched.  `new_token` makes up the name by which other appliances tell this one.
    """

    def __init__(
        self,
        store: ImageStore,
        mirrors: Mapping[str, Mirror],
        monotonic: Callable[[], float],
        new_token: Callable[[], str] = lambda: secrets.token_hex(16),
        clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    ) -> None:
        self._name = new_hop(new_token())
        self._store = store
        self._monotonic = monotonic
        self._clients = {host: UpstreamClient(mirror, monotonic) for host, mirror in mirrors.items()}
        self._watches = {
            host: MirrorWatch(host, mirrors[host].url, client.look, clock) for host, client in self._clients.items()
        }
        self._ready = asyncio.Event()
        self._group: asyncio.TaskGroup | None = None
        self._flights: dict[Key, asyncio.Future[object]] = {}
        self._arriving: dict[tuple[str, str], _Arriving] = {}
        self._current: dict[tuple[str, str], float] = {}  # until when a tag need not be asked for
        self._room = asyncio.Semaphore(BLOBS_AT_ONCE)

    async def run(self) -> None:
        """Fetch, for ever."""
        async with AsyncExitStack() as clients, asyncio.TaskGroup() as group:
            for each in self._clients.values():
                await clients.enter_async_context(each)
            self._group = group
            self._ready.set()
            try:
                await asyncio.Event().wait()
            finally:
                self._group = None

    async def watch(self) -> None:
        """Look at the mirrors every few minutes, for ever, while `run` runs; without mirrors nothing is done."""
        await self._ready.wait()
        async with asyncio.TaskGroup() as group:
            for each in self._watches.values():
                group.create_task(each.run())
            await asyncio.Event().wait()

    def troubles(self) -> Sequence[MirrorTrouble]:
        """The mirrors of which nothing comes, in the order of their hosts."""
        return [found for _, each in sorted(self._watches.items()) if (found := each.trouble) is not None]

    def is_mirrored(self, repository: str) -> bool:
        """Whether a mirror is asked for what a repository lacks."""
        return self._of(repository) is not None

    def digest(self, repository: str, selector: str) -> str:
        """The digest of what a tag means, if no mirror has to be asked before; else empty, as where there is none."""
        chosen = self._by_hand(repository, selector)
        if chosen or not self._is_current(repository, selector):
            return chosen
        arriving = self._coming(repository, selector)
        return arriving.stored.digest if arriving is not None else self._store.digest(repository, selector)

    def answering(self, repository: str, selector: str) -> str:
        """The repository whose image is given for a tag or digest: this one, or the one of Docker's other name for it.

        That answers for what this one lacks: the official image for a name of one part (`official`), if it is here or a mirror
        is asked for it; for a name at Docker Hub what is here by its short name (`familiar`), if no mirror has it.
        """
        other = official(repository) or familiar(repository)
        if not other or self.is_mirrored(repository) or self._store.has(repository, selector):
            return repository
        return other if self.is_mirrored(other) or self._store.has(other, selector) else repository

    async def manifest(
        self, repository: str, selector: str, *, by_own_name: bool = False, via: Via = ()
    ) -> StoredManifest:
        """The manifest that a tag or digest picks; raises as `ImageStore.manifest`, and UpstreamFailed.

        `by_own_name`: of this repository alone, and not of the one that answers for it.  `via` are the appliances that ask
        through one another: what comes back to one of them is not fetched again.
        """
        other = repository if by_own_name else self.answering(repository, selector)
        if other == repository:
            return await self._manifest(repository, selector, via)
        try:
            return await self._manifest(other, selector, via)
        except (NotFound, UpstreamFailed) as error:
            told = (
                f"no image {repository}{'@' if ':' in selector else ':'}{selector} here, and none for it at Docker Hub"
            )
            raise type(error)(f"{told}: {error}") from None

    def _is_current(self, repository: str, selector: str) -> bool:
        """Whether what is kept of a tag is what it means, as far as is known."""
        if ":" in selector or not self.is_mirrored(repository):
            return True
        return self._current.get((repository, selector), 0.0) > self._monotonic()

    def _ends(self, via: Via) -> bool:
        """Whether a question that came through these appliances is answered with what is here alone."""
        return self._name in via or len(via) >= MAX_HOPS

    def _by_hand(self, repository: str, selector: str) -> str:
        """The digest of what a person put here under a tag, empty where nobody did."""
        return "" if ":" in selector else self._store.by_hand(repository, selector)

    async def _manifest(self, repository: str, selector: str, via: Via) -> StoredManifest:
        client = self._of(repository)
        if client is None or self._ends(via):
            return await self._store.manifest(repository, selector)
        self._store.refuse_unread(repository)
        # Of what a person put here, a mirror fills only what is lacking.
        selector = self._by_hand(repository, selector) or selector
        if self._is_current(repository, selector):
            arriving = self._coming(repository, selector)
            if arriving is not None:
                self._keep(client, arriving)
                return arriving.stored
            if await self._store.is_whole(repository, selector):
                return await self._store.manifest(repository, selector)
        # Those who ask for one another wait for themselves, unless each question has an answer of its own.
        key = ("manifest", repository, selector, *via)
        return await self._once(key, lambda: self._fetch(client, repository, selector, via))

    async def blob(self, repository: str, digest: str, via: Via = (), *, anew: bool = False) -> Path:
        """A blob's file; `anew` is as in `ImageStore.blob`, which raises the same but for UpstreamFailed, `via` as in `manifest`.

        As anybody may ask, and other pulls wait for it, a blob is not hashed anew more often than HASHED_AT_MOST_EVERY.
        """
        try:
            return await self._store.blob(digest, anew=anew, at_most_every=HASHED_AT_MOST_EVERY)
        except (NotFound, Unavailable):
            repository = official(repository) or repository
            client, listed = self._of(repository), self._listed(repository, digest)
            if client is None or listed is None or self._ends(via):
                raise
        await self._once(("blob", digest), lambda: self._fetch_blob(client, repository, listed))
        return await self._store.blob(digest)

    def _of(self, repository: str) -> UpstreamClient | None:
        host, slash, _ = repository.partition("/")
        return self._clients.get(host) if slash else None

    def _coming(self, repository: str, selector: str) -> _Arriving | None:
        """The manifest of a tag or digest, if it is on its way in."""
        for (where, digest), each in self._arriving.items():
            if where == repository and (digest == selector or selector in each.tags):
                each.asked_at = self._monotonic()
                return each
        return None

    def _listed(self, repository: str, digest: str) -> Descriptor | None:
        """A blob as a manifest lists it that is on its way in."""
        for (where, _), each in self._arriving.items():
            if where == repository:
                for blob in each.manifest.blobs:
                    if blob.digest == digest:
                        each.asked_at = self._monotonic()
                        return blob
        return None

    async def _fetch(self, client: UpstreamClient, repository: str, selector: str, via: Via) -> StoredManifest:
        """The manifest as its mirror has it now, or, where that cannot be asked for a tag, as it is kept."""
        try:
            stored, manifest = await self._asked(client, repository, selector, via)
        except (NotFound, UpstreamFailed) as error:
            if ":" in selector or not await self._store.is_whole(repository, selector):
                self._note(repository, error)
                raise
            self._watch(repository).doubt()
            told = f"{repository}:{selector}: {error}"
            _log.warning("an image is served as it is kept: %s", told, extra={"action": "registry.upstream-away"})
            self._note_current(repository, selector, TRIED_AGAIN)
            return await self._store.manifest(repository, selector)
        tags = set() if ":" in selector else {selector}
        for each in self._arriving.values():
            if each.repository == repository:
                each.tags -= tags  # they mean another manifest now
        if await self._lacks(manifest):
            arriving = self._arrive(repository, stored, manifest, tags)
            self._keep(client, arriving)
        else:
            await self._put(client, repository, stored, tags)
        if tags:
            self._note_current(repository, selector, ASKED_AGAIN)
        return stored

    async def _asked(
        self, client: UpstreamClient, repository: str, selector: str, via: Via
    ) -> tuple[StoredManifest, Manifest]:
        """What the mirror answers, checked."""
        _log.info("asking %s for %s, %s", client.host, repository, selector, extra={"action": "registry.upstream"})
        got = await client.manifest(repository.partition("/")[2], selector, (*via, self._name))
        self._watch(repository).answered()
        told = selector if ":" in selector else got.digest
        digest = digest_of(got.content, "sha512" if told.startswith("sha512:") else "sha256")
        if told not in ("", digest):
            raise UpstreamFailed(
                f"{client.host} sent another manifest than {told[:140]} for {repository}: its digest is {digest}"
            )
        try:
            manifest = parse_manifest(got.content, got.media_type)
        except Invalid as error:
            raise UpstreamFailed(f"{client.host} sent no manifest for {repository}, {selector}: {error}") from None
        return StoredManifest(digest=digest, media_type=manifest.media_type, content=got.content), manifest

    async def _lacks(self, manifest: Manifest) -> bool:
        """Whether blobs of it are still to come; those that are here stay meanwhile."""
        lacks = False
        for digest in {each.digest for each in manifest.blobs}:
            try:
                await self._store.promise(digest)
            except (NotFound, Unavailable):
                lacks = True
        return lacks

    def _arrive(self, repository: str, stored: StoredManifest, manifest: Manifest, tags: set[str]) -> _Arriving:
        """Take note of a manifest whose blobs are to come; raises TooMany."""
        now = self._monotonic()
        for key, each in list(self._arriving.items()):
            if each.asked_at < now - ARRIVING_SECONDS and ("image", *key) not in self._flights:
                del self._arriving[key]
        arriving = self._arriving.get((repository, stored.digest))
        if arriving is None:
            if len(self._arriving) >= MAX_ARRIVING:
                raise TooMany(
                    f"{MAX_ARRIVING} images are on their way from mirrors already: try again when some are here"
                )
            arriving = _Arriving(repository, stored, manifest, now)
            self._arriving[repository, stored.digest] = arriving
        arriving.tags |= tags
        return arriving

    def _keep(self, client: UpstreamClient, arriving: _Arriving) -> None:
        """Have all of an image fetched and kept, whatever the machine that asked goes on with."""
        key = ("image", arriving.repository, arriving.stored.digest)
        self._begin(key, lambda: self._fetch_image(client, arriving))

    async def _fetch_image(self, client: UpstreamClient, arriving: _Arriving) -> None:
        repository, digest = arriving.repository, arriving.stored.digest
        # A manifest can list so many that they would take the room of all others.
        for blob in {each.digest: each for each in arriving.manifest.blobs}.values():
            await self.blob(repository, blob.digest)
        await self._put(client, repository, arriving.stored, arriving.tags)
        del self._arriving[repository, digest]

    async def _put(self, client: UpstreamClient, repository: str, stored: StoredManifest, tags: set[str]) -> None:
        with _taken_in(client, repository):
            await self._store.put_manifest(
                repository,
                stored.digest,
                stored.content,
                stored.media_type,
                sorted(tags),
                who=f"the mirror {client.host}",
                fetched=True,
            )

    async def _fetch_blob(self, client: UpstreamClient, repository: str, listed: Descriptor) -> None:
        if listed.size > MAX_BLOB:
            raise UpstreamFailed(f"{repository} lists a blob of {listed.size} bytes: at most {MAX_BLOB} are fetched")
        async with self._room:
            _log.info("fetching %s from %s", listed.digest, client.host, extra={"action": "registry.upstream"})
            try:
                await self._blob_from(client, repository, listed)
            except (NotFound, UpstreamFailed) as error:
                self._note(repository, error)
                raise
            self._watch(repository).answered()

    async def _blob_from(self, client: UpstreamClient, repository: str, listed: Descriptor) -> None:
        async with client.blob(repository.partition("/")[2], listed.digest, (self._name,)) as chunks:
            try:
                with _taken_in(client, repository):
                    await self._store.take_in(listed.digest, listed.size, chunks)
            except Invalid as error:
                raise UpstreamFailed(f"{client.host} sent another blob for {repository}: {error}") from None

    def _watch(self, repository: str) -> MirrorWatch:
        return self._watches[repository.partition("/")[0]]

    def _note(self, repository: str, error: NotFound | UpstreamFailed) -> None:
        """Take note of a pull that came to nothing: who says that it has not got an image answers."""
        watch = self._watch(repository)
        if isinstance(error, UpstreamFailed):
            watch.failed(error)
        else:
            watch.answered()

    def _note_current(self, repository: str, tag: str, seconds: float) -> None:
        self._current.pop((repository, tag), None)
        self._current[repository, tag] = self._monotonic() + seconds
        while len(self._current) > MAX_TAGS:
            del self._current[next(iter(self._current))]

    async def _once(self, key: Key, work: Callable[[], Awaitable[T]]) -> T:
        """What `work` returns or raises, of which there is one for all who ask for a key meanwhile."""
        flight = self._begin(key, work)
        outcome = await asyncio.shield(flight)
        if isinstance(outcome, Refusal):
            raise outcome.with_traceback(None)
        return outcome  # type: ignore[return-value]

    def _begin(self, key: Key, work: Callable[[], Awaitable[object]]) -> "asyncio.Future[object]":
        """Have it done; its outcome is what was returned, or the refusal."""
        flight = self._flights.get(key)
        if flight is None:
            if self._group is None:
                raise Unavailable("the appliance is starting or ending, and fetches nothing: try again")
            if len(self._flights) >= MAX_FLIGHTS:
                raise TooMany("too much is fetched from mirrors at once: try again when some of it is here")
            flight = self._flights[key] = asyncio.get_running_loop().create_future()
            self._group.create_task(self._fly(key, work, flight))
        return flight

    async def _fly(self, key: Key, work: Callable[[], Awaitable[object]], flight: "asyncio.Future[object]") -> None:
        outcome: object = Unavailable("the appliance is ending: try again")
        try:
            outcome = await work()
        except Refusal as refusal:
            outcome = refusal
            if key[0] == "image":
                told = f"{key[1]}@{key[2]}: {refusal}"
                _log.warning("an image did not come: %s", told, extra={"action": "registry.upstream-failed"})
        except OSError as error:
            outcome = Unavailable(f"the registry's disk does not take it: {error}")
        finally:
            del self._flights[key]
            flight.set_result(outcome)


@contextmanager
def _taken_in(client: UpstreamClient, repository: str) -> Iterator[None]:
    """Raise UpstreamFailed where there is no room: Full is told to those who push."""
    try:
        yield
    except Full as error:
        raise UpstreamFailed(f"no room for what {client.host} has of {repository}: {error}") from None
