"""Breakpoints over the operator door: what is armed, what is held, and who decides."""

import getpass
from typing import Any
from uuid import UUID

import aiohttp
import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, mac
from tinkbox.model.breakpoint import Kind, Verb
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Held
from tinkbox.wire.messages.worker import Hello

MACHINE = str(UUID(int=1))
NOTHING = {"on_failure": False, "before": [], "after": [], "timeout": 1800, "on_expiry": "fail"}
BROKEN = Outcome(state=State.FAILED, exit_code=3, reason="DiskNotFound", message="no disk", tail=("looking",))


@pytest.fixture
async def path(door: Door) -> str:
    """Where the breakpoints of a workflow of two actions are, which no worker took up yet."""
    await door.box.machine(1)
    return f"/v1/workflows/{await door.box.workflow()}/breakpoints"


async def hold(door: Door, path: str, kind: Kind = Kind.FAILURE) -> str:
    """Have the workflow's next action held; returns its attempt's token."""
    offer = await door.box.attempts.offer(MACHINE, Hello(boot_id="boot-1", debug=True))
    assert offer is not None
    held = Held(
        workflow_id=path.split("/")[3],
        boot_id="boot-1",
        sequence=1,
        kind=kind,
        outcome=None if kind is Kind.BEFORE else BROKEN,
    )
    await door.breakpoints.held(MACHINE, offer.attempt, held)
    return offer.attempt


async def newest_event(door: Door, path: str) -> dict[str, Any]:
    events = await door.done("GET", path.replace("breakpoints", "events"))
    return dict(events[-1])


async def test_what_is_armed_adds_up_and_is_an_event_with_who_did_it(door: Door, path: str) -> None:
    assert (await door.done("GET", path))["armed"] == NOTHING
    first = await door.done("POST", f"{path}/arm", {"on_failure": True})
    assert first["armed"] == {**NOTHING, "on_failure": True}
    named = {"before": ["second"], "after": ["hello world/hello_world"], "timeout": "1h30m", "on_expiry": "abort"}
    everything = {
        "on_failure": True, "before": ["hello world/second"], "after": ["hello world/hello_world"], "timeout": 5400,
        "on_expiry": "abort",
    }  # fmt: skip
    assert (await door.done("POST", f"{path}/arm", named))["armed"] == everything
    assert (await door.done("GET", path))["armed"] == everything
    event = await newest_event(door, path)
    assert (event["kind"], event["who"], event["before"]) == (
        "breakpoint.armed", getpass.getuser(), ["hello world/second"],
    )  # fmt: skip
    assert [each["armed"] for each in await door.done("GET", "/v1/breakpoints")] == [everything]


async def test_false_arms_nothing_and_disarms_nothing(door: Door, path: str) -> None:
    armed = (await door.done("POST", f"{path}/arm", {"on_failure": True}))["armed"]
    status, problem = await door.ask("POST", f"{path}/arm", {"on_failure": False, "before": ["second"]})
    assert (status, "clear it with" in problem["detail"]) == (422, True)
    assert (await door.done("GET", path))["armed"] == armed


async def test_what_is_named_is_cleared_and_without_a_name_everything(door: Door, path: str) -> None:
    await door.done("POST", f"{path}/arm", {"on_failure": True, "before": ["second"], "timeout": 60})
    left = await door.done("POST", f"{path}/clear", {"on_failure": True})
    assert left["armed"] == {**NOTHING, "before": ["hello world/second"], "timeout": 60}
    assert (await door.done("POST", f"{path}/clear"))["armed"] == NOTHING
    assert (await newest_event(door, path))["kind"] == "breakpoint.cleared"
    assert await door.done("GET", "/v1/breakpoints") == []


@pytest.mark.parametrize(
    ("asked", "status"),
    [({"timeout": 60}, 422), ({"on_expiry": "fail"}, 422), ({"before": ["third"]}, 404), ({"everything": True}, 422)],
)
async def test_what_cannot_be_cleared_is_refused_and_stays(door: Door, path: str, asked: object, status: int) -> None:
    armed = await door.done("POST", f"{path}/arm", {"on_failure": True, "timeout": 60})
    assert (await door.ask("POST", f"{path}/clear", asked))[0] == status
    assert (await door.done("GET", path))["armed"] == armed["armed"]


