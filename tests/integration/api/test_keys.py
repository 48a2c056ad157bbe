"""Whatever names a machine may stand wherever a machine is meant, and for its newest workflow."""

import json

import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.integration.engine.holding import AtWork, begun

# What a route has to be asked before it looks for what the key means.
BODIES = {
    "/v1/hardware/{key}": {
        "text": json.dumps(hardware(1)),
        "base": {"updated_at": "2026-01-01T00:00:00+00:00", "labels": {}},
    },
    "/labels": {"set": {"rack": "r1"}},
    "/tpm": {"sha256": "0" * 64},
    "/notes": {"text": "a new disk"},
    "/verdict": {"verb": "continue"},
    "/arm": {"on_failure": True},
}
NOT_FOUND = " 'nowhere' not found: "


def routes(door: Door) -> list[tuple[str, str]]:
    """Every route of one machine or workflow; what takes one away comes last, and the machine behind its workflow."""
    nouns = ("/v1/hardware/{key}", "/v1/workflows/{key}")
    found = {(each.method, each.path) for each in door.routes if each.path.startswith(nouns)}
    return sorted(
        found, key=lambda each: (each[0] == "DELETE", each[1].endswith("{key}"), each[1][:5] == "/v1/h", each)
    )


async def answer(door: Door, method: str, path: str, key: str, name: str = "machine-1") -> str:
    """Why it is refused, or nothing."""
    at = path.replace("{key}", key).replace("{id}", "1")
    body = next((each for end, each in BODIES.items() if path.endswith(end)), {})
    body = {"name": name} if (method, path) == ("PATCH", "/v1/hardware/{key}") else body
    sent = None if method in ("GET", "DELETE") else body
    async with door.local.request(method, f"http://tinkbox{at}", json=sent) as response:
        return "" if response.ok else str(await response.json(content_type=None))


@pytest.mark.parametrize("name", ["machine-1", mac(1), mac(1).upper(), "172.30.0.11", "short id"])
async def test_every_route_takes_every_name_of_a_machine(door: Door, name: str) -> None:
    added = await door.done(
        "POST", "/v1/hardware/add", {"mac": mac(1), "name": "machine-1", "address": "172.30.0.11/24"}
    )
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    key = added["id"][:8] if name == "short id" else name
    told = {each: await answer(door, *each, key) for each in routes(door)}
    assert len(told) > 30
    assert {each: why for each, why in told.items() if f"{key!r} not found" in why} == {}
    assert {each for each in told if NOT_FOUND not in await answer(door, *each, "nowhere")} == set(), (
        "it was looked for"
    )


async def test_every_route_takes_a_name_with_braces(door: Door) -> None:
    """As a document of a template that was never filled has it."""
    await door.done("POST", "/v1/hardware", json.loads(json.dumps(hardware(1)).replace("machine-1", "{{.x}}")))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    told = {each: await answer(door, *each, "{{.x}}", name="{{.x}}") for each in routes(door)}
    assert {each: why for each, why in told.items() if "'{{.x}}' not found" in why or "there is no " in why} == {}


def changes(door: Door) -> list[tuple[str, str]]:
    """Every route that changes a workflow; a shell is opened in it."""
    return [each for each in routes(door) if each[0] != "GET" and each[1].startswith("/v1/workflows/{key}")]


async def two_workflows(door: Door) -> tuple[str, str]:
    """The ids of two that are called `hello_world_workflow`, the older one first."""
    await door.box.machine(1)
    return await door.box.workflow(), await door.box.workflow()


async def test_no_route_that_changes_a_workflow_takes_a_name_that_several_have(door: Door) -> None:
    older, newer = await two_workflows(door)
    before = [await door.done("GET", f"/v1/workflows/{each}") for each in (older, newer)]
    told = {each: await answer(door, *each, "hello_world_workflow") for each in changes(door)}
    assert len(told) > 8
    assert {each: why for each, why in told.items() if "are called 'hello_world_workflow'" not in why} == {}
    assert [await door.done("GET", f"/v1/workflows/{each}") for each in (older, newer)] == before
    assert (await door.done("GET", "/v1/workflows/hello_world_workflow"))["id"] == newer, "what shows takes the newest"


