"""`/v1/names`: what completions ask the operator door."""

import json
import re

import aiohttp

from tests.integration.api.door import Door, image_archive
from tests.integration.engine.appliance import HELLO, RELAY, hardware, mac
from tinkbox.model.access import Right


async def test_names_of_each_kind_are_answered(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    await door.done("POST", "/v1/images", image_archive("a/b:v1"))
    machine = {"name": "machine-1", "about": "08:00:27:00:00:01 172.30.0.11"}
    assert await door.done("GET", "/v1/names/machine?prefix=mach") == [machine]
    assert [each["name"] for each in await door.done("GET", "/v1/names/template?prefix=hel")] == ["hello"]
    assert await door.done("GET", "/v1/names/image?prefix=a/b:") == [{"name": "a/b:v1", "about": ""}]
    for kind in ("workflow", "service", "rollout", "system-image", "retired-machine"):
        assert await door.done("GET", f"/v1/names/{kind}") == []


async def test_machines_and_templates_are_in_the_order_of_their_names(door: Door) -> None:
    for number in (10, 2, 1):
        await door.done("POST", "/v1/hardware", hardware(number))
    for name in ("hello10", "hello2"):
        await door.done("POST", "/v1/templates", {"name": name, "data": HELLO})
    found = await door.done("GET", "/v1/names/machine?prefix=mach")
    assert [each["name"] for each in found] == ["machine-1", "machine-2", "machine-10"]
    found = await door.done("GET", "/v1/names/template?prefix=hello")
    assert [each["name"] for each in found] == ["hello2", "hello10"]


async def test_a_parameter_that_a_template_does_not_use_is_told_with_the_workflow(door: Door) -> None:
    await door.done("POST", "/v1/hardware", hardware(1))
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    images = re.findall("image: (.*)", HELLO)
    door.box.registry |= dict.fromkeys(images, f"sha256:{'7' * 64}")
    given = {"device_1": "08:00:27:00:00:01", "foo": "bar"}
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": given})
    assert made["notes"] == [{"text": "template hello does not use the parameter foo"}]
    made = await door.done("POST", "/v1/workflows", {"template": "hello", "hardware": {"device_1": given["device_1"]}})
    assert list(made) == ["id"]


async def test_which_of_several_workers_a_template_is_filled_from_is_told_with_the_workflow(door: Door) -> None:
    for number in (1, 2):
        await door.done("POST", "/v1/hardware", hardware(number))
    text = RELAY.replace(
        "{name: one, image: x}", '{name: one, image: x, environment: {A: "{{ .hardware.metadata.name }}"}}'
    )
    await door.done("POST", "/v1/templates", {"name": "relay", "data": text})
    given = {"b": mac(2), "a": mac(1)}
    made = await door.done("POST", "/v1/workflows", {"template": "relay", "hardware": given})
    (told,) = [each["text"] for each in made["notes"] if "filled" in each["text"]]
    assert told.startswith(f"the template is filled from machine-1 ({mac(1)}), the worker of its first task")


async def test_what_keeps_a_workflow_from_beginning_is_told_with_it_to_whoever_may_look(door: Door) -> None:
    document = json.loads(json.dumps(hardware(1)))
    document["network"]["interfaces"][0]["dhcp"]["arch"] = "aarch64"
    await door.done("POST", "/v1/hardware", document)
    await door.done("POST", "/v1/templates", {"name": "hello", "data": HELLO})
    asked = {"template": "hello", "hardware": {"device_1": mac(1)}}
    no_osie, *no_image = [each["text"] for each in (await door.done("POST", "/v1/workflows", asked))["notes"]]
    assert no_osie.startswith("there is no OSIE for aarch64, which machine machine-1 boots")
    assert [each.partition(" is not in the registry")[0] for each in no_image] == [
        f"image {each}" for each in re.findall("image: (.*)", HELLO)
    ]
    operates = {"Authorization": f"Bearer {Right.OPERATE}-token"}
    async with (
        aiohttp.ClientSession(headers=operates) as session,
        session.post(f"{door.url}/v1/workflows", json=asked) as answer,
    ):
        assert list(await answer.json()) == ["id"]


async def test_an_unknown_kind_is_told_with_the_nearest(door: Door) -> None:
    status, problem = await door.ask("GET", "/v1/names/machin")
    assert (status, "did you mean machine?" in problem["detail"]) == (404, True)