@pytest.mark.parametrize(
    ("asked", "status", "said"),
    [
        ({}, 422, "nothing to arm"),
        ({"onfailure": True}, 422, "onfailure"),
        ({"on_failure": "yes"}, 422, "on_failure is true or false"),
        ({"before": "second"}, 422, "before is a list of texts"),
        ({"before": ["third"]}, 404, "no action third"),
        ({"on_failure": True, "timeout": "soon"}, 422, "1h30m"),
        ({"on_failure": True, "timeout": 0}, 422, "between 1 and"),
        ({"on_failure": True, "timeout": True}, 422, "no duration"),
        ({"on_failure": True, "on_expiry": "retry"}, 422, "retry"),
        ({"on_failure": True, "on_expiry": "maybe"}, 422, "maybe"),
    ],
)
async def test_what_cannot_be_armed_is_refused_and_nothing_is(
    door: Door, path: str, asked: object, status: int, said: str
) -> None:
    answered, problem = await door.ask("POST", f"{path}/arm", asked)
    assert answered == status
    assert said in str(problem)
    assert (await door.done("GET", path))["armed"] == NOTHING


@pytest.mark.parametrize(("kind", "failed"), [(Kind.BEFORE, 2), (Kind.FAILURE, 3)])
async def test_an_attempt_that_is_held_because_it_failed_counts_as_failed(door: Door, kind: Kind, failed: int) -> None:
    await door.box.machine(1)
    path = f"/v1/workflows/{await door.box.workflow(HELLO.replace(' timeout: 60', ' retries: 2', 1))}"

    async def attempts() -> tuple[int, int, int]:
        state = await door.done("GET", f"{path}/state")
        return state["failed_attempts"], state["failures"], state["retries"]

    await door.done("POST", f"{path}/breakpoints/arm", {"on_failure": True})
    for _ in range(2):
        offer = await door.box.attempts.offer(MACHINE, Hello(boot_id="boot-1", debug=True))
        assert offer is not None
        await door.box.report(MACHINE, offer, State.FAILED)
    assert await attempts() == (2, 2, 2)
    await hold(door, path, kind)
    assert await attempts() == (failed, 2, 2)
    await door.done("POST", f"{path}/breakpoints/verdict", {"verb": "fail"})
    assert await attempts() == (failed, 2, 2), "it is not carried out yet"


async def test_lists_find_what_is_held(door: Door, path: str) -> None:
    async def found(query: str) -> list[str]:
        return [each["id"] for each in await door.done("GET", f"/v1/{query}")]

    workflow = path.split("/")[3]
    assert await found("workflows?state=held") == await found("hardware?state=held") == []
    await hold(door, path)
    other = await door.box.workflow()
    assert await found("workflows?state=held") == await found("workflows?state=RUNNING") == [workflow]
    assert await found("workflows?state=held,PENDING") == [workflow, other]
    assert await found("hardware?state=held") == [MACHINE]
    await door.done("POST", f"{path}/verdict", {"verb": "continue", "why": "all is well"})
    door.box.clock.forward(3)
    assert (await door.done("GET", f"/v1/hardware/{MACHINE}"))["state"] in ("held", "working")


async def test_what_is_held_is_seen_everywhere(door: Door, path: str) -> None:
    await door.done("POST", f"{path}/arm", {"on_failure": True, "timeout": 600})
    token = await hold(door, path)
    state = await door.done("GET", path.replace("breakpoints", "state"))
    held = state["held"]
    assert (state["state"], state["current_action_state"], state["exit_code"]) == ("RUNNING", "HELD", 3)
    assert (state["reason"], state["message"], state["last_output"]) == ("DiskNotFound", "no disk", ["looking"])
    assert (held["task"], held["action"], held["attempt"], held["kind"]) == (
        "hello world", "hello_world", token, "failure",
    )  # fmt: skip
    assert (held["since"], held["deadline"]) == ("2026-11-21T03:00:00+00:00", "2026-11-21T03:10:00+00:00")
    assert (held["verdicts"], held["verdict"]) == (["continue", "fail", "retry", "abort"], None)
    shown = await door.done("GET", path)
    assert (shown["held"], shown["holds"]) == (held, [held])
    for told in (shown, await door.done("GET", path.removesuffix("/breakpoints"))):
        assert [(each["id"], each["hostname"]) for each in told["machines"]] == [(held["worker"], "machine-1")]
    assert [each["held"] for each in await door.done("GET", "/v1/breakpoints")] == [held]
    event = await newest_event(door, path)
    assert (event["kind"], event["breakpoint"], event["deadline"]) == ("action.held", "failure", held["deadline"])