async def test_no_route_that_changes_a_workflow_takes_it_by_a_machine_that_was_registered_since(door: Door) -> None:
    await door.box.machine(1)
    made = await door.box.workflow()
    await door.done("POST", "/v1/workflows/machine-1/cancel")
    await door.done("DELETE", "/v1/hardware/machine-1")
    await door.box.machine(1)
    told = {each: await answer(door, *each, "machine-1") for each in changes(door)}
    assert {each: why for each, why in told.items() if "registered anew since workflow" not in why} == {}
    assert (await door.done("GET", "/v1/workflows/machine-1"))["id"] == made


@pytest.mark.parametrize("ended", [0, 1])
async def test_a_name_means_the_one_workflow_that_is_not_over_for_what_ends_it(door: Door, ended: int) -> None:
    made = await two_workflows(door)
    path = "/v1/workflows/hello_world_workflow"
    await door.done("POST", f"/v1/workflows/{made[ended]}/cancel")
    assert (await door.done("GET", f"{path}/state?to_change=unfinished"))["workflow_id"] == made[1 - ended]
    status, refused = await door.ask("POST", f"{path}/breakpoints/verdict", {"verb": "fail"})
    assert (status, f"workflow {made[1 - ended]} is not held" in refused["detail"]) == (409, True)
    assert (await door.done("POST", f"{path}/cancel"))["id"] == made[1 - ended]
    status, refused = await door.ask("POST", f"{path}/cancel")
    over = ", ".join(f"{each[:8]} (CANCELED)" for each in reversed(made))
    assert (status, f"and all of them are over: {over}; name one by its id" in refused["detail"]) == (409, True)


async def test_the_name_of_a_workflow_that_is_a_machines_too_ends_neither_of_their_workflows(door: Door) -> None:
    await door.box.machine(1)
    await door.done("POST", "/v1/hardware/add", {"mac": mac(2), "name": "hello-world", "address": "172.30.0.2/24"})
    await door.box.workflow(HELLO.replace("name: hello_world_workflow", "name: hello-world"))
    of_machine = await door.box.workflow(HELLO.replace("name: hello_world_workflow", "name: other"), device_1=2)
    status, refused = await door.ask("POST", "/v1/workflows/hello-world/cancel")
    assert (status, f"and of a machine, of which workflow {of_machine[:8]}" in refused["detail"]) == (409, True)
    await door.done("POST", f"/v1/workflows/{of_machine}/cancel")
    await door.done("DELETE", f"/v1/workflows/{of_machine}")
    await door.done("POST", "/v1/workflows/hello-world/cancel")


async def test_what_may_not_be_deleted_is_refused_to_who_looks_it_up_for_that(door: Door) -> None:
    worker = await door.box.machine(1)
    made = await door.box.workflow()
    await door.box.machine(2)
    (template,) = await door.done("GET", "/v1/templates")
    rollout = await door.done("POST", "/v1/rollouts", {"template": template["id"], "machines": ["machine-2"]})
    looked_up = {f"/v1/workflows/{made}/state": 200, f"/v1/rollouts/{rollout['id']}": 409}
    assert {each: (await door.ask("GET", f"{each}?to_change=delete"))[0] for each in looked_up} == looked_up
    await door.box.offer(worker)
    status, refused = await door.ask("GET", f"/v1/workflows/{made}/state?to_change=delete")
    assert (status, "is running, and can be deleted when it is over" in refused["detail"]) == (409, True)
    assert {(await door.ask("GET", each))[0] for each in looked_up} == {200}


async def test_a_wrong_word_for_what_a_key_is_looked_up_for_is_told_with_all_that_there_are(door: Door) -> None:
    await door.box.machine(1)
    for path in ("hardware/machine-1", "workflows/w/state", "workflows/w/breakpoints", "rollouts/r"):
        for given in ("x", ""):
            status, refused = await door.ask("GET", f"/v1/{path}?to_change={given}")
            told = f"to_change is one of 0, 1, unfinished, held, delete, retire, not '{given}'"
            assert (status, refused["detail"]) == (422, told)


