"""One image of the catalogue: decided what proves it, brought here, proven."""

import asyncio
import hashlib
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from pathlib import Path

from tinkbox.catalogue.downloading import Arrived, Download, Downloads, Order, forget
from tinkbox.catalogue.entries import Entry
from tinkbox.catalogue.openpgp import load_keys, signer_of
from tinkbox.catalogue.resolving import Found
from tinkbox.model.errors import Invalid, Refusal
from tinkbox.model.images.system_image import SOURCE_DIGEST, About, Source, Verified


@dataclass(frozen=True, slots=True, kw_only=True)
class Choices:
    """What a person decides: a `digest` typed, `unverified` to take what nothing proves, another `source` for the file."""

    digest: str = ""
    unverified: bool = False
    source: str = ""

    def __post_init__(self) -> None:
        if self.digest and not SOURCE_DIGEST.match(self.digest):
            raise Invalid(f"{self.digest[:60]!r} is no digest: write sha256: or sha512: and its hexadecimal digits")
        if self.source and not self.source.startswith(("https://", "http://")):
            raise Invalid(f"{self.source[:60]!r} is no URL: it begins with https:// or http://")

    @property
    def complete(self) -> bool:
        """Whether there is nothing that a publisher would have to be asked."""
        return bool(self.digest and self.source)


def given(entry: Entry, choices: Choices) -> Found:
    """The image that complete choices name: its version is the beginning of its digest."""
    version = choices.digest.partition(":")[2][:12]
    return Found(entry=entry, version=version, url=choices.source, digest=choices.digest, verified=Verified.TYPED)


def decided(found: Found, choices: Choices) -> Found:
    """What was found, with a person's choices; raises Invalid when nothing proves it and nobody takes it so."""
    if choices.source:
        found = replace(found, url=choices.source)
    if choices.digest and found.digest and found.digest.partition(":")[0] == choices.digest.partition(":")[0]:
        if found.digest != choices.digest:
            raise Invalid(
                f"{found.reference} has the digest {found.digest}, not the one given: "
                "its publisher may have made a newer one; give `--source` as well to fetch another image"
            )
    elif choices.digest and not found.digest:
        found = replace(found, digest=choices.digest)
    if choices.digest and found.verified is Verified.NONE:
        found = replace(found, verified=Verified.TYPED)
    if found.verified is Verified.NONE and not found.image_signature and not choices.unverified:
        why = f" ({found.doubts[0]})" if found.doubts else ""
        raise Invalid(
            f"nothing proves what {found.reference} is{why}: give its digest with `tinkbox image fetch {found.entry.id} --digest "
            "sha256:…`, or take it as it comes with `--unverified`"
        )
    return found


async def fetch(
    downloads: Downloads,
    found: Found,
    choices: Choices,
    now: datetime,
    said: Callable[[Arrived], None],
    key_folders: Sequence[Path] = (),
) -> tuple[Found, Download]:
    """Download a found image and prove it; raises what `Downloads.fetch` raises, and Invalid when the proof fails."""
    order = order_of(found, choices)
    download = await downloads.fetch(order, said)
    try:
        if choices.digest:
            await asyncio.to_thread(_typed, download, choices.digest, order.url)
        if found.image_signature:
            found = await asyncio.to_thread(_signed, download, found, choices, now, key_folders)
    except Invalid:
        forget(download.path)
        raise
    return found, download


def order_of(found: Found, choices: Choices) -> Order:
    proven = found.verified is Verified.SIGNED or bool(found.image_signature or choices.digest)
    return Order(
        url=found.url, digest=found.digest, size=found.size, plain=proven or choices.source.startswith("http://")
    )


def about(found: Found, download: Download) -> About:
    """What is known of a fetched image, for packing it."""
    entry = found.entry
    return About(
        id=entry.id,
        title=entry.title,
        version=found.version,
        architecture=entry.architecture,
        firmware=entry.firmware,
        data_source=entry.data_source,
        growth=entry.growth,
        default_user=entry.default_user,
        licence=entry.licence,
        least_disk=entry.least_disk,
        source=Source(
            url=found.url,
            digest=download.digest,
            size=download.size,
            format=entry.format,
            compression=entry.compression,
            verified=found.verified,
            signer=found.signer,
        ),
    )


def _typed(download: Download, digest: str, url: str) -> None:
    algorithm = digest.partition(":")[0]
    if download.digest.partition(":")[0] == algorithm:
        actual = download.digest
    else:
        with download.path.open("rb") as file:
            actual = f"{algorithm}:{hashlib.file_digest(file, algorithm).hexdigest()}"
    if actual != digest:
        raise Invalid(f"{url} has the digest {actual}, not {digest}: it was removed")


def _signed(download: Download, found: Found, choices: Choices, now: datetime, folders: Sequence[Path]) -> Found:
    assert found.entry.signature is not None
    try:
        keys = load_keys(found.entry.signature.keys, folders)
        signer = signer_of(download.path, found.image_signature, keys, now)
    except Refusal as refusal:
        doubt = f"the signature of {found.url} proves nothing: {refusal}"
        if not choices.unverified and not choices.digest:
            raise Invalid(f"{doubt}; `tinkbox image fetch {found.entry.id} --unverified` takes it without") from None
        return replace(found, doubts=(*found.doubts, doubt))
    return replace(found, verified=Verified.SIGNED, signer=str(signer))
