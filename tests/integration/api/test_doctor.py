"""The boot doctor at the operator door."""

import aiohttp

from tests.integration.api.door import TOKEN, Door
from tests.integration.engine.appliance import hardware, mac
from tinkbox.model.boot import Asker, Stage
from tinkbox.model.limits import EXAMINATIONS


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


async def test_a_person_for_whom_enough_examinations_run_is_told_which_limit_and_others_are_answered(
    door: Door,
) -> None:
    assert door.examinations.take("who-may-look", EXAMINATIONS.each)
    url = f"{door.url}/v1/doctor"
    async with aiohttp.ClientSession() as session:
        async with session.get(url, headers={"Authorization": "Bearer look-token"}) as refused:
            assert (refused.status, "Retry-After" in refused.headers) == (429, True)
            assert "limits.examinations in tinkbox.yaml" in await refused.text()
        async with session.get(url, headers={"Authorization": f"Bearer {TOKEN}"}) as answered:
            assert answered.status == 200
