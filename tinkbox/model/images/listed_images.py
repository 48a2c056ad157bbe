"""Images as they are listed: what the registry tells of each, and operators are answered."""

from collections.abc import Mapping
from typing import Any, TypedDict


class ImageLine(TypedDict):
    """One line of `tinkbox image list`; `tag` is empty for a manifest that has none, `size` is that of all its blobs, each once.

    `problem` says what is known to be damaged on the disk, and is empty where nothing is; `digest` is empty where a tag's file
    is damaged.
    """

    name: str
    tag: str
    digest: str
    size: int
    pushed_at: str
    kind: str
    problem: str


class ImageDescriptor(TypedDict):
    """Which manifest an image's name means: `reference` is the whole name, `size` what the manifest itself has.

    `problem` says which of its parts is damaged on the disk, as far as that was looked at; empty: none.
    """

    reference: str
    digest: str
    media_type: str
    size: int
    problem: str


class SystemImageLine(TypedDict):
    """A system image: `reference` names these bytes for ever, `tags` are its version and perhaps `latest`.

    `size` is what its blobs have, `config` its configuration as it is kept, but for a default user that can be none.  `problem`
    says what is known to be damaged on the disk, and is empty where nothing is.
    """

    id: str
    reference: str
    tags: list[str]
    digest: str
    size: int
    pushed_at: str
    config: Mapping[str, Any]
    problem: str
