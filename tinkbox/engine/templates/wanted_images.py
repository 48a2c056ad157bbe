"""Which images actions and services need.  Pure."""

from collections.abc import Iterable, Iterator
from typing import Final

from tinkbox.model.actions.action import SYSTEM_IMAGE, Action
from tinkbox.model.images.references import parse_reference
from tinkbox.model.images.standing import WantedImage
from tinkbox.model.services import PlannedService
from tinkbox.model.workflow import ActionStatus, State

# The action that writes a system image of the appliance to a disk, whatever registry and tag its own image has.
INSTALLER: Final = "install-image"
_FETCHED: Final = ("http://", "https://")


def wanted_images(actions: Iterable[ActionStatus], services: Iterable[PlannedService]) -> list[WantedImage]:
    """The images of actions that are not skipped, the system images that these write included, and of services, each once."""
    needed: dict[WantedImage, None] = {}
    for each in actions:
        if each.state is not State.SKIPPED:
            needed[WantedImage(each.action.spec.image)] = None
            needed.update(dict.fromkeys(_written(each.action.spec)))
    needed.update(dict.fromkeys(WantedImage(each.spec.image) for each in services))
    return list(needed)


def _written(action: Action) -> Iterator[WantedImage]:
    """The system image that an action of ours writes, unless it fetches one by its URL."""
    named = action.environment.get(SYSTEM_IMAGE, "")
    if not named or named.lower().startswith(_FETCHED):
        return
    if parse_reference(action.image).repository.rpartition("/")[2] == INSTALLER:
        yield WantedImage(named, system=True)
