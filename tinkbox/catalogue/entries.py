"""What the catalogue knows of an image.

Texts of a resolver may have words in braces, such as `{version}`: they stand for what its pattern found.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from enum import StrEnum
from typing import Final

from tinkbox.model.images.system_image import Architecture, Compression, DataSource, Firmware, Format, Growth

WORD: Final = re.compile(r"\{([a-z][a-z0-9_]{0,30})\}")


class Signed(StrEnum):
    """What the publisher signs."""

    SUMS = "sums"
    """The file of checksums; the signature is a file of its own."""
    INSIDE_SUMS = "inside-sums"
    """The file of checksums, which has the signature inside."""
    IMAGE = "image"
    """The image; the signature is a file of its own."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Signature:
    """`url` is where the signature is, `keys` the fingerprints of the keys that may have made it."""

    of: Signed
    keys: Sequence[str]
    url: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sums:
    """A file of checksums, of which the newest file whose name matches `file` is taken."""

    sums: str
    file: str
    version: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Listing:
    """A page in which the newest match of `newest` is taken; `file` is then the image, `sums` its checksums."""

    page: str
    newest: str
    file: str
    version: str
    sums: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Stream:
    """A JSON document; the others are the keys that lead to a value in it."""

    page: str
    version: Sequence[str]
    file: Sequence[str]
    digest: Sequence[str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Fixed:
    """One image that never changes; its digest, when there is one, was typed by the author of the entry."""

    file: str
    version: str
    digest: str


Resolver = Sums | Listing | Stream | Fixed


@dataclass(frozen=True, slots=True, kw_only=True)
class Entry:
    """An image of one architecture; `layer` is where the entry comes from."""

    id: str
    title: str
    architecture: Architecture
    resolver: Resolver
    signature: Signature | None
    format: Format
    compression: Compression
    firmware: Sequence[Firmware]
    least_disk: int
    data_source: DataSource
    growth: Growth
    default_user: str
    licence: str
    note: str
    end_of_life: date | None
    checked: bool
    layer: str

    @property
    def proof(self) -> str:
        """The best rung of the ladder that an image of this entry can reach."""
        if self.signature is not None:
            return "signed"
        if isinstance(self.resolver, Fixed):
            return "typed" if self.resolver.digest else "none"
        if isinstance(self.resolver, Listing):
            return "sums" if self.resolver.sums else "none"
        return "sums"


def filled(template: str, words: Mapping[str, str]) -> str:
    """A text with those of its words in braces that are known."""
    return WORD.sub(lambda match: words.get(match[1], match[0]), template)
