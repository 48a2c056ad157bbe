"""What images take of the disk, what is free for more, and what can be freed."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from tinkbox.model.errors import Problem
from tinkbox.model.sizes import show_size
from tinkbox.model.text import counted


@dataclass(frozen=True, slots=True, kw_only=True)
class Amount:
    """A number of blobs and their bytes."""

    number: int = 0
    octets: int = 0

    def __str__(self) -> str:
        return f"{counted(self.number, 'blob')} of {show_size(self.octets)}"

    def __add__(self, other: "Amount") -> "Amount":
        return Amount(number=self.number + other.number, octets=self.octets + other.octets)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRoom:
    """The `blobs` of all images, the bytes of what is on its way in, and the bytes that may still come.

    `most` is what the operator allows in all, None: as much as the disk has but for `reserve`.  `file_size_limit` is how many bytes one
    file may have, a blob or the archive of a load, None: any number.
    """

    blobs: Amount
    incoming: int
    free: int
    reserve: int
    most: int | None
    file_size_limit: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Waiting:
    """Blobs that no image needs, and that are kept for pushes which began lately, the last of them `until` then."""

    blobs: Amount = Amount()
    until: datetime | None = None

    def __str__(self) -> str:
        time = f" until {self.until:%H:%M} UTC" if self.until is not None else ""
        return f"{self.blobs}, which no image needs, kept{time} for pushes that began within the hour"


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What was `freed` of blobs that no image needs, or would be, and how many `images` without a tag went for that.

    `promised` stay for an hour after a client was told of them, `unknown` because a damaged image may need them.  `untagged` are
    the images without a tag that stay, and the bytes of what only they need; with `recent` they do because they came within the
    hour.  `left_alone` are the uploads that stay, though nothing came for them lately.
    """

    freed: Amount
    images: int = 0
    promised: Waiting
    unknown: Amount
    untagged: Amount = Amount()
    recent: bool = False
    left_alone: Amount = Amount()

    @property
    def notes(self) -> Sequence[Problem]:
        """What a person is told of those that stay."""
        found = []
        if self.left_alone.octets:
            text = f"{self.left_alone}, of uploads that wait or were broken off: what needs the room gets it"
            found.append(Problem(text=f"{text}, and `tinkbox image gc --now` frees it"))
        if self.promised.blobs.number:
            found.append(Problem(text=f"{self.promised}: `tinkbox image gc --now` frees that, and they send it again"))
        if self.unknown.number:
            text = f"{self.unknown}: kept, a damaged image may need them: push it again or delete it (`tinkbox image list -o wide`)"
            found.append(Problem(text=text))
        if self.untagged.number:
            images = f"{counted(self.untagged.number, 'image')} without a tag ({show_size(self.untagged.octets)})"
            text = f"{images}: `tinkbox image gc --untagged` frees what no workflow and no template needs of that"
            if self.recent:
                text = f"{images}: kept, a push that began within the hour may need that: `tinkbox image gc --untagged --now` frees it"
            found.append(Problem(text=text))
        return found