async def test_the_first_verdict_counts_and_the_second_is_told_who_won(door: Door, path: str) -> None:
    token = await hold(door, path)
    status, problem = await door.ask("POST", f"{path}/verdict", {"verb": "continue"})
    assert (status, "say why" in problem["detail"]) == (422, True)
    decided = await door.done("POST", f"{path}/verdict", {"verb": "continue", "why": "the disk is there now"})
    assert decided["verdict"] == {
        "verb": "continue", "who": getpass.getuser(), "why": "the disk is there now", "fresh": False, "command": None,
        "environment": {},
    }  # fmt: skip
    assert (decided["attempt"], decided["action"], decided["outcome"]["exit_code"]) == (token, "hello_world", 3)
    status, problem = await door.ask("POST", f"{path}/verdict", {"verb": "fail"})
    assert (status, problem["detail"]) == (409, f"{getpass.getuser()} decided already: continue")
    ruling = (await door.breakpoints.orders(MACHINE, token)).ruling
    assert ruling is not None
    assert (ruling.sequence, ruling.verdict.verb) == (1, Verb.CONTINUE)


async def test_a_verdict_carries_the_name_of_the_token_it_came_with(door: Door, path: str) -> None:
    await hold(door, path)
    headers = {"Authorization": "Bearer operate-token"}
    async with (
        aiohttp.ClientSession(headers=headers) as session,
        session.post(f"{door.url}{path}/verdict", json={"verb": "fail", "why": "no spare part"}) as response,
    ):
        assert response.status == 200
    event = await newest_event(door, path)
    assert (event["kind"], event["who"], event["verb"], event["why"]) == (
        "breakpoint.verdict", "who-may-operate", "fail", "no spare part",
    )  # fmt: skip


async def test_a_retry_brings_what_it_changes_to_the_worker(door: Door, path: str) -> None:
    token = await hold(door, path)
    asked = {"verb": "retry", "fresh": True, "command": ["sh", "-c", "exit 0"], "environment": {"DISK": "/dev/sdb"}}
    await door.done("POST", f"{path}/verdict", asked)
    ruling = (await door.breakpoints.orders(MACHINE, token)).ruling
    assert ruling is not None
    assert (ruling.verdict.fresh, ruling.verdict.command) == (True, ("sh", "-c", "exit 0"))
    assert ruling.verdict.environment == {"DISK": "/dev/sdb"}


@pytest.mark.parametrize(
    ("kind", "asked", "status", "said"),
    [
        (Kind.FAILURE, {}, 422, "verb"),
        (Kind.FAILURE, {"verb": "explode"}, 422, "explode"),
        (Kind.FAILURE, {"verb": "fail", "who": "somebody else"}, 422, "who"),
        (Kind.FAILURE, {"verb": "retry", "environment": ["A"]}, 422, "environment"),
        (Kind.FAILURE, {"verb": "retry", "command": []}, 422, "command"),
        (Kind.FAILURE, {"verb": "skip"}, 409, "continue, fail, retry, abort"),
        (Kind.BEFORE, {"verb": "retry"}, 409, "continue, skip, fail, abort"),
    ],
)
async def test_what_is_no_verdict_decides_nothing(
    door: Door, path: str, kind: Kind, asked: object, status: int, said: str
) -> None:
    await hold(door, path, kind)
    answered, problem = await door.ask("POST", f"{path}/verdict", asked)
    assert answered == status
    assert said in str(problem)
    assert (await door.done("GET", path))["held"]["verdict"] is None


async def test_where_nothing_is_held_there_is_nothing_to_decide(door: Door, path: str) -> None:
    for verb, asked in (("verdict", {"verb": "fail"}), ("extend", {"seconds": 60})):
        status, problem = await door.ask("POST", f"{path}/{verb}", asked)
        assert (status, "is not held" in problem["detail"]) == (409, True)


