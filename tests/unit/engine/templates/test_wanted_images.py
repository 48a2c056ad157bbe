"""Which images actions and services need."""

from collections.abc import Mapping

import pytest

from tests.unit.model.flows import action, service, status
from tinkbox.engine.templates.wanted_images import wanted_images
from tinkbox.model.images.standing import WantedImage
from tinkbox.model.services import Phase
from tinkbox.model.workflow import ActionStatus, State


def needing(image: str, environment: Mapping[str, str] | None = None, state: State = State.PENDING) -> ActionStatus:
    return status(state, action=action(image=image, environment=environment or {}))


def test_each_image_of_actions_and_services_is_needed_once_and_none_of_what_is_skipped() -> None:
    actions = [needing("x"), needing("y"), needing("x"), needing("z", state=State.SKIPPED)]
    found = wanted_images(actions, [service(Phase.PENDING).service])
    assert found == [WantedImage("x"), WantedImage("y"), WantedImage("i")]


@pytest.mark.parametrize(
    ("image", "environment", "written"),
    [
        ("install-image:v1", {"IMAGE": "debian-13"}, ["debian-13"]),
        ("quay.io/lab/install-image:v7", {"IMAGE": "debian-13:1"}, ["debian-13:1"]),
        ("install-image:v1", {"IMAGE": "HTTP://x.example/disk.raw"}, []),
        ("install-image:v1", {"IMG_URL": "http://x.example/disk.raw"}, []),
        ("install-image:v1", {"IMAGE": ""}, []),
        ("tools/other:v1", {"IMAGE": "debian-13"}, []),
    ],
)
def test_the_system_image_that_an_action_of_ours_writes_is_needed(
    image: str, environment: Mapping[str, str], written: list[str]
) -> None:
    systems = [each.name for each in wanted_images([needing(image, environment)], ()) if each.system]
    assert systems == written
