"""`/v1/status` for a view that asks what changed."""

from tests.integration.api.door import Door
from tests.integration.engine.appliance import mac
from tinkbox.wire.messages.status import Snapshot, decode_snapshot


async def status(door: Door, query: str = "") -> Snapshot:
    async with door.local.get(f"http://tinkbox/v1/status{query}") as response:
        assert response.status == 200
        return decode_snapshot(await response.read())


async def test_a_view_is_told_everything_and_then_what_changed(door: Door) -> None:
    await door.box.machine(1)
    await door.box.machine(2)
    workflow = await door.box.workflow()
    first = await status(door, "?after=")
    assert [each.work.id if each.work else "" for each in first.machines] == [workflow, ""]
    assert first.disk is not None
    assert (await status(door, f"?after={first.place}")).machines == ()
    await door.done("PATCH", f"/v1/hardware/{mac(2)}/labels", {"set": {"rack": "r1"}})
    change = await status(door, f"?after={first.place}")
    assert ([each.hostname for each in change.machines], change.part) == (["machine-2"], True)


async def test_without_a_place_it_answers_as_it_always_did(door: Door) -> None:
    await door.box.machine(1)
    workflow = await door.box.workflow()
    told = await status(door)
    assert ([each.id for each in told.workflows], told.machines[0].work, told.place) == ([workflow], None, "")


async def test_a_view_of_an_appliance_that_was_started_anew_is_told_everything(door: Door) -> None:
    await door.box.machine(1)
    told = await status(door, "?after=1795230000.5/12")
    assert (len(told.machines), told.part) == (1, False)
