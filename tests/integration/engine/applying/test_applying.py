"""Files are applied once, in any order, all or none; and again without any change."""

import asyncio
import json
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.integration.engine.appliance import HELLO, Appliance, address, appliance, hardware, mac
from tests.integration.engine.applying.documents import (
    files,
    flow,
    machine,
    of_2020,
    outcomes,
    pruning,
    site,
    template,
)
from tinkbox.engine.applying import applying, reading
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.exporting import Asked, Kind
from tinkbox.engine.applying.reading import Reading
from tinkbox.engine.documents import kubernetes
from tinkbox.engine.machines.boot_plan import dhcp_plan
from tinkbox.engine.machines.changes import Change
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.engine.workflows import workflows
from tinkbox.engine.workflows.retention import Retainer
from tinkbox.model.documents.hardware import hardware_from_document, parse_hardware
from tinkbox.model.documents.kubernetes import identity
from tinkbox.model.errors import Conflict, Invalid, TooLarge
from tinkbox.model.hardware import namespace_of
from tinkbox.model.labels import LabelChange
from tinkbox.model.metadata import MAX_USER_DATA
from tinkbox.model.retention import Retention
from tinkbox.model.workflow import State
from tinkbox.store import declarations
from tinkbox.yaml_nodes import NodeReader, compose

STORED = Wish()
DRY = Wish(rehearsal=True)
IMAGES = {"hello-world": "sha256:1", "tools/second:v1": "sha256:2"}  # of HELLO
ABSENT = "is neither known nor in these files: give its document, or its new name where it was renamed"


async def apply(box: Appliance, *texts: str, wish: Wish = STORED) -> dict[str, str]:
    return outcomes(await box.applying.apply(files(*texts), wish, "ann"))


async def forget(box: Appliance) -> None:
    """Have the retainer delete every workflow that is over."""
    at_once = Retention(workflows=timedelta(0), newest=0)
    box.clock.forward(60)

    async def forgotten() -> None: ...

    await Retainer(box.store, box.wakeups, box.machines, box.clock, at_once, forgotten, lambda: 2**40).look()


async def problems(box: Appliance, *texts: str, wish: Wish = STORED) -> list[str]:
    with pytest.raises(Invalid) as refused:
        await apply(box, *texts, wish=wish)
    return [str(each) for each in refused.value.problems]


async def test_the_second_time_everything_is_unchanged(box: Appliance) -> None:
    first = await apply(box, site())
    assert set(first.values()) == {"created"}
    assert len(first) == 7
    assert set((await apply(box, site())).values()) == {"unchanged"}
    assert len(await box.workflows.all()) == 3


async def test_order_of_documents_and_files_does_not_matter(box: Appliance) -> None:
    assert set((await apply(box, flow(1), template(), machine(1))).values()) == {"created"}
    workflow = await box.workflows.get("install-1")
    assert workflow.template_id == (await box.templates.get("hello")).id
    assert await box.finish(workflow.workers()[0]) == ["hello_world", "second"]


async def test_a_finished_workflow_is_not_run_again(box: Appliance) -> None:
    await apply(box, site(1))
    await box.finish((await box.workflows.get("install-1")).workers()[0])
    assert (await apply(box, site(1)))["workflow/install-1"] == "unchanged"
    (only,) = await box.workflows.all()
    assert only.state is State.SUCCESS


async def test_a_workflow_that_is_forgotten_for_its_age_is_not_run_again(box: Appliance) -> None:
    await apply(box, site(1))
    await box.finish((await box.workflows.get("install-1")).workers()[0])
    await forget(box)
    assert not await box.workflows.all()
    assert (await apply(box, site(1)))["workflow/install-1"] == "unchanged"
    assert await apply(box, flow(1, labels="a: b")) == {"workflow/install-1": "unchanged"}
    # Another one of that name is what a person wants to run now.
    changed = flow(1).replace("hardwareRef: node1", "hardwareRef: ''")
    assert await apply(box, changed) == {"workflow/install-1": "created"}
    assert await apply(box, flow(1)) == {"workflow/install-1": "refused"}
    await box.workflows.delete("install-1")
    assert await apply(box, flow(1)) == {"workflow/install-1": "created"}


async def test_a_workflow_that_is_forgotten_is_not_run_again_under_the_new_name_of_its_machine(box: Appliance) -> None:
    await apply(box, site(1))
    await box.finish((await box.workflows.get("install-1")).workers()[0])
    await forget(box)
    await box.machine_changes.change("node1", Change(name="m2"))
    assert await apply(box, flow(1).replace("node1", "m2")) == {"workflow/install-1": "unchanged"}