async def test_a_machine_that_may_not_leave_is_refused_in_the_same_words_to_who_looks_it_up_for_that(
    door: Door,
) -> None:
    await door.box.machine(1)
    await door.box.machine(2)
    path = "/v1/hardware/machine-1"
    changes = {"delete": ("DELETE", path, None), "retire": ("POST", f"{path}/retire", {})}

    async def refusals() -> set[str]:
        told = set()
        for meant, change in changes.items():
            refused = await door.ask("GET", f"{path}?to_change={meant}")
            assert refused == await door.ask(*change)
            assert refused[0] == 409
            told.add(refused[1]["detail"])
        return told

    assert {(await door.ask("GET", f"{path}?to_change={each}"))[0] for each in changes} == {200}
    made = await door.box.workflow()
    assert await refusals() == {f"workflow {made} is not over and needs machine machine-1: --force cancels it first"}
    assert {(await door.ask("GET", f"{path}{each}"))[0] for each in ("", "?to_change=1")} == {200}
    await door.done("POST", f"/v1/workflows/{made}/cancel")
    (template,) = await door.done("GET", "/v1/templates")
    wanted = {"template": template["id"], "machines": ["machine-2", "machine-1"], "max_parallel": 1}
    rollout = await door.done("POST", "/v1/rollouts", wanted)
    assert {f"machine machine-1 waits in rollout {rollout['id'][:8]}" in each for each in await refusals()} == {True}
    await door.done("POST", f"/v1/rollouts/{rollout['id']}/cancel")
    await door.done("POST", f"{path}/retire", {})
    status, refused = await door.ask("GET", f"{path}?to_change=retire")
    assert (status, "machine machine-1 is retired already" in refused["detail"]) == (409, True)
    assert (await door.ask("GET", f"{path}?to_change=delete"))[0] == 200


@pytest.mark.parametrize("path", ["hardware/{}", "templates/{}", "workflows/{}", "rollouts/{}", "shells/{}/recording"])
async def test_a_beginning_that_is_too_short_is_told_how_long_it_has_to_be(door: Door, path: str) -> None:
    status, answer = await door.ask("GET", f"/v1/{path.format('0ff')}")
    assert (status, "the beginning of an id needs at least 4 letters; `tinkbox " in answer["detail"]) == (404, True)
    status, answer = await door.ask("GET", f"/v1/{path.format('0ffa')}")
    assert (status, "at least 4 letters" in answer["detail"]) == (404, False)


def changes_of_rollouts(door: Door) -> list[tuple[str, str]]:
    """Every route that changes a rollout; what takes one away comes last."""
    found = {(each.method, each.path) for each in door.routes if each.path.startswith("/v1/rollouts/{key}")}
    return sorted((each for each in found if each[0] != "GET"), key=lambda each: (each[0] == "DELETE", each))


async def two_rollouts(door: Door) -> tuple[str, str]:
    """The ids of two of the template `hello`, of which nothing has begun, the older one first."""
    for number in (1, 2):
        await door.box.machine(number)
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    older, newer = [
        (await door.done("POST", "/v1/rollouts", {"template": "hello", "machines": [f"machine-{number}"]}))["id"]
        for number in (1, 2)
    ]
    return older, newer


