"""What refers to a manifest by its `subject`: signatures, bills of materials.  OCI distribution-spec 1.1, "Listing Referrers".  Pure."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinkbox.registry.manifests.manifests import INDEXES, MAX_MANIFEST, OCI_INDEX, Manifest


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """A part of the list as an index; `last` is the digest behind which the next part begins, empty where this is the end."""

    content: bytes
    last: str = ""


def referrer(digest: str, size: int, manifest: Manifest) -> Mapping[str, Any]:
    """The descriptor of a manifest that refers to another; `size` is that of its own bytes."""
    config = "" if manifest.media_type in INDEXES else manifest.blobs[0].media_type
    told = {"mediaType": manifest.media_type, "digest": digest, "size": size}
    artifact_type = manifest.artifact_type or config
    if artifact_type:
        told["artifactType"] = artifact_type
    if manifest.annotations:
        told["annotations"] = manifest.annotations
    return told


def page_of(referrers: Sequence[Mapping[str, Any]], last: str = "", most: int = MAX_MANIFEST) -> Page:
    """Those whose digests come after `last`, in order: as many as `most` bytes hold, but at least one."""
    after = sorted((each for each in referrers if each["digest"] > last), key=lambda each: str(each["digest"]))
    taken: list[str] = []
    room = most - len(_index([]))
    for each in after:
        text = json.dumps(each, separators=(",", ":"))
        room -= len(text) + 1
        if taken and room < 0:
            return Page(content=_index(taken), last=str(after[len(taken) - 1]["digest"]))
        taken.append(text)
    return Page(content=_index(taken))


def _index(descriptors: Sequence[str]) -> bytes:
    return f'{{"schemaVersion":2,"mediaType":"{OCI_INDEX}","manifests":[{",".join(descriptors)}]}}'.encode()
