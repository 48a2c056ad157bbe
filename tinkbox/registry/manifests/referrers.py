"""What refers to a manifest by its `subject`: signatures, bills of materials.  OCI distribution-spec 1.1, "Listing Referrers".  Pure.

Older programs say the same by a tag: the digest with `-` for `:`, cut to 64 digits ("Referrers Tag Schema"), behind which
cosign puts `.sig`, `.att` or `.sbom`.
"""

import json
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tinkbox.registry.manifests.manifests import INDEXES, MAX_MANIFEST, OCI_INDEX, Manifest

_DIGEST_AS_TAG: Final = re.compile(r"(sha(?:256|512)-[0-9a-f]{64})(?:\.[a-z]{1,32})?\Z")


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of the list as an index; `last` is the digest behind which the next part begins, empty where this is the end."""

    content: bytes
    last: str = ""


def subject_of_tag(tag: str) -> str:
    """What a tag refers to, as `referring` takes it; empty for a tag that says nothing of the kind."""
    found = _DIGEST_AS_TAG.match(tag)
    return found[1] if found else ""


def referring(subjects: Mapping[str, str], digests: Iterable[str]) -> Sequence[str]:
    """The keys of what refers to one of these digests, or to what does; `subjects` has what each refers to.

    A key is a digest, or anything else of what nothing refers to; a subject is a digest, or what `subject_of_tag` gives.
    """
    known = {form for digest in digests for form in (digest, as_tag(digest))}
    found: list[str] = []
    left = {key: subject for key, subject in subjects.items() if key not in known}
    while more := [key for key, subject in left.items() if subject in known]:
        for key in more:
            del left[key]
            known |= {key, as_tag(key)}
        found += more
    return found


def as_tag(digest: str) -> str:
    """The same digest as `subject_of_tag` gives it."""
    algorithm, _, digits = digest.partition(":")
    return f"{algorithm}-{digits[:64]}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Referrer:
    """A manifest that refers to another; `descriptor` is what a list says of it, encoded once for all who ask."""

    digest: str
    artifact_type: str
    descriptor: bytes


def referrer(digest: str, size: int, manifest: Manifest) -> Referrer:
    """Of a manifest that refers to another; `size` is that of its own bytes."""
    config = "" if manifest.media_type in INDEXES else manifest.blobs[0].media_type
    told: dict[str, Any] = {"mediaType": manifest.media_type, "digest": digest, "size": size}
    artifact_type = manifest.artifact_type or config
    if artifact_type:
        told["artifactType"] = artifact_type
    if manifest.annotations:
        told["annotations"] = manifest.annotations
    descriptor = json.dumps(told, separators=(",", ":")).encode()
    return Referrer(digest=digest, artifact_type=artifact_type, descriptor=descriptor)


def page_of(referrers: Iterable[Referrer], last: str = "", most: int = MAX_MANIFEST) -> Page:
    """Those whose digests come after `last`, in order: as many as `most` bytes hold, but at least one."""
    after = sorted((each for each in referrers if each.digest > last), key=lambda each: each.digest)
    taken: list[bytes] = []
    room = most - len(_index([]))
    for each in after:
        room -= len(each.descriptor) + 1
        if taken and room < 0:
            return Page(content=_index(taken), last=after[len(taken) - 1].digest)
        taken.append(each.descriptor)
    return Page(content=_index(taken))


def _index(descriptors: Sequence[bytes]) -> bytes:
    begin = f'{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":['.encode()
    return b"".join((begin, b",".join(descriptors), b"]}"))
