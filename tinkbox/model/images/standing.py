"""What the appliance knows of an image that a workflow needs, before anything asks for it."""

from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum, auto
from typing import NamedTuple


class WantedImage(NamedTuple):
    """An image by the name that a workflow has for it: containers run from it, or, of a `system`, it is written to a disk."""

    name: str
    system: bool = False


class Source(Enum):
    """Who gives the image: the appliance, which has it; a mirror, which the appliance asks; the host in its name; nobody."""

    APPLIANCE = auto()
    MIRROR = auto()
    HOST = auto()
    NOBODY = auto()


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageStanding:
    """Where an image comes from.

    `host` is that of a mirror, or the one that is asked.  `damage` says what is known to be damaged of what the appliance has,
    as `image list` says it, and is empty where nothing is.  `same_as` names an image of the same bytes, where nobody gives them
    by the name that was asked for; empty: there is none.
    """

    source: Source
    host: str = ""
    damage: str = ""
    same_as: str = ""


StandingOf = Callable[[WantedImage], ImageStanding]
