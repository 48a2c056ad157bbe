"""A template is filled from the machine that runs it."""

from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import pytest

from tests.unit.engine.template_texts import SMALL
from tinkbox.engine.templates import filling
from tinkbox.engine.templates.filling import Lookup, Result, Wanted, fill_each
from tinkbox.engine.templates.rendering import Rendered, rendering_data
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware


def machine(name: str, number: int, *disks: str) -> Hardware:
    dhcp = {"mac": f"08:00:27:00:00:0{number}", "hostname": name, "ip": {"address": f"10.20.0.{number}"}}
    return hardware_from_document(
        {
            "apiVersion": "tinkerbell.org/v1alpha1",
            "kind": "Hardware",
            "metadata": {"name": name},
            "spec": {"disks": [{"device": each} for each in disks], "interfaces": [{"dhcp": dhcp}]},
        }
    )


SERVER, NODE, BARE = machine("server", 1, "/dev/sda"), machine("node", 2, "/dev/nvme0n1"), machine("bare", 3)
MACHINES = (SERVER, NODE, BARE)
DEVICES = {"artifact_server": "10.20.0.1", "device_1": "08:00:27:00:00:02", "count": 3}
READS = SMALL.replace(
    "{name: a, image: x}",
    "{name: a, image: x, environment: {DISK: '{{ index .Hardware.Disks 0 }}', URL: '{{ .artifact_server }}'}}",
)
JINJA = READS.replace("{{ .device_1 }}", "{{ device_1 }}").replace(
    "{{ index .Hardware.Disks 0 }}", "{{ Hardware.Disks[0] }}"
)
JINJA = JINJA.replace("{{ .artifact_server }}", "{{ artifact_server }}")
# Which device it is shows where it is filled alone.
HIDDEN = READS.replace('"{{ .device_1 }}"', '"{{ with $ }}{{ .target }}{{ end }}"')


def at(address: str) -> Hardware | None:
    return next((each for each in MACHINES if each.interface(address)), None)


LOOKUP = Lookup(at=at, worker_named=lambda _: "", appliance=("provisioner",))


async def filled(text: str, devices: Mapping[str, Any], said: Hardware | None = None) -> tuple[Hardware | None, Result]:
    ((machine, result),) = await fill_each(text, [Wanted(devices=devices, machine=said)], LOOKUP)
    return machine, result


def disk_of(result: Result) -> str:
    assert isinstance(result, Rendered), result
    return result.definition.tasks[0].actions[0].environment["DISK"]


def refused(result: Result) -> str:
    assert isinstance(result, Invalid), result
    return "; ".join([str(result), *map(str, result.problems)])


def orders(devices: Mapping[str, Any]) -> list[dict[str, Any]]:
    return [dict(each) for each in permutations(devices.items())]


@pytest.mark.parametrize(("text", "name"), [(READS, "device_1"), (JINJA, "device_1"), (HIDDEN, "target")])
async def test_any_order_of_the_map_gives_the_machine_of_the_first_task(text: str, name: str) -> None:
    given = {"artifact_server": "10.20.0.1", name: "08:00:27:00:00:02", "x": "08:00:27:00:00:03"}
    for devices in orders(given):
        seen, result = await filled(text, devices)
        assert (seen, disk_of(result)) == (NODE, "/dev/nvme0n1")


@pytest.mark.parametrize(("text", "name"), [(READS, "device_1"), (HIDDEN, "target")])
async def test_a_machine_that_the_template_cannot_be_filled_from_does_not_stand_in_the_way(
    text: str, name: str
) -> None:
    for devices in orders({"artifact_server": "10.20.0.3", name: "08:00:27:00:00:02"}):
        assert disk_of((await filled(text, devices))[1]) == "/dev/nvme0n1"


async def test_a_worker_that_the_map_does_not_have_is_seen_too() -> None:
    text = READS.replace("{{ .device_1 }}", "08:00:27:00:00:02")
    seen, result = await filled(text, {"artifact_server": "10.20.0.1"})
    assert (seen, disk_of(result)) == (NODE, "/dev/nvme0n1")


async def test_the_machine_that_is_said_beats_the_worker() -> None:
    seen, result = await filled(READS, DEVICES, SERVER)
    assert (seen, disk_of(result)) == (SERVER, "/dev/sda")
    assert isinstance(result, Rendered)
    assert result.notes == ()


