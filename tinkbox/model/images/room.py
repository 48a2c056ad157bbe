"""What images take of the disk, what is free for more, and what can be freed."""

from collections.abc import Sequence
from dataclasses import dataclass

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


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageRoom:
    """The `blobs` of all images, the bytes of what is on its way in, and the bytes that may still come.

    `most` is what the operator allows in all, None: as much as the disk has but for `reserve`.
    """

    blobs: Amount
    incoming: int
    free: int
    reserve: int
    most: int | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Collected:
    """What was `freed` of blobs that no image needs, or would be.

    `promised` stay for an hour after a client was told of them, `unknown` because a damaged image may need them.
    """

    freed: Amount
    promised: Amount
    unknown: Amount

    @property
    def notes(self) -> Sequence[Problem]:
        """What a person is told of those that stay."""
        found = []
        if self.promised.number:
            text = f"{self.promised}: kept for up to an hour, a push that began lately may need them"
            found.append(Problem(text=text))
        if self.unknown.number:
            text = f"{self.unknown}: kept, a damaged image may need them: push it again or delete it (`tinkbox image list -o wide`)"
            found.append(Problem(text=text))
        return found
