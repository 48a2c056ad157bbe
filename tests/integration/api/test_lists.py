"""Lists answer what their query asks, and labels change."""

from collections.abc import Sequence
from contextlib import AbstractAsyncContextManager
from dataclasses import replace
from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, RELAY, hardware, mac
from tinkbox.engine.turns import Queue
from tinkbox.model.workflow import State
from tinkbox.wire.list_total import HEADER


async def machines(door: Door, number: int = 3) -> list[str]:
    """Machines in two racks by turns; returns their ids."""
    for each in range(1, number + 1):
        await door.done("POST", "/v1/hardware", hardware(each))
        labels = {"set": {"rack": f"r{each % 2 + 1}", "gpu": "yes" if each == 1 else "no"}}
        await door.done("PATCH", f"/v1/hardware/machine-{each}/labels", labels)
    return [each["id"] for each in await door.done("GET", "/v1/hardware")]


async def workflows(door: Door) -> list[str]:
    """One for each of three machines, with labels, of two templates; returns their ids, oldest first."""
    await machines(door)
    for name in ("hello", "other"):
        await door.done("POST", "/v1/templates", {"name": name, "data": HELLO, "labels": {"kind": name}})
    made = []
    for number, template in ((1, "hello"), (2, "other"), (3, "hello")):
        asked = {"template": template, "hardware": {"device_1": mac(number)}, "labels": {"batch": f"b{number}"}}
        made.append((await door.done("POST", "/v1/workflows", asked))["id"])
        door.box.clock.forward(60)
    return made


async def names(door: Door, path: str) -> list[str]:
    return [each["name"] for each in await door.done("GET", path)]


async def test_retired_machines_are_selected_by_their_labels_where_they_are_asked_for(door: Door) -> None:
    await machines(door)
    await door.done("POST", "/v1/hardware/machine-1/retire", {})
    assert await names(door, "/v1/hardware?label=rack=r2") == ["machine-3"]
    assert await names(door, "/v1/hardware?state=retired&label=rack=r2") == ["machine-1"]
    assert await names(door, "/v1/hardware?state=retired&label=rack=r1") == []


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [1, 2, 3]),
        ("?label=rack=r1", [2]),
        ("?label=rack=r2", [1, 3]),
        ("?label=rack=r2,gpu!=yes", [3]),
        ("?label=rack=r2&label=gpu!=yes", [3]),
        ("?label=missing", []),
        ("?state=idle", [1, 2, 3]),
        ("?state=WAITING", []),
        ("?sort=-name&limit=2", [3, 2]),
        ("?sort=-ip&limit=2", [3, 2]),
    ],
)
async def test_machines_are_listed_as_the_query_asks(door: Door, query: str, found: Sequence[int]) -> None:
    await machines(door)
    assert await names(door, f"/v1/hardware{query}") == [f"machine-{each}" for each in found]


async def test_machines_are_sorted_by_how_long_they_stand_where_they_do(door: Door) -> None:
    for number in (1, 2, 3):
        await door.done("POST", "/v1/hardware", hardware(number))
        door.box.clock.forward(60)
    await door.done("POST", "/v1/hardware/machine-1/retire", {})
    assert await names(door, "/v1/hardware?sort=-since") == ["machine-3", "machine-2"]
    assert await names(door, "/v1/hardware?sort=since&state=idle,retired") == ["machine-2", "machine-3", "machine-1"]


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("", [0, 1, 2]),
        ("?sort=-created_at", [2, 1, 0]),
        ("?sort=-created_at&limit=2", [2, 1]),
        ("?machine=machine-2", [1]),
        (f"?machine={quote(mac(3))}", [2]),
        ("?machine=172.30.0.11", [0]),
        ("?template=hello", [0, 2]),
        ("?label=batch in (b1,b3)", [0, 2]),
        ("?label=batch notin (b1,b3)", [1]),
        ("?label=!batch", []),
        ("?label=batch", [0, 1, 2]),
        ("?label=rack=r2", [0, 2]),
        ("?label=rack!=r2", [1]),
        ("?label=rack in (r1,r2),gpu=no", [1, 2]),
        ("?label=rack=r2,batch=b3", [2]),
        ("?label=rack", [0, 1, 2]),
        ("?label=!rack", []),
        ("?label=rack=r2&sort=-created_at&limit=1", [2]),
        ("?sort=machine", [0, 1, 2]),
        ("?sort=-machine&limit=2", [2, 1]),
        ("?state=PENDING,RUNNING", [0, 1, 2]),
        ("?state=pending&template=other", [1]),
        ("?state=FAILED", []),
        ("?since=90s", [2]),
        ("?since=1h", [0, 1, 2]),
    ],
)
async def test_workflows_are_listed_as_the_query_asks(door: Door, query: str, found: Sequence[int]) -> None:
    made = await workflows(door)
    listed = await door.done("GET", f"/v1/workflows{query.replace(' ', '%20')}")
    assert [each["id"] for each in listed] == [made[each] for each in found]


