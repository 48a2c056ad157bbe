"""Of which kind an image is, and the rule that system images and container images have repositories of their own.  Pure."""

from collections.abc import Collection, Mapping
from enum import StrEnum

from tinkbox.model.errors import Conflict
from tinkbox.model.images.system_image import ARTIFACT_TYPE, ID
from tinkbox.registry.manifests.manifests import Manifest


class Kind(StrEnum):
    """`artifact` is anything else that a registry keeps, such as a signature; `unknown` what is damaged, where nothing tells it."""

    CONTAINER = "container"
    SYSTEM = "system"
    ARTIFACT = "artifact"
    UNKNOWN = "unknown"


def kind_of(manifest: Manifest) -> Kind:
    if not manifest.artifact_type:
        return Kind.CONTAINER
    return Kind.SYSTEM if manifest.artifact_type == ARTIFACT_TYPE else Kind.ARTIFACT


def kind_of_damaged(repository: str, others: Collection[Kind]) -> Kind:
    """The kind of an image whose manifest is lost, by those of the other images of its repository."""
    for kind in (Kind.SYSTEM, Kind.CONTAINER):
        if kind in others:
            return kind
    return Kind.UNKNOWN if ID.match(repository) else Kind.CONTAINER  # what can be no system image's id


def refuse_mixed(repository: str, new: Kind, others: Mapping[Kind, str]) -> None:
    """Raise Conflict for a system image beside a container image, the other way round, and for either beside what may be one.

    `others` are what the repository has: one of each kind, by its whole name.
    """
    if new not in _NAMES:
        return
    (other,) = _NAMES.keys() - {new}
    if name := others.get(other):
        raise Conflict(
            f"{repository} has {_NAMES[other]} ({name}), and this is {_NAMES[new]}: give it another name, or delete "
            f"the other first with `tinkbox image delete {name}`"
        )
    if new not in others and (name := others.get(Kind.UNKNOWN)):
        raise Conflict(
            f"{name} is damaged, and its kind is not known; {repository} has nothing else: push or load "
            f"that image again, or delete it first with `tinkbox image delete {name}`"
        )


_NAMES = {Kind.CONTAINER: "a container image", Kind.SYSTEM: "a system image"}
