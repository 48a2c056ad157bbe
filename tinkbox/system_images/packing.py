"""Packing: a disk image's file in, an OCI archive out."""

from collections.abc import Callable
from pathlib import Path

from tinkbox.model.system_image import USUAL_MAX_DISK, About, Progress, SystemImage


def pack(
    source: Path,
    about: About,
    output: Path,
    *,
    scratch: Path,
    said: Callable[[Progress], None],
    max_disk: int = USUAL_MAX_DISK,
) -> SystemImage:
    """Make the OCI archive `output` of the disk image `source`; blocks until it is done, and says how far it is.

    `scratch` is a folder for what has to lie on the disk meanwhile.  Raises Invalid for what is no disk image, or not the one
    that `about.source` tells of, TooLarge above `max_disk` raw bytes, NotFound, and Unavailable where there is no room.
    """
    raise NotImplementedError