async def selected(door: Door, selector: str) -> list[str]:
    return [each["id"] for each in await door.done("GET", f"/v1/workflows?label={quote(selector)}")]


async def test_a_workflows_own_label_beats_that_of_its_machine(door: Door) -> None:
    first, second, third = await workflows(door)
    await door.done("PATCH", f"/v1/workflows/{first}/labels", {"set": {"rack": "r9"}})
    for selector, found in (("rack=r9", [first]), ("rack=r2", [third]), ("rack!=r2", [first, second])):
        assert await selected(door, selector) == found, selector
    await door.done("PATCH", f"/v1/workflows/{first}/labels", {"remove": ["rack"]})
    assert await selected(door, "rack=r2") == [first, third]


async def test_a_workflow_of_several_machines_has_the_values_of_each(door: Door) -> None:
    await machines(door)
    await door.done("POST", "/v1/templates", {"name": "relay", "data": RELAY})
    asked = {"template": "relay", "hardware": {"a": mac(1), "b": mac(2)}}
    made = [(await door.done("POST", "/v1/workflows", asked))["id"]]
    for selector, found in (
        ("rack=r1", made),
        ("rack=r2", made),
        ("rack!=r1", []),
        ("rack=r3", []),
        ("rack!=r3", made),
    ):
        assert await selected(door, selector) == found, selector
    assert await selected(door, "rack=r1,rack=r2") == made
    for number in (1, 2):
        await door.done("PATCH", f"/v1/hardware/machine-{number}/labels", {"remove": ["rack"]})
    assert await selected(door, "!rack") == made


async def test_machines_that_were_never_heard_of_stand_behind_those_that_were(door: Door) -> None:
    await machines(door)
    record = door.box.machines.known.find("machine-2")
    door.box.machines.known.note(replace(record, last_contact=door.box.clock()))
    for sort in ("last_contact", "-last_contact"):
        assert (await names(door, f"/v1/hardware?sort={sort}"))[0] == "machine-2", sort


async def test_addresses_are_sorted_as_numbers(door: Door) -> None:
    for last in (2, 10, 9):
        added = {"mac": mac(last), "name": f"of-{last}", "address": f"172.30.0.{last}/24"}
        await door.done("POST", "/v1/hardware/add", added)
    assert await names(door, "/v1/hardware?sort=ip") == ["of-2", "of-9", "of-10"]


