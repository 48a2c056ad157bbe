"""Of which kind an image is, and the rule that system images and container images have repositories of their own.  Pure."""

from collections.abc import Iterable
from enum import StrEnum

from tinkbox.model.errors import Conflict
from tinkbox.model.images.system_image import ARTIFACT_TYPE
from tinkbox.registry.manifests.manifests import Manifest


class Kind(StrEnum):
    """`artifact` is anything else that a registry keeps, such as a signature."""

    CONTAINER = "container"
    SYSTEM = "system"
    ARTIFACT = "artifact"


def kind_of(manifest: Manifest) -> Kind:
    if not manifest.artifact_type:
        return Kind.CONTAINER
    return Kind.SYSTEM if manifest.artifact_type == ARTIFACT_TYPE else Kind.ARTIFACT


def refuse_mixed(repository: str, manifest: Manifest, others: Iterable[tuple[str, Manifest]]) -> None:
    """Raise Conflict for a system image beside a container image, and the other way round.

    `others` are what the repository has, each by its whole name.
    """
    new = kind_of(manifest)
    for name, other in others:
        kept = kind_of(other)
        if {new, kept} == {Kind.SYSTEM, Kind.CONTAINER}:
            raise Conflict(
                f"{repository} has {_NAMES[kept]} ({name}), and this is {_NAMES[new]}: give it another name, or delete "
                f"the other first with `tinkbox image delete {name}`"
            )


_NAMES = {Kind.CONTAINER: "a container image", Kind.SYSTEM: "a system image"}
