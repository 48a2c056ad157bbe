"""Every change over the operator door is a line of the audit, before it is made and when it is."""

import getpass
from typing import Any

from tests.integration.api.door import Door
from tests.integration.engine.appliance import hardware


async def lines(door: Door, query: str = "every=1&sort=number") -> list[Any]:
    found: list[Any] = await door.done("GET", f"/v1/audit?{query}")
    return found


async def test_change_is_a_line_before_and_one_after_it_is_made(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    asked, done = await lines(door)
    told = {"who": getpass.getuser(), "how": "socket", "from": "", "what": "POST /v1/hardware", "object": ""}
    assert told.items() <= asked.items()
    assert told.items() <= done.items()
    assert (asked["kind"], done["kind"], done["asked"], done["status"]) == ("asked", "done", asked["number"], 200)
    assert done["did"] == [{"what": "hardware pushed", "which": hardware(1)["id"]}]
    assert done["previous"] == asked["digest"]
    verdict = await door.done("GET", "/v1/audit/verify")
    assert verdict == {"lines": 2, "first": 1, "last": 2, "wrong": 0, "problem": "", "deliveries": []}