async def test_machines_are_shown_and_sorted_by_the_interface_that_boots(door: Door) -> None:
    cards = [
        {"dhcp": {"mac": mac(2), "ip": {"address": "172.30.0.12", "netmask": "255.255.255.0"}}, "disableDhcp": True},
        {
            "dhcp": {"mac": mac(3), "ip": {"address": "172.30.0.3", "netmask": "255.255.255.0"}},
            "netboot": {"allowPXE": True},
        },
    ]
    document = {
        "apiVersion": "tinkerbell.org/v1alpha1",
        "kind": "Hardware",
        "metadata": {"name": "two-cards"},
        "spec": {"interfaces": cards},
    }
    pushed = await door.done("POST", "/v1/hardware", document)
    assert [each["mac"] for each in pushed["pushed"]] == [mac(3)]
    assert [each["mac"] for each in await door.done("GET", "/v1/hardware")] == [mac(3)]
    await door.done("POST", "/v1/hardware/add", {"mac": mac(7), "name": "of-7", "address": "172.30.0.7/24"})
    assert await names(door, "/v1/hardware?sort=ip") == ["two-cards", "of-7"]


async def test_workflows_are_sorted_by_their_machines_as_people_sort_names(door: Door) -> None:
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    for number in (10, 2, 9):
        await door.done("POST", "/v1/hardware/add", {"mac": mac(number), "name": f"node{number}"})
        await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(number)}})
    for sort, order in (("machine", [2, 9, 10]), ("-machine", [10, 9, 2])):
        listed = await door.done("GET", f"/v1/workflows?sort={sort}")
        assert [each["machines"][0]["name"] for each in listed] == [f"node{each}" for each in order]


async def test_a_list_says_since_a_time_as_well(door: Door) -> None:
    made = await workflows(door)
    at = quote((door.box.clock() - timedelta(seconds=90)).isoformat())
    assert [each["id"] for each in await door.done("GET", f"/v1/workflows?since={at}")] == [made[2]]


async def test_a_listed_workflow_has_the_names_of_its_template_and_its_machines(door: Door) -> None:
    await workflows(door)
    (listed,) = await door.done("GET", "/v1/workflows?machine=machine-2")
    assert (listed["template_name"], listed["labels"]) == ("other", {"batch": "b2"})
    assert [each["name"] for each in listed["machines"]] == ["machine-2"]
    await door.done("DELETE", "/v1/templates/other")
    (listed,) = await door.done("GET", "/v1/workflows?machine=machine-2")
    assert listed["template_name"] == "other"


async def put_back(door: Door, name: str) -> tuple[str, str]:
    """Delete a template and make it anew; returns the ids that it had and has."""
    gone = (await door.done("DELETE", f"/v1/templates/{name}"))["id"]
    return gone, (await door.done("POST", "/v1/templates", {"name": name, "data": HELLO}))["id"]


async def of_template(door: Door, key: str) -> list[str]:
    return [each["id"] for each in await door.done("GET", f"/v1/workflows?template={key}")]


async def test_workflows_are_found_by_the_name_of_their_template_when_it_was_deleted(door: Door) -> None:
    first, second, third = await workflows(door)
    gone, new = await put_back(door, "hello")
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    for key, found in (
        ("hello", [first, third, made["id"]]),
        ("other", [second]),
        (gone, [first, third]),
        (gone[:8], [first, third]),
        (new, [made["id"]]),
        (new[:8], [made["id"]]),
    ):
        assert await of_template(door, key) == found, key
    await door.done("DELETE", "/v1/templates/hello")
    assert await of_template(door, "hello") == [first, third, made["id"]]
    for path in (f"/v1/workflows/{first}", f"/v1/workflows/{first}/state"):
        assert (await door.done("GET", path))["template_name"] == "hello", path
    assert {each["template_name"] for each in await door.done("GET", "/v1/workflows")} == {"hello", "other"}


async def test_a_template_that_is_there_is_called_what_it_is_called_now(door: Door) -> None:
    first, second, third = await workflows(door)
    await door.done("PUT", "/v1/templates/hello", {"name": "renamed"})
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    assert await of_template(door, "renamed") == [first, third]
    assert await of_template(door, "hello") == []
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(1)}})
    await door.done("DELETE", "/v1/templates/hello")
    assert await of_template(door, "hello") == [made["id"]]
    await door.done("POST", f"/v1/workflows/{made['id']}/cancel")
    await door.done("DELETE", f"/v1/workflows/{made['id']}")
    await door.done("DELETE", "/v1/templates/other")
    await door.done("PUT", "/v1/templates/renamed", {"name": "other"})
    assert await of_template(door, "other") == [first, second, third]
    assert {each["template_name"] for each in await door.done("GET", "/v1/workflows")} == {"other"}


