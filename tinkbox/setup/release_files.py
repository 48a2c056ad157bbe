"""What a release has beside the executable: OSIEs and the images of actions.  Found, checked, and put where they belong."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from tinkbox.model.errors import Invalid, NotFound, Refusal
from tinkbox.osie.image import DESCRIPTION, OsieImage, describe, read
from tinkbox.setup.placing import CHECKOUT, put_folder


@dataclass(frozen=True, slots=True, kw_only=True)
class ReleaseFiles:
    """A folder with `osie/ARCHITECTURE/…` and `images/*.tar`; either may be missing."""

    osies: tuple[Path, ...] = ()
    images: tuple[Path, ...] = ()


def usual_folders(program: Path | None) -> list[Path]:
    """Where they are when no folder is named: beside the executable, or in build/ of its checkout.

    Never in the current folder: what lies there may be another user's.
    """
    if program is None:
        return [CHECKOUT / "build"]
    beside = program.resolve().parent
    return [beside, beside.parent / "build"] if beside.name == "dist" else [beside]


def find(named: Path | None, usual: Sequence[Path]) -> ReleaseFiles:
    """What the named folder has, else the first of the usual ones that has anything.

    Raises NotFound for a named one that has nothing.
    """
    for folder in [named] if named is not None else usual:
        osies = tuple(sorted(each.parent for each in folder.glob(f"osie/[!.]*/{DESCRIPTION}")))
        images = tuple(sorted(folder.glob("images/*.tar")))
        if osies or images:
            return ReleaseFiles(osies=osies, images=images)
    if named is not None:
        raise NotFound(
            f"{named} has neither osie/x86_64/ nor images/*.tar: name the folder of a release, or build/ of a checkout"
        )
    return ReleaseFiles()


def place_osie(source: Path, osie: Path) -> tuple[OsieImage, bool]:
    """Have an OSIE below a data folder's osie/; returns it, and whether that changed anything.

    Raises Invalid for one that is not what its description says, and Unavailable where it cannot be written.
    """
    image = read(source)
    if damaged := _damaged(source, image):
        raise Invalid(f"{source / damaged[0]} is not what {DESCRIPTION} beside it says: copy the folder anew")
    place = osie / image.architecture
    try:
        if read(place) == image and not _damaged(place, image):
            return image, False
    except Refusal:
        pass  # there is none, or a damaged one
    put_folder(source, place)
    return image, True


def _damaged(folder: Path, image: OsieImage) -> list[str]:
    """The files that are missing there, or not what the image says."""
    return [
        name for name, told in image.files.items() if not (folder / name).is_file() or describe(folder / name) != told
    ]