@pytest.mark.parametrize(
    ("asked", "deadline"), [({"seconds": 600}, "03:40"), ({"seconds": "1h"}, "04:30"), (None, "04:00")]
)
async def test_a_hold_is_extended(door: Door, path: str, asked: object, deadline: str) -> None:
    await hold(door, path)
    extended = await door.done("POST", f"{path}/extend", asked)
    assert extended["deadline"] == f"2026-11-21T{deadline}:00+00:00"
    assert (await door.done("GET", path))["held"] == extended
    event = await newest_event(door, path)
    assert (event["kind"], event["who"]) == ("breakpoint.extended", getpass.getuser())


@pytest.mark.parametrize("seconds", [0, -1, 10**9, "0s", "soon", 1.5, True, None])
async def test_a_hold_is_not_extended_by_nonsense(door: Door, path: str, seconds: object) -> None:
    await hold(door, path)
    assert (await door.ask("POST", f"{path}/extend", {"seconds": seconds}))[0] == 422
    assert (await door.done("GET", path))["held"]["deadline"] == "2026-11-21T03:30:00+00:00"


async def test_a_workflow_that_is_not_there_has_no_breakpoints(door: Door) -> None:
    for method, rest in (("GET", ""), ("POST", "/clear"), ("POST", "/extend")):
        assert (await door.ask(method, f"/v1/workflows/nothing/breakpoints{rest}"))[0] == 404


async def test_a_workflow_is_created_with_breakpoints(door: Door) -> None:
    await door.box.machine(1)
    await door.box.workflow()
    (template,) = await door.done("GET", "/v1/templates")
    asked = {"template": template["id"], "hardware": {"device_1": mac(1)}}
    created = await door.done("POST", "/v1/workflows", {**asked, "breakpoints": {"before": ["second"]}})
    path = f"/v1/workflows/{created['id']}/breakpoints"
    assert (await door.done("GET", path))["armed"] == {**NOTHING, "before": ["hello world/second"]}
    event = await newest_event(door, path)
    assert (event["kind"], event["who"]) == ("breakpoint.armed", getpass.getuser())


@pytest.mark.parametrize(
    ("wanted", "status"), [({"before": ["third"]}, 404), ({"wrong": 1}, 422), ({}, 422), (["on-failure"], 422)]
)
async def test_a_workflow_is_not_created_with_breakpoints_that_cannot_be(
    door: Door, wanted: object, status: int
) -> None:
    await door.box.machine(1)
    await door.box.workflow()
    (template,) = await door.done("GET", "/v1/templates")
    asked = {"template": template["id"], "hardware": {"device_1": mac(1)}, "breakpoints": wanted}
    assert (await door.ask("POST", "/v1/workflows", asked))[0] == status
    assert len(await door.done("GET", "/v1/workflows")) == 1


async def test_the_list_is_selected_by_state_machine_and_labels(door: Door, path: str) -> None:
    """Labels of machines reach their workflows."""
    await door.done("PATCH", "/v1/hardware/machine-1/labels", {"set": {"rack": "r1"}})
    await door.done("POST", f"{path}/arm", {"on_failure": True})

    async def count(query: str) -> int:
        return len(await door.done("GET", f"/v1/breakpoints?{query}"))

    selecting = ("machine=machine-1", "label=rack=r1", "state=pending", "label=rack=r1&state=pending&limit=1")
    assert [await count(each) for each in selecting] == [1, 1, 1, 1]
    assert [await count(each) for each in ("label=rack!=r1", "state=HELD", "state=RUNNING")] == [0, 0, 0]
    await hold(door, path)
    assert [await count(each) for each in ("state=HELD", "state=RUNNING", "state=HELD&label=rack=r1")] == [1, 1, 1]
    await door.done("PATCH", f"{path.removesuffix('/breakpoints')}/labels", {"set": {"rack": "r2"}})
    assert [await count(each) for each in ("label=rack=r1", "label=rack=r2")] == [0, 1]
    await door.done("POST", f"{path}/verdict", {"verb": "fail"})  # nobody is waited for any more
    assert [await count(each) for each in ("state=HELD", "state=RUNNING")] == [0, 1]
    (listed,) = await door.done("GET", "/v1/breakpoints")
    assert [(each["id"], each["hostname"]) for each in listed["machines"]] == [(MACHINE, "machine-1")]
    assert (await door.ask("GET", "/v1/breakpoints?machine=node9"))[0] == 404
    assert (await door.ask("GET", "/v1/breakpoints?state=HEELD"))[0] == 422


