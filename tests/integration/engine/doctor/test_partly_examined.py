"""A store that does not tell of machines and workflows hides nothing of what the appliance knows by itself."""

from collections.abc import AsyncIterator
from pathlib import Path

import pytest

from tests.integration.engine.appliance import appliance
from tests.integration.engine.doctor.test_examiner import World
from tinkbox.engine.doctor.rounds import PartlyExamined
from tinkbox.model.errors import Unavailable


class Damaged(World):
    """One whose store is damaged."""

    async def lost(self) -> dict[str, object]:  # type: ignore[override]  # it tells none
        raise self.why

    why: Exception = Unavailable("the store is damaged")


@pytest.fixture
async def world(tmp_path: Path) -> AsyncIterator[Damaged]:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:
        yield Damaged(box)


@pytest.mark.parametrize("why", [Unavailable("the store is damaged"), ValueError("no JSON")])
async def test_an_examination_tells_the_rest_and_what_could_not_be_examined(world: Damaged, why: Exception) -> None:
    world.why, world.osie = why, []
    found = await world.examiner.examine()
    assert [each.rule for each in found.diagnoses] == ["NoOsie"]
    assert ("machines and workflows", str(why)) in found.unexamined
    assert "machine" not in " ".join(found.examined)


async def test_a_round_tells_the_rest_and_why_it_ended(world: Damaged, monkeypatch: pytest.MonkeyPatch) -> None:
    world.osie = []
    examiner = world.examiner

    async def away() -> list[object]:
        raise world.why

    monkeypatch.setattr(world.box.work_in_hand, "under_way", away)
    with pytest.raises(PartlyExamined) as partly:
        await examiner.round()
    assert partly.value.why is world.why
    assert [each.rule for each in partly.value.found] == ["NoOsie"]