async def test_of_very_many_that_a_key_fits_few_are_looked_up(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    for module in ("tinkbox.store.workflows", "tinkbox.engine.lookup"):
        monkeypatch.setattr(f"{module}.MOST", 4)
    await door.box.machine(1)
    made = [await door.box.workflow() for _ in range(7)]
    for each in made[:6]:
        await door.done("POST", f"/v1/workflows/{each}/cancel", {})
    name, looks = "hello_world_workflow", "to_change=unfinished"
    assert (await door.done("GET", f"/v1/workflows/{name}/state?{looks}"))["workflow_id"] == made[6]
    await door.done("POST", f"/v1/workflows/{made[6]}/cancel", {})
    _, problem = await door.ask("GET", f"/v1/workflows/{name}/state?{looks}")
    assert f"more than 4 workflows are called '{name}', and all of them are over: {made[6][:8]}" in problem["detail"]
    assert "and others; name one by its id" in problem["detail"]


async def test_no_route_that_changes_a_rollout_takes_a_name_that_several_have(door: Door) -> None:
    older, newer = await two_rollouts(door)
    before = [await door.done("GET", f"/v1/rollouts/{each}") for each in (older, newer)]
    told = {each: await answer(door, *each, "hello") for each in changes_of_rollouts(door)}
    assert len(told) == 5
    ids = f"called 'hello': {newer[:8]} (WAITING), {older[:8]} (WAITING); name one by its id, which `tinkbox rollout list` shows"
    assert {each: why for each, why in told.items() if ids not in why} == {}
    for to_change in ("1", "unfinished", "delete"):
        status, refused = await door.ask("GET", f"/v1/rollouts/hello?to_change={to_change}")
        assert (status, ids in refused["detail"]) == (409, True)
    assert [await door.done("GET", f"/v1/rollouts/{each}") for each in (older, newer)] == before
    assert (await door.done("GET", "/v1/rollouts/hello"))["id"] == newer, "what shows takes the newest"


@pytest.mark.parametrize("ended", [0, 1])
async def test_a_name_means_the_one_rollout_that_is_not_over_for_what_stops_it(door: Door, ended: int) -> None:
    made = await two_rollouts(door)
    path, left = "/v1/rollouts/hello", made[1 - ended]
    await door.done("POST", f"/v1/rollouts/{left}/pause")
    await door.done("POST", f"/v1/rollouts/{made[ended]}/cancel")
    while await door.box.progression.look():
        pass
    assert (await door.done("GET", f"{path}?to_change=unfinished"))["id"] == left
    for verb in ("resume", "pause"):
        assert (await door.done("POST", f"{path}/{verb}"))["id"] == left
    status, refused = await door.ask("DELETE", path)
    assert (status, "2 rollouts are called 'hello': " in refused["detail"]) == (409, True), "either may be meant"
    assert (await door.done("POST", f"{path}/cancel"))["id"] == left
    while await door.box.progression.look():
        pass
    status, refused = await door.ask("POST", f"{path}/cancel")
    over = ", ".join(f"{each[:8]} (CANCELED)" for each in reversed(made))
    assert (status, f"and all of them are over: {over}; name one by its id" in refused["detail"]) == (409, True)
    await door.done("DELETE", f"/v1/rollouts/{made[0]}")
    assert await door.done("DELETE", path) == {"id": made[1]}, "no other has the name"


async def queued(door: Door) -> tuple[AtWork, str]:
    """A workflow whose action is held on machine-1, and the id of one that is queued behind it."""
    held = await begun(door.box)
    await held.held()
    return held, await door.box.workflow()


async def test_a_machine_means_the_one_of_its_workflows_that_is_held_for_what_decides_about_that(door: Door) -> None:
    held, behind = await queued(door)
    path = "/v1/workflows/machine-1"
    assert (await door.done("GET", f"{path}/state"))["workflow_id"] == behind, "what shows takes the newest"
    for noun in ("state", "breakpoints"):
        asked = await door.done("GET", f"{path}/{noun}?to_change=held")
        assert asked.get("workflow_id", asked.get("id")) == held.key
    await door.done("POST", f"{path}/breakpoints/extend", {"seconds": 60})
    await door.done("POST", f"{path}/breakpoints/verdict", {"verb": "retry"})
    verdict = (await held.hold()).verdict
    assert (verdict is not None and verdict.verb) == "retry"
    status, refused = await door.ask("POST", f"{path}/breakpoints/verdict", {"verb": "fail"})
    assert (status, behind in refused["detail"]) == (409, False), (
        "it is told who decided, not that the newest is not held"
    )


async def test_a_machine_that_has_several_unfinished_workflows_ends_none_of_them(door: Door) -> None:
    held, behind = await queued(door)
    path = "/v1/workflows/machine-1"
    told = f"2 workflows of machine 'machine-1' are not over: {behind[:8]} (PENDING), {held.key[:8]} (RUNNING); name one by its id"
    for method, asked in (("GET", "state?to_change=unfinished"), ("POST", "cancel")):
        status, refused = await door.ask(method, f"{path}/{asked}")
        assert (status, refused["detail"]) == (409, told)
    await door.done("POST", f"/v1/workflows/{behind}/cancel")
    assert (await door.done("POST", f"{path}/cancel"))["id"] == held.key, "the newest is over"


async def test_a_machine_without_such_a_workflow_means_its_newest(door: Door) -> None:
    older, newer = await two_workflows(door)
    path = "/v1/workflows/machine-1"
    status, refused = await door.ask("POST", f"{path}/breakpoints/verdict", {"verb": "fail"})
    assert (status, f"workflow {newer} is not held" in refused["detail"]) == (409, True)
    for each in (older, newer):
        await door.done("POST", f"/v1/workflows/{each}/cancel")
    status, refused = await door.ask("POST", f"{path}/cancel")
    assert (status, refused["detail"]) == (409, f"workflow {newer} is over already (CANCELED)")
