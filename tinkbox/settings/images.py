"""The section `images`: which images run where templates name others."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from tinkbox.model.errors import Invalid
from tinkbox.model.image import StandIns, check_stand_in
from tinkbox.settings import readers
from tinkbox.settings.declaring import reader, setting

MAX_STAND_INS: Final = 256


@reader("names of images, each with the image that stands in for it")
def stand_ins(value: Any, _: Mapping[str, str]) -> Mapping[str, str]:
    found = readers.written_by_name(value, check_stand_in)
    if len(found) > MAX_STAND_INS:
        raise Invalid(f"at most {MAX_STAND_INS} names, not {len(found)}")
    return found


@dataclass(frozen=True, slots=True, kw_only=True)
class Images:
    """Images of actions and services."""

    instead: Mapping[str, str] = setting(
        {},
        stand_ins,
        "images that run instead of those that templates name, such as `quay.io/tinkerbell/actions/image2disk: image2disk:v1` "
        "([actions.md](actions.md#images-that-run-instead)). A name may have a tag, or be the beginning of names up to a slash",
    )

    @property
    def stand_ins(self) -> StandIns:
        """The same as a value."""
        return StandIns(images=self.instead)
