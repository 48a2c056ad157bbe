"""The section `images`: which images run where templates name others, and how much room the registry may take."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from tinkbox.model.disk_usage import LAST_ROOM
from tinkbox.model.errors import Invalid
from tinkbox.model.images.needs import ImageNeed, digests_in
from tinkbox.model.images.references import StandIns, check_stand_in
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting

MAX_STAND_INS: Final = 256
RESERVE: Final = 1 << 30


@reader("names of images, each with the image that stands in for it")
def stand_ins(value: Any, _: Mapping[str, str]) -> Mapping[str, str]:
    found = readers.written_by_name(value, check_stand_in)
    if len(found) > MAX_STAND_INS:
        raise Invalid(f"at most {MAX_STAND_INS} names, not {len(found)}")
    return found


@reader(readers.size.takes)
def size_if_any(value: Any, default: int | None) -> int | None:
    return readers.size.read(value, 0) if value != "" else default


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images of actions and services."""

    instead: Mapping[str, str] = setting(
        {},
        stand_ins,
        "images that run instead of those that templates name, such as `quay.io/tinkerbell/actions/image2disk: image2disk:v1` "
        "([actions.md](actions.md#images-that-run-instead)). A name may have a tag, or be the beginning of names up to a slash",
    )

    reserve: int = setting(
        RESERVE,
        readers.memory(LAST_ROOM, "with less free machines hand in no output or data"),
        "room on the data folder's disk that images never take: a push is refused before. Where you choose nothing it is "
        "what `retention.keep_free` is and a twentieth of the disk, 512MiB at most",
    )
    most: int | None = setting(
        None, size_if_any, "what all images may take; without it, the disk but for `images.reserve`"
    )

    def reserve_on(self, disk: int, keep_free: int) -> int:
        """What images leave to others on a disk of so many bytes, of which `keep_free` are kept free for other reasons.

        Where no person chose, it is more than that, so that a full registry has no history deleted; of a small disk half is
        for images.
        """
        if self.reserve != RESERVE:
            return self.reserve
        wanted = keep_free + min(RESERVE // 2, max(LAST_ROOM, disk // 20))
        return max(keep_free, min(wanted, disk // 2))

    @property
    def stand_ins(self) -> StandIns:
        """The same as a value."""
        return StandIns(images=self.instead)

    def needs(self) -> Sequence[ImageNeed]:
        """The images that stand in for others by their digests."""
        return [
            ImageNeed(digest=digest, image=image, setting="images.instead")
            for each in self.instead.values()
            for image, digest in digests_in(each)
        ]
