"""What is said of a template before a workflow is made of it."""

import pytest

from tests.unit.engine.template_texts import SMALL
from tinkbox.engine.templates.validation import validate
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware, hardware_from_document


def machine(number: int, disk: str = "") -> Hardware:
    return hardware_from_document(
        {
            "apiVersion": "tinkerbell.org/v1alpha1",
            "kind": "Hardware",
            "metadata": {"name": f"machine{number}"},
            "spec": {
                "agentID": f"agent-{number}",
                "disks": [{"device": disk}] if disk else [],
                "interfaces": [{"dhcp": {"mac": f"08:00:27:00:00:0{number}"}, "netboot": {"allowPXE": True}}],
            },
        }
    )


ONE, TWO = machine(1, "/dev/sda"), machine(2)
DISK = SMALL.replace("{name: a, image: x}", "{name: a, image: x, environment: {DISK: {{ index .Hardware.Disks 0 }}}}")
DISK = DISK.replace("{DISK: {{ index .Hardware.Disks 0 }}}", '{DISK: "{{ index .Hardware.Disks 0 }}"}')


async def test_a_template_is_rendered_for_every_machine() -> None:
    fine, bad = await validate(DISK, [ONE, TWO])
    assert (fine.machine, fine.devices, fine.problems) == (ONE, {"device_1": "08:00:27:00:00:01"}, ())
    assert bad.machine == TWO
    assert "index out of range" in str(bad.problems[0])


async def test_a_template_is_rendered_for_the_devices_that_are_given() -> None:
    (verdict,) = await validate(DISK, [TWO, ONE], {"device_1": "08:00:27:00:00:01"})
    assert (verdict.machine, verdict.problems) == (ONE, ())
    (verdict,) = await validate(SMALL, [ONE], {"device_1": "agent-1"})
    assert (verdict.machine, verdict.problems) == (ONE, ())


async def test_a_worker_that_nobody_knows_is_a_problem() -> None:
    (verdict,) = await validate(SMALL, [ONE], {"device_1": "08:00:27:00:00:09"})
    assert verdict.machine is None
    assert [str(each) for each in verdict.problems] == ["tasks[0].worker: 08:00:27:00:00:09 is no known hardware"]


async def test_a_value_that_is_no_machine_has_to_be_given() -> None:
    text = SMALL.replace("image: x", "image: {{ .image }}")
    (verdict,) = await validate(text, [ONE])
    assert "placeholder image has no value" in str(verdict.problems[0])
    (verdict,) = await validate(text, [ONE], {"device_1": "08:00:27:00:00:01", "image": "x"})
    assert verdict.problems == ()


async def test_what_is_wrong_for_every_machine_is_said_once() -> None:
    with pytest.raises(Invalid, match="invalid template"):
        await validate(SMALL.replace("image: x", "imag: x"), [ONE, TWO])
    with pytest.raises(Invalid, match="read as a Jinja2 template"):
        await validate("{% if x %}", [])
    assert await validate(SMALL, []) == []


SERVED = """\
services:
  - name: files
    worker: {{ provisioner }}
    image: files
    labels: ["traefik.http.routers.files.rule=Host(`{{ workflow_id }}.workflows.tinkbox.internal`)"]
"""


async def test_where_there_is_no_workflow_yet_an_id_stands_for_it() -> None:
    go = SMALL + SERVED.replace("{{ ", "{{ .")
    for text in (SMALL + SERVED, go, go + "# {{ len .workflowid }}\n"):
        (verdict,) = await validate(text, [ONE])
        assert verdict.problems == ()
