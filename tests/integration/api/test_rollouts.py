"""`/v1/rollouts` over a real engine and store."""

import asyncio
from collections.abc import Mapping
from typing import Any

import aiohttp
import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, hardware, mac
from tests.loop_turns import AtOnce, turns
from tinkbox.engine.rollouts import planning
from tinkbox.engine.rollouts.planning import Plan
from tinkbox.engine.rollouts.rollouts import Rollouts
from tinkbox.engine.turns import SLICE
from tinkbox.model.actions.progress import Told
from tinkbox.model.breakpoint import Kind
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware
from tinkbox.model.workflow import Outcome, State
from tinkbox.wire.messages.breakpoints import Held
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.worker import Hello


async def prepared(door: Door, machines: int = 3) -> None:
    for number in range(1, machines + 1):
        await door.done("POST", "/v1/hardware", hardware(number))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})


def wanted(*machines: str, **more: object) -> dict[str, object]:
    return {"template": "hello", "machines": list(machines), **more}


async def test_a_rollouts_life(door: Door) -> None:
    await prepared(door)
    made = await door.done("POST", "/v1/rollouts", wanted("machine-1", mac(2), "machine-3", max_parallel=1))
    key = made["id"]
    assert (made["state"], made["total"], made["counts"]["WAITING"]) == ("WAITING", 3, 3)
    assert [each["name"] for each in made["waiting"]] == ["machine-1", "machine-2", "machine-3"]
    await door.box.progression.look()
    standing = await door.done("GET", f"/v1/rollouts/{key[:8]}")
    (first,) = standing["under_way"]
    assert (first["name"], first["state"], first["action"], first["progress"]) == (
        "machine-1",
        "PENDING",
        "hello world/hello_world",
        0,
    )
    (listed,) = await door.done("GET", "/v1/workflows?label=rollout%3D" + key[:8])
    assert listed["id"] == first["workflow"]
    begun, *_ = await door.done("GET", f"/v1/rollouts/{key}/machines")
    assert begun == first, "both say the same"
    offer = await door.box.offer(first["machine"])
    assert offer is not None
    await door.box.report(first["machine"], offer, State.FAILED, message="no\x1bdisk")
    failed = await door.done("GET", f"/v1/rollouts/{key}")
    assert failed["failures"][0]["message"].startswith("hello world/hello_world: no"), "also before it was noted"
    await door.box.progression.look()
    ended = await door.done("GET", f"/v1/rollouts/{key}")
    assert (ended["state"], ended["counts"]["FAILED"], ended["counts"]["WAITING"]) == ("FAILED", 1, 2)
    assert (await door.done("POST", f"/v1/rollouts/{key}/retry"))["state"] == "RUNNING"
    assert (await door.done("POST", f"/v1/rollouts/{key}/pause"))["state"] == "PAUSED"
    assert (await door.ask("POST", f"/v1/rollouts/{key}/pause"))[0] == 409
    assert (await door.done("POST", f"/v1/rollouts/{key}/resume"))["state"] == "RUNNING"
    assert (await door.ask("DELETE", f"/v1/rollouts/{key}"))[0] == 409
    assert (await door.done("POST", f"/v1/rollouts/{key}/cancel"))["state"] == "STOPPING"
    while await door.box.progression.look():
        pass
    members = await door.done("GET", f"/v1/rollouts/{key}/machines")
    assert [each["state"] for each in members] == ["FAILED", "WAITING", "WAITING"]
    assert await door.done("DELETE", f"/v1/rollouts/{key}") == {"id": key}
    assert (await door.ask("GET", f"/v1/rollouts/{key}"))[0] == 404


