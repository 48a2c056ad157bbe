"""From an entry to one exact image: its version, URL and digest, and what proves them."""

import json
import re
import signal
import threading
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path
from types import FrameType
from typing import Any, Final, NoReturn
from urllib.parse import urljoin, urlsplit

from tinkbox.catalogue.entries import Entry, Fixed, Listing, Signed, Stream, Sums, filled
from tinkbox.catalogue.openpgp import MAX_SIGNATURE, load_keys, signed_document, signer_of
from tinkbox.catalogue.sums import UNNAMED, newest, order, parse_sums
from tinkbox.catalogue.transport import Web
from tinkbox.model.errors import Invalid, NotFound, Refusal, Unavailable
from tinkbox.model.images.references import TAG
from tinkbox.model.images.system_image import SOURCE_DIGEST, Verified

MAX_SUMS: Final = 4 << 20
MAX_URL: Final = 2048
MATCH_SECONDS: Final = 5.0
_BARE_DIGEST: Final = re.compile(r"[0-9a-f]{64}(?:[0-9a-f]{64})?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Found:
    """One exact image.

    `digest` may be empty, `size` 0 where nobody tells it.  `image_signature` is a signature that is still to be checked when the image is
    here.  `doubts` say why it is proven less than its entry promises.
    """

    entry: Entry
    version: str
    url: str
    digest: str = ""
    size: int = 0
    verified: Verified = Verified.NONE
    signer: str = ""
    image_signature: bytes = b""
    doubts: Sequence[str] = ()

    @property
    def reference(self) -> str:
        return f"{self.entry.id}:{self.version}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Checksums:
    """A file of checksums as far as it is proven."""

    digests: Mapping[str, str]
    verified: Verified
    signer: str = ""
    doubts: Sequence[str] = ()


class Resolver:
    """`key_folders` are where keys are besides those of the program; with `lenient` what cannot be proven is only a doubt."""

    def __init__(self, web: Web, now: datetime, key_folders: Sequence[Path] = (), *, lenient: bool = False) -> None:
        self._web = web
        self._now = now
        self._folders = key_folders
        self._lenient = lenient

    async def newest(self, entry: Entry) -> Found:
        """The newest image of an entry, as it is at its publisher's now.  Raises refusals that name the entry."""
        try:
            found = await self._resolved(entry)
            _check(found)
            return await self._with_image_signature(found)
        except Refusal as refusal:
            raise type(refusal)(f"{entry.id}: {refusal}") from None

    async def told(self, found: Found) -> Found:
        """The same with its size; raises NotFound for one that is gone."""
        try:
            head = await self._web.head(found.url, plain=found.verified is Verified.SIGNED)
        except NotFound:
            raise NotFound(
                f"{found.entry.id}: {found.url} is gone, though its publisher still names it: try again later, "
                f"or give another place with `tinkbox image fetch {found.entry.id} --source URL`"
            ) from None
        except (Unavailable, Invalid):
            return found  # the download tells why
        return replace(found, size=head.size)

    async def _resolved(self, entry: Entry) -> Found:
        match entry.resolver:
            case Sums() as resolver:
                return await self._by_sums(entry, resolver)
            case Listing() as resolver:
                return await self._by_listing(entry, resolver)
            case Stream() as resolver:
                return await self._by_stream(entry, resolver)
            case Fixed() as resolver:
                proof = Verified.TYPED if resolver.digest else Verified.NONE
                return Found(
                    entry=entry, version=resolver.version, url=resolver.file, digest=resolver.digest, verified=proof
                )

    async def _by_sums(self, entry: Entry, resolver: Sums) -> Found:
        sums = await self._checksums(entry, resolver.sums, {})
        pattern = re.compile(resolver.file)
        with _in_time(resolver.file):
            names = {name: match for name in sums.digests if (match := pattern.fullmatch(name))}
        if not names:
            raise NotFound(f"{resolver.sums} names no file like {resolver.file}: its publisher changed something")
        name = newest(names)
        words = {word: value or "" for word, value in names[name].groupdict().items()}
        digest = sums.digests[name]
        version = filled(resolver.version, words) if resolver.version else digest.partition(":")[2][:12]
        return _proven(entry, version, urljoin(resolver.sums, name), digest, sums)

    async def _by_listing(self, entry: Entry, resolver: Listing) -> Found:
        # What is not signed anywhere is not taken from a page that anybody could have changed.
        page = await self._web.document(resolver.page)
        with _in_time(resolver.newest):
            matches = list(re.finditer(resolver.newest, page.content.decode("utf-8", "replace")))
        if not matches:
            raise NotFound(f"{resolver.page} has nothing like {resolver.newest}: its publisher changed something")
        words = {word: value or "" for word, value in max(matches, key=order).groupdict().items()}
        version, url = filled(resolver.version, words), filled(resolver.file, words)
        if not resolver.sums:
            return Found(entry=entry, version=version, url=url)
        words["file"] = url
        place = filled(resolver.sums, words)
        sums = await self._checksums(entry, place, words)
        name = urlsplit(url).path.rpartition("/")[2]
        digest = sums.digests.get(name) or (sums.digests.get(UNNAMED) if len(sums.digests) == 1 else None)
        if digest is None:
            raise NotFound(f"{place} has no checksum of {name}")
        if sums.verified is Verified.SIGNED and name not in sums.digests:
            # Whoever serves it could take what was signed for another image.
            raise Invalid(
                f"{place} is signed, and does not say that its checksum is of {name}: "
                "take `signature` out of the entry, or have the file's name signed"
            )
        return _proven(entry, version, url, digest, sums)

    async def _by_stream(self, entry: Entry, resolver: Stream) -> Found:
        page = await self._web.document(resolver.page)
        try:
            document = json.loads(page.content)
        except (ValueError, RecursionError):
            raise Invalid(f"{resolver.page} is no JSON") from None
        version, url, digest = (
            _value(document, keys, resolver.page) for keys in (resolver.version, resolver.file, resolver.digest)
        )
        digest = digest.lower()
        if _BARE_DIGEST.match(digest):
            digest = f"{'sha256' if len(digest) == 64 else 'sha512'}:{digest}"
        proof = Verified.SUMS if page.secure else Verified.NONE
        doubts = () if page.secure else (f"{resolver.page} did not come over HTTPS",)
        return Found(
            entry=entry, version=version, url=urljoin(resolver.page, url), digest=digest, verified=proof, doubts=doubts
        )

    async def _checksums(self, entry: Entry, url: str, words: Mapping[str, str]) -> Checksums:
        signature = entry.signature if entry.signature and entry.signature.of is not Signed.IMAGE else None
        document = await self._web.document(url, limit=MAX_SUMS, plain=signature is not None)
        proof = Verified.SUMS if document.secure else Verified.NONE
        doubts = () if document.secure else (f"{url} did not come over HTTPS",)
        if signature is None:
            return Checksums(digests=parse_sums(document.content), verified=proof, doubts=doubts)
        try:
            keys = load_keys(signature.keys, self._folders)
            content = document.content
            if signature.of is Signed.INSIDE_SUMS:
                content, signer = signed_document(content, keys, self._now)
            else:
                place = filled(signature.url, {**words, "sums": url})
                detached = await self._web.document(place, limit=MAX_SIGNATURE, plain=True)
                signer = signer_of(content, detached.content, keys, self._now)
        except Refusal as refusal:
            doubt = f"the signature of {url} proves nothing: {refusal}"
            if not self._lenient:
                raise type(refusal)(
                    f"{doubt}; `tinkbox image fetch {entry.id} --unverified` takes it without"
                ) from None
            return Checksums(digests=parse_sums(document.content), verified=proof, doubts=(doubt, *doubts))
        return Checksums(digests=parse_sums(content), verified=Verified.SIGNED, signer=str(signer))

    async def _with_image_signature(self, found: Found) -> Found:
        signature = found.entry.signature
        if signature is None or signature.of is not Signed.IMAGE:
            return found
        place = filled(signature.url, {"file": found.url, "version": found.version})
        try:
            detached = await self._web.document(place, limit=MAX_SIGNATURE, plain=True)
        except Refusal as refusal:
            if not self._lenient:
                raise
            return replace(found, doubts=(*found.doubts, f"there is no signature: {refusal}"))
        return replace(found, image_signature=detached.content)


class _TooLong(Exception):
    """A pattern has no end."""


@contextmanager
def _in_time(pattern: str) -> Iterator[None]:
    """Match a pattern, which may take for ever over a text that its publisher chose; raises Invalid when it takes long."""
    if threading.current_thread() is not threading.main_thread():
        yield  # no signal reaches it; the command line has one thread
        return

    def end(_: int, __: FrameType | None) -> NoReturn:
        raise _TooLong

    before = signal.signal(signal.SIGALRM, end)
    timer = (0.0, 0.0)
    try:
        try:
            timer = signal.setitimer(signal.ITIMER_REAL, MATCH_SECONDS)
            yield
        finally:
            # The alarm may still come here: no later than this.
            signal.setitimer(signal.ITIMER_REAL, 0)
    except _TooLong:
        raise Invalid(
            f"the pattern {pattern} takes more than {MATCH_SECONDS:g} seconds on what its publisher sends: "
            "write it without a repetition within a repetition, such as (a+)+"
        ) from None
    finally:
        # None is a handler that Python did not set, and cannot set again.
        signal.signal(signal.SIGALRM, before or signal.SIG_DFL)
        signal.setitimer(signal.ITIMER_REAL, *timer)


def _proven(entry: Entry, version: str, url: str, digest: str, sums: Checksums) -> Found:
    return Found(
        entry=entry,
        version=version,
        url=url,
        digest=digest,
        verified=sums.verified,
        signer=sums.signer,
        doubts=sums.doubts,
    )


def _check(found: Found) -> None:
    """What a publisher's page says becomes a name, a URL and a digest here."""
    if not TAG.match(found.version):
        raise Invalid(f"its publisher calls the version {found.version[:60]!r}, which cannot be a name")
    parts = urlsplit(found.url)
    if parts.scheme not in ("http", "https") or not parts.hostname or len(found.url) > MAX_URL or ".." in parts.path:
        raise Invalid(f"its publisher says that it is at {found.url[:100]!r}, which is no URL to download from")
    if found.digest and not SOURCE_DIGEST.match(found.digest):
        raise Invalid(f"its publisher says that its digest is {found.digest[:60]!r}, which is none")


def _value(document: Any, keys: Sequence[str], page: str) -> str:
    value = document
    for key in keys:
        value = value.get(key) if isinstance(value, dict) else None
    if not isinstance(value, str) or not value.isprintable():
        raise NotFound(f"{page} has no {' → '.join(keys)}: its publisher changed something")
    return value
