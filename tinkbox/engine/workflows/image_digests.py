"""To which bytes a workflow pins the names of its images: the same for all of its actions and services, on every machine.

A name in the appliance's registry is pinned when the workflow is created or, if the image comes later, when it is first
offered.  The digest of any other is told by the first host that pulled it.  It stays until a person retries.
"""

from collections.abc import Callable, Mapping
from dataclasses import replace
from datetime import datetime

from tinkbox.model import history
from tinkbox.model.workflow import Workflow
from tinkbox.store.database import Tables

# The digest of an image by its name, empty when the appliance cannot tell.  It waits for nothing but a small file.
DigestOf = Callable[[str], str]


def pinned(workflow: Workflow, digest_of: DigestOf) -> Workflow:
    """A new workflow, its images pinned as far as the appliance has them."""
    found = {image: digest_of(image) for image in _digests(workflow)}
    return replace(
        workflow,
        actions=tuple(replace(each, digest=found[each.action.spec.image]) for each in workflow.actions),
        services=tuple(replace(each, digest=found[each.service.spec.image]) for each in workflow.services),
    )


def pin(tables: Tables, workflow_id: str, image: str, digest: str, now: datetime) -> None:
    """Pin an image of a workflow to a digest, wherever it is not pinned yet."""
    if digest and tables.images.pin(workflow_id, image, digest):
        tables.events.add(workflow_id, now, *history.image_pinned(image, digest))


def pin_again(tables: Tables, workflow: Workflow, first: int, digest_of: DigestOf) -> Mapping[str, str]:
    """Pin anew what is run again, from action `first` on.

    Returns the digests that changed, by image; an empty one is still to be found out.
    """
    found = {image: (digest_of(image), before) for image, before in _digests(workflow, first).items()}
    changed = {image: now for image, (now, before) in found.items() if now != before}
    for image, digest in changed.items():
        tables.images.pin_again(workflow.id, image, digest, first)
    return changed


def _digests(workflow: Workflow, first: int = 0) -> dict[str, str]:
    """What the images of the services, and of the actions from `first` on, are pinned to."""
    return {
        **{each.service.spec.image: each.digest for each in workflow.services},
        **{each.action.spec.image: each.digest for each in workflow.actions[first:]},
    }