async def test_a_machine_that_is_held_is_told_so_in_both_views_with_what_means_it(door: Door) -> None:
    await prepared(door)
    names = ("machine-1", "machine-2", "machine-3")
    asked = wanted(*names, max_parallel=2, breakpoints={"on_failure": True})
    key = (await door.done("POST", "/v1/rollouts", asked))["id"]
    await door.box.progression.look()
    (begun, _) = (await door.done("GET", f"/v1/rollouts/{key}"))["under_way"]
    offer = await door.box.attempts.offer(begun["machine"], Hello(boot_id="boot-1", debug=True))
    assert offer is not None
    broken = Outcome(state=State.FAILED, exit_code=1)
    at = Held(workflow_id=begun["workflow"], boot_id="boot-1", sequence=1, kind=Kind.FAILURE, outcome=broken)
    await door.breakpoints.held(begun["machine"], offer.attempt, at)
    twin = hardware(4)
    twin["network"]["interfaces"][0]["dhcp"]["hostname"] = "machine-2"
    await door.done("POST", "/v1/hardware", twin)
    rollout = await door.done("GET", f"/v1/rollouts/{key}")
    members = await door.done("GET", f"/v1/rollouts/{key}/machines")
    assert members == [*rollout["under_way"], *rollout["waiting"]]
    assert [each["held"] is not None for each in members] == [True, False, False]
    assert "retry" in members[0]["held"]["verdicts"]
    assert [each["key"] for each in members] == ["machine-1", members[1]["machine"], "machine-3"]


async def test_a_machine_is_told_with_the_action_that_it_is_at_and_how_far_that_says_it_is(door: Door) -> None:
    await prepared(door)
    key = (await door.done("POST", "/v1/rollouts", wanted("machine-1", "machine-2", max_parallel=1)))["id"]
    await door.box.progression.look()
    (begun,) = (await door.done("GET", f"/v1/rollouts/{key}"))["under_way"]
    offer = await door.box.offer(begun["machine"])
    assert offer is not None
    await door.box.report(begun["machine"], offer)
    offer = await door.box.offer(begun["machine"])
    assert offer is not None
    telling = Telling(workflow_id=begun["workflow"], boot_id="boot-1", progress=Told(done=41, total=100))
    await door.box.running_progress.tell(begun["machine"], offer.attempt, telling)
    (busy,) = (await door.done("GET", f"/v1/rollouts/{key}"))["under_way"]
    assert (busy["action"], busy["action_number"]) == ("hello world/second", 2)
    assert (busy["actions_done"], busy["actions_total"], busy["progress"]) == (1, 2, 50)
    assert (busy["action_progress"]["done"], busy["action_progress"]["total"]) == (41, 100)
    first, waiting = await door.done("GET", f"/v1/rollouts/{key}/machines")
    assert first == busy
    assert waiting.keys() == busy.keys()
    assert (waiting["action_number"], waiting["actions_total"], waiting["action_progress"]) == (0, 0, None)


async def test_a_machine_whose_workflow_is_deleted_says_so_in_both_views(door: Door) -> None:
    await prepared(door)
    asked = wanted("machine-1", "machine-2", on_failure="continue")
    key = (await door.done("POST", "/v1/rollouts", asked))["id"]
    await door.box.progression.look()
    for each in (await door.done("GET", f"/v1/rollouts/{key}"))["under_way"]:
        offer = await door.box.offer(each["machine"])
        assert offer is not None
        await door.box.report(each["machine"], offer, State.FAILED, message="no disk")
    await door.box.progression.look()
    first, _ = (await door.done("GET", f"/v1/rollouts/{key}"))["failures"]
    await door.done("DELETE", f"/v1/workflows/{first['workflow']}")
    failures = (await door.done("GET", f"/v1/rollouts/{key}"))["failures"]
    assert failures == await door.done("GET", f"/v1/rollouts/{key}/machines")
    assert [(each["state"], each["workflow_deleted"]) for each in failures] == [("FAILED", True), ("FAILED", False)]


async def test_machines_are_told_by_their_names_of_today(door: Door) -> None:
    await prepared(door, 2)
    key = (await door.done("POST", "/v1/rollouts", wanted("machine-1", "machine-2", max_parallel=1)))["id"]
    for number, name in ((1, "aside"), (2, "machine-1"), (1, "machine-2")):
        machine = "00000000-0000-0000-0000-00000000000" + str(number)
        await door.done("PATCH", f"/v1/hardware/{machine}", {"name": name})
    rollout = await door.done("GET", f"/v1/rollouts/{key}")
    members = await door.done("GET", f"/v1/rollouts/{key}/machines")
    assert members == rollout["waiting"]
    assert [(each["name"], each["key"], each["machine"][-1]) for each in members] == [
        ("machine-2", "machine-2", "1"),
        ("machine-1", "machine-1", "2"),
    ]


