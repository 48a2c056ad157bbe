"""What became of an image that was to be deleted."""

from collections.abc import Sequence
from dataclasses import dataclass

from tinkbox.model.errors import Problem


@dataclass(frozen=True, slots=True, kw_only=True)
class Deleted:
    """The `name` of what is not here any more, as lists have it, a system image's with its version; `notes` tell what stays of it."""

    name: str
    notes: Sequence[Problem] = ()
