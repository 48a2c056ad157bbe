"""What new workflows will lack, which keeps nobody from making them: it is told once for all of them.  Pure."""

import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, islice
from typing import Final

from tinkbox.engine.templates.wanted_images import wanted_images
from tinkbox.engine.workflows.metadata_mentions import MetadataGap, gap_lines, gaps, mentions
from tinkbox.engine.workflows.missing_images import Finding, images_elsewhere, looked_up, missing_images
from tinkbox.model.actions.action import Action
from tinkbox.model.hardware import Hardware
from tinkbox.model.images.standing import StandingOf, WantedImage
from tinkbox.model.metadata import Metadata
from tinkbox.model.services import Service
from tinkbox.model.workflow import Workflow

MOST_DOMAINS: Final = 5  # that are told
# The machine of an id, None: it is not known.
HardwareOf = Callable[[str], Hardware | None]


@dataclass(frozen=True, slots=True)
class New:
    """A workflow as it would begin, and what its template says of the systems that it installs."""

    workflow: Workflow
    metadata: Metadata


class Shortages:
    """`standing_of` tells where an image comes from, `metadata_gap` is as in `metadata_mentions`; `domain` is that of workflows' names."""

    def __init__(self, standing_of: StandingOf, metadata_gap: MetadataGap, domain: str) -> None:
        self._standing_of = standing_of
        self._metadata_gap = metadata_gap
        self._domain = domain.lower()

    def image(self, image: WantedImage) -> Finding:
        """What there is to say of an image that is needed."""
        return looked_up(image, self._standing_of)

    def images(self, found: Sequence[New]) -> list[str]:
        """What to say of the images that are needed, and that nothing can have."""
        return missing_images(_wanted(found), self._standing_of)

    def elsewhere(self, found: Sequence[New]) -> list[str]:
        """What to say of those that are still to be asked for elsewhere."""
        return images_elsewhere(_wanted(found), self._standing_of)

    def metadata(self, found: Sequence[New], hardware_of: HardwareOf) -> Iterator[str]:
        """The machines that will ask for metadata where they are given nothing."""
        yield from gap_lines(self._gaps(found, hardware_of))

    def names(self, found: Sequence[New]) -> list[str]:
        """The domains below which workflows expect their own name, and that the appliance's DNS does not answer."""
        others = dict.fromkeys(each for one in found for each in _domains(one.workflow) if each != self._domain)
        return [
            f"names below {each} do not lead to the services of a workflow here, those below {self._domain} do: set services.domain: "
            f"{each} in tinkbox.yaml, or write {self._domain}"
            for each in islice(others, MOST_DOMAINS)
        ]

    def _gaps(self, found: Sequence[New], hardware_of: HardwareOf) -> Mapping[tuple[str, str], Sequence[Hardware]]:
        lacking: dict[tuple[str, str], list[Hardware]] = defaultdict(list)
        for each in found:
            for worker, mentioned in mentions(each.workflow).items():
                if (hardware := hardware_of(worker)) is not None:
                    for one in gaps(hardware, each.metadata, mentioned, self._metadata_gap):
                        lacking[one].append(hardware)
        return lacking


def _wanted(found: Sequence[New]) -> Iterator[WantedImage]:
    for each in found:
        yield from wanted_images(each.workflow.actions, (one.service for one in each.workflow.services))


def _domains(workflow: Workflow) -> Iterator[str]:
    """What stands behind the workflow's id where a name is made of it, as in proposal 0015: `ID.workflows.tinkerbell.local`."""
    name = re.compile(rf"{re.escape(workflow.id)}\.([A-Za-z0-9-]+(?:\.[A-Za-z0-9-]+)+)")
    services = [each.service.spec for each in workflow.services]
    containers: list[Action | Service] = [*services, *(each.action.spec for each in workflow.actions)]
    texts = chain(
        *(chain((value for _, value in each.labels), each.urls) for each in services),
        *(chain(each.environment.values(), each.command) for each in containers),
    )
    for text in texts:
        yield from (each.lower() for each in name.findall(text))