async def test_what_another_rollout_took_meanwhile_is_refused_or_skipped_and_told(door: Door) -> None:
    await prepared(door)
    first = (await door.done("POST", "/v1/rollouts", wanted("machine-1", "machine-2", max_parallel=1)))["id"]
    await door.done("POST", f"/v1/rollouts/{first}/cancel")
    await door.box.progression.look()
    second = (await door.done("POST", "/v1/rollouts", wanted("machine-2", "machine-3", max_parallel=1)))["id"]
    status, refusal = await door.ask("POST", f"/v1/rollouts/{first}/resume", {})
    assert status == 422
    assert "1 machine of 2 cannot begin; --skip-refused goes on without them" in str(refusal)
    assert f"it waits in rollout {second[:8]}" in str(refusal)
    assert (await door.ask("POST", f"/v1/rollouts/{first}/resume", {"skip": True}))[0] == 422
    resumed = await door.done("POST", f"/v1/rollouts/{first}/resume", {"skip_refused": True})
    assert [each["name"] for each in resumed["refused"]] == ["machine-2"]
    assert {name: number for name, number in resumed["counts"].items() if number} == {"WAITING": 1, "CANCELED": 1}


async def test_the_label_of_a_rollout_is_the_appliances_own(door: Door) -> None:
    await prepared(door)
    made = await door.done("POST", "/v1/rollouts", wanted("machine-1", labels={"team": "a"}))
    await door.box.progression.look()
    own = f"rollout={made['id'][:8]}"
    (workflow,) = await door.done("GET", f"/v1/workflows?label={own}")
    labels = f"/v1/workflows/{workflow['id']}/labels"
    document = (
        "apiVersion: tinkerbell.org/v1alpha1\nkind: Workflow\nmetadata: {name: w, labels: {rollout: x}}\n"
        "spec: {templateRef: hello, hardwareRef: machine-2}\n"
    )
    for method, path, asked in (
        ("PATCH", labels, {"remove": ["rollout"]}),
        ("PATCH", labels, {"set": {"rollout": "x", "team": "b"}}),
        ("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(2)}, "labels": {"rollout": "x"}}),
        ("POST", "/v1/workflows", {"documents": document}),
        ("POST", "/v1/rollouts", wanted("machine-2", labels={"rollout": "x"})),
        ("POST", "/v1/apply", {"files": [{"name": "w.yaml", "text": document}]}),
    ):
        status, refusal = await door.ask(method, path, asked)
        assert status == 422, (path, refusal)
        assert "the appliance keeps the label rollout itself" in str(refusal)
    await door.done("PATCH", labels, {"remove": ["team"], "set": {"batch": "b7"}})
    # A machine's label of that name is its own affair.
    await door.done("PATCH", "/v1/hardware/machine-2/labels", {"set": {"rollout": made["id"][:8]}})
    await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(2)}})
    for selector, number in ((own, 1), ("rollout", 1), ("!rollout", 1), (f"rollout!={made['id'][:8]}", 1)):
        assert len(await door.done("GET", f"/v1/workflows?label={selector}")) == number


async def test_a_dry_run_answers_what_would_be_done_and_makes_nothing(door: Door) -> None:
    await prepared(door)
    plan = await door.done(
        "POST", "/v1/rollouts", wanted("machine-2", "nosuch", dry_run=True, max_parallel=2, hardware={"image": "x"})
    )
    machine = {"id": "00000000-0000-0000-0000-000000000002", "name": "machine-2", "key": "machine-2", "mac": mac(2)}
    assert (plan["machines"], plan["device"], plan["hardware"]) == ([machine], "device_1", {"image": "x"})
    assert [(each["name"], each["id"]) for each in plan["refused"]] == [("nosuch", "")]
    assert [each["action"] for each in plan["actions"]] == ["hello_world", "second"]
    assert [each.split(" is not")[0] for each in plan["warnings"]] == [
        "template hello does not use the parameter image",
        "image hello-world",
        "image tools/second:v1",
    ]
    assert (plan["wipes"], plan["max_parallel"], plan["on_failure"]) == ([], 2, "stop")
    assert await door.done("GET", "/v1/rollouts") == []
    assert await door.done("GET", "/v1/workflows") == []