async def test_a_workflow_whose_template_was_deleted_is_retried(door: Door) -> None:
    first, *_ = await workflows(door)
    await door.done("POST", f"/v1/workflows/{first}/cancel")
    await door.done("DELETE", "/v1/templates/hello")
    assert (await door.done("POST", f"/v1/workflows/{first}/retry"))["state"] == State.PENDING
    assert first in await of_template(door, "hello")


async def test_names_are_sorted_as_people_do(door: Door) -> None:
    for name in ("node10", "node2", "Node1"):
        await door.done("POST", "/v1/hardware/add", {"mac": mac(len(name) + int(name[4:])), "name": name.lower()})
    assert await names(door, "/v1/hardware?sort=name") == ["node1", "node2", "node10"]
    assert await names(door, "/v1/hardware?sort=-name&limit=1") == ["node10"]


async def test_a_limited_list_says_how_many_there_are(door: Door) -> None:
    await workflows(door)
    for path, total in (("/v1/workflows?limit=1", "3"), ("/v1/workflows?template=hello&limit=1", "2"),
                        ("/v1/hardware?limit=1", "3"), ("/v1/hardware?limit=1&label=rack=r2", "2")):  # fmt: skip
        async with door.local.get(f"http://tinkbox{path}") as response:
            assert (len(await response.json()), response.headers[HEADER]) == (1, total), path


@pytest.mark.parametrize(("seconds", "turns"), [(60.0, 1), (0.0, 4)])
async def test_a_list_that_is_soon_made_waits_for_one_turn_and_a_long_one_for_one_of_each_piece(
    door: Door, monkeypatch: pytest.MonkeyPatch, seconds: float, turns: int
) -> None:
    await workflows(door)
    whole = await door.done("GET", "/v1/workflows")
    monkeypatch.setattr("tinkbox.engine.workflows.workflows.PAGE", 1)
    monkeypatch.setattr("tinkbox.api.routes.workflows.workflows.PIECE_SECONDS", seconds)
    taken, turn = [], Queue.turn

    def counted(queue: Queue, who: str) -> AbstractAsyncContextManager[None]:
        taken.append(who)
        return turn(queue, who)

    monkeypatch.setattr(Queue, "turn", counted)
    assert await door.done("GET", "/v1/workflows") == whole
    assert len(taken) == turns


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("/v1/workflows?stat=FAILED", "'stat' means nothing here: did you mean state?"),
        ("/v1/workflows?state=FALED", "'FALED' is no state: did you mean FAILED?"),
        (
            "/v1/workflows?sort=age",
            "'age' is nothing to sort by: known here: created_at, updated_at, name, state, machine",
        ),
        ("/v1/workflows?since=yesterday", "since 'yesterday' is no time: write 2h, 3d, or"),
        ("/v1/workflows?since=2026-11-27T16:00:00", "is no time"),
        ("/v1/workflows?since=0001-01-01T00:00:00%2B14:00", "is no time"),
        ("/v1/workflows?limit=-1", "limit is a whole number"),
        ("/v1/workflows?machine=", "machine is empty: give a value or leave it out"),
        ("/v1/workflows?template=%20", "template is empty"),
        ("/v1/workflows?state=", "state is empty"),
        ("/v1/workflows?state=FAILED&state=,", "state is empty"),
        ("/v1/workflows?since=", "since is empty"),
        ("/v1/workflows?sort=", "sort is empty"),
        ("/v1/hardware?state=", "state is empty"),
        ("/v1/breakpoints?machine=", "machine is empty"),
        ("/v1/services?workflow=", "workflow is empty"),
        ("/v1/services?machine=", "machine is empty"),
        ("/v1/rollouts?state=", "state is empty"),
        ("/v1/export?what=", "what is empty"),
        ("/v1/workflows?label=", "label is empty"),
        (
            "/v1/workflows?" + "&".join(f"label=rack!=r{each}" for each in range(33)),
            "at most 32 requirements, this one 33",
        ),
        ("/v1/hardware?label=" + "&label=".join(["rack!=" + "r" * 60] * 80), "at most 4096 letters"),
        ("/v1/hardware?labels=rack", "'labels' means nothing here: did you mean label?"),
        ("/v1/templates?state=x", "'state' means nothing here"),
        ("/v1/services?workflows=x", "did you mean workflow?"),
        ("/v1/images?sort=digest", "'digest' is nothing to sort by"),
        ("/v1/breakpoints?x", "'x' means nothing here"),
        ("/v1/hardware?state=instaled", "'instaled' is no state: did you mean installed?"),
        ("/v1/hardware?state=held,x", "'x' is no state"),
        ("/v1/rollouts?state=bogus", "'bogus' is no state"),
        ("/v1/services?state=redy", "'redy' is no state: did you mean READY?"),
        ("/v1/breakpoints?state=bogus", "'bogus' is no state"),
        ("/v1/workflows?limit=1&limit=2", "limit is given 2 times: give it once"),
        ("/v1/workflows?machine=a&machine=b", "machine is given 2 times"),
        ("/v1/services?machine=a&machine=b&machine=c", "machine is given 3 times"),
        ("/v1/hardware?sort=name&sort=ip", "sort is given 2 times"),
    ],
)
async def test_what_a_list_does_not_know_is_refused(door: Door, path: str, said: str) -> None:
    status, problem = await door.ask("GET", path)
    assert (status, said in problem["detail"]) == (422, True), problem["detail"]


