"""`/v1/status` for a view that asks what changed."""

from tests.integration.api.door import Door
from tests.integration.api.test_scopes import IN, OUT, Rack, made, rack
from tests.integration.engine.appliance import RELAY, hardware, mac
from tinkbox.model.telling import OUTSIDE
from tinkbox.model.workflow import State
from tinkbox.view.picture import plain_picture
from tinkbox.wire.messages.status import Snapshot, WorkLine, decode_snapshot, merged

__all__ = ["rack"]


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


async def of_rack(rack: Rack, query: str = "") -> Snapshot:
    async with rack.session.get(f"{rack.door.url}/v1/status{query}") as response:
        assert response.status == 200, await response.text()
        return decode_snapshot(await response.read())


async def test_a_token_with_a_scope_is_told_of_its_machines_and_their_workflows_alone(rack: Rack) -> None:
    mine, _ = await made(rack.door, IN), await made(rack.door, OUT)
    whole, first = await of_rack(rack), await of_rack(rack, "?after=")
    assert [each.hostname for each in whole.machines] == ["machine-1"]
    assert [each.id for each in whole.workflows] == [mine]
    ((machine,), scope) = first.machines, first.scope
    assert (machine.hostname, machine.work and machine.work.id, scope) == ("machine-1", mine, "rack=r1")
    for told in (whole, first):
        assert (told.disk, told.limits, told.strangers, told.health.sent) == (None, (), (), None)


async def test_a_view_within_a_scope_is_told_what_changed_there_and_nothing_of_other_changes(rack: Rack) -> None:
    first = await of_rack(rack, "?after=")
    await made(rack.door, OUT)
    await rack.door.box.machine(3)
    again = await of_rack(rack, f"?after={first.place}")
    assert (again.machines, again.part, again.place) == ((), True, first.place)
    assert merged(first, again).machines == first.machines
    mine = await made(rack.door, IN)
    change = await of_rack(rack, f"?after={first.place}")
    assert ([each.work and each.work.id for each in change.machines], change.part) == ([mine], False)
    await rack.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r9"}})
    gone = await of_rack(rack, f"?after={change.place}")
    assert (merged(change, gone).machines, gone.gone) == ((), ())


async def test_of_work_outside_a_line_tells_its_state_and_no_word(rack: Rack) -> None:
    await rack.door.done("POST", "/v1/templates", {"name": "relay", "data": RELAY})
    both = {"template": "relay", "hardware": {"a": mac(IN), "b": mac(OUT)}}
    await rack.door.done("POST", "/v1/workflows", both)
    worker = str(hardware(IN)["id"])
    offer = await rack.door.box.offer(worker)
    assert offer is not None
    (running,) = (await of_rack(rack, "?after=")).machines
    assert running.work == WorkLine(id="", name="", state=State.RUNNING, since=rack.door.box.clock(), message=OUTSIDE)
    await rack.door.box.report(worker, offer, State.FAILED, reason="Theirs", message="a secret")
    told = await of_rack(rack, "?after=")
    (failed,) = told.machines
    assert failed.work is not None
    assert (failed.work.state, failed.work.reason, failed.work.message) == (State.FAILED, "", OUTSIDE)
    shown = plain_picture(told, "tinkbox")
    assert OUTSIDE[:20] in shown
    assert "your token is for rack=r1 alone" in shown
    assert "once more:" not in shown
    assert (await of_rack(rack)).workflows == ()