async def test_the_digest_of_a_dry_run_has_a_rollout_made_only_where_it_does_the_same_still(door: Door) -> None:
    await prepared(door)
    shown = (await door.done("POST", "/v1/rollouts", wanted("machine-1", "machine-2", dry_run=True)))["digest"]
    asked = wanted("machine-1", "machine-2", digest=shown)
    await door.done("PUT", "/v1/templates/hello", {"data": HELLO.replace("image: hello-world", "image: another")})
    status, refusal = await door.ask("POST", "/v1/rollouts", asked)
    assert status == 409
    assert "what would be done has changed since it was shown: look at it again" in str(refusal)
    await door.done("PUT", "/v1/templates/hello", {"data": HELLO})
    assert (await door.done("POST", "/v1/rollouts", asked))["total"] == 2


async def test_the_list_is_filtered_and_sorted(door: Door) -> None:
    await prepared(door)
    first = await door.done("POST", "/v1/rollouts", wanted("machine-1", labels={"team": "a"}))
    second = await door.done("POST", "/v1/rollouts", wanted("machine-2"))
    await door.done("POST", f"/v1/rollouts/{second['id']}/pause")
    ids = {
        query: [each["id"] for each in await door.done("GET", f"/v1/rollouts?{query}")]
        for query in ("state=paused", "label=team%3Da", "template=hello", "sort=-created_at&limit=1")
    }
    assert ids["state=paused"] == [second["id"]]
    assert ids["label=team%3Da"] == [first["id"]]
    assert ids["template=hello"] == [first["id"], second["id"]]
    assert len(ids["sort=-created_at&limit=1"]) == 1
    assert (await door.ask("GET", "/v1/rollouts?stat=paused"))[0] == 422


async def of_template(door: Door, key: str) -> list[tuple[str, str]]:
    """The ids of the rollouts of a template, each with what that is called."""
    return [(each["id"], each["template"]) for each in await door.done("GET", f"/v1/rollouts?template={key}")]


async def test_a_list_takes_a_template_as_the_list_of_workflows_does(door: Door) -> None:
    await prepared(door)
    template = (await door.done("GET", "/v1/templates/hello"))["id"]
    made = (await door.done("POST", "/v1/rollouts", wanted("machine-1")))["id"]
    for key in ("hello", template, template[:8]):
        assert await of_template(door, key) == [(made, "hello")], key
    for key, status in (("nope", 404), ("Hello", 404), (template[:3], 404), ("%20", 422)):
        assert (await door.ask("GET", f"/v1/rollouts?template={key}"))[0] == status, key
    await door.done("POST", "/v1/templates", {"name": "unused", "data": HELLO})
    assert await of_template(door, "unused") == []


async def test_a_rollout_has_the_name_that_its_template_has_now_and_keeps_it_when_that_is_gone(door: Door) -> None:
    await prepared(door)
    template = (await door.done("GET", "/v1/templates/hello"))["id"]
    first = (await door.done("POST", "/v1/rollouts", wanted("machine-1")))["id"]
    await door.done("PUT", "/v1/templates/hello", {"name": "renamed"})
    assert await of_template(door, "renamed") == [(first, "renamed")]
    for path in ("/v1/rollouts/renamed", f"/v1/rollouts/{first}"):
        found = await door.done("GET", path)
        assert (found["id"], found["template"]) == (first, "renamed"), path
    for path in ("/v1/rollouts/hello", "/v1/rollouts?template=hello"):
        assert (await door.ask("GET", path))[0] == 404, path
    second = (await door.done("POST", "/v1/rollouts", wanted("machine-2", template="renamed")))["id"]
    await door.done("DELETE", "/v1/templates/renamed")
    for key, found in (
        ("hello", [(first, "hello")]),
        ("renamed", [(second, "renamed")]),
        (template[:8], [(first, "hello"), (second, "renamed")]),
    ):
        assert await of_template(door, key) == found, key


