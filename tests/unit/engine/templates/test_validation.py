"""What is said of a template before a workflow is made of it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import pytest

from tests.loop_turns import turns
from tests.unit.engine.template_texts import SMALL
from tinkbox.engine.templates import filling, rendering
from tinkbox.engine.templates.binding import Names
from tinkbox.engine.templates.validation import AT_ONCE, validate
from tinkbox.engine.turns import SLICE
from tinkbox.model.documents.hardware import hardware_from_document
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import Hardware
from tinkbox.model.services import HostFolder, Resources


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


NAMES = Names(
    name="provisioner",
    address="172.30.0.1",
    domain="workflows.tinkbox.internal",
    volumes={"isos": HostFolder(path="/srv/isos", read_only=True)},
    most=Resources(memory=1 << 30, cpus=2.0, pids=100),
)
ONE, TWO = machine(1, "/dev/sda"), machine(2)
DISK = SMALL.replace("{name: a, image: x}", "{name: a, image: x, environment: {DISK: {{ index .Hardware.Disks 0 }}}}")
DISK = DISK.replace("{DISK: {{ index .Hardware.Disks 0 }}}", '{DISK: "{{ index .Hardware.Disks 0 }}"}')


async def test_a_template_is_rendered_for_every_machine() -> None:
    fine, bad = await validate(DISK, [ONE, TWO], NAMES)
    assert (fine.machine, fine.devices, fine.problems) == (ONE, {"device_1": "08:00:27:00:00:01"}, ())
    assert bad.machine == TWO
    assert "index out of range" in str(bad.problems[0])


async def test_a_template_is_rendered_for_the_devices_that_are_given() -> None:
    (verdict,) = await validate(DISK, [TWO, ONE], NAMES, {"device_1": "08:00:27:00:00:01"})
    assert (verdict.machine, verdict.problems) == (ONE, ())
    (verdict,) = await validate(SMALL, [ONE], NAMES, {"device_1": "agent-1"})
    assert (verdict.machine, verdict.problems) == (ONE, ())


async def test_a_plan_that_takes_too_much_is_said_of_the_machine_that_it_is_for() -> None:
    repeated = '{{ repeat (len .Hardware.Disks | mul 200000 | int) "y" }}'
    text = SMALL.replace("{name: a, image: x}", f"{{name: a, image: x, environment: &large {{A: '{repeated}'}}}}")
    text += "".join(f"      - {{name: a{number}, image: x, environment: *large}}\n" for number in range(6))
    large, small = await validate(text, [ONE, TWO], NAMES)
    assert "a plan takes at most 1MiB: task t takes 1.1MiB or more" in str(large.problems[0])
    assert small.problems == ()


async def test_nothing_of_a_go_template_is_executed_in_the_appliance(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "GoTemplate", None)
    fine, _ = await validate(DISK, [ONE, TWO], NAMES)
    assert fine.problems == ()
    with pytest.raises(Invalid, match="read as a Go template because of") as refused:
        await validate("\n{{ .device_1 }}{{ if }}", [ONE, TWO], NAMES)
    assert [each.line for each in refused.value.problems] == [2]


async def test_a_worker_that_nobody_knows_is_a_problem() -> None:
    (verdict,) = await validate(SMALL, [ONE], NAMES, {"device_1": "08:00:27:00:00:09"})
    assert verdict.machine is None
    assert [str(each) for each in verdict.problems] == [
        "tasks[0].worker: hardware mentioned with reference 08:00:27:00:00:09 not found: push its hardware document first"
    ]


async def test_the_name_of_a_machine_is_answered_with_its_mac() -> None:
    (verdict,) = await validate(SMALL, [ONE, TWO], NAMES, {"device_1": "machine2"})
    assert str(verdict.problems[0]) == (
        "tasks[0].worker: hardware mentioned with reference machine2 not found: machine2 is the name of a machine: "
        "give its MAC 08:00:27:00:00:02"
    )
    doubled = replace(ONE, id="another")
    (verdict,) = await validate(SMALL, [ONE, doubled], NAMES, {"device_1": "machine1"})
    assert "push its hardware document first" in str(verdict.problems[0]), "several are called so"


async def test_a_value_that_is_no_machine_has_to_be_given() -> None:
    text = SMALL.replace("image: x", "image: {{ .image }}")
    (verdict,) = await validate(text, [ONE], NAMES)
    assert str(verdict.problems[0]).endswith(
        "placeholder image has no value: give it in the -r map, which has device_1"
    )
    (verdict,) = await validate(text, [ONE], NAMES, {"device_1": "08:00:27:00:00:01", "image": "x"})
    assert verdict.problems == ()


@pytest.mark.parametrize(
    "worker",
    [
        "{{ $.device_1 }}",
        "{{ $w := .device_1 }}{{ $w }}",
        "{{ with .device_1 }}{{ . }}{{ end }}",
        '{{ default "x" .device_1 }}',
        '{{ printf "%s" .device_1 }}',
        '{{ index . "device_1" }}',
        "{{ range (list .device_1 .device_2) }}{{ . }}{{ break }}{{ end }}",
        "{% set w = device_1 %}{{ w }}",
        '{% if true %}{{ [device_1, "x"][0] }}{% endif %}',
        '{% if true %}{{ "%s" | format(device_1) }}{% endif %}',
        "{% for d in [device_1] %}{{ d }}{% endfor %}",
    ],
)
async def test_every_machine_stands_for_a_worker_however_the_template_names_it(worker: str) -> None:
    text = SMALL.replace('"{{ .device_1 }}"', f"'{worker}'")
    assert worker in text
    assert [each.problems for each in await validate(text, [ONE, TWO], NAMES)] == [(), ()]
    assert (await validate(text, [], NAMES)).remarks.notes == ()


async def test_what_is_wrong_for_every_machine_is_said_once() -> None:
    with pytest.raises(Invalid, match="invalid template"):
        await validate(SMALL.replace("image: x", "imag: x"), [ONE, TWO], NAMES)
    with pytest.raises(Invalid, match="read as a Jinja2 template"):
        await validate("{% if x %}", [], NAMES)
    assert await validate(SMALL, [], NAMES) == []


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
        (verdict,) = await validate(text, [ONE], NAMES)
        assert verdict.problems == ()


MOUNTS = """\
services:
  - name: files
    worker: WORKER
    image: files
    volumes: ["/var/run/docker.sock:/docker.sock", "other:/data", "isos:/isos:rw"]
    mem_limit: 2g
    cpus: 4
    pids_limit: 1000
