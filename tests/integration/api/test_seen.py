"""What was seen of machines, over the operator door."""

from tests.integration.api.door import Door
from tests.integration.engine.appliance import hardware, mac
from tinkbox.model.boot import Asker, Stage
from tinkbox.wire.syslog import Message, Severity


async def test_every_mac_that_was_seen_is_listed_and_told_of(door: Door) -> None:
    machine = (await door.done("POST", "/v1/hardware", hardware(1)))["id"]
    assert await door.done("GET", "/v1/seen") == []
    door.box.machines.progress.saw(mac(1), Stage.KERNEL)
    door.box.machines.progress.saw(mac(9), Stage.DISCOVER, "PXE", asker=Asker.PXE, secs=4)
    door.box.clock.forward(41)
    stranger, known = await door.done("GET", "/v1/seen")
    assert stranger == {
        "mac": mac(9),
        "at": "2026-11-21T03:00:00+00:00",
        "stage": "asked for an address",
        "detail": "PXE",
        "facts": {"asker": "PXE", "secs": 4},
        "hardware_id": "",
        "hostname": "",
        "stalled": "stalled here for 41 s",
    }
    assert (known["mac"], known["hardware_id"], known["hostname"], known["stalled"]) == (
        mac(1),
        machine,
        "machine-1",
        "",
    )
    told = await door.done("GET", f"/v1/seen/{mac(9)}")
    seen = {name: stranger[name] for name in ("mac", "at", "stage", "detail", "facts")}
    assert told == {**stranger, "timeline": [seen]}
    assert (await door.done("GET", "/v1/seen/machine-1"))["mac"] == mac(1)
    assert (await door.done("GET", f"/v1/hardware/{machine}"))["stalled"] == ""


async def test_who_was_never_seen_is_not_found(door: Door) -> None:
    for key in (mac(9), "machine-1"):
        status, problem = await door.ask("GET", f"/v1/seen/{key}")
        assert (status, problem["status"]) == (404, 404)
        assert (await door.ask("GET", f"/v1/hardware/{key}/timeline"))[0] == 404


async def test_a_timeline_has_as_many_lines_of_syslog_as_are_asked_for(door: Door) -> None:
    door.box.machines.progress.saw(mac(9), Stage.DISCOVER)
    for number in range(30):
        message = Message(severity=Severity.DEBUG, facility=0, program="kernel", text=str(number))
        door.box.syslog.said(mac(9), message)
    for query, lines in (("", 20), ("?lines=3", 3), ("?lines=0", 0), ("?lines=500", 30)):
        told = await door.done("GET", f"/v1/hardware/{mac(9)}/timeline{query}")
        assert sum(each["stage"] == Stage.SYSLOG for each in told) == lines
        assert len((await door.done("GET", f"/v1/seen/{mac(9)}{query}"))["timeline"]) == lines + 1
    for wrong in ("501", "-1", "x", "1e2"):
        assert (await door.ask("GET", f"/v1/seen/{mac(9)}?lines={wrong}"))[0] == 422
