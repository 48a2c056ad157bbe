"""Images that must stay because something names them."""

import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Final

from tinkbox.model.errors import Invalid
from tinkbox.model.images.references import parse_reference, pinned
from tinkbox.model.text import counted

NAMED_AT_MOST: Final = 5
_DIGEST = re.compile(r"sha256:[0-9a-f]{64}(?![0-9a-f])|sha512:[0-9a-f]{128}(?![0-9a-f])")
_LONGEST_NAME: Final = 400
# What stands before the `@` of a digest, backwards: a name, with the brace of a placeholder before it.
_NAME_BEFORE = re.compile(rf"@([\w./:-]{{1,{_LONGEST_NAME}}}\}}?)", re.ASCII)
# An action's or service's image, and the variable with a system image.
_IMAGE = re.compile(
    r"\bimage[\"']?[ \t]{0,80}:[ \t]{0,80}[\"']?([\w./:@-]{1,400})(?![\w./:@{-])", re.ASCII | re.IGNORECASE
)
_PLACEHOLDER = re.compile(r"\{\{-?[ \t]{0,80}\.?(\w{1,200})[ \t]{0,80}-?\}\}", re.ASCII)


@dataclass(frozen=True, slots=True, kw_only=True)
class ImageNeed:
    """A workflow or rollout that is not over needs the image of a `digest`, or a template or a `setting` names it by that.

    `image` is the image's name there; empty: the digest stands there without one, and may be meant in any repository.
    """

    digest: str
    image: str
    template: str = ""
    workflow_id: str = ""
    workflow: str = ""
    rollout_id: str = ""
    setting: str = ""

    @property
    def is_under_way(self) -> bool:
        """Whether that which needs it ends by itself."""
        return bool(self.workflow_id or self.rollout_id)

    @property
    def who(self) -> str:
        """Who needs it, for people."""
        if self.setting:
            return f"{self.setting} in tinkbox.yaml"
        if self.rollout_id:
            return f"rollout {self.rollout_id[:8]} of template {self.template}"
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


def digests_in(text: str) -> Iterator[tuple[str, str]]:
    """The digests that stand in a text, each with the image's name before it; empty where none is, as where logic puts them together."""
    for found in _DIGEST.finditer(text):
        before = text[max(0, found.start() - _LONGEST_NAME - 2) : found.start()]
        name = _NAME_BEFORE.match(before[::-1])
        yield (name[1][::-1] if name is not None else ""), found[0]


def images_in(text: str, parameters: Mapping[str, object]) -> Iterator[tuple[str, str]]:
    """The images that a template's text and the parameters for it name, each with its digest, or with none.

    It is not rendered: a placeholder that is the name of a parameter and nothing else is replaced by that, and logic is passed
    over.  So some are names of no image.
    """
    values = {key: value for key, value in parameters.items() if isinstance(value, str)}
    short = {key: value for key, value in values.items() if len(value) <= _LONGEST_NAME}
    filled = _PLACEHOLDER.sub(lambda found: short.get(found[1], found[0]), text)
    for each in (filled, *values.values()):
        yield from digests_in(each)
    for name in (*_IMAGE.findall(filled), *short.values()):
        if "@" not in name:
            yield name, ""


def told(needs: Sequence[ImageNeed]) -> str:
    """Who needs an image, each once and some of many."""
    found = list(dict.fromkeys(each.who for each in needs))
    more = len(found) - NAMED_AT_MOST
    named = ", ".join(found[:NAMED_AT_MOST])
    return f"{named} and {counted(more, 'other')}" if more > 0 else named