async def test_what_is_being_stopped_is_not_held(door: Door, path: str) -> None:
    await hold(door, path)
    workflow = path.removesuffix("/breakpoints")
    held = await door.done("GET", f"{workflow}/state")
    assert (held["current_action_state"], held["held"]["verdicts"]) == ("HELD", ["continue", "fail", "retry", "abort"])
    await door.done("POST", f"/v1/hardware/{MACHINE}/retire", {"force": True})
    stopping = await door.done("GET", f"{workflow}/state")
    told = (stopping["state"], stopping["current_action_state"], stopping["held"], stopping["reason"])
    assert told == ("STOPPING", "STOPPING", None, "DiskNotFound")
    assert [each["held"] for each in await door.done("GET", "/v1/breakpoints")] == [None]
    (listed,) = await door.done("GET", "/v1/workflows")
    assert listed["current_action_state"] == "STOPPING"


async def test_a_rollout_counts_what_is_held_and_says_until_when(door: Door) -> None:
    await door.box.machine(1)
    await door.box.machine(2)
    await door.box.templates.create("hello", HELLO)
    asked = {"template": "hello", "machines": ["machine-1", "machine-2"], "breakpoints": {"on_failure": True}}
    key = (await door.done("POST", "/v1/rollouts", asked))["id"]
    await door.box.progression.look()
    (first, _) = (await door.done("GET", f"/v1/rollouts/{key}"))["under_way"]
    await hold(door, f"/v1/workflows/{first['workflow']}/breakpoints")
    rollout = await door.done("GET", f"/v1/rollouts/{key}")
    (listed,) = await door.done("GET", "/v1/rollouts")
    assert (rollout["held"], listed["held"], rollout["counts"]["RUNNING"]) == (1, 1, 1)
    held, other = (each["held"] for each in rollout["under_way"])
    assert (held["on_expiry"], held["verdicts"], other) == ("fail", ["continue", "fail", "retry", "abort"], None)
    assert held["deadline"] > held["since"]
    await door.done("POST", f"/v1/workflows/{first['workflow']}/breakpoints/verdict", {"verb": "retry"})
    rollout = await door.done("GET", f"/v1/rollouts/{key}")
    assert (rollout["held"], rollout["under_way"][0]["held"]) == (0, None), "nobody is waited for any more"


async def test_a_name_that_several_unfinished_workflows_have_decides_nothing(door: Door, path: str) -> None:
    await hold(door, path)
    named = "/v1/workflows/hello_world_workflow/breakpoints"
    await door.box.machine(2)
    await door.box.workflow(device_1=2)
    for verb, asked in (("verdict", {"verb": "abort"}), ("extend", {})):
        status, problem = await door.ask("POST", f"{named}/{verb}", asked)
        assert (status, "2 workflows that are not over are called 'hello_world_workflow'" in str(problem)) == (
            409,
            True,
        )
    assert (await door.done("POST", f"{path}/verdict", {"verb": "abort"}))["verdict"]["verb"] == "abort"


async def test_who_may_only_operate_decides_without_being_shown_output(door: Door, path: str) -> None:
    headers = {"Authorization": "Bearer operate-token"}
    await door.done("POST", f"{path}/arm", {"on_failure": True})
    await hold(door, path)
    asked = (
        ("arm", {"before": ["second"]}),
        ("extend", {"seconds": 60}),
        ("verdict", {"verb": "fail", "why": "seen"}),
    )
    told = {}
    async with aiohttp.ClientSession(headers=headers) as session:
        for verb, document in asked:
            async with session.post(f"{door.url}{path}/{verb}", json=document) as response:
                assert response.status == 200
                told[verb] = await response.json()
    assert (told["arm"]["armed"]["before"], told["arm"]["held"]) == (["hello world/second"], None)
    for verb in ("extend", "verdict"):
        outcome = told[verb]["outcome"]
        assert (outcome["state"], outcome["message"], outcome["tail"]) == ("FAILED", "", [])
    assert told["verdict"]["verdict"]["why"] == "seen"