@pytest.mark.parametrize(
    ("document", "said"),
    [
        ({}, "template is required"),
        (wanted(), "no machine is named"),
        (wanted("machine-1", maxparallel=2), "did you mean max_parallel?"),
        (wanted("machine-1", max_parallel=-1), "max_parallel"),
        (wanted("machine-1", max_parallel=10**9), "max_parallel"),
        (wanted("machine-1", max_parallel="2"), "max_parallel"),
        (wanted("machine-1", on_failure="retry"), "on_failure is one of stop, continue"),
        (wanted(selector="=="), "label"),
        (wanted("machine-1", selector="rack=r1"), "machines and selector are both given"),
        (wanted("machine-1", labels={"rack": "no good"}), "label"),
        (wanted("machine-1", digest=7), "digest is required and is text"),
        (wanted("machine-1", digest=None), "digest is required and is text"),
        (wanted("machine-1", hardware=[]), "hardware is a map"),
        (wanted("machine-1", hardware={"Hardware": "x"}), "cannot be the name of a device"),
        (wanted("machine-1", machines="machine-1"), "machines is a list of texts"),
        (wanted("machine-1", breakpoints={"before": ["nosuch"]}), "nothing was begun"),
        (wanted("nosuch", skip_refused=True), "nothing was begun"),
        (wanted("machine-1", template="nosuch"), "not found"),
    ],
)
async def test_bad_input_is_refused_and_nothing_is_made(door: Door, document: dict[str, object], said: str) -> None:
    await prepared(door, 1)
    status, answer = await door.ask("POST", "/v1/rollouts", document)
    assert status in (400, 404, 422)
    assert said in str(answer)
    assert await door.done("GET", "/v1/rollouts") == []


async def test_only_operators_change_rollouts_and_everybody_who_may_look_sees_them(door: Door) -> None:
    await prepared(door, 1)
    made = await door.done("POST", "/v1/rollouts", wanted("machine-1"))

    async def status(method: str, path: str, token: str) -> int:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.request(method, f"{door.url}{path}", json=wanted("machine-1")) as response,
        ):
            return response.status

    key = made["id"]
    assert await status("GET", f"/v1/rollouts/{key}", "look-token") == 200
    assert await status("GET", "/v1/rollouts", "wrong") == 401
    for method, path in (
        ("POST", "/v1/rollouts"),
        ("POST", f"/v1/rollouts/{key}/cancel"),
        ("POST", f"/v1/rollouts/{key}/retry"),
        ("DELETE", f"/v1/rollouts/{key}"),
    ):
        assert await status(method, path, "look-token") == 403
    assert (await door.done("GET", f"/v1/rollouts/{key}"))["state"] == "WAITING"


async def test_who_may_only_operate_is_told_how_far_a_rollout_is_and_no_more(door: Door) -> None:
    await prepared(door, 1)
    asked = wanted("machine-1", hardware={"password": "topsecret"}, labels={"a": "topsecret"})
    key = (await door.done("POST", "/v1/rollouts", asked))["id"]
    async with aiohttp.ClientSession(headers={"Authorization": "Bearer operate-token"}) as session:
        for verb in ("pause", "resume", "cancel"):
            async with session.post(f"{door.url}/v1/rollouts/{key}/{verb}") as response:
                told = await response.text()
                assert (response.status, "topsecret" in told) == (200, False)
                assert '"total": 1' in told


async def test_one_dry_run_of_each_person_is_made_at_a_time(door: Door, monkeypatch: pytest.MonkeyPatch) -> None:
    made = AtOnce()

    async def slow(*_: object) -> Plan:
        await made.work()
        raise Invalid("no")

    monkeypatch.setattr(Rollouts, "plan", slow)
    async with asyncio.TaskGroup() as asking:
        for _ in range(3):
            asking.create_task(door.ask("POST", "/v1/rollouts", wanted("machine-2", dry_run=True)))
    assert made.seen == [1] * 3


async def test_what_a_template_is_told_of_many_machines_is_made_in_slices(
    door: Door, monkeypatch: pytest.MonkeyPatch
) -> None:
    await prepared(door, 2 * SLICE - 1)
    data_of = planning.rendering_data
    names = [f"machine-{number}" for number in range(1, 2 * SLICE)]
    async with turns() as made:

        def noted(devices: Mapping[str, str], machine: Hardware | None) -> dict[str, Any]:
            made.note()
            return data_of(devices, machine)

        monkeypatch.setattr(planning, "rendering_data", noted)
        plan = await door.done("POST", "/v1/rollouts", wanted(*names, dry_run=True))
    assert len(plan["machines"]) == sum(made.each) == 2 * SLICE - 1
    assert max(made.each) <= SLICE
