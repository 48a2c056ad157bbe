"""A line of the audit is found by every name that its object has, however that was typed."""

from typing import Any

import pytest

from tests.integration.api.door import Door
from tests.integration.api.test_audit import lines
from tests.integration.engine.appliance import HELLO, RELAY, hardware, mac
from tinkbox.model.audit import MOST_NAMES, Act, Chain, Did, Kind, in_lines, line_of

MACHINE = str(hardware(1)["id"])
NAMES = ["machine-1", "MACHINE-1", MACHINE, mac(1), "172.30.0.11"]


async def found(door: Door, name: str, more: str = "") -> list[Any]:
    return [line["what"] for line in await lines(door, f"object={name}&sort=number{more}")]


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("typed", NAMES[:1] + NAMES[2:])
async def test_lines_of_a_machine_are_found_by_every_name_of_it(door: Door, typed: str, name: str) -> None:
    await door.box.machine(2)
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", f"/v1/hardware/{typed}/notes", {"text": "a note"})
    await door.done("GET", f"/v1/hardware/{typed}/credential")
    await door.ask("PUT", f"/v1/hardware/{typed}", {})
    await door.done("POST", f"/v1/hardware/{typed}/retire", {"reason": "old"})
    await door.done("DELETE", f"/v1/hardware/{typed}")
    done = [
        "POST /v1/hardware",
        "POST /v1/hardware/{key}/notes",
        "GET /v1/hardware/{key}/credential",
        "PUT /v1/hardware/{key}",
        "POST /v1/hardware/{key}/retire",
        "DELETE /v1/hardware/{key}",
    ]
    assert await found(door, name) == done
    # Before it was pushed nobody knew its names.
    assert len(await found(door, name, "&every=1")) == 2 * len(done) - 1
    assert await found(door, "machine-2") == []


@pytest.mark.parametrize("name", [*NAMES, "machine-2", "hello", "hello_world_workflow"])
async def test_lines_of_a_workflow_are_found_by_its_template_and_its_machines(door: Door, name: str) -> None:
    for number in (1, 2):
        await door.box.machine(number)
    await door.box.templates.create("hello", HELLO.replace("{{.device_1}}", "{{.a}}"))
    await door.box.templates.create("hello-relay", RELAY.replace("name: relay", "name: hello_world_workflow"))
    wish = {"template": "hello-relay", "hardware": {"a": mac(1), "b": mac(2)}}
    made = (await door.done("POST", "/v1/workflows", wish))["id"]
    await door.done("POST", f"/v1/workflows/{made}/cancel")
    await door.done("DELETE", f"/v1/workflows/{made}")
    done = ["POST /v1/workflows", "POST /v1/workflows/{key}/cancel", "DELETE /v1/workflows/{key}"]
    assert await found(door, made) == await found(door, name) == done


async def test_lines_of_a_rollout_are_found_by_its_machines(door: Door) -> None:
    for number in (1, 2):
        await door.box.machine(number)
    await door.box.templates.create("hello", HELLO)
    wish = {"template": "hello", "machines": ["machine-1", "machine-2"]}
    made = (await door.done("POST", "/v1/rollouts", wish))["id"]
    await door.done("POST", f"/v1/rollouts/{made}/pause")
    done = ["POST /v1/rollouts", "POST /v1/rollouts/{key}/pause"]
    for name in ("machine-1", mac(2), "hello", made):
        assert await found(door, name) == done, name


async def test_names_are_part_of_a_line_that_is_verified_and_lines_without_are_as_valid(door: Door) -> None:
    old = {"at": "2026-11-30T00:00:00+00:00", "from": "", "how": "", "kind": "own", "number": 1, "object": "x", "previous": "0" * 64, "what": "y", "who": "z"}  # fmt: skip
    act = Act(kind=Kind.OWN, who="z", what="y", object="x")
    line = line_of(act, 1, door.box.clock(), "0" * 64)
    assert line.document().keys() == {*old, "digest"}
    chain = Chain()
    chain.add(line)
    chain.add(line_of(Act(kind=Kind.OWN, names=["a"]), 2, door.box.clock(), line.digest))
    assert chain.verdict().problem == ""
    await door.done("POST", "/v1/hardware", hardware(1))
    assert (await door.done("GET", "/v1/audit/verify"))["problem"] == ""


def test_a_thing_of_many_names_is_told_several_times() -> None:
    names = [f"machine-{number}" for number in range(MOST_NAMES)]
    acts = in_lines(Act(kind=Kind.DONE, did=[Did("rollout created", "1", names)]))
    assert len(acts) > 1
    told = [each for act in acts for each in act.did]
    assert {each.which for each in told} == {"1"}
    assert [name for each in told for name in each.names] == names
