"""Which documents of machines the operator door stores, and what it says of those that it does not."""

import json

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO, hardware, mac

API = "tinkerbell.org/v1alpha1"
TODAY = {
    "apiVersion": API,
    "kind": "Hardware",
    "metadata": {"name": "n1"},
    "spec": {"interfaces": [{"dhcp": {"mac": mac(11), "hostname": "n1"}}]},
}
TEMPLATE = {"apiVersion": API, "kind": "Template", "metadata": {"name": "hello"}, "spec": {"data": HELLO}}
WORKFLOW = {
    "apiVersion": API,
    "kind": "Workflow",
    "metadata": {"name": "w"},
    "spec": {"templateRef": "hello", "hardwareRef": "n1", "hardwareMap": {"device_1": mac(11)}},
}


async def test_a_file_with_machines_of_both_formats_is_stored_whole(door: Door) -> None:
    text = f"---\n{json.dumps(TODAY)}\n---\n{json.dumps(hardware(1))}\n"
    answer = await door.done("POST", "/v1/hardware?strict=true", text.encode())
    assert [each["name"] for each in answer["pushed"]] == ["n1", "machine-1"]
    assert answer["notes"] == []
    assert {each["name"] for each in await door.done("GET", "/v1/hardware")} == {"n1", "machine-1"}


async def test_a_machine_that_stands_twice_in_a_file_is_told_and_refused_where_that_is_wanted(door: Door) -> None:
    again = {**TODAY, "spec": {"interfaces": [{"dhcp": {"mac": mac(12), "hostname": "n1"}}]}}
    text = f"{json.dumps(TODAY)}\n{json.dumps(again)}\n".encode()
    told = "hardware n1 is declared again at line 2, which counts: this document is left out"
    status, problem = await door.ask("POST", "/v1/hardware?strict=true", text)
    assert (status, [each["text"] for each in problem["problems"]]) == (422, [told])
    answer = await door.done("POST", "/v1/hardware", text)
    assert [(each["name"], each["mac"]) for each in answer["pushed"]] == [("n1", mac(12))]
    assert [each["text"] for each in answer["notes"]] == [told]


async def test_every_command_reads_lists_within_lists(door: Door) -> None:
    def nested(document: object) -> str:
        return json.dumps({"apiVersion": "v1", "kind": "List", "items": [{"kind": "List", "items": [document]}]})

    await door.done("POST", "/v1/hardware", nested(TODAY).encode())
    await door.done("POST", "/v1/templates", {"name": "", "data": nested(TEMPLATE)})
    await door.done("POST", "/v1/workflows", {"documents": nested(WORKFLOW)})
    assert (await door.done("GET", "/v1/workflows/w"))["name"] == "w"


async def test_what_is_no_document_beside_machines_is_refused_and_nothing_is_stored(door: Door) -> None:
    status, problem = await door.ask("POST", "/v1/hardware", f"{json.dumps(TODAY)}\n{{'id': 1}}".encode())
    assert (status, problem["problems"][0]["line"]) == (422, 2)
    status, problem = await door.ask("POST", "/v1/hardware", f"{json.dumps(TODAY)}\n{{}}".encode())
    assert (status, problem["problems"][0]["text"].partition(",")[0]) == (422, "neither a Kubernetes document")
    assert await door.done("GET", "/v1/hardware") == []


async def test_every_command_takes_json_behind_a_mark_of_yaml(door: Door) -> None:
    machine, template, workflow = (f"---\n{json.dumps(each)}" for each in (TODAY, TEMPLATE, WORKFLOW))
    await door.done("POST", "/v1/hardware", machine.encode())
    await door.done("POST", "/v1/templates", {"name": "", "data": template})
    await door.done("POST", "/v1/workflows", {"documents": workflow})
    changed = {**TEMPLATE, "spec": {"data": HELLO.replace("hello-world", "hello-moon")}}
    await door.done("PUT", "/v1/templates/hello", {"data": f"---\n{json.dumps(changed)}"})
    assert "hello-moon" in (await door.done("GET", "/v1/templates/hello"))["data"]
    assert (await door.done("GET", "/v1/workflows/w"))["name"] == "w"


async def test_the_document_of_another_machine_is_refused(door: Door) -> None:
    await door.done("POST", "/v1/hardware", TODAY)
    (there,) = await door.done("GET", "/v1/hardware")
    metadata = {"name": "m1", "annotations": {"tinkbox.internal/id": there["id"]}}
    other = {**TODAY, "metadata": metadata, "spec": {"interfaces": [{"dhcp": {"mac": mac(12)}}]}}
    status, problem = await door.ask("POST", "/v1/hardware", other)
    assert (status, "is that of machine n1 here" in problem["detail"]) == (409, True)
    assert await door.done("GET", "/v1/hardware") == [there]
