"""What an image consists of, wherever it is kept: its manifests, and the blobs that they need."""

import hashlib
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass
from typing import Final

from tinkbox.model.errors import Invalid, NotFound, Unavailable
from tinkbox.registry.manifests.manifests import (
    INDEXES,
    MANIFESTS,
    MAX_MANIFEST,
    Descriptor,
    Manifest,
    parse_manifest,
    whole,
)

# Of one image; an index for every platform that there is has some dozens.
MAX_MANIFESTS: Final = 10_000


class Damaged(Unavailable):
    """A blob is not what its `digest` says; `how` tells what it is instead.  Where it came from by itself is not told."""

    def __init__(self, digest: str, how: str) -> None:
        super().__init__(f"{digest} came damaged, {how}: try again")
        self.digest = digest
        self.how = how


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageTree:
    """`top` is what the image's name means; `manifests` are what it leads to, itself last, each with its bytes.

    `needed` and `optional` are the other blobs by digest, with their sizes; what is optional need not be anywhere: layers that
    clients fetch from another place, and what an index lists that is no manifest.
    """

    top: Descriptor
    manifests: Mapping[str, tuple[bytes, Manifest]]
    needed: Mapping[str, int]
    optional: Mapping[str, int]

    @property
    def sizes(self) -> Mapping[str, int]:
        """Of everything, by digest."""
        contents = {digest: len(content) for digest, (content, _) in self.manifests.items()}
        return {**self.optional, **self.needed, **contents}


async def tree_of(top: Descriptor, read: Callable[[Descriptor], Awaitable[bytes]]) -> ImageTree:
    """Read an image's manifests by `read`, which raises NotFound for one that is not there.

    What an index lists may be missing (image-spec, "Image Index").  Raises NotFound where `top` is, Damaged for one that is not
    what its digest says, Invalid for one that is no manifest and for more than there can be.
    """
    contents: dict[str, bytes] = {}
    parsed: dict[str, Manifest] = {}
    pending = [top]
    while pending:
        listed = pending.pop()
        if listed.digest in parsed:
            continue
        if len(parsed) == MAX_MANIFESTS:
            raise Invalid(f"{top.digest} leads to more than {MAX_MANIFESTS} manifests")
        parsed[listed.digest] = Manifest(media_type="")
        if listed.media_type not in ("", *MANIFESTS, *INDEXES):
            continue
        if listed.size > MAX_MANIFEST:
            raise Invalid(f"the manifest {listed.digest} has {listed.size} bytes: at most {MAX_MANIFEST} are taken")
        try:
            content = await read(listed)
        except NotFound:
            if listed is top:
                raise
            continue
        refuse_other(listed.digest, hashlib.new(listed.digest.partition(":")[0], content).hexdigest())
        contents[listed.digest] = content
        parsed[listed.digest] = parse_manifest(content, listed.media_type)
        pending.extend(parsed[listed.digest].manifests)
    ordered = whole(top, lambda listed: parsed[listed.digest])
    found = [parsed[digest] for digest in ordered]
    other = [each for one in found for each in (*one.foreign, *one.content[len(one.blobs) :])]
    return ImageTree(
        top=top,
        manifests={digest: (contents[digest], parsed[digest]) for digest in ordered if digest in contents},
        needed={each.digest: each.size for one in found for each in one.blobs},
        optional={each.digest: each.size for each in other},
    )


def refuse_other(digest: str, actual: str) -> None:
    """Raise Damaged for what has another digest, in hexadecimal digits, than it should have."""
    if digest.partition(":")[2] != actual:
        raise Damaged(digest, f"as {actual[:12]}…")