@pytest.mark.parametrize("path", ["hardware", "rollouts", "services", "breakpoints", "workflows"])
async def test_a_state_is_written_in_any_case_and_several_are_one_of_them(door: Door, path: str) -> None:
    word = {"hardware": "working", "services": "ready"}.get(path, "running")
    for query in (f"state={word}", f"state={word.upper()}", f"state={word}&state=failed", f"state={word},Failed"):
        assert await door.done("GET", f"/v1/{path}?{query}") == []


async def test_a_machine_that_is_unknown_is_no_empty_list(door: Door) -> None:
    assert (await door.ask("GET", "/v1/workflows?machine=node9"))[0] == 404
    assert (await door.ask("GET", "/v1/workflows?template=nothing"))[0] == 404


@pytest.mark.parametrize("path", ["/v1/hardware/machine-1", "/v1/templates/hello", "/v1/workflows/machine-1"])
async def test_labels_are_set_and_taken_away(door: Door, path: str) -> None:
    await workflows(door)
    before = (await door.done("GET", path))["labels"]
    changed = await door.done("PATCH", f"{path}/labels", {"set": {"a": "1", "b": ""}, "remove": list(before)})
    assert changed["labels"] == (await door.done("GET", path))["labels"] == {"a": "1", "b": ""}
    for wrong in ({}, {"set": {"a b": "c"}}, {"add": {}}, {"set": {"a": "1"}, "remove": ["a"]}, {"set": {"a": 1}}):
        assert (await door.ask("PATCH", f"{path}/labels", wrong))[0] == 422, wrong
    assert (await door.done("GET", path))["labels"] == {"a": "1", "b": ""}


def labelled(number: int, **labels: Any) -> str:
    """A `kind: Hardware` with labels."""
    listed = "".join(f"    {key}: {value}\n" for key, value in labels.items())
    return (
        f"apiVersion: tinkerbell.org/v1alpha1\nkind: Hardware\nmetadata:\n  name: node{number}\n"
        + (f"  labels:\n{listed}" if labels else "")
        + f"spec:\n  interfaces:\n  - dhcp:\n      mac: {mac(number)}\n"
    )