async def test_of_workflows_that_are_forgotten_those_that_ended_last_are_known(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(declarations, "MOST_FORGOTTEN", 2)
    await apply(box, site(4))
    for number in (3, 1, 4, 2):
        box.clock.forward(60)
        await box.finish((await box.workflows.get(f"install-{number}")).workers()[0])
    await forget(box)
    assert not await box.workflows.all()
    again = await apply(box, site(4))
    assert {number: again[f"workflow/install-{number}"] for number in (3, 1, 4, 2)} == {
        3: "created",
        1: "created",
        4: "unchanged",
        2: "unchanged",
    }


async def test_a_workflow_that_a_person_deletes_is_run_again(box: Appliance) -> None:
    await apply(box, site(1))
    await box.finish((await box.workflows.get("install-1")).workers()[0])
    await forget(box)
    await apply(box, flow(1).replace("hardwareRef: node1", "hardwareRef: ''"))
    await box.workflows.delete("install-1")
    assert await apply(box, flow(1)) == {"workflow/install-1": "created"}


async def test_a_value_that_a_document_lacks_is_missing_in_its_hardware_map(box: Appliance) -> None:
    lacking = flow(1).replace("device_1:", "device_9:")
    with pytest.raises(Invalid) as refusal:
        await apply(box, machine(1), template(), lacking)
    (problem,) = refusal.value.problems
    assert problem.text.endswith("give it under spec.hardwareMap of the document, which has device_9")


async def test_a_changed_template_is_no_change_of_its_workflows(box: Appliance) -> None:
    await apply(box, site(1))
    changed = template(text=HELLO.replace("second", "third"))
    assert await apply(box, machine(1), changed, flow(1)) == {
        "hardware/node1": "unchanged",
        "template/hello": "configured",
        "workflow/install-1": "unchanged",
    }
    assert "third" in (await box.templates.get("hello")).data


async def test_a_changed_workflow_is_refused_and_everything_else_is_applied(box: Appliance) -> None:
    await apply(box, site(2))
    before = await box.workflows.get("install-1")
    applied = await box.applying.apply(files(flow(1, device=2), machine(1, rack="r2"), flow(2)), Wish(), "ann")
    assert outcomes(applied) == {
        "hardware/node1": "configured",
        "workflow/install-1": "refused",
        "workflow/install-2": "unchanged",
    }
    (refused,) = [each for each in applied.results if each.why]
    assert "its hardwareMap differs" in refused.why
    assert "leave its document as it was, or, to run it again, `tinkbox workflow cancel " in refused.why
    assert f"`tinkbox workflow delete {before.id[:8]}`" in refused.why
    assert await box.workflows.get("install-1") == before


async def test_a_workflow_made_from_a_file_before_is_the_same_workflow(box: Appliance) -> None:
    # As `workflow create -t -r` makes it: by hand, with the template's name for it.
    await box.machine(1)
    await box.templates.create("hello", HELLO)
    await box.workflows.create("hello", {"device_1": mac(1)})
    by_hand = flow(1, name="hello_world_workflow").replace("  hardwareRef: node1\n", "")
    assert await apply(box, by_hand) == {"workflow/hello_world_workflow": "unchanged"}
    assert await apply(box, by_hand.replace(mac(1), "10.0.0.1")) == {"workflow/hello_world_workflow": "refused"}


async def test_of_workflows_of_one_name_a_declared_one_counts_then_that_which_the_document_says(box: Appliance) -> None:
    await apply(box, machine(1), machine(2), machine(3), template())

    async def became(text: str) -> tuple[str, str]:
        (result,) = (await box.applying.apply(files(text), Wish(), "ann")).results
        return result.outcome, result.id

    name = "hello_world_workflow"
    _, same, newest = [await box.workflows.create("hello", {"device_1": mac(each)}) for each in (1, 1, 2)]
    assert await became(flow(1, name)) == ("unchanged", same)
    assert await became(flow(3, name)) == ("refused", newest), "none is as it says"
    _, declared = await became(flow(1))
    await box.workflows.create("hello", {"device_1": mac(2)}, name="install-1")
    assert await became(flow(1, device=2)) == ("refused", declared)


async def test_labels_that_are_declared_replace_and_others_stay(box: Appliance) -> None:
    await apply(box, site(1))
    await box.machines.label("node1", LabelChange(set=(("gpu", "no"),)))
    await box.templates.label("hello", LabelChange(set=(("os", "debian"),)))
    assert await apply(box, site(1)) == {
        "hardware/node1": "configured",
        "template/hello": "unchanged",
        "workflow/install-1": "unchanged",
    }
    assert box.machines.known.find("node1").hardware.labels == {"rack": "r1"}
    assert await apply(box, template(labels="os: ubuntu"), flow(1, labels="a: b")) == {
        "template/hello": "configured",
        "workflow/install-1": "configured",
    }
    assert await box.workflows.labels((await box.workflows.get("install-1")).id) == {"a": "b"}


async def test_a_change_of_labels_alone_does_not_begin_a_machines_boots_anew(box: Appliance) -> None:
    await apply(box, machine(1))
    pushed = box.machines.known.find("node1").updated_at
    box.clock.forward(60)
    assert await apply(box, machine(1, rack="r9")) == {"hardware/node1": "configured"}
    assert box.machines.known.find("node1").updated_at == pushed
    assert box.machines.known.find("node1").hardware.labels == {"rack": "r9"}


async def test_a_machine_that_a_workflow_lets_netboot_is_unchanged_afterwards(box: Appliance) -> None:
    documents = (machine(1, netboots=False), template(), flow(1, toggles=True))
    await apply(box, *documents)
    assert box.machines.known.find("node1").hardware.interfaces[0].allow_pxe
    assert set((await apply(box, *documents)).values()) == {"unchanged"}
    assert await apply(box, machine(1, netboots=False)) == {"hardware/node1": "unchanged"}
    assert await apply(box, machine(1, rack="r2", netboots=False)) == {"hardware/node1": "configured"}
    assert box.machines.known.find("node1").hardware.interfaces[0].allow_pxe
    assert box.machines.known.find("node1").hardware.labels == {"rack": "r2"}


async def test_a_workflow_lets_a_known_machine_netboot_and_its_labels_stay(box: Appliance) -> None:
    await apply(box, machine(1, netboots=False), template())
    await box.machines.label("node1", LabelChange(set=(("gpu", "no"),)))
    assert await apply(box, flow(1, toggles=True)) == {"workflow/install-1": "created"}
    hardware = box.machines.known.find("node1").hardware
    assert (hardware.interfaces[0].allow_pxe, hardware.labels) == (True, {"rack": "r1", "gpu": "no"})


async def test_machines_may_exchange_their_cards(box: Appliance) -> None:
    await apply(box, machine(1), machine(2))
    swapped = (machine(1, card=2), machine(2, card=1))
    assert await apply(box, *swapped) == {"hardware/node1": "configured", "hardware/node2": "configured"}
    assert box.machines.known.find(mac(1)).hardware.name == "node2"


async def test_hardware_of_2020_is_taken_in_json_and_in_yaml(box: Appliance) -> None:
    assert await apply(box, of_2020(1)) == {"hardware/machine-1": "created"}
    in_yaml = (
        "id: 00000000-0000-0000-0000-000000000002\nlabels: {rack: r7}\nnetwork: {interfaces: [{dhcp: {mac: '"
        + mac(2)
        + "'}}]}\n"
    )
    assert list((await apply(box, of_2020(1), in_yaml)).values()) == ["unchanged", "created"]
    assert box.machines.known.find(mac(2)).hardware.labels == {"rack": "r7"}


async def test_the_id_of_2020_in_capitals_is_the_same_id(box: Appliance) -> None:
    identity = "abcdefab-0000-0000-0000-000000000001"
    small = of_2020(1).replace("00000000-0000-0000-0000-000000000001", identity)
    assert list((await apply(box, small.replace(identity, identity.upper()))).values()) == ["created"]
    for text in (small.replace(identity, identity.upper()), small, small.replace(identity, identity.replace("-", ""))):
        assert list((await apply(box, text)).values()) == ["unchanged"]


async def test_a_machine_goes_from_2020s_format_to_todays_and_back_under_its_id(box: Appliance) -> None:
    ours = json.loads(of_2020(1))["id"]
    kept = machine(1).replace("{name: node1", f"{{name: node1, annotations: {{tinkbox.internal/id: {ours}}}")
    for text in (of_2020(1), kept, of_2020(1), kept):
        (outcome,) = (await apply(box, text)).values()
        assert outcome in ("created", "configured")
    assert [each.hardware.id for each in await box.machines.all()] == [ours]
    assert list((await apply(box, kept)).values()) == ["unchanged"]


async def test_every_problem_is_told_with_file_and_line_and_nothing_is_stored(box: Appliance) -> None:
    broken = machine(1).replace("mac: 08", "mac: zz").replace("netboot:", "netbot:")
    bad_template = template(text=HELLO.replace("image: hello-world", "imag: hello-world"))
    found = await problems(
        box, machine(2), broken, "kind: Templat\napiVersion: tinkerbell.org/v1alpha1\n", bad_template, flow(1)
    )
    assert [each.split(": ")[0] for each in found] == [
        "1.yaml:8, spec.interfaces[0].dhcp.mac",
        "2.yaml:1",
        "3.yaml:13, tasks[0].actions[0].image",
        "3.yaml:14, tasks[0].actions[0].imag",
    ]
    assert not await box.machines.all()
    assert not await box.templates.all()


async def test_what_is_ignored_is_told_whether_or_not_it_changes_and_refused_where_that_is_wanted(
    box: Appliance,
) -> None:
    odd = machine(1).replace("netboot:", "netbot:")
    more = template(text=HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]"))
    strict = replace(STORED, strict=True)
    with pytest.raises(Invalid) as refusal:
        await box.applying.apply(files(odd, more, flow(1)), strict, "ann")
    places = ["0.yaml:11, spec.interfaces[0].netbot", "1.yaml:15, tasks[0].actions[0].args"]
    assert [str(each).split(": ")[0] for each in refusal.value.problems] == places
    assert not await box.machines.all()
    told = (await box.applying.apply(files(odd, more, flow(1)), STORED, "ann")).notes
    assert [place for place in places if any(str(each).startswith(place) for each in told)] == places
    again = (await box.applying.apply(files(odd, more, flow(1)), STORED, "ann")).notes
    assert [str(each).split(": ")[0] for each in again] == places, "also of what does not change"
    for wish in (strict, replace(strict, rehearsal=True)):
        (found, *_) = await problems(box, more, wish=wish)
        assert found.startswith("0.yaml:15, tasks[0].actions[0].args: unknown key args")
        (found,) = await problems(box, flow(1), wish=wish)
        assert "spec.templateRef: template hello: line 10, tasks[0].actions[0].args: unknown key args" in found
    (note,) = (await box.applying.apply(files(flow(1)), STORED, "ann")).notes
    assert "template hello: line 10, tasks[0].actions[0].args: unknown key args" in str(note)
    third = await box.applying.apply(files(flow(1, name="other")), STORED, "ann")
    assert any(
        "spec.templateRef: template hello: line 10, tasks[0].actions[0].args" in str(each) for each in third.notes
    )
    (found,) = await problems(box, flow(1, name="third"), wish=strict)
    assert "spec.templateRef: template hello: line 10, tasks[0].actions[0].args: unknown key args" in found


async def test_user_data_that_cloud_init_could_not_use_is_told_or_refused_and_odd_is_told(box: Appliance) -> None:
    useless = machine(1) + "  userData: '#cloud-config\n\n    a: ['\n"
    (found,) = await problems(box, useless, wish=replace(STORED, strict=True))
    assert found.startswith("0.yaml:12, spec.userData: line 2 in it: not valid YAML")
    assert found in [str(each) for each in (await box.applying.apply(files(useless), STORED, "ann")).notes]
    odd = await box.applying.apply(files(machine(1) + "  userData: no user-data\n"), STORED, "ann")
    assert str(odd.notes[0]).startswith("0.yaml:12, spec.userData: line 1 in it: cloud-init ignores all of it")


async def test_user_data_of_2020_is_told_at_its_line(box: Appliance) -> None:
    document = json.loads(of_2020(1))
    document["metadata"] = {"instance": {"userdata": "#cloud-config\nruncmd: x\n"}}
    lines = json.dumps(document, indent=1).splitlines()
    (found,) = await problems(box, "\n".join(lines), wish=replace(STORED, strict=True))
    line = next(at for at, each in enumerate(lines, 1) if "userdata" in each)
    assert found.startswith(f"0.yaml:{line}, metadata.instance.userdata: line 2 in it, runcmd: expected a list")


async def test_user_data_of_v1alpha2_with_placeholders_is_not_checked_and_that_is_told(box: Appliance) -> None:
    text = f"""\
apiVersion: tinkerbell.org/v1alpha2
kind: Hardware
metadata: {{name: node1}}
spec:
  instance:
    userdata: |
      #cloud-config
      ssh_authorized_keys:
        - {{{{ .hardware.instance.sshKeys[0] }}}}
  networkInterfaces: {{"{mac(1)}": {{}}}}
"""
    applied = await box.applying.apply(files(text), STORED, "ann")
    assert outcomes(applied) == {"hardware/node1": "created"}
    (told,) = map(str, applied.notes)
    place = "0.yaml:6, spec.instance.userdata"
    assert told == f"{place}: its placeholders are not filled: it is served as it is, and was not checked"
    useless = text.replace("{{ .hardware.instance.sshKeys[0] }}", "[a")
    (found,) = await problems(box, useless, wish=replace(STORED, strict=True))
    assert "not valid YAML" in found
    large = text.replace("#cloud-config", f"#cloud-config {'x' * MAX_USER_DATA}")
    assert "KiB are served" in (await problems(box, large))[0]


async def test_references_to_nothing_are_told_each_at_its_place(box: Appliance) -> None:
    found = await problems(box, machine(1), flow(2), flow(1).replace("templateRef: hello", "templateRef: nope"))
    assert found == [
        f"1.yaml:5, spec.templateRef: template hello {ABSENT}",
        f"1.yaml:6, spec.hardwareRef: hardware node2 {ABSENT}",
        f"2.yaml:5, spec.templateRef: template nope {ABSENT}",
    ]
    first = template(text=HELLO.replace("{{.device_1}}", "{{ (index .hardware.interfaces 0).dhcp.mac }}"))
    assert await problems(box, first, flow(2)) == [f"1.yaml:6, spec.hardwareRef: hardware node2 {ABSENT}"]
    (found,) = await problems(box, flow(1).replace("templateRef: hello", "templateRef: {name: hello}"))
    assert found.startswith("0.yaml:5, spec.templateRef: ")
    assert not await box.templates.all()


async def test_a_reference_that_means_several_templates_is_told_as_such(box: Appliance) -> None:
    await apply(box, machine(1), template("a"), template("b"))
    several = (await box.templates.all())[0].id[:7]
    (found,) = await problems(box, flow(1).replace("templateRef: hello", f"templateRef: {several}"))
    assert f"0.yaml:5, spec.templateRef: template '{several}' is ambiguous: it fits 2" in found


async def test_what_is_referred_to_and_missing_is_told_beside_what_is_wrong(box: Appliance) -> None:
    broken, known = machine(1).replace("mac: 08", "mac: zz"), template()
    wrong = "0.yaml:8, spec.interfaces[0].dhcp.mac"
    missing = f"2.yaml:6, spec.hardwareRef: hardware node2 {ABSENT}"
    found = await problems(box, broken, known, flow(2), flow(1))
    assert [found[0].split(": ")[0], *found[1:]] == [wrong, missing], "what is wrong is declared all the same"
    found = await problems(box, broken.replace("hostname: node1", "hostname: node2"), known, flow(2))
    assert len(found) == 1, "it is meant by its hostname"
    unnamed = template().replace("name: hello", "name: hello, labels: [x]")
    found = await problems(box, broken, unnamed, flow(1), flow(2, labels="rollout: x"))
    assert [each.split(": ")[0] for each in found] == [wrong, "1.yaml:1", "3.yaml:3, metadata.labels"]
    for other in (
        "a: [",
        "kind: Hardwar\napiVersion: tinkerbell.org/v1\n",
        of_2020(2).replace('"mac": "08', '"mac": "zz'),
    ):
        found = await problems(box, other, known, flow(2))
        assert "neither known nor" not in "".join(found), "it may be there"
    await apply(box, machine(2), template())
    assert len(await problems(box, broken, flow(2))) == 1
    found = await problems(box, machine(3, card=2), flow(4))
    assert [each.split(": ")[0] for each in found] == ["0.yaml:1", "1.yaml:6, spec.hardwareRef"]


async def test_a_workflow_that_no_machine_is_there_for_undoes_everything(box: Appliance) -> None:
    found = await problems(box, template(), machine(1), flow(1, device=9))
    (told,) = found
    assert told.startswith(
        "2.yaml:5, spec.templateRef: template hello: tasks[0].worker: hardware mentioned with reference"
    )
    assert not await box.machines.all()
    assert not await box.templates.all()


async def test_what_is_declared_twice_is_refused(box: Appliance) -> None:
    found = await problems(box, machine(1), machine(1), template(), template(), flow(1), flow(1), machine(2, card=1))
    assert [each.partition(": ")[2] for each in found] == [
        "hardware node1 is declared a second time, the first is at 0.yaml:1",
        "template hello is declared a second time, the first is at 2.yaml:1",
        "workflow install-1 is declared a second time, the first is at 4.yaml:1",
        f"{mac(1)} is claimed by hardware node1 at 0.yaml:1 too: leave it to one of them",
    ]


async def test_of_two_of_one_name_in_one_file_the_last_counts_and_the_other_is_told(box: Appliance) -> None:
    texts = [machine(1), machine(1, card=2), template(text="x: ["), template(), flow(1, device=9), flow(1, device=2)]
    applied = await box.applying.apply(files("---\n".join(texts)), STORED, "ann")
    assert outcomes(applied) == {
        "hardware/node1": "created",
        "template/hello": "created",
        "workflow/install-1": "created",
    }
    assert box.machines.known.find("node1").hardware.interfaces[0].mac == mac(2)
    assert [str(each) for each in applied.notes if "declared again" in each.text] == [
        "0.yaml:3, metadata.name: hardware node1 is declared again at 0.yaml:13, which counts: this document is left out",
        "0.yaml:27, metadata.name: template hello is declared again at 0.yaml:32, which counts: this document is left out",
        "0.yaml:53, metadata.name: workflow install-1 is declared again at 0.yaml:59, which counts: this document is left out",
    ]
    found = await problems(box, "---\n".join(texts), wish=Wish(strict=True))
    assert [each for each in found if "declared again" in each] == [
        str(each) for each in applied.notes if "declared again" in each.text
    ]


async def test_a_template_without_a_text_is_left_out_and_only_its_workflow_fails(box: Appliance) -> None:
    textless = template(text="")
    applied = await box.applying.apply(files(textless, machine(1)), STORED, "ann")
    assert outcomes(applied) == {"hardware/node1": "created"}
    assert str(applied.notes[0]) == "0.yaml:5, spec.data: Template hello is left out: the text is required"
    (found,) = await problems(box, textless, flow(1))
    assert found == "1.yaml:5, spec.templateRef: template hello at 0.yaml:1 has no text, and is left out"
    await apply(box, template(labels="rack: r1"))
    assert await apply(box, textless, machine(1), flow(1), wish=pruning("rack=r1")) == {
        "hardware/node1": "unchanged",
        "workflow/install-1": "created",
    }, "the one that was stored before stays"


async def test_a_workflow_that_waits_is_left_out_and_the_rest_is_applied(box: Appliance) -> None:
    waiting = f"{flow(1)}  disabled: true\n"
    applied = await box.applying.apply(files(waiting, template(), machine(1)), STORED, "ann")
    assert outcomes(applied) == {"hardware/node1": "created", "template/hello": "created"}
    assert str(applied.notes[0]).startswith(
        "0.yaml:8, spec.disabled: Workflow install-1 is left out: a workflow cannot"
    )
    (found,) = await problems(box, waiting)
    assert "is left out" in found


DISABLED = [
    (f"{flow(1)}  disabled: true\n", "0.yaml:8, spec.disabled", "disabled"),
    (
        flow(1).replace("{name: install-1", "{name: install-1, annotations: {tinkerbell.org/disabled: ''}"),
        "0.yaml:3, metadata.annotations",
        "the annotation tinkerbell.org/disabled",
    ),
]


@pytest.mark.parametrize(("waiting", "place", "what"), DISABLED)
@pytest.mark.parametrize("beside", [[], [machine(2)]])
async def test_a_workflow_that_is_not_over_cannot_be_disabled(
    box: Appliance, waiting: str, place: str, what: str, beside: list[str]
) -> None:
    """It is refused, with or without other documents, until the workflow is over."""
    await apply(box, template(), machine(1), flow(1))
    short = (await box.workflows.get("install-1")).id[:8]
    for wish in (STORED, DRY, Wish(strict=True)):
        (found,) = await problems(box, waiting, *beside, wish=wish)
        assert found == (
            f"{place}: workflow {short} of this name is there and not over, and it cannot be held back: `tinkbox workflow cancel "
            f"{short}` if it is not to run, or give its document without {what}"
        )
    await box.workflows.cancel("install-1", "ann")
    assert await apply(box, waiting, machine(3)) == {"hardware/node3": "created"}


async def test_only_the_workflow_that_a_document_means_keeps_it_from_being_disabled(box: Appliance) -> None:
    await apply(box, template(), machine(1), machine(2), flow(1))
    elsewhere = flow(1).replace("{name: install-1", "{name: install-1, namespace: lab")
    assert await apply(box, f"{elsewhere}  disabled: true\n", machine(1)) == {"hardware/node1": "unchanged"}
    await box.workflows.create("hello", {"device_1": mac(2)}, name="by-hand")
    assert await apply(box, f"{flow(1, 'by-hand')}  disabled: true\n", machine(1)) == {"hardware/node1": "unchanged"}
    (found,) = await problems(box, f"{flow(2, 'by-hand')}  disabled: true\n", machine(1))
    assert "is there and not over" in found


def of(time: str, document: str) -> str:
    return document.replace("metadata: {", f"metadata: {{creationTimestamp: {time}, ")


async def test_new_workflows_are_made_in_the_order_of_their_creation_elsewhere(box: Appliance) -> None:
    """As `kubectl get -o yaml` prints them, by their names; those without a time come last, as they stand."""
    times = {
        "a": "null",
        "b": "2026-05-04T12:30:00Z",
        "c": '"2026-05-04T14:00:00+02:00"',  # 12:00 UTC
        "d": "2026-05-04T12:30:00.000001Z",
        "e": "2026-05-04T12:30:00Z",
        "0": '""',
    }
    documents = [of(time, flow(1, name)) for name, time in times.items()]
    made = await apply(box, template(), machine(1), "---\n".join(documents))
    assert list(made)[2:] == [f"workflow/{each}" for each in "cbeda0"]
    there = await box.store.read(lambda tables: tables.declarations.unfinished())
    assert [each.name for each in there] == list("cbeda0")


async def test_a_creation_time_is_no_change(box: Appliance) -> None:
    time, later = "2026-05-04T12:30:00Z", "2026-05-04T12:40:00Z"
    box.registry = IMAGES
    site_of_then = [of(time, each) for each in (template(), machine(1), flow(1))]
    applied = await box.applying.apply(files(*site_of_then), Wish(strict=True), "ann")
    assert (set(outcomes(applied).values()), applied.notes) == ({"created"}, [])
    for again in (site_of_then, [of(later, each) for each in (template(), machine(1), flow(1))], [flow(1)]):
        assert set((await apply(box, *again)).values()) == {"unchanged"}


@pytest.mark.parametrize("time", ["yesterday", "2026-05-04", "2026-05-04T12:30:00", "17", "{}"])
async def test_a_creation_time_that_is_none_is_refused(box: Appliance, time: str) -> None:
    (found,) = await problems(box, of(time, flow(1)), template(), machine(1))
    assert found.startswith("0.yaml:3, metadata.creationTimestamp: '")
    assert found.endswith("is no time: leave it out, or write it as 2026-05-04T12:30:00Z")


async def test_what_another_machine_has_is_refused_by_its_name(box: Appliance) -> None:
    await apply(box, machine(1))
    (found,) = await problems(box, machine(2, card=1))
    node1 = box.machines.known.find("node1").hardware.id
    assert found == (
        f"0.yaml:1: {mac(1)} belongs to machine node1 already: `tinkbox hardware get node1` shows it. To rename it, give the "
        f"document its id, under metadata: `annotations: {{tinkbox.internal/id: {node1}}}`. If it is another machine, `tinkbox "
        "hardware delete node1` first"
    )


async def test_a_machine_renamed_in_its_file_is_renamed_by_what_the_problem_says(box: Appliance) -> None:
    await apply(box, machine(1))
    renamed = machine(1).replace("{name: node1", "{name: node9")
    (found,) = await problems(box, renamed)
    assert f"{mac(1)} and 172.30.0.11 belong to machine node1 already" in found
    annotations = found.partition("under metadata: `")[2].partition("`")[0]
    assert await apply(box, renamed.replace("node9,", f"node9, {annotations},")) == {"hardware/node9": "configured"}
    assert len(box.machines.known.all()) == 1


@pytest.mark.parametrize(("theirs", "ours"), [("lab", ""), ("", "lab"), ("lab", "prod")])
async def test_the_namesake_in_another_namespace_is_told_with_what_means_it(
    box: Appliance, theirs: str, ours: str
) -> None:
    def within(namespace: str, more: str = "") -> str:
        return machine(1).replace("{name", f"{{{f'namespace: {namespace}, ' if namespace else ''}{more}name")

    await apply(box, within(theirs))
    node1, there, here = box.machines.known.find("node1").hardware.id, theirs or "default", ours or "default"
    (found,) = await problems(box, within(ours))
    annotations = f"annotations: {{tinkbox.internal/id: {node1}}}"
    assert found == (
        f"0.yaml:1: {mac(1)} and 172.30.0.11 belong to machine node1 already: `tinkbox hardware get node1` shows it. That "
        f"machine is in namespace {there}, the document in namespace {here}. If it is the same machine, write `namespace: "
        f"{there}` into the document, under metadata, or, to move it to namespace {here}, `{annotations}`. If it is another "
        "machine, `tinkbox hardware delete node1` first"
    )
    assert await apply(box, within(there)) == {"hardware/node1": "unchanged"}
    assert await apply(box, within(ours, f"{annotations}, ")) == {"hardware/node1": "configured"}
    assert namespace_of(box.machines.known.find("node1").hardware) == here
    (found,) = await problems(box, within("third"))
    assert (
        f"is in namespace {here}, the document in namespace third. If it is the same machine, give the document"
        in found
    )


async def test_of_two_of_one_name_the_other_is_told_by_its_id_and_namespace(box: Appliance) -> None:
    await apply(box, machine(1), machine(2).replace("{name: node2", "{namespace: lab, name: node1"))
    (first,) = (each.hardware.id for each in box.machines.known.all() if namespace_of(each.hardware) == "default")
    (found,) = await problems(box, machine(2, card=1).replace("{name: node2", "{namespace: lab, name: node1"))
    assert found.endswith(
        f": `tinkbox hardware get {first}` shows it. That machine is in namespace default, the document in namespace lab. "
        f"Leave it to one of the two, or `tinkbox hardware delete {first}` first"
    )


async def test_a_2020_document_with_another_id_is_told_the_id_of_the_machine(box: Appliance) -> None:
    await apply(box, machine(1))
    node1 = box.machines.known.find("node1").hardware.id
    (found,) = await problems(box, of_2020(1))
    assert f'. Where it is the same machine, give the document its id: `"id": "{node1}"`. If' in found


async def test_the_document_of_todays_format_of_a_machine_of_2020_is_told_its_id_and_no_other_name(
    box: Appliance,
) -> None:
    await apply(box, of_2020(1))
    ours = json.loads(of_2020(1))["id"]
    (found,) = await problems(box, machine(1).replace("{name: node1", "{name: machine-1"))
    assert "rename" not in found
    asked = f"annotations: {{tinkbox.internal/id: {ours}}}"
    assert f". If it is the same machine, give the document its id, under metadata: `{asked}`. If" in found
    same = machine(1).replace("{name: node1", f"{{name: machine-1, {asked}")
    assert await apply(box, same) == {"hardware/machine-1": "configured"}


async def test_two_machines_that_want_one_address_or_one_card_are_told_apart_from_one_renamed(box: Appliance) -> None:
    await apply(box, machine(1), machine(2))
    (address,) = await problems(box, machine(3).replace("172.30.0.13", "172.30.0.11"))
    (card,) = await problems(box, machine(2, card=1))
    ending = "Leave it to one of the two, or `tinkbox hardware delete node1` first"
    assert address == (
        f"0.yaml:1: 172.30.0.11 belongs to machine node1 already: `tinkbox hardware get node1` shows it. {ending}"
    )
    assert card.endswith(ending)


async def test_the_card_of_a_machine_with_work_does_not_change(box: Appliance) -> None:
    await apply(box, site(1))
    (found,) = await problems(box, machine(1, card=8))
    assert "is not over and knows machine node1 by its MACs" in found
    node1 = box.machines.known.find("node1").hardware.id
    await apply(box, machine(2).replace("name: node2, ", "name: node1, namespace: lab, "))
    (found,) = await problems(box, machine(1, card=8))
    assert f"`tinkbox hardware edit {node1} --force`" in found


async def test_a_persons_word_that_disks_may_be_wiped_goes_to_the_workflows(box: Appliance) -> None:
    await apply(box, site(1))
    await apply(box, machine(2), flow(2), wish=Wish(confirm_wipe=True))
    confirmed = {each.name: each.wipe_confirmed for each in await box.workflows.all()}
    assert confirmed == {"install-1": False, "install-2": True}


async def test_a_rehearsal_says_the_same_and_stores_nothing(box: Appliance) -> None:
    assert set((await apply(box, site(), wish=DRY)).values()) == {"created"}
    assert (await box.machines.all(), await box.templates.all(), await box.workflows.all()) == ([], [], [])
    assert not box.machines.known.all()
    with pytest.raises(Invalid, match="nothing was applied"):
        await apply(box, template(), machine(1), flow(1, device=9), wish=DRY)


async def test_two_who_apply_the_same_at_once_make_everything_once(box: Appliance) -> None:
    async with asyncio.TaskGroup() as both:
        one, other = (both.create_task(apply(box, site())) for _ in range(2))
    assert {frozenset(each.result().values()) for each in (one, other)} == {
        frozenset({"created"}),
        frozenset({"unchanged"}),
    }
    assert len(await box.workflows.all()) == 3


async def test_a_workflow_that_is_deleted_meanwhile_is_made_after_all(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await apply(box, site(1))
    prepare, times = box.applying._prepared, []

    async def prepared_before(*arguments: Any) -> Any:
        ready = await prepare(*arguments)
        if not times:
            await box.workflows.delete("install-1")
        times.append(ready[0])
        return ready

    monkeypatch.setattr(box.applying, "_prepared", prepared_before)
    assert (await apply(box, site(1), machine(2)))["workflow/install-1"] == "created"
    assert [len(each) for each in times] == [0, 1]


async def test_what_changes_nothing_waits_for_no_writer(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    await apply(box, site(2), machine(5))

    async def written(_: object) -> None:
        raise AssertionError("nothing is to be written")

    with monkeypatch.context() as context:
        context.setattr(box.store, "write", written)
        assert set((await apply(box, site(2))).values()) == {"unchanged"}
        rehearsed = await apply(box, site(3), template("new"), wish=replace(pruning("rack=r1"), rehearsal=True))
        with pytest.raises(AssertionError):
            await apply(box, site(3))
    changed = {"hardware/node3", "workflow/install-3", "template/new"}
    assert {name for name, outcome in rehearsed.items() if outcome == "created"} == changed
    assert rehearsed["hardware/node5"] == "pruned"
    assert await apply(box, site(3), template("new"), wish=pruning("rack=r1")) == rehearsed


async def test_a_rehearsal_refuses_what_would_be_refused(box: Appliance) -> None:
    """Of machines that retire, leave, or give their card away, whether their documents are among those or not."""
    await apply(box, template(), machine(1), machine(2), machine(3))
    await box.departures.retire("node1", "ann")
    documents = (machine(2, card=4), machine(1, card=2), flow(1, device=2), flow(2, "moved", 4), flow(3, "gone", 1))
    rehearsed = await problems(box, *documents, wish=DRY)
    assert rehearsed == await problems(box, *documents)
    assert len(rehearsed) == 2
    assert "machine node1 is retired since" in rehearsed[0]
    assert "hardware mentioned with reference 08:00:27:00:00:01 not found" in rehearsed[1]
    selected = replace(pruning("rack=r1"), rehearsal=True)
    told = await problems(box, template(), machine(1), flow(3), wish=selected)
    assert "hardware node3 is neither known nor in these files" not in told[0]
    assert "machine node3 would be pruned, and this workflow needs it" in told[0]
    assert told == await problems(box, template(), machine(1), flow(3), wish=pruning("rack=r1"))


async def test_pruning_deletes_what_is_selected_and_in_no_file(box: Appliance) -> None:
    await apply(
        box, machine(1), machine(2), machine(3, rack="r2"), template("old", labels="rack: r1"), template("other")
    )
    applied = await apply(box, machine(1), wish=pruning("rack=r1"))
    assert applied == {"hardware/node1": "unchanged", "hardware/node2": "pruned", "template/old": "pruned"}
    assert sorted(each.hardware.name for each in box.machines.known.all()) == ["node1", "node3"]
    assert [each.name for each in await box.templates.all()] == ["other"]


@pytest.mark.parametrize("group", ["tinkerbel.org", "example.com"])
async def test_nothing_is_pruned_that_a_document_names_which_is_left_out(box: Appliance, group: str) -> None:
    head = "apiVersion: tinkerbell.org/v1alpha1\nkind: WorkflowRuleSet\n"
    rules = f"{head}metadata: {{name: all, labels: {{rack: r1}}}}\nspec: {{rules: []}}\n"
    before = (machine(1), machine(2), template("old", labels="rack: r1"), rules)
    await apply(box, *before)
    older = json.dumps({"id": hardware(5)["id"], "network_ports": []})
    await apply(box, json.dumps({**hardware(5), "labels": {"rack": "r1"}}))
    left_out = [each.replace("tinkerbell.org", group) for each in before[1:]]
    assert await apply(box, machine(1), *left_out, older, wish=pruning("rack=r1")) == {"hardware/node1": "unchanged"}
    renamed = machine(7).replace(
        "{name: node7", f"{{name: node7, annotations: {{tinkbox.internal/id: {identity('', 'node2')}}}"
    )
    left_out[0] = renamed.replace("tinkerbell.org", group)
    assert await apply(box, machine(1), *left_out, older, wish=pruning("rack=r1")) == {"hardware/node1": "unchanged"}
    elsewhere = [each.replace("{name: ", "{namespace: lab, name: ") for each in left_out[1:]]
    pruned = await apply(box, machine(1), *elsewhere, wish=pruning("rack=r1"))
    assert sorted(name for name, outcome in pruned.items() if outcome == "pruned") == [
        "hardware/machine-5",
        "hardware/node2",
        "template/old",
        "workflowruleset/all",
    ]


async def test_a_near_miss_of_a_group_is_refused_where_its_reader_is_strict(box: Appliance) -> None:
    slip = machine(2).replace("tinkerbell.org", "tinkerbel.org")
    (told,) = await problems(box, machine(1), slip, wish=Wish(strict=True))
    assert told.startswith(
        "1.yaml:1, apiVersion: Hardware node2 of tinkerbel.org/v1alpha1 is not Tinkerbell's, and is left out; did"
    )
    foreign = machine(2).replace("tinkerbell.org", "example.com")
    assert await apply(box, machine(1), foreign, wish=Wish(strict=True)) == {"hardware/node1": "created"}


async def test_what_is_pruned_is_told_in_the_order_of_names(box: Appliance) -> None:
    await apply(box, "---\n".join(map(machine, (10, 2, 1, 3))))
    for name in ("t10", "t9"):
        await apply(box, template(name, labels="rack: r1"))
    applied = await apply(box, machine(1), wish=replace(pruning("rack=r1"), rehearsal=True))
    assert list(applied)[1:] == ["hardware/node2", "hardware/node3", "hardware/node10", "template/t9", "template/t10"]


async def test_a_large_file_is_read_in_parts_and_its_problems_have_their_lines(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kubernetes, "PART", 500)
    monkeypatch.setattr(kubernetes, "MAX_DOCUMENT", 600)
    text = "---\n" + site(9)
    assert len(text) > 8 * 600
    broken = text.replace("mac: 08:00:27:00:00:08", "mac: zz").replace("imag", "imeg")
    lines = broken.splitlines()
    found = await problems(box, broken)
    places = [int(each.partition(",")[0].removeprefix("0.yaml:")) for each in found]
    assert [lines[place - 1].strip() for place in places][:3] == [
        "mac: zz",
        '- name: "hello_world"',
        "imege: hello-world",
    ]
    assert set((await apply(box, text)).values()) == {"created"}
    assert set((await apply(box, text)).values()) == {"unchanged"}
    found = await problems(box, text, template("big", HELLO + "#" * 600), machine(5))
    assert "1 KiB" in found[0] or "in one document" in found[0]
    assert found[-1].endswith(
        f"the first is at 0.yaml:{lines.index('metadata: {name: node5, labels: {rack: r1}}') - 1}"
    )


async def test_pruning_keeps_a_machine_that_is_in_use_and_says_so(box: Appliance) -> None:
    await apply(box, site(2))
    applied = await box.applying.apply(files(machine(1)), pruning("rack=r1"), "ann")
    assert outcomes(applied) == {"hardware/node1": "unchanged", "hardware/node2": "kept"}
    assert "is not over and needs it" in applied.results[-1].why
    assert box.machines.known.find("node2")


async def test_no_more_is_pruned_than_was_agreed_to(box: Appliance) -> None:
    await apply(box, machine(1), machine(2), machine(3))
    node2 = box.machines.known.find("node2").hardware.id
    with pytest.raises(Conflict, match="node3 would be pruned too by now"):
        await apply(box, machine(1), machine(4), wish=pruning("rack=r1", {node2: None}))
    assert len(box.machines.known.all()) == 3


async def test_what_was_made_anew_since_it_was_agreed_to_is_not_pruned(box: Appliance) -> None:
    """The id of a machine comes of its name, so the new one has that of the one that was shown."""
    await apply(box, machine(1), machine(2), template("old", labels="rack: r1"))
    shown = await box.applying.apply(files(machine(1)), replace(pruning("rack=r1"), rehearsal=True), "ann")
    agreed = {each.id: each.created_at for each in shown.results if each.created_at is not None}
    assert len(agreed) == 2
    await box.departures.delete("node2", "bob")
    box.clock.forward(1)
    await apply(box, machine(2, card=9))
    await box.templates.delete("old")
    await apply(box, template("old", labels="rack: r1"))
    with pytest.raises(Conflict, match="node2, old would be pruned too by now, and that was not agreed to"):
        await apply(box, machine(1), wish=pruning("rack=r1", agreed))
    assert box.machines.known.find(mac(9)).hardware.name == "node2"
    shown = await box.applying.apply(files(machine(1)), replace(pruning("rack=r1"), rehearsal=True), "ann")
    agreed = {each.id: each.created_at for each in shown.results if each.created_at is not None}
    await box.templates.update("old", data=HELLO + "# changed\n")
    pruned = await apply(box, machine(1), wish=pruning("rack=r1", agreed))
    assert (pruned["hardware/node2"], pruned["template/old"]) == ("pruned", "pruned")


@pytest.mark.parametrize("rehearsal", [False, True])
async def test_a_changed_name_is_refused_also_where_the_old_machine_would_be_pruned(
    box: Appliance, rehearsal: bool
) -> None:
    await apply(box, machine(1), machine(3))
    wish = replace(pruning("rack=r1"), rehearsal=rehearsal)
    (told,) = await problems(box, machine(2, card=1), machine(3), wish=wish)
    with_id = f"annotations: {{tinkbox.internal/id: {identity('', 'node1')}}}"
    assert told == (
        f"0.yaml:1: {mac(1)} belongs to machine node1 already: `tinkbox hardware get node1` shows it. To rename it, give the "
        f"document its id, under metadata: `{with_id}`. If it is another machine, `tinkbox hardware delete node1` first"
    )
    renamed = machine(2, card=1).replace("{name: node2", f"{{name: node2, {with_id}")
    assert await apply(box, renamed, machine(3), wish=pruning("rack=r1")) == {
        "hardware/node2": "configured",
        "hardware/node3": "unchanged",
    }
    assert box.machines.known.find(mac(1)).hardware.id == identity("", "node1")


async def test_a_changed_namespace_is_refused_also_where_the_old_machine_would_be_pruned(box: Appliance) -> None:
    await apply(box, machine(1))
    (told,) = await problems(box, machine(1).replace("{name:", "{namespace: a, name:"), wish=pruning("rack=r1"))
    assert "That machine is in namespace default, the document in namespace a" in told


async def test_a_pruned_machine_leaves_its_card_to_a_known_one_and_its_address_to_any(box: Appliance) -> None:
    await apply(box, machine(1), machine(2))
    moved = machine(2, card=1).replace(address(2), address(1))
    assert await apply(box, moved, wish=pruning("rack=r1")) == {
        "hardware/node2": "configured",
        "hardware/node1": "pruned",
    }
    assert box.machines.known.find(mac(1)).hardware.name == "node2"
    fresh = machine(5).replace(address(5), address(1))
    assert (await apply(box, fresh, wish=pruning("rack=r1")))["hardware/node5"] == "created"


@pytest.mark.parametrize("kind", ["List", "HardwareList"])
async def test_machines_in_lists_within_lists_are_applied_and_not_pruned(box: Appliance, kind: str) -> None:
    head = "tinkerbell.org/v1alpha1" if kind == "HardwareList" else "v1"
    documents = [yaml.safe_load(machine(each)) for each in (1, 2, 3)]
    await apply(box, json.dumps(documents))
    inner = {"apiVersion": head, "kind": kind, "items": documents[2:]}
    nested = {"apiVersion": "v1", "kind": "List", "items": [documents[0], inner]}
    assert await apply(box, json.dumps(nested), wish=replace(pruning("rack=r1"), strict=True)) == {
        "hardware/node1": "unchanged",
        "hardware/node3": "unchanged",
        "hardware/node2": "pruned",
    }


async def test_what_stands_in_a_document_that_is_left_out_is_not_pruned(box: Appliance) -> None:
    documents = [yaml.safe_load(machine(each)) for each in (1, 2, 3)]
    old = hardware(5)
    await apply(box, json.dumps([*documents, {**old, "labels": {"rack": "r1"}}]))
    other = [
        {"apiVersion": "v1", "kind": "list", "items": [documents[1]]},
        {"apiVersion": "x.example.com/v1", "kind": "Object", "spec": {"manifest": documents[2], "other": [old]}},
    ]
    given = machine(1), json.dumps(other)
    assert await apply(box, *given, wish=pruning("rack=r1")) == {"hardware/node1": "unchanged"}
    assert set(await apply(box, machine(1), wish=pruning("rack=r1"))) == {
        "hardware/node1",
        "hardware/node2",
        "hardware/node3",
        "hardware/machine-5",
    }


@pytest.mark.parametrize("rehearsal", [False, True])
async def test_a_workflow_for_a_machine_that_would_be_pruned_is_refused_with_the_reason(
    box: Appliance, rehearsal: bool
) -> None:
    await apply(box, machine(1), template())
    (found,) = await problems(box, template(), flow(1), wish=replace(pruning("rack=r1"), rehearsal=rehearsal))
    assert found == (
        "1.yaml:6, spec.hardwareRef: machine node1 would be pruned, and this workflow needs it: give its document as well, "
        "leave this one out, or have --prune select others"
    )
    assert box.machines.known.find("node1")
    assert await box.workflows.all() == []


@pytest.mark.parametrize("rehearsal", [False, True])
async def test_a_workflow_of_a_template_that_would_be_pruned_is_refused_with_the_reason(
    box: Appliance, rehearsal: bool
) -> None:
    await apply(box, machine(1), machine(2), template(labels="rack: r1"))
    wish = replace(pruning("rack=r1"), rehearsal=rehearsal)
    (found,) = await problems(box, machine(1), flow(1), wish=wish)
    assert found == (
        "1.yaml:5, spec.templateRef: template hello would be pruned, and this workflow needs it: give its document as well, "
        "leave this one out, or have --prune select others"
    )
    assert box.machines.known.find("node2")
    assert ([each.name for each in await box.templates.all()], await box.workflows.all()) == (["hello"], [])


@pytest.mark.parametrize("rehearsal", [False, True])
async def test_nothing_is_pruned_that_a_workflow_needs_which_is_there_already(box: Appliance, rehearsal: bool) -> None:
    """By the id of the template, and an address: the same documents would be refused by another appliance."""
    await apply(box, machine(1), machine(2), template(labels="rack: r1"))
    (stored,) = await box.templates.all()
    documents = (machine(1), flow(1, device=2).replace("templateRef: hello", f"templateRef: {stored.id[:9]}"))
    await apply(box, *documents)
    (made,) = await box.workflows.all()
    await box.workflows.cancel(made.id)
    found = await problems(box, *documents, wish=replace(pruning("rack=r1"), rehearsal=rehearsal))
    assert [each.partition(", and this")[0] for each in found] == [
        "1.yaml:5, spec.templateRef: template hello would be pruned",
        "1.yaml:5, spec: machine node2 would be pruned",
    ]
    assert len(box.machines.known.all()) == 2
    pruned = await apply(box, machine(1), wish=pruning("rack=r1"))
    assert [name for name, outcome in pruned.items() if outcome == "pruned"] == ["hardware/node2", "template/hello"]


async def test_a_template_that_a_document_began_to_need_meanwhile_is_not_pruned(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Between the look and the transaction the template was given the label."""
    await apply(box, machine(1), machine(2), template())
    carry_out = box.applying._carry_out

    async def labelled_first(*parts: Any) -> Any:
        await box.templates.label("hello", LabelChange(set=(("rack", "r1"),)))
        return await carry_out(*parts)

    monkeypatch.setattr(box.applying, "_carry_out", labelled_first)
    (found,) = await problems(box, machine(1), flow(1), wish=pruning("rack=r1"))
    assert "template hello would be pruned" in found
    assert (len(box.machines.known.all()), await box.workflows.all()) == (2, [])


async def test_a_pruned_machine_comes_back_when_another_problem_refuses_all(box: Appliance) -> None:
    await apply(box, machine(1), template())
    with pytest.raises(Invalid):
        await apply(box, machine(2), flow(2, device=1), wish=pruning("rack=r1"))
    assert box.machines.known.find("node1")


async def test_what_was_applied_is_unchanged_after_a_restart(tmp_path: Path) -> None:
    async with appliance(tmp_path / "db") as box:
        await apply(box, site())
        numbers = box.numbers
    async with appliance(tmp_path / "db", numbers=numbers) as box:
        assert set((await apply(box, site())).values()) == {"unchanged"}


async def test_a_death_before_the_commit_leaves_nothing(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    def die(*_: object) -> None:
        raise RuntimeError("killed")

    monkeypatch.setattr(box.applying, "_let_netboot", die)  # behind the first workflow that is stored
    with pytest.raises(RuntimeError):
        await apply(box, site())
    monkeypatch.undo()
    assert (await box.templates.all(), await box.workflows.all()) == ([], [])
    assert set((await apply(box, site())).values()) == {"created"}


async def test_a_document_of_a_renamed_machines_old_name_is_refused(box: Appliance) -> None:
    await apply(box, machine(1))
    hardware = box.machines.known.find("node1").hardware
    renamed = {
        **hardware.document,
        "metadata": {"name": "node7", "annotations": {"tinkbox.internal/id": hardware.id}},
    }
    await box.machines.push(parse_hardware(json.dumps(renamed)))
    (found,) = await problems(box, machine(1))
    assert found.startswith("0.yaml:3, metadata.name: machine node7 was called node1 before")


async def test_two_names_of_one_machine_are_told_from_a_second_declaration(box: Appliance) -> None:
    await apply(box, machine(1))
    its_id = box.machines.known.find("node1").hardware.id
    renamed = machine(7, card=1).replace(
        "{name: node7", f"{{name: node7, annotations: {{tinkbox.internal/id: {its_id}}}"
    )
    again = renamed.replace("{name: node7", "{name: node8")
    for texts in ((renamed, machine(1)), (machine(1), renamed)):
        (found,) = await problems(box, *texts)
        former = texts.index(machine(1))
        assert found == (
            f"{1 - former}.yaml:3, metadata.name: machine node7 was called node1 before, as {former}.yaml:1 still calls it: "
            f"delete {former}.yaml"
        )
    (found,) = await problems(box, f"{template()}---\n{machine(1)}", renamed)
    assert found.endswith("still calls it: delete that document in 0.yaml")
    (found,) = await problems(box, renamed, again)
    assert "hardware node8 has the id of node7 at 0.yaml:1: it is one machine that was renamed" in found
    (found,) = await problems(box, of_2020(1), of_2020(1).replace("machine-1", "node9"))
    assert "has the id of" in found
    moved = machine(1).replace(
        "{name: node1", f"{{name: node1, namespace: a, annotations: {{tinkbox.internal/id: {its_id}}}"
    )
    for texts in ((moved, machine(1)), (machine(1), moved)):
        (found,) = await problems(box, *texts)
        former = texts.index(machine(1))
        assert found == (
            f"{1 - former}.yaml:3, metadata.name: machine node1 was in namespace default before, as {former}.yaml:1 still has it: "
            f"delete {former}.yaml"
        )
    (found,) = await problems(box, moved, moved.replace("namespace: a", "namespace: b"))
    assert "it is one machine that was moved. Delete the document of the namespace that it is in no more" in found


async def test_a_mac_of_no_card_is_told_at_its_line(box: Appliance) -> None:
    done = await box.applying.apply(files(machine(1).replace(mac(1), "ff:ff:ff:ff:ff:ff")), STORED, "ann")
    assert any("dhcp.mac: ff:ff:ff:ff:ff:ff is the address of no network card" in str(each) for each in done.notes)


async def test_only_documents_of_others_are_no_documents(box: Appliance) -> None:
    with pytest.raises(
        Invalid, match=r"no documents in it that can be applied: kind Hardware, .*WorkflowRuleSet, .*hardware of 2020"
    ):
        await apply(box, "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", wish=pruning("rack=r1"))


def retired(text: str, reason: str = "no disk") -> str:
    """The document of a machine that is out of service."""
    if text.startswith("{"):
        return json.dumps({**json.loads(text), "retired": reason})
    return text.replace("metadata: {", f"metadata: {{annotations: {{tinkbox.internal/retired: '{reason}'}}, ")


async def test_documents_retire_machines_and_leave_them_retired(box: Appliance) -> None:
    await apply(box, machine(1), of_2020(2), machine(4))
    await box.machines.label("node4", LabelChange(set=(("gpu", "a100"),)))
    gone = (
        retired(machine(1)),
        retired(of_2020(2), ""),
        retired(machine(3)),
        retired(machine(4), "old").replace(", labels: {rack: r1}", ""),
    )
    assert await apply(box, *gone, wish=DRY) == await apply(box, *gone)
    standing = [(each.hardware.id, each.retired) for each in await box.machines.all()]
    assert sorted(each.reason for _, each in standing if each) == ["", "no disk", "no disk", "old"]
    assert {each.who for _, each in standing if each} == {"ann"}
    assert box.machines.known.find("node4").hardware.labels == {"rack": "r1", "gpu": "a100"}
    assert set((await apply(box, *gone)).values()) == {"unchanged"}
    silent = (machine(1), of_2020(2), machine(3), machine(4).replace("{rack: r1}", "{rack: r1, gpu: a100}"))
    assert set((await apply(box, *silent)).values()) == {"unchanged"}
    assert [(each.hardware.id, each.retired) for each in await box.machines.all()] == standing
    assert await apply(box, retired(machine(1), "sold")) == {"hardware/node1": "configured"}
    record = box.machines.known.find("node1")
    before = dict(standing)[record.hardware.id]
    assert before is not None
    assert record.retired == replace(before, reason="sold")
    await box.departures.give_back("node1", "bob")
    assert await apply(box, machine(1)) == {"hardware/node1": "unchanged"}
    assert box.machines.known.find("node1").retired is None


async def test_machine_that_tinkerbell_calls_disabled_is_retired_and_not_answered(box: Appliance) -> None:
    disabled = retired(machine(1)).replace("tinkbox.internal/retired", "tinkerbell.org/disabled")
    assert await apply(box, disabled) == {"hardware/node1": "created"}
    record = box.machines.known.find("node1")
    assert record.retired is not None
    assert record.retired.reason == "no disk"
    assert not record.hardware.remarks.all
    facts = box.machines.boot_facts.of(record.hardware.interfaces[0].mac)
    assert facts is not None
    assert dhcp_plan(facts, netboots=False) is None
    assert await apply(box, disabled) == {"hardware/node1": "unchanged"}
    await box.departures.give_back("node1", "bob")
    assert await apply(box, machine(1)) == {"hardware/node1": "unchanged"}


async def test_a_machine_that_is_needed_is_not_retired_by_its_document(box: Appliance) -> None:
    await apply(box, site(1), machine(2))
    for wish in (DRY, STORED):
        (told,) = await problems(box, retired(machine(1)), wish=wish)
        assert "0.yaml:1: workflow" in told
        assert "needs machine node1, which is to be retired" in told
        (told,) = await problems(box, retired(machine(2)), flow(2), wish=wish)
        assert "machine node2 is retired" in told
    assert not any(each.retired for each in await box.machines.all())
    (told,) = await problems(box, retired(machine(2), "x" * 1001))
    assert "at most 1000 letters" in told


async def test_a_machine_that_waits_in_a_rollout_is_not_retired_by_its_document(box: Appliance) -> None:
    await apply(box, machine(1), machine(2), template())
    wanted = Wanted(template="hello", machines=["node1", "node2"], max_parallel=1)
    rollout = (await box.rollouts.create(wanted, "ann")).rollout.id
    for wish in (DRY, STORED):
        (told,) = await problems(box, retired(machine(2)), wish=wish)
        assert told.startswith("0.yaml:1: machine node2 is to be retired and waits in rollout " + rollout[:8])
        assert "`tinkbox hardware retire node2 --force`" in told
    assert box.machines.known.find("node2").retired is None
    await box.rollouts.cancel(rollout)
    assert await apply(box, retired(machine(2))) == {"hardware/node2": "configured"}
    assert box.machines.known.find("node2").retired is not None


async def test_what_was_called_retired_before_means_something_else(box: Appliance) -> None:
    document = json.dumps({**json.loads(of_2020(1)), "retired": False})
    assert await apply(box, document) == {"hardware/machine-1": "created"}
    assert await apply(box, document) == {"hardware/machine-1": "unchanged"}
    assert box.machines.known.find("machine-1").hardware.document["retired"] is False
    assert box.machines.known.find("machine-1").retired is None


@pytest.mark.parametrize("name", [r"yam\0l", r"\e[2J", r"a\nb", "..", "-rf", " ", "", r"a\uD800b"])
async def test_what_is_no_name_is_refused_and_nothing_is_run(box: Appliance, name: str) -> None:
    """With a NUL in its name a workflow was not found again, and every apply ran another one."""
    await apply(box, machine(1), template())
    given = f'name: "{name}",'
    for text in (
        flow(1, f'"{name}"'),
        flow(1).replace("{name: ", f'{{namespace: "{name or " "}", name: '),
        machine(2).replace("name: node2,", given, 1),
        template(f'"{name}"'),
    ):
        told = await problems(box, text)
        assert told[0].startswith("0.yaml:3, metadata.name"), told
        assert told[0].isprintable()
    assert await box.workflows.all() == []


async def test_a_workflow_of_an_odd_name_of_before_is_read_listed_and_deleted(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await apply(box, machine(1), template())
    monkeypatch.setattr(workflows, "check_name", lambda name, what: None)
    odd = await box.workflows.create("hello", {"device_1": mac(1)}, name="yam\0l")
    assert (await box.workflows.get(odd)).name == "yam\0l"
    assert [each.name for each in await box.workflows.all()] == ["yam\0l"]
    found = await box.exporting.export([Asked(Kind.WORKFLOW)], None)
    assert [each.name for each in found.documents] == ["yam\0l"]
    await box.workflows.cancel(odd)
    await box.workflows.delete(odd)
    assert await box.workflows.all() == []


async def test_a_name_of_kubernetes_length_is_run_once(box: Appliance) -> None:
    long = flow(1, "x" * 253).replace("metadata: {", f"metadata: {{namespace: {'n' * 63}, ")
    assert await apply(box, site(0), machine(1).replace("{name", f"{{namespace: {'n' * 63}, name"), long) == {
        "hardware/node1": "created",
        "template/hello": "created",
        f"workflow/{'x' * 253}": "created",
    }
    assert (await apply(box, long)) == {f"workflow/{'x' * 253}": "unchanged"}


async def test_no_document_gives_a_machine_the_id_of_another_as_its_name(box: Appliance) -> None:
    await apply(box, machine(1))
    first = (await box.machines.get("node1")).hardware.id
    for wish in (DRY, STORED):
        (found,) = await problems(box, machine(2).replace("node2", first), wish=wish)
        assert f"{first} belongs to machine node1 already" in found
        assert found.endswith(". Choose another name")


async def test_a_persons_dry_runs_are_made_one_by_one_and_no_change_or_other_person_waits(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, go_on, read_long = asyncio.Queue[None](), asyncio.Event(), box.store.read_long

    async def slow(question: Any) -> Any:
        asked.put_nowait(None)
        await go_on.wait()
        return await read_long(question)

    monkeypatch.setattr(box.store, "read_long", slow)
    async with asyncio.timeout(60), asyncio.TaskGroup() as group:
        abandoned = group.create_task(box.applying.apply(files(machine(1)), DRY, "ann"))
        await asked.get()
        waiting = group.create_task(box.applying.apply(files(machine(2)), DRY, "ann"))
        other = group.create_task(box.applying.apply(files(machine(3)), DRY, "bert"))
        assert outcomes(await box.applying.apply(files(machine(4)), STORED, "ann")) == {"hardware/node4": "created"}
        await asked.get()
        assert asked.empty()
        abandoned.cancel()
        await asked.get()
        go_on.set()
        told = [outcomes(await each) for each in (waiting, other)]
    assert told == [{"hardware/node2": "created"}, {"hardware/node3": "created"}]


async def test_of_files_with_very_many_problems_or_values_the_rest_is_not_read(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    read, taken = list[int](), kubernetes.read_part

    def noted(part: kubernetes.Part, *, strict: bool) -> kubernetes.Everything:
        read.append(len(part.text))
        return taken(part, strict=strict)

    monkeypatch.setattr(reading, "read_part", noted)
    monkeypatch.setattr(applying, "MOST_PROBLEMS", 2)
    monkeypatch.setattr(applying, "PIECE", 1)
    wrong = "a: 1\n---\n" * 3
    assert len(await problems(box, wrong, wrong, flow(1))) == 3
    assert len(read) == 1
    monkeypatch.setattr(applying, "MAX_VALUES", 50)
    with pytest.raises(TooLarge, match="more than 50 values"):
        await apply(box, *map(machine, range(1, 10)), wish=DRY)
    assert len(read) < 6


def test_of_what_is_read_few_lines_are_kept() -> None:
    reading = Reading()
    (file,) = files(machine(1))
    reading.take(file, kubernetes.Part(text=file.text))
    (declared,) = reading.documents().machines
    assert declared.source.lines == {"": 1, "metadata": 3, "spec": 5}


async def test_a_workflow_that_runs_on_another_machine_than_it_names_is_told(box: Appliance) -> None:
    """The usual slip of a file that was copied; Tinkerbell takes it."""
    both = site(2).replace(f'device_1: "{mac(1)}"', f'device_1: "{mac(2)}"')
    box.registry |= IMAGES
    dry, done = [(await box.applying.apply(files(both), wish, "ann")).notes for wish in (DRY, STORED)]
    assert [str(each) for each in dry] == [str(each) for each in done]
    (note,) = done
    assert note.key == "0.yaml:6, spec.hardwareRef"
    assert note.text.startswith("its template is filled from machine node1, and its actions run on node2, ")
    assert not (await box.applying.apply(files(both), STORED, "ann")).notes
    unseen = replace(DRY, reasons=False)
    assert not (await box.applying.apply(files(flow(1, "x", device=2)), unseen, "ann")).notes


async def test_parameters_that_are_no_texts_are_written_as_json_and_read_again(box: Appliance) -> None:
    await apply(box, machine(1), template())
    given = {"device_1": mac(1), "n": 3, "b": False, "f": 1.5, "nested": {"list": [1, None, "ü"]}, "text": "3"}
    await box.workflows.create("hello", given, name="by-hand")
    (exported,) = (await box.exporting.export([Asked(Kind.WORKFLOW, "by-hand")], None)).documents
    assert exported.manifest["spec"]["hardwareMap"] == {"device_1": mac(1), "text": "3"}
    others = '{"b": false, "f": 1.5, "n": 3, "nested": {"list": [1, null, "ü"]}}'
    assert exported.manifest["metadata"]["annotations"] == {"tinkbox.internal/parameters": others}
    again = json.dumps(exported.manifest)
    assert await apply(box, again) == {"workflow/by-hand": "unchanged"}
    await apply(box, again.replace("by-hand", "second"))
    assert (await box.workflows.get("second")).devices == given
    assert await apply(box, again.replace('\\"n\\": 3', '\\"n\\": 4')) == {"workflow/by-hand": "refused"}
    assert await apply(box, again.replace('\\"b\\": false', '\\"b\\": 0')) == {"workflow/by-hand": "refused"}
    text_again = again.replace("by-hand", "third")
    for wrong, told in (
        ('"[1]"', "the annotation tinkbox.internal/parameters is"),
        ('"{"', "the annotation tinkbox.internal/parameters is"),
        ("3", "the value of tinkbox.internal/parameters is no text"),
    ):
        broken = {**json.loads(text_again)}
        broken["metadata"]["annotations"] = {"tinkbox.internal/parameters": json.loads(wrong)}
        (refused,) = await problems(box, json.dumps(broken))
        assert f"metadata.annotations: {told}" in refused


async def test_a_slip_that_was_stored_before_is_read_and_makes_no_difference(box: Appliance) -> None:
    given = machine(1).replace("metadata: {", "metadata: {annotations: {a: b, tinkbox.internal/x: y}, lables: {b: c}, ")
    document = compose(given)
    await box.machines.push(hardware_from_document(NodeReader().plain(document[0], "")))
    found = await box.exporting.export([Asked(Kind.HARDWARE)], None)
    kept = {"name": "node1", "labels": {"rack": "r1"}, "annotations": {"a": "b"}}
    assert [each.manifest["metadata"] for each in found.documents] == [kept]
    again = json.dumps(found.documents[0].manifest)
    assert await apply(box, again) == {"hardware/node1": "unchanged"}
    assert len(await problems(box, given)) == 1
    assert len(await problems(box, given, wish=replace(STORED, strict=True))) == 2


async def test_images_that_are_not_in_the_registry_are_told_and_refused_where_they_are_required(box: Appliance) -> None:
    box.registry |= {"hello-world": "sha256:1"}
    told = (
        "image tools/second:v1 is not in the registry: push it there, or `tinkbox image load` it from a file; "
        "if you mean Docker Hub's, write docker.io/tools/second:v1"
    )
    for wish in (DRY, STORED):
        required = replace(wish, require_images=True)
        assert [each.partition("template hello: ")[2] for each in await problems(box, site(1), wish=required)] == [told]
    assert await box.workflows.all() == []
    for wish in (DRY, STORED):
        assert [str(each) for each in (await box.applying.apply(files(site(2)), wish, "ann")).notes] == [told]
    assert not (await box.applying.apply(files(site(2)), STORED, "ann")).notes
    box.registry |= {"tools/second:v1": "sha256:2"}
    assert await apply(box, flow(1, "third"), wish=Wish(require_images=True)) == {"workflow/third": "created"}


async def test_metadata_that_a_declared_machine_would_not_be_given_is_told(box: Appliance) -> None:
    box.registry |= IMAGES
    asking = HELLO.replace("{MODE: 0644}", "{HEGEL_URL: 'http://172.30.0.1:50061'}")
    for wish in (DRY, STORED):
        (note,) = (await box.applying.apply(files(machine(1), template(text=asking), flow(1)), wish, "ann")).notes
        assert note.text.startswith("machine node1 asks for metadata at http://172.30.0.1:50061: its document has no ")
    knows = machine(2).replace("spec:\n", "spec:\n  metadata: {instance: {hostname: node2}}\n")
    assert not (await box.applying.apply(files(knows, flow(2)), STORED, "ann")).notes


async def test_what_is_not_honoured_of_a_machine_is_told_with_file_and_line(box: Appliance) -> None:
    odd = machine(1).replace("hostname: node1", "hostname: node1\n        name_servers: ['2001:db8::53']")
    (note,) = (await box.applying.apply(files(odd), STORED, "ann")).notes
    assert str(note).startswith(
        "0.yaml:10, spec.interfaces[0].dhcp.name_servers: 2001:db8::53 is not among what DHCP tells"
    )
    of_old = json.loads(of_2020(2))
    of_old["network"]["interfaces"][0]["netboot"]["allow_pxee"] = True
    (note,) = (await box.applying.apply(files(json.dumps(of_old, indent=1)), STORED, "ann")).notes
    assert (
        "network.interfaces[0].netboot.allow_pxee: unknown key allow_pxee is ignored; did you mean allow_pxe?"
        in str(note)
    )


async def test_of_very_many_notes_the_first_are_told_and_how_many_there_are(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    odd = machine(1).replace("netboot:", "netbot:") + "  more: 1\n  odd: 2\n  third: 3\n"
    whole = (await box.applying.apply(files(odd), DRY, "ann")).notes
    assert len(whole) > 3
    monkeypatch.setattr(reading, "MOST_NOTES", 2)
    told = (await box.applying.apply(files(odd), DRY, "ann")).notes
    assert told[:2] == whole[:2]
    assert str(told[2]) == f"{len(whole) - 2} more notes left out: apply fewer files at once to see them"


@pytest.mark.parametrize("placeholder", ["{{ .device_1 | lower }}", "{{ device_1|lower }}", "{{ device_1 }}"])
async def test_what_is_ignored_of_a_template_in_either_language_is_told_again_of_its_workflow(
    box: Appliance, placeholder: str
) -> None:
    text = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]")
    text = text.replace("{{.device_1}}", placeholder)
    assert placeholder in text
    given = files(machine(1), template(text=text), flow(1))
    first = await box.applying.apply(given, STORED, "ann")
    again = await box.applying.apply(given, STORED, "ann")
    assert set(outcomes(again).values()) == {"unchanged"}
    # Of what Jinja2 makes its workflow tells it then: by itself such a template is only looked at when it changes.
    told = [str(each).partition("tasks[0]")[2] for each in again.notes]
    assert told == [str(each).partition("tasks[0]")[2] for each in first.notes if "args" in str(each)]
    assert told
    (found,) = await problems(box, machine(1), template(text=text), flow(1), wish=replace(STORED, strict=True))
    assert "tasks[0].actions[0].args: unknown key args" in found


async def test_a_workflow_whose_template_is_mended_or_gone_is_unchanged_also_if_strict(box: Appliance) -> None:
    slip = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]")
    await box.applying.apply(files(machine(1), template(text=slip), flow(1)), STORED, "ann")
    strict = replace(STORED, strict=True)
    mended = await box.applying.apply(files(machine(1), template(), flow(1)), strict, "ann")
    assert outcomes(mended)["workflow/install-1"] == "unchanged"
    await box.templates.delete("hello")
    assert outcomes(await box.applying.apply(files(flow(1)), strict, "ann")) == {"workflow/install-1": "unchanged"}


@pytest.mark.parametrize("rehearsal", [False, True])
async def test_an_osie_that_is_missing_is_told_of_new_workflows_as_by_workflow_create(
    box: Appliance, *, rehearsal: bool
) -> None:
    wish = replace(STORED, rehearsal=rehearsal)
    for osie, told in (({"aarch64"}, True), ({"x86_64"}, False)):
        given = files(machine(1), template(), flow(1, name=f"with-{told}"))
        notes = (await box.applying.apply(given, replace(wish, osie=osie), "ann")).notes
        missing = "there is no OSIE for x86_64, which machine node1 boots: `tinkbox osie build` makes one"
        assert (missing in [str(each) for each in notes]) is told
    again = await box.applying.apply(files(machine(1), template()), replace(wish, osie=frozenset()), "ann")
    assert not any("OSIE" in str(each) for each in again.notes), "nothing new boots"


async def test_a_machine_that_a_workflow_allows_to_netboot_is_not_told_as_one_that_may_not(box: Appliance) -> None:
    await box.applying.apply(files(machine(1, netboots=False), template()), STORED, "ann")
    toggled = await box.applying.apply(files(flow(1, toggles=True)), replace(STORED, osie={"x86_64"}), "ann")
    assert not any("may netboot" in str(each) for each in toggled.notes)
    plain = await box.applying.apply(
        files(machine(2, netboots=False), flow(2)), replace(STORED, osie={"x86_64"}), "ann"
    )
    assert any("no card of machine node2 may netboot" in str(each) for each in plain.notes)


@pytest.mark.parametrize(("state", "told"), [("STATE_SUCCESS", True), ("STATE_PENDING", False), ("", False)])
async def test_a_new_workflow_that_ran_elsewhere_is_told_to_run_anew(box: Appliance, state: str, *, told: bool) -> None:
    ran = f"{flow(1)}status: {{state: '{state}'}}\n"
    given = files(machine(1), template(), ran)
    notes = (await box.applying.apply(given, STORED, "ann")).notes
    place = "2.yaml:8, status: its status says STATE_SUCCESS, which is not read: workflow install-1 is new here, and runs from its"
    assert any(str(each).startswith(place) for each in notes) is told
    again = await box.applying.apply(given, STORED, "ann")
    assert not any("status" in str(each) for each in again.notes), "it is not run again"