"""


@pytest.mark.parametrize("worker", ["provisioner", "172.30.0.1", "{{.provisioner}}"])
async def test_a_service_that_no_workflow_could_have_is_a_problem(worker: str) -> None:
    text = SMALL + MOUNTS.replace("WORKER", f'"{worker}"')
    (verdict,) = await validate(text, [ONE], NAMES)
    assert [each.key for each in verdict.problems] == [
        *["services[0].volumes"] * 3,
        "services[0].mem_limit",
        "services[0].cpus",
        "services[0].pids_limit",
    ]
    assert "services.volumes in its tinkbox.yaml names, one of isos" in verdict.problems[0].text
    # Also where there is no machine yet.
    with pytest.raises(Invalid) as refusal:
        await validate(text, [], NAMES)
    assert tuple(refusal.value.problems) == verdict.problems


async def test_a_service_on_a_machine_is_judged_as_one_there() -> None:
    text = SMALL + MOUNTS.replace("WORKER", '"08-00-27-00-00-02"')
    (verdict,) = await validate(text, [ONE, TWO], NAMES, {"device_1": "08:00:27:00:00:01"})
    assert verdict.problems == (), "neither services.volumes nor services.most_* are of a machine"


async def test_a_service_on_an_unknown_host_is_a_problem() -> None:
    text = SMALL + MOUNTS.replace("WORKER", '"08:00:27:00:00:09"')
    (verdict,) = await validate(text, [ONE], NAMES)
    (problem,) = verdict.problems
    assert (problem.key, "push its hardware document first" in problem.text) == ("services[0].worker", True)


async def test_what_is_ignored_is_told_with_and_without_machines() -> None:
    more = "image: x, args: [{{ index .Hardware.Disks 0 }}]"
    verdicts = await validate(DISK.replace("image: x", more), [ONE, TWO], NAMES)
    assert [each.key for each in verdicts.remarks.ignored] == ["tasks[0].actions[0].args"]
    assert [[one.key for one in each.ignored] for each in verdicts] == [["tasks[0].actions[0].args"], []]
    for known in ([], [ONE]):
        verdicts = await validate(SMALL.replace("image: x", "image: x, args: [a]"), known, NAMES)
        assert [each.key for each in verdicts.remarks.ignored] == ["tasks[0].actions[0].args"]
        assert [each.ignored for each in verdicts] == [verdicts.remarks.ignored] * len(known)


async def test_of_a_template_with_logic_and_no_machine_it_is_looked_at_what_it_makes_or_told_that_it_was_not() -> None:
    args = "image: x, args: [a], environment: {A: {{ upper .device_1 }}}"
    remarks = (await validate(SMALL.replace("image: x", args), [], NAMES)).remarks
    assert ([each.key for each in remarks.ignored], remarks.notes) == (["tasks[0].actions[0].args"], ())
    remarks = (await validate(DISK.replace("image: x", "image: x, args: [a]"), [], NAMES)).remarks
    assert ([each.key for each in remarks.ignored], remarks.notes) == (["tasks[0].actions[0].args"], ())
    (note,) = (await validate(DISK.replace("Disks 0", "Disks 99"), [], NAMES)).remarks.notes
    assert "no machine is registered and the template cannot be filled without one" in note.text
    assert not (await validate(SMALL.replace("image: x", "image: {{.image}}"), [], NAMES)).remarks.notes


async def test_without_a_machine_it_is_told_that_its_references_are_not_known() -> None:
    keys = "image: x, environment: {A: '{{ range $k, $v := .references.login }}{{ $k }}{{ end }}'}"
    told = [each.text for each in (await validate(SMALL.replace("image: x", keys), [], NAMES)).remarks.notes]
    assert "it is not known which Secrets and ConfigMaps there are in references" in told[0]
    assert not (await validate(SMALL, [], NAMES)).remarks.notes


async def test_a_workflow_with_nothing_to_do_is_a_problem() -> None:
    text = SMALL.replace("image: x", 'image: x, if: "false"')
    (verdict,) = await validate(text, [ONE], NAMES)
    assert [str(each) for each in verdict.problems] == ["the `if` of every action is false: there is nothing to do"]
    assert await validate(text, [], NAMES) == []


@pytest.mark.parametrize("spelled", ["08-00-27-00-00-01", "0800.2700.0001", "agent-1"])
async def test_a_machine_is_known_however_it_is_called(spelled: str) -> None:
    (verdict,) = await validate(SMALL, [ONE], NAMES, {"device_1": spelled})
    assert (verdict.machine, verdict.problems) == (ONE, ())


async def test_what_templates_can_say_of_many_machines_is_made_in_slices_and_in_memory_for_some(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pieces, data_of = list[int](), filling.rendering_data

    async def rendered(_: str, several: Sequence[object], *__: object, **___: object) -> list[Invalid]:
        pieces.append(len(several))
        return [Invalid("no")] * len(several)

    monkeypatch.setattr(filling, "render_each", rendered)
    async with turns() as made:

        def noted(
            devices: Mapping[str, str], machine: Hardware | None, workflow_id: str, marks_key: bytes
        ) -> dict[str, Any]:
            made.note()
            return data_of(devices, machine, workflow_id, marks_key)

        monkeypatch.setattr(filling, "rendering_data", noted)
        verdicts = await validate(SMALL, [ONE] * (2 * AT_ONCE + 1), NAMES)
    assert len(verdicts) == sum(made.each) == 2 * AT_ONCE + 1
    assert pieces == [AT_ONCE, AT_ONCE, 1]
    assert max(made.each) <= SLICE
