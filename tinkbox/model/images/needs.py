"""Images that must stay because something names them."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import parse_reference, pinned
from tinkbox.model.text import counted

NAMED_AT_MOST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageNeed:
    """A workflow that is not over needs the image of a `digest`, or a template names it by that.

    `image` is the image's name there.  Of a template `workflow_id` and `workflow` are empty.
    """

    digest: str
    image: str
    template: str
    workflow_id: str = ""
    workflow: str = ""

    @property
    def who(self) -> str:
        """Who needs it, for people."""
        if not self.workflow_id:
            return f"template {self.template}"
        of = f" of template {self.template}" if self.template else ""
        return f"workflow {self.workflow or self.workflow_id} ({self.workflow_id[:8]}{of})"


def stood_in(needs: Sequence[ImageNeed], meant: Callable[[str], str]) -> Iterator[ImageNeed]:
    """What runs instead of images that are named by their digests (`StandIns.meant`); one that is named by its tag has no digest."""
    for each in needs:
        with suppress(Invalid):  # a placeholder is a part of the name
            named = pinned(each.image, each.digest)
            if (instead := meant(named)) != named:
                yield replace(each, image=instead, digest=parse_reference(instead).digest)


def told(needs: Sequence[ImageNeed]) -> str:
    """Who needs an image, each once and some of many."""
    found = list(dict.fromkeys(each.who for each in needs))
    more = len(found) - NAMED_AT_MOST
    named = ", ".join(found[:NAMED_AT_MOST])
    return f"{named} and {counted(more, 'other')}" if more > 0 else named