async def test_a_document_that_declares_labels_replaces_them_and_another_leaves_them(door: Door) -> None:
    async def labels() -> dict[str, str]:
        found: dict[str, str] = (await door.done("GET", "/v1/hardware/node5"))["labels"]
        return found

    await door.done("POST", "/v1/hardware", labelled(5, rack="r1", gpu='"no"').encode())
    await door.done("PATCH", "/v1/hardware/node5/labels", {"set": {"row": "a"}})
    assert await labels() == {"rack": "r1", "gpu": "no", "row": "a"}
    await door.done("POST", "/v1/hardware", labelled(5).encode())
    assert await labels() == {"rack": "r1", "gpu": "no", "row": "a"}
    await door.done("POST", "/v1/hardware", labelled(5, rack="r2").encode())
    assert await labels() == {"rack": "r2"}
    status, problem = await door.ask("POST", "/v1/hardware", labelled(5, rack="7").encode())
    assert (status, "the value of rack is no text" in str(problem["problems"])) == (422, True)
    assert await labels() == {"rack": "r2"}


async def test_a_template_sees_the_labels_that_its_machine_has_now(door: Door) -> None:
    await door.done("POST", "/v1/hardware", labelled(5, rack="r1").encode())
    await door.done("PATCH", "/v1/hardware/node5/labels", {"set": {"rack": "r7"}})
    text = HELLO.replace("second", "second-{{ .hardware.metadata.labels.rack }}", 1)
    await door.done("POST", "/v1/templates", {"name": "hello", "data": text})
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": mac(5)}})
    assert [each["name"] for each in (await door.done("GET", f"/v1/workflows/{made['id']}"))["actions"]][
        1
    ] == "second-r7"


async def test_what_is_deleted_takes_its_labels_with_it(door: Door) -> None:
    made = await workflows(door)
    for each in made:
        await door.done("DELETE", f"/v1/workflows/{each}")
    for number in (1, 2, 3):
        await door.done("DELETE", f"/v1/hardware/machine-{number}")
    for name in ("hello", "other"):
        await door.done("DELETE", f"/v1/templates/{name}")
    assert await door.box.store.read(lambda tables: tables.labels._sql.execute("SELECT * FROM label").fetchall()) == []


async def test_a_machine_means_its_newest_workflow(door: Door) -> None:
    made = await workflows(door)
    again = await door.done("POST", "/v1/workflows", {"template": "other", "hardware": {"device_1": mac(1)}})
    for key in ("machine-1", mac(1), "172.30.0.11"):
        assert (await door.done("GET", f"/v1/workflows/{key}"))["id"] == again["id"]
    assert (await door.done("GET", f"/v1/workflows/{made[0]}"))["id"] == made[0]
    await door.done("POST", "/v1/hardware", hardware(4))
    status, problem = await door.ask("GET", "/v1/workflows/machine-4")
    assert (status, problem["detail"][:34]) == (404, "machine machine-4 has no workflow:")
    assert [each["state"] for each in await door.done("GET", "/v1/workflows")] == [State.PENDING] * 4


async def test_a_machine_whose_workflow_failed_is_listed_as_failed_until_it_is_tried_again(door: Door) -> None:
    made = await workflows(door)
    worker = await door.box.machine(1)
    offer = await door.box.offer(worker)
    assert offer is not None
    await door.box.report(worker, offer, State.FAILED, reason="DiskTooSlow", message="it took too long")
    (failed,) = await door.done("GET", "/v1/hardware?state=failed")
    assert (failed["name"], failed["failure"]["workflow_id"]) == ("machine-1", made[0])
    assert (failed["failure"]["reason"], failed["failure"]["message"]) == (
        "DiskTooSlow",
        "hello world/hello_world: it took too long",
    )
    assert (await door.done("GET", "/v1/hardware/machine-1"))["state"] == "failed"
    await door.done("POST", f"/v1/workflows/{made[0]}/retry")
    assert await door.done("GET", "/v1/hardware?state=failed") == []
