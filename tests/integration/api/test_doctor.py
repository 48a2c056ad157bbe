"""The boot doctor at the operator door."""

from tests.integration.api.door import Door
from tests.integration.engine.appliance import hardware, mac
from tinkbox.model.boot import Asker, Stage


async def test_the_doctor_says_what_is_wrong_with_whom(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    door.box.machines.progress.saw(mac(1), Stage.DISCOVER, "PXE", asker=Asker.PXE.value, architecture=7)
    told = await door.done("GET", "/v1/doctor")
    assert {key: told[key] for key in ("at", "mode", "machine", "machines", "unasked", "servers")} == {
        "at": "2026-11-21T03:00:00+00:00",
        "mode": "reservation",
        "machine": "",
        "machines": 1,
        "unasked": "",
        "servers": [],
    }
    (found,) = told["diagnoses"]
    assert set(found) == {"rule", "gravity", "machine", "cause", "evidence", "remedy"}
    assert (found["rule"], found["gravity"], found["machine"]) == ("NotPermitted", "suspect", mac(1))
    assert found["evidence"][0] == "2026-11-21 03:00:00 asked for an address: PXE"
    of_one = await door.done("GET", f"/v1/doctor?machine={mac(1)}")
    assert (of_one["machine"], of_one["diagnoses"]) == (mac(1), [found])


async def test_a_machine_that_nobody_knows_nor_saw_is_not_found(door: Door) -> None:
    assert (await door.ask("GET", "/v1/doctor?machine=08:00:27:00:00:63"))[0] == 404
