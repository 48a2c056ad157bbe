"""Which images keep new workflows from what they are for, and which ones the appliance has not got.  Pure but for what it asks."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Final

from tinkbox.model.actions.released import RELEASED, to_load
from tinkbox.model.errors import Invalid, Problem
from tinkbox.model.images.references import parse_reference
from tinkbox.model.images.standing import Source, StandingOf, WantedImage
from tinkbox.model.text import counted

NAMED_AT_MOST: Final = 5


@dataclass(frozen=True, slots=True, kw_only=True)
class Finding:
    """What was found out about an image: `problem` says why nothing that needs it can have it, empty: it can.

    `host` is the one that its `source` asks, empty where that is the appliance or nobody.
    """

    name: str
    source: Source
    host: str
    problem: str


def looked_up(image: WantedImage, standing_of: StandingOf) -> Finding:
    """What there is to say of an image that is needed."""
    standing = standing_of(image)
    problem = ""
    if standing.damage:
        problem = f"{'system image' if image.system else 'image'} {image.name}: {standing.damage}"
    elif standing.source is Source.NOBODY:
        problem = _lacking_system(image.name) if image.system else _lacking(image, standing.same_as, standing_of)
    return Finding(name=image.name, source=standing.source, host=standing.host, problem=problem)


def missing_images(images: Iterable[WantedImage], standing_of: StandingOf) -> list[str]:
    """What to say of those that nothing can have."""
    return [found.problem for each in dict.fromkeys(images) if (found := looked_up(each, standing_of)).problem]


def refuse_missing(images: Iterable[WantedImage], standing_of: StandingOf) -> None:
    """Raise Invalid for those that nothing can have."""
    if missing := [Problem(text=each) for each in missing_images(images, standing_of)]:
        raise Invalid(f"images that are required are missing: {counted(len(missing), 'problem')}", missing)


def images_elsewhere(images: Iterable[WantedImage], standing_of: StandingOf) -> list[str]:
    """Which ones are still to be asked for elsewhere: whether they are there is not known."""
    return told_elsewhere([looked_up(each, standing_of) for each in dict.fromkeys(images)])


def told_elsewhere(findings: Sequence[Finding]) -> list[str]:
    """The same of what was found out: one line for all that machines ask for themselves, and one for all that mirrors have."""
    return [*_elsewhere(findings, Source.HOST), *_elsewhere(findings, Source.MIRROR)]


def _elsewhere(findings: Sequence[Finding], source: Source) -> Iterator[str]:
    found = [each for each in findings if each.source is source and not each.problem]
    if not found:
        return
    hosts, names = (_some([getattr(each, of) for each in found]) for of in ("host", "name"))
    asked = f"machines ask {hosts} themselves"
    if source is Source.MIRROR:
        asked = f"the appliance asks the mirror of {hosts} when a machine pulls"
    yield f"not kept here: {names}: {asked}"


def _some(words: Sequence[str]) -> str:
    each = list(dict.fromkeys(words))
    more = len(each) - NAMED_AT_MOST
    return ", ".join(each[:NAMED_AT_MOST]) + (f" and {counted(more, 'other')}" if more > 0 else "")


def _lacking(image: WantedImage, same_as: str, standing_of: StandingOf) -> str:
    told = f"image {image.name} is not in the registry"
    reference = parse_reference(image.name)
    if same_as:
        name = image.name.partition("@")[0]
        return f"{told}: it is here as {same_as}, `tinkbox image copy {same_as} {name}` gives it this name as well"
    if image.name in RELEASED:
        return f"{told}: {to_load([image.name])}"
    told = f"{told}: push it there, or `tinkbox image load` it from a file"
    meant = str(reference.as_docker_means)
    # Where it is asked offline, Docker Hub is no way out.
    if reference.host or standing_of(WantedImage(meant)).source is Source.NOBODY:
        return told
    return f"{told}; if you mean Docker Hub's, write {meant}"


def _lacking_system(name: str) -> str:
    return (
        f"system image {name} is not kept here: `tinkbox image list` shows those that are, `tinkbox image fetch` and "
        "`tinkbox image import` bring others"
    )
