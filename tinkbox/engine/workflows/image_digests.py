"""To which bytes a workflow pins the names of its images: the same for all of its actions and services, on every machine.

A name in the appliance's registry is pinned when the workflow is created or, if the image comes later, when it is first
offered.  The digest of any other is told by the first host that pulled it.  It stays until a person retries.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from datetime import datetime

from tinkbox.model import history
from tinkbox.model.workflow import Workflow
from tinkbox.store.database import Tables

# The digest of an image by its name, empty when the appliance's registry has none, None when it is another's to tell.
# It waits for nothing but a small file.
DigestOf = Callable[[str], str | None]


def pinned(workflow: Workflow, digest_of: DigestOf) -> Workflow:
    """A new workflow, its images pinned as far as the appliance has them."""
    found = {image: digest_of(image) or "" for image, _ in _pins(workflow)}
    return replace(
        workflow,
        actions=tuple(replace(each, digest=found[each.action.spec.image]) for each in workflow.actions),
        services=tuple(replace(each, digest=found[each.service.spec.image]) for each in workflow.services),
    )


def pin(tables: Tables, workflow_id: str, image: str, digest: str | None, now: datetime, told_by: str = "") -> None:
    """Pin an image of a workflow to a digest, wherever it is not pinned yet; `told_by` names the host that pulled it."""
    if digest and tables.images.pin(workflow_id, image, digest):
        tables.events.add(workflow_id, now, *history.image_pinned(image, digest, told_by))


def believed(image: str, told: str, host: str, digest_of: DigestOf) -> tuple[str, str]:
    """What an image is, and by whose word, when a host that pulled it tells: of the appliance's own the registry tells alone."""
    ours = digest_of(image)
    return (told, host) if ours is None else (ours, "")


def pin_again(tables: Tables, workflow: Workflow, first: int, digest_of: DigestOf) -> Mapping[str, str]:
    """Pin anew what is run again, from action `first` on.

    Returns the digests that changed, by image; an empty one is still to be found out.
    """
    before: dict[str, set[str]] = {}
    for image, digest in _pins(workflow, first):
        before.setdefault(image, set()).add(digest)
    found = {image: digest_of(image) or "" for image in before}
    # What an earlier retry left out may mean something else than the rest.
    changed = {image: digest for image, digest in found.items() if before[image] != {digest}}
    for image, digest in changed.items():
        tables.images.pin_again(workflow.id, image, digest, first)
    return changed


def _pins(workflow: Workflow, first: int = 0) -> Iterator[tuple[str, str]]:
    """The images of the services, and of the actions from `first` on, with what each is pinned to."""
    yield from ((each.service.spec.image, each.digest) for each in workflow.services)
    yield from ((each.action.spec.image, each.digest) for each in workflow.actions[first:])