@pytest.mark.parametrize(
    "worker",
    [
        "{{ (index .Hardware.Interfaces 0).DHCP.MAC }}",
        '{{ if eq (index .Hardware.Disks 0) "/dev/sda" }}{{ .device_1 }}{{ else }}{{ .artifact_server }}{{ end }}',
    ],
)
async def test_a_worker_that_depends_on_the_machine_is_refused(worker: str) -> None:
    text = READS.replace('"{{ .device_1 }}"', f"'{worker}'")
    told = {refused((await filled(text, devices))[1]) for devices in orders(DEVICES)}
    assert len(told) == 1
    (told_once,) = told
    assert "server (08:00:27:00:00:01)" in told_once
    assert "node (08:00:27:00:00:02)" in told_once
    assert (
        "by the hardwareRef of a kind: Workflow, or as MACHINE of `tinkbox workflow create -t TEMPLATE MACHINE`"
        in told_once
    )


@pytest.mark.parametrize("server", ["10.20.0.1", "10.20.0.3", "none"])
@pytest.mark.parametrize("device", ["08:00:27:00:00:02", "08:00:27:00:00:03", "08:00:27:00:00:09", "node"])
@pytest.mark.parametrize(
    "worker",
    [
        "{{ (index .Hardware.Interfaces 0).DHCP.MAC }}",
        "{{ (index .Hardware.Interfaces 0).DHCP.IP.Address }}",
        "{{ (index .hardware.spec.interfaces 0).dhcp.mac | upper }}",
    ],
)
async def test_a_worker_that_is_read_from_the_machine_does_not_say_which_one_is_meant(
    worker: str, device: str, server: str
) -> None:
    """Whatever of the map is known: it may be the server that is installed."""
    text = READS.replace('"{{ .device_1 }}"', f"'{worker}'")
    for devices in orders({"artifact_server": server, "device_1": device}):
        refused((await filled(text, devices))[1])
        seen, result = await filled(text, devices, NODE)
        assert (seen, disk_of(result)) == (NODE, "/dev/nvme0n1")
    assert "by the hardwareRef" in refused((await filled(text, {"artifact_server": "10.20.0.1"}))[1])


async def test_a_worker_that_stands_in_the_template_needs_a_machine_that_is_said_where_none_is_given() -> None:
    _, result = await filled(READS.replace("{{ .device_1 }}", "08:00:27:00:00:02"), {"artifact_server": "none"})
    assert "no machine that it was given is known here: say which one is meant, by the hardwareRef" in refused(result)


OTHERS = """\
  - name: u
    worker: "{{ .artifact_server }}"
    actions:
      - {name: b, image: x}
"""


async def test_of_several_workers_the_first_tasks_is_seen_and_told() -> None:
    for devices in orders(DEVICES):
        seen, result = await filled(READS + OTHERS, devices)
        assert (seen, disk_of(result)) == (NODE, "/dev/nvme0n1")
        assert isinstance(result, Rendered)
        (note,) = result.notes
        assert note.text == (
            "the template is filled from node (08:00:27:00:00:02), the worker of its first task: .Hardware and .hardware "
            "are that machine also in the tasks of server (08:00:27:00:00:01)"
        )
    _, alone = await filled(READS, DEVICES)
    _, unread = await filled(SMALL + OTHERS, DEVICES)
    assert isinstance(alone, Rendered)
    assert isinstance(unread, Rendered)
    assert alone.notes == unread.notes == ()


async def test_what_never_reads_its_machine_is_filled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    counted: list[int] = []
    render_each = filling.render_each

    async def counting(text: str, several: Sequence[Mapping[str, Any]], *rest: Any, **more: Any) -> Any:
        counted.append(len(several))
        return await render_each(text, several, *rest, **more)

    monkeypatch.setattr(filling, "render_each", counting)
    await filled(SMALL + OTHERS, DEVICES)
    await filled(READS, DEVICES, NODE)
    await filled(READS, {**DEVICES, "artifact_server": "none"})
    assert counted == [1, 1, 1, 1]
    await filled(READS, DEVICES)
    assert counted == [1, 1, 1, 1, 2, 1]


@pytest.mark.parametrize(
    "devices", [{"device_1": "08:00:27:00:00:09"}, {"artifact_server": "10.20.0.3", "device_1": "08:00:27:00:00:09"}]
)
async def test_an_unknown_machine_is_named_where_the_template_needs_one(devices: dict[str, str]) -> None:
    _, result = await filled(READS, devices)
    told = refused(result)
    assert (
        "device_1: hardware mentioned with reference 08:00:27:00:00:09 not found: push its hardware document first"
        in told
    )
    assert "out of range" not in told


async def test_a_machine_that_is_known_does_not_excuse_its_template() -> None:
    _, result = await filled(READS, {"device_1": "10.20.0.3", "artifact_server": "x"})
    assert "index out of range" in refused(result)


async def test_the_name_of_something_else_is_refused_as_a_device() -> None:
    _, result = await filled(READS, {"hardware": "x"})
    assert "hardware cannot be the name of a device" in refused(result)
    with pytest.raises(Invalid, match="hardware cannot be"):
        rendering_data({"hardware": "x"}, None)
