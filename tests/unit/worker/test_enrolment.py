"""The worker gives its machine's firmware the authority, and says what came of it until it is heard."""

import pytest

from tinkbox.model.errors import Conflict, NotFound, Refusal, Unavailable
from tinkbox.wire.messages.enrolment import Enrolled
from tinkbox.worker.enrolment import enrol

DONE, REFUSED = Enrolled(authority="ab" * 32), Enrolled(why="this machine did not boot by UEFI")


class Door:
    """An appliance that refuses as often as it is told to."""

    def __init__(self, *refusals: Refusal) -> None:
        self.refusals = list(refusals)
        self.told: list[Enrolled] = []

    async def tell_enrolment(self, enrolled: Enrolled) -> None:
        self.told.append(enrolled)
        if self.refusals:
            raise self.refusals.pop(0)


@pytest.mark.parametrize("came_of_it", [DONE, REFUSED])
async def test_what_came_of_it_is_told_once(came_of_it: Enrolled) -> None:
    door, asked = Door(), list[str]()

    def write(authority: str) -> Enrolled:
        asked.append(authority)
        return came_of_it

    await enrol(door, "PEM", write)
    assert (asked, door.told) == (["PEM"], [came_of_it])


@pytest.mark.parametrize("refusal", [NotFound("no such route"), Conflict("another authority")])
async def test_an_appliance_that_does_not_want_it_is_left_alone(refusal: Refusal) -> None:
    door = Door(refusal)
    await enrol(door, "PEM", lambda _: DONE)
    assert door.told == [DONE]


async def test_an_appliance_that_is_away_hears_of_it_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.runtime.retrying.FIRST_WAIT", 0.0)
    door = Door(Unavailable("it is away"))
    await enrol(door, "PEM", lambda _: DONE)
    assert door.told == [DONE, DONE]
