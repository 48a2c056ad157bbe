import inspect

import pytest

from tests.integration.node.services import WANTED
from tinkbox.hosting import HostLink
from tinkbox.model.services import Phase, Standing
from tinkbox.wire.messages.hosting import Observed, Wanted
from tinkbox.worker.faithful_door import FaithfulDoor
from tinkbox.worker.hosting import Door, RemoteHostLink

STANDING = Standing(run="r1", phase=Phase.READY)


class FakeDoor:
    def __init__(self) -> None:
        self.told: list[tuple[object, ...]] = []

    async def wanted_services(self, seen: str) -> Wanted | None:
        return None if seen == WANTED.mark else WANTED

    async def settled(self) -> None:
        self.told.append(("settled",))

    async def observed_services(self, observed: Observed) -> None:
        self.told.append((observed,))

    async def service_output(self, run: str, offset: int, chunk: bytes) -> int:
        self.told.append((run, offset, chunk))
        return offset + len(chunk)

    async def keep_service_data(self, run: str, archive: bytes) -> None:
        self.told.append((run, archive))


async def test_the_host_link_is_the_node_door_and_says_in_which_boot_the_machine_is() -> None:
    door = FakeDoor()
    host_link: HostLink = RemoteHostLink(door, "boot-1")
    assert await host_link.wanted("") == WANTED
    assert await host_link.wanted(WANTED.mark) is None
    await host_link.observed((STANDING,))
    assert await host_link.output("r1", 3, b"chunk") == 8
    await host_link.keep_data("r1", b"archive")
    assert door.told == [
        ("settled",),
        (Observed(boot_id="boot-1", standings=(STANDING,)),),
        ("r1", 3, b"chunk"),
        ("r1", b"archive"),
    ]


def asked_by(protocol: type) -> list[str]:
    return [name for name, member in vars(protocol).items() if inspect.isfunction(member) and not name.startswith("_")]


@pytest.mark.parametrize("name", asked_by(Door))
def test_what_hosting_asks_is_what_the_node_doors_client_answers(name: str) -> None:
    asked, answered = (list(inspect.signature(getattr(each, name)).parameters) for each in (Door, FaithfulDoor))
    assert asked == answered


@pytest.mark.parametrize("name", asked_by(HostLink))
def test_the_host_link_answers_all_that_a_host_asks(name: str) -> None:
    asked, answered = (list(inspect.signature(getattr(each, name)).parameters) for each in (HostLink, RemoteHostLink))
    assert asked == answered
