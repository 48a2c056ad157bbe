"""What is there, as files that make the same again."""

import json
from collections.abc import Awaitable, Callable
from dataclasses import replace
from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, appliance, mac
from tests.integration.engine.applying.documents import files, flow, machine, of_2020, outcomes, site, template
from tinkbox.cli.output.manifests import yaml_documents
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.creation import Creating
from tinkbox.engine.applying.exporting import Asked, Exported, Kind, parse_asked
from tinkbox.engine.machines.changes import Change as MachineChange
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.engine.rules.arming import Change
from tinkbox.model.documents.kept_documents import KeptKind
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.labels import LabelChange, parse_selector

ALL = tuple(map(Asked, Kind))


async def exported(box: Appliance, *asked: Asked, selector: str = "") -> tuple[list[Exported], list[str]]:
    found = await box.exporting.export(asked or ALL, parse_selector(selector) if selector else None)
    return list(found.documents), [each.text for each in found.notes]


def named(found: list[Exported]) -> list[str]:
    return [f"{each.kind}/{each.name}" for each in found]


async def test_an_export_makes_the_same_appliance_again(tmp_path: Path) -> None:
    """40 machines with labels, templates, workflows: created, exported to the same bytes, unchanged."""
    odd = "1e5 is 'text': \"yes\"\n\ttabs, trailing blanks   \n# ünï\u202ecode\n"
    async with appliance(tmp_path / "one") as box:
        await box.applying.apply(files(site(40), template("odd", f"{HELLO}{''.join(f'# {odd!r}')}\n")), Wish(), "ann")
        await box.applying.apply(files(of_2020(50), machine(51, netboots=False), flow(51, toggles=True)), Wish(), "ann")
        await box.machines.label("machine-50", LabelChange(set=(("rack", "r5"), ("empty", ""))))
        await box.machines.label("node7", LabelChange(removed=("rack",)))
        await box.templates.label("hello", LabelChange(set=(("os", "1e5"),)))
        before = yaml_documents(each.manifest for each in (await exported(box))[0])
    async with appliance(tmp_path / "two") as box:
        first = outcomes(await box.applying.apply(files(before), Wish(), "ann"))
        assert len(first) == 40 + 2 + 2 + 41
        assert set(first.values()) == {"created"}
        assert yaml_documents(each.manifest for each in (await exported(box))[0]) == before
        assert set(outcomes(await box.applying.apply(files(before), Wish(), "ann")).values()) == {"unchanged"}
        manifests = [each.manifest for each in (await exported(box))[0]]
        for text in (
            json.dumps({"kind": "List", "apiVersion": "v1", "items": manifests}),
            "".join(map(json.dumps, manifests)),
        ):
            assert set(outcomes(await box.applying.apply(files(text), Wish(), "ann")).values()) == {"unchanged"}
        assert box.machines.known.find("machine-50").hardware.labels == {"rack": "r5", "empty": ""}
        assert box.machines.known.find("machine-50").hardware.id == "00000000-0000-0000-0000-000000000032"
        assert not box.machines.known.find("node7").hardware.labels


async def test_a_workflow_of_a_rollout_is_exported_without_its_label_and_keeps_it(box: Appliance) -> None:
    await box.applying.apply(files(template(), machine(1)), Wish(), "ann")
    made = (await box.rollouts.create(Wanted(template="hello", machines=["node1"], labels={"a": "b"}), "ann")).rollout
    await box.progression.look()
    found, _ = await exported(box, selector=f"rollout={made.short}")
    assert found[0].manifest["metadata"]["labels"] == {"a": "b"}
    written = yaml_documents(each.manifest for each in found)
    assert set(outcomes(await box.applying.apply(files(written), Wish(), "bob")).values()) == {"unchanged"}
    changed = written.replace("a: b", "a: c")
    assert set(outcomes(await box.applying.apply(files(changed), Wish(), "bob")).values()) == {"configured"}
    (workflow,) = await box.workflows.all()
    assert await box.workflows.labels(workflow.id) == {"a": "c", "rollout": made.short}


@pytest.mark.parametrize("as_files", [False, True])
async def test_a_restored_machine_does_its_workflows_in_the_order_in_which_it_was_to_do_them(
    box: Appliance, *, as_files: bool
) -> None:
    """In a stream and in files, which are read by their names; of times that are the same as well."""
    names = ["z-wipe", "m-check", "a-install"]
    await box.applying.apply(files(template(), machine(1), *(flow(1, each) for each in names)), Wish(), "ann")
    found, _ = await exported(box, Asked(Kind.WORKFLOW))
    assert [each.name for each in found] == names
    times = [each.manifest["metadata"]["creationTimestamp"] for each in found]
    assert times == [f"2026-11-21T03:00:00.00000{number}Z" for number in range(3)]
    for each in names:
        await box.workflows.cancel(each, "ann")
        await box.workflows.delete(each)
    texts = [yaml_documents(each.manifest for each in found)]
    if as_files:
        texts = [yaml_documents([each.manifest]) for each in sorted(found, key=lambda each: each.name)]
    again = await box.applying.apply(files(*texts), Wish(), "ann")
    assert outcomes(again) == {f"workflow/{each}": "created" for each in names}
    assert await queue(box) == names
    # The text of an export that was sorted meanwhile is made in its order as well.
    for each in names:
        await box.workflows.cancel(each, "ann")
        await box.workflows.delete(each)
    listed = "---\n".join(sorted(texts))
    await box.creation.create(listed, Creating(who="ann"))
    assert await queue(box) == names


async def queue(box: Appliance) -> list[str]:
    """The names of a machine's workflows, in the order in which it does them."""
    return [each.name for each in await box.store.read(lambda tables: tables.declarations.unfinished())]


async def test_a_workflow_that_was_retried_is_exported_behind_those_that_are_done_before_it(box: Appliance) -> None:
    await box.applying.apply(files(template(), machine(1), flow(1, "wipe"), flow(1, "install")), Wish(), "ann")
    for each in ("wipe", "install"):
        await box.workflows.cancel(each, "ann")
    await box.workflows.retry("install", who="ann")
    await box.workflows.cancel("install", "ann")
    await box.workflows.retry("wipe", who="ann")
    found, _ = await exported(box, parse_asked("workflow/wipe"), parse_asked("workflow/install"))
    assert [each.name for each in found] == ["install", "wipe"]
    times = [each.manifest["metadata"]["creationTimestamp"] for each in found]
    assert times == sorted(set(times))


async def test_documents_come_by_kind_and_by_name_as_people_sort(box: Appliance) -> None:
    await box.applying.apply(files(machine(10), machine(9), template("b"), template("a")), Wish(), "ann")
    assert named((await exported(box))[0]) == ["hardware/node9", "hardware/node10", "template/a", "template/b"]


async def test_what_kubernetes_adds_is_left_out(box: Appliance) -> None:
    added = "uid: x, resourceVersion: '7', creationTimestamp: null, namespace: default, annotations: {a: b}"
    given = machine(1).replace("name: node1,", f"name: node1, {added},") + "status: {}\n"
    await box.applying.apply(files(given), Wish(), "ann")
    ((only,), _) = await exported(box)
    assert only.manifest["metadata"] == {"name": "node1", "labels": {"rack": "r1"}, "annotations": {"a": "b"}}
    assert "status" not in only.manifest
    plain = machine(1).replace("name: node1,", "name: node1, annotations: {a: b},")
    assert outcomes(await box.applying.apply(files(plain), Wish(), "ann")) == {"hardware/node1": "unchanged"}


V1ALPHA2 = f"""\
apiVersion: tinkerbell.org/v1alpha2
kind: Hardware
metadata: {{name: node1}}
spec:
  networkInterfaces:
    "{mac(1)}": {{dhcp: {{ipv4: {{hostname: node1}}}}, ipam: {{ipv4: {{address: 172.30.0.21, prefix: "24"}}}}}}
"""


@pytest.mark.parametrize("given", [machine(1), V1ALPHA2], ids=["v1alpha1", "v1alpha2"])
async def test_templates_see_the_status_of_an_exported_machine_elsewhere(tmp_path: Path, given: str) -> None:
    seen = template(text=HELLO.replace("image: hello-world", "image: tools/{{ .hardware.status.state }}:v1"))
    async with appliance(tmp_path / "one") as box:
        listed = "---\n".join((f"{given}status: {{state: provisioned}}\n", seen, flow(1)))
        await box.applying.apply(files(listed), Wish(), "ann")
        found, notes = await exported(box)
        assert (found[0].manifest["status"], notes) == ({"state": "provisioned"}, [])
        another = f"{given}status: {{state: other}}\n"
        assert outcomes(await box.applying.apply(files(another), Wish(), "ann")) == {"hardware/node1": "configured"}
    async with appliance(tmp_path / "two") as box:
        assert set((await reapplied(box, found, Wish())).values()) == {"created"}
        first, *_ = (await box.workflows.get("install-1")).actions
        assert first.action.spec.image == "tools/provisioned:v1"


@pytest.mark.parametrize("written", ["", ", namespace: default"])
async def test_a_restored_machine_of_the_default_namespace_fills_templates_as_before(
    box: Appliance, tmp_path: Path, written: str
) -> None:
    """Its namespace is in no document."""
    image = "{{ .hardware.metadata.namespace }}/{{ .hardware.metadata.name }}"
    text = HELLO.replace("hello-world", image)
    document = machine(1).replace("{name: node1", f"{{name: node1{written}")
    await box.applying.apply(files(template(text=text), document, flow(1)), Wish(), "ann")
    before = yaml_documents(each.manifest for each in (await exported(box))[0])
    assert "namespace: default" not in before
    async with appliance(tmp_path / "other") as other:
        await other.applying.apply(files(before), Wish(), "ann")
        for each in (box, other):
            workflow = await each.workflows.get("install-1")
            assert workflow.actions[0].action.spec.image == "default/node1"


async def test_a_template_with_a_name_that_apply_refuses_is_told(box: Appliance) -> None:
    await box.applying.apply(files(template()), Wish(), "ann")
    assert await exported(box, Asked(Kind.TEMPLATE)) == (
        (await exported(box, parse_asked("template/hello")))[0],
        [],
    )
    odd = ["-rf", ".", "a/b", "täm", "x" * 250]
    for name in odd:
        await box.store.write(lambda tables, name=name: box.templates.take_in(tables, "", "", name, HELLO))
    found, (told,) = await exported(box, Asked(Kind.TEMPLATE))
    assert {each.name for each in found} == {"hello", *odd}
    assert told.startswith("5 templates with a name that `tinkbox apply` refuses")
    ids = {each.name: each.id for each in await box.templates.all()}
    assert all(f"({ids[name]})" in told for name in odd)
    with pytest.raises(Invalid, match="5 problems"):
        await box.applying.apply(files(yaml_documents(each.manifest for each in found)), Wish(), "ann")
    for place, name in enumerate(odd):
        await box.templates.update(ids[name], name=f"new-{place}")
    assert (await exported(box, Asked(Kind.TEMPLATE)))[1] == []


async def test_one_thing_and_what_labels_select(box: Appliance) -> None:
    await box.applying.apply(files(site(2), machine(3, rack="r2")), Wish(), "ann")
    assert named((await exported(box, parse_asked("hardware/node3")))[0]) == ["hardware/node3"]
    assert named((await exported(box, Asked(Kind.HARDWARE), selector="rack=r2"))[0]) == ["hardware/node3"]
    with pytest.raises(NotFound):
        await exported(box, parse_asked("hardware/node4"))
    with pytest.raises(NotFound):
        await exported(box, parse_asked("template/nope"))
    for wrong in ("nodes", "hardware/", ""):
        with pytest.raises(Invalid, match="nothing to export"):
            parse_asked(wrong)


async def test_workflows_that_are_over_are_exported_by_name_alone(box: Appliance) -> None:
    await box.applying.apply(files(site(1)), Wish(), "ann")
    await box.finish((await box.workflows.get("install-1")).workers()[0])
    assert named((await exported(box, Asked(Kind.WORKFLOW)))[0]) == []
    ((only,), _) = await exported(box, parse_asked("workflow/install-1"))
    assert only.manifest["spec"] == {
        "templateRef": "hello",
        "hardwareRef": "node1",
        "hardwareMap": {"device_1": mac(1)},
    }


async def test_workflows_by_hand_of_one_name_cannot_be_told_apart(box: Appliance) -> None:
    await box.applying.apply(files(machine(1), template()), Wish(), "ann")
    await box.workflows.create("hello", {"device_1": mac(1)})
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert (named(found), notes) == (["workflow/hello_world_workflow"], [])
    again = await box.applying.apply(files(yaml_documents(each.manifest for each in found)), Wish(), "ann")
    assert outcomes(again) == {"workflow/hello_world_workflow": "unchanged"}
    await box.workflows.create("hello", {"device_1": mac(1)})
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert named(found) == []
    assert notes[0].startswith("2 workflows left out: made by hand")


async def test_a_workflow_by_hand_is_unchanged_while_others_of_its_name_are_made_for_other_machines(
    box: Appliance,
) -> None:
    await box.applying.apply(files(*map(machine, (1, 2, 3)), template()), Wish(), "ann")
    await box.workflows.create("hello", {"device_1": mac(1)})
    newer = await box.workflows.create("hello", {"device_1": mac(2)})
    await box.workflows.cancel(newer, "ann")
    ((only,), notes) = await exported(box, Asked(Kind.WORKFLOW))
    assert (only.manifest["spec"]["hardwareMap"], notes) == ({"device_1": mac(1)}, [])
    written = files(yaml_documents([only.manifest]))
    await box.workflows.create("hello", {"device_1": mac(3)})
    for wish in (Wish(rehearsal=True), Wish()):
        again = await box.applying.apply(written, wish, "ann")
        assert outcomes(again) == {"workflow/hello_world_workflow": "unchanged"}
    assert len(await box.workflows.all()) == 3


async def test_a_workflow_by_hand_is_left_out_where_one_of_its_name_was_declared_and_is_over(box: Appliance) -> None:
    """`apply` would compare its document with that one."""
    await box.applying.apply(files(site(1)), Wish(), "ann")
    await box.workflows.cancel("install-1", "ann")
    await box.workflows.create("hello", {"device_1": mac(1)}, name="install-1")
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert (found, notes[0].startswith("1 workflow left out: made by hand")) == ([], True)


async def test_a_workflow_by_hand_is_exported_with_the_name_of_its_template_when_that_is_gone(box: Appliance) -> None:
    await box.applying.apply(files(machine(1), template()), Wish(), "ann")
    await box.workflows.create("hello", {"device_1": mac(1)})
    await box.templates.delete("hello")
    ((only,), (told,)) = await exported(box, Asked(Kind.WORKFLOW))
    assert only.manifest["spec"]["templateRef"] == "hello"
    assert told.startswith("1 workflow without a template, which `tinkbox apply` refuses where they are not known")
    await box.applying.apply(files(template()), Wish(), "ann")
    again = await box.applying.apply(files(yaml_documents([only.manifest])), Wish(), "ann")
    assert outcomes(again) == {"workflow/hello_world_workflow": "unchanged"}


async def test_only_what_is_selected_and_out_of_service_is_told(box: Appliance) -> None:
    for number in (1, 2):
        await box.machine(number)
        await box.departures.retire(f"machine-{number}", "ann")
    await box.machines.label("machine-1", LabelChange(set=(("rack", "r1"),)))
    found, notes = await exported(box, Asked(Kind.HARDWARE), selector="rack=r1")
    assert (named(found), notes) == ([], ["1 machine out of service left out: name what you want of them"])
    assert await exported(box, Asked(Kind.HARDWARE), selector="rack=r2") == ([], [])


async def test_what_no_document_has_is_told(box: Appliance) -> None:
    for number in (1, 2, 3):
        await box.machine(number)
    await box.departures.retire("machine-1", "ann", "no disk")
    await box.machine_changes.note("machine-2", "look at it", "ann")
    found, notes = await exported(box, Asked(Kind.HARDWARE))
    assert named(found) == ["hardware/machine-2", "hardware/machine-3"]
    assert notes == [
        "1 machine out of service left out: name what you want of them",
        "1 machine with notes: notes are in no document",
    ]
    found, notes = await exported(box, Asked(Kind.HARDWARE, "machine-1"), Asked(Kind.HARDWARE, "machine-3"))
    assert named(found) == ["hardware/machine-1", "hardware/machine-3"]
    assert notes == []
    assert [each.manifest.get("retired") for each in found] == ["no disk", None]
    assert (await exported(box, Asked(Kind.HARDWARE, "machine-3")))[1] == []


async def test_a_retired_machine_is_retired_where_its_document_is_applied(tmp_path: Path) -> None:
    async with appliance(tmp_path / "one") as box:
        given = machine(2).replace("metadata: {", "metadata: {annotations: {a: b}, ")
        await box.applying.apply(files(of_2020(1), given), Wish(), "ann")
        for key, reason in (("machine-1", "no disk"), ("node2", "")):
            await box.departures.retire(key, "ann", reason)
        asked = (Asked(Kind.HARDWARE, "machine-1"), Asked(Kind.HARDWARE, "node2"))
        before = yaml_documents(each.manifest for each in (await exported(box, *asked))[0])
        await box.departures.give_back("node2", "ann")
        ((only,), _) = await exported(box, Asked(Kind.HARDWARE, "node2"))
        assert only.manifest["metadata"]["annotations"] == {"a": "b"}
    async with appliance(tmp_path / "two") as box:
        await box.applying.apply(files(before), Wish(), "bob")
        assert [each.retired.reason if each.retired else None for each in await box.machines.all()] == ["no disk", ""]
        assert yaml_documents(each.manifest for each in (await exported(box, *asked))[0]) == before
        assert set(outcomes(await box.applying.apply(files(before), Wish(), "bob")).values()) == {"unchanged"}


async def test_a_workflow_by_hand_beside_one_of_a_file_of_its_name_is_left_out(box: Appliance) -> None:
    """`apply` would take both documents for the same workflow."""
    await box.applying.apply(files(site(1)), Wish(), "ann")
    await box.workflows.create("hello", {"device_1": mac(1)}, name="install-1")
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert [each.manifest["spec"].get("hardwareRef") for each in found] == ["node1"]
    assert "1 workflow left out: made by hand" in notes[0]


async def test_breakpoints_that_people_armed_are_in_no_document_and_told(box: Appliance) -> None:
    text = HELLO + "breakpoint:\n  onFailure: true\n"
    await box.applying.apply(files(machine(1), template(text=text)), Wish(), "ann")
    for name, change in (
        ("of-template", None),
        ("b10", Change(before=("hello_world",))),
        ("b9", Change(after=("second",))),
    ):
        await box.workflows.create("hello", {"device_1": mac(1)}, name=name, breakpoints=change, who="ann")
    _, (told,) = await exported(box, Asked(Kind.WORKFLOW))
    assert told.startswith("2 workflows with breakpoints that are in no document (b9, b10): ")
    assert "`tinkbox workflow create -f FILE --breakpoint WHERE`" in told
    assert (await exported(box, Asked(Kind.WORKFLOW, "of-template")))[1] == []
    for name in ("b9", "b10"):
        await box.workflows.cancel(name, "ann")
    assert (await exported(box, Asked(Kind.WORKFLOW), Asked(Kind.WORKFLOW, "b9")))[1] == []


async def test_machines_that_wait_in_a_rollout_are_told_where_workflows_are_exported(box: Appliance) -> None:
    await box.applying.apply(files(template(), machine(1), machine(2), machine(3)), Wish(), "ann")
    wanted = Wanted(template="hello", machines=["node1", "node2", "node3"], max_parallel=1)
    await box.rollouts.create(wanted, "ann")
    await box.progression.look()
    _, (told,) = await exported(box, Asked(Kind.WORKFLOW))
    assert told.startswith("2 machines waiting in a rollout: they have no workflow yet, ")
    assert (await exported(box, Asked(Kind.HARDWARE), Asked(Kind.TEMPLATE)))[1] == []


async def test_what_was_left_out_of_service_is_named(box: Appliance) -> None:
    for number in (1, 2):
        await box.machine(number)
    await box.departures.retire("machine-1", "ann")
    found = await box.exporting.export([Asked(Kind.HARDWARE)], None)
    assert (named(list(found.documents)), named(list(found.left_out))) == (
        ["hardware/machine-2"],
        ["hardware/machine-1"],
    )
    assert [each.key for each in found.left_out] == ["machine-1"]
    assert not (await box.exporting.export([Asked(Kind.HARDWARE, "machine-1")], None)).left_out


def without_hostname(number: int, namespace: str = "", card: int = 0) -> str:
    """A machine that has a name and no host name."""
    given = machine(number, card=card).replace(f"        hostname: node{number}\n", "")
    return given.replace("metadata: {", f"metadata: {{namespace: {namespace}, ") if namespace else given


STRUCTURED = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Task
metadata: {name: wipe}
spec: {actions: [{name: first, image: hello-world}]}
---
apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {name: install-1, namespace: NAMESPACE}
spec:
  tasks:
    - taskRef: {name: wipe, namespace: default}
      hardware: {hardwareRef: {name: node1}, bootOptions: {toggleNetboot: true}}
"""


def in_namespace(text: str, namespace: str) -> str:
    return text.replace("metadata: {", f"metadata: {{namespace: {namespace}, ")


async def reapplied(box: Appliance, found: list[Exported], wish: Wish | None = None) -> dict[str, str]:
    return outcomes(
        await box.applying.apply(
            files(yaml_documents(each.manifest for each in found)), wish or Wish(rehearsal=True), "ann"
        )
    )


@pytest.mark.parametrize("last", ["node1", "node3"], ids=["exchanged", "another's former name"])
async def test_machines_may_take_each_others_names_under_a_workflow(box: Appliance, last: str) -> None:
    entry = STRUCTURED.replace("NAMESPACE", "default").partition("  tasks:\n")[2]
    both = STRUCTURED.replace("NAMESPACE", "default") + entry.replace("node1", "node2")
    await box.applying.apply(files(without_hostname(1), without_hostname(2), both), Wish(), "ann")
    for before, now in (("node1", "node4"), ("node2", "node1"), ("node4", "node2" if last == "node1" else last)):
        await box.machine_changes.change(before, MachineChange(name=now))
    found, notes = await exported(box, *ALL, Asked(KeptKind.TASK))
    assert notes == []
    assert set((await reapplied(box, found)).values()) == {"unchanged"}
    names = [each["hardware"]["hardwareRef"]["name"] for each in found[-1].manifest["spec"]["tasks"]]
    assert names == (["node2", "node1"] if last == "node1" else ["node3", "node1"])


@pytest.mark.parametrize(
    "workflow", [flow(1, toggles=True), STRUCTURED.replace("NAMESPACE", "default")], ids=["v1alpha1", "v1alpha2"]
)
async def test_a_workflow_names_its_machine_as_that_is_called_now(tmp_path: Path, workflow: str) -> None:
    """Renamed twice; what was exported is unchanged here, before the last renaming too, and created elsewhere."""
    async with appliance(tmp_path / "one") as box:
        await box.applying.apply(files(template(), without_hostname(1), workflow), Wish(), "ann")
        first, _ = await exported(box, *ALL, Asked(KeptKind.TASK))
        await box.machine_changes.change("node1", MachineChange(name="m2"))
        second, notes = await exported(box, *ALL, Asked(KeptKind.TASK))
        assert notes == []
        assert set((await reapplied(box, second)).values()) == {"unchanged"}
        await box.machine_changes.change("m2", MachineChange(name="m3"))
        third, notes = await exported(box, *ALL, Asked(KeptKind.TASK))
        assert "m3" in str(third[-1].manifest["spec"])
        assert "m2" not in str(third[-1].manifest["spec"])
        assert notes == []
        assert set((await reapplied(box, third)).values()) == {"unchanged"}
        for before in (first, second):
            (again,) = (await reapplied(box, before[-1:])).values()
            assert again == ("unchanged" if before is first else "refused")
        labelled = yaml_documents(each.manifest for each in third[-1:]).replace(
            "name: install-1", "name: install-1\n  labels: {a: b}"
        )
        (result,) = (await box.applying.apply(files(labelled), Wish(rehearsal=True), "ann")).results
        assert str(result.outcome) == "configured"
        assert result.old is not None
        assert {**result.old, "metadata": None} == {**result.new, "metadata": None}
    async with appliance(tmp_path / "two") as box:
        assert set((await reapplied(box, third, Wish())).values()) == {"created"}


async def test_a_workflow_that_would_mean_another_machine_elsewhere_is_left_out_and_told(box: Appliance) -> None:
    """A machine of its name was made later in its own namespace."""
    other = in_namespace(STRUCTURED.split("---")[1].replace("NAMESPACE", "zz"), "").replace("namespace: , ", "")
    task = STRUCTURED.split("---")[0]
    texts = template(), without_hostname(1), in_namespace(flow(1, "a"), "zz"), task, other
    await box.applying.apply(files(*texts), Wish(), "ann")
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert (named(found), notes) == (["workflow/a", "workflow/install-1"], [])
    await box.applying.apply(files(without_hostname(2, "zz").replace("node2", "node1")), Wish(), "ann")
    found, (told,) = await exported(box, Asked(Kind.WORKFLOW))
    assert named(found) == []
    assert told == (
        "2 workflows left out, whose documents would mean other machines than theirs: "
        f"a (node1 of namespace zz ({mac(2)}) in place of its node1 of namespace default ({mac(1)})), "
        f"install-1 (node1 of namespace zz ({mac(2)}) in place of its node1 of namespace default ({mac(1)}))"
    )
    assert await apply_again(box, *texts) == {"unchanged"}
    await box.machine_changes.change(str(mac(1)), MachineChange(name="m2"))
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert (found[0].manifest["spec"]["hardwareRef"], len(found), notes) == ("m2", 2, [])
    assert set((await reapplied(box, found)).values()) == {"unchanged"}


async def test_a_workflow_whose_machine_is_gone_is_told_and_left_out_where_another_has_its_name(box: Appliance) -> None:
    await box.applying.apply(files(site(1)), Wish(), "ann")
    await box.finish((await box.workflows.get("install-1")).workers()[0])
    await box.departures.delete("node1", "ann")
    asked = parse_asked("workflow/install-1")
    found, (told,) = await exported(box, asked)
    assert (named(found), told.partition(", ")[0]) == (
        ["workflow/install-1"],
        "1 workflow without a machine that their documents name",
    )
    await box.applying.apply(files(without_hostname(1, "zz")), Wish(), "ann")
    found, (told,) = await exported(box, asked)
    mine, theirs = f"node1 of namespace zz ({mac(1)})", "its node1, which was deleted"
    assert (found, told.partition(": ")[2]) == ([], f"install-1 ({mine} in place of {theirs})")


@pytest.mark.parametrize(
    "workflow",
    [
        flow(1, "w", device=2).replace("hardwareRef: node1", "hardwareRef: r1"),
        STRUCTURED.replace("NAMESPACE", "default")
        .replace(
            "hardware: {hardwareRef: {name: node1}", f'agentID: "{mac(2)}"\n      hardware: {{hardwareRef: {{name: r1}}'
        )
        .replace("name: install-1", "name: w"),
        STRUCTURED.replace("NAMESPACE", "default").replace("node1", "r1").replace("name: install-1", "name: w"),
    ],
    ids=["v1alpha1", "v1alpha2 elsewhere", "v1alpha2"],
)
async def test_what_was_registered_anew_under_the_first_name_of_a_deleted_machine_is_another_one(
    box: Appliance, workflow: str
) -> None:
    """It has the id of the deleted one; `apply` does not take a document that names it for that of the workflow."""
    await box.applying.apply(files(template(), without_hostname(1), without_hostname(2)), Wish(), "ann")
    await box.machine_changes.change("node1", MachineChange(name="r1"))
    await box.applying.apply(files(workflow), Wish(), "ann")
    await box.workflows.cancel("w", "ann")
    former = box.machines.known.find("r1").hardware.id
    await box.departures.delete("r1", "ann")
    asked = parse_asked("workflow/w")
    await box.applying.apply(files(without_hostname(21).replace("node21", "node1")), Wish(), "ann")
    assert box.machines.known.find("node1").hardware.id == former
    found, (told,) = await exported(box, asked)
    assert "r1" in str(found[0].manifest["spec"])
    assert told.startswith("1 workflow without a machine that their documents name")
    await box.applying.apply(files(without_hostname(11).replace("node11", "r1")), Wish(), "ann")
    found, (told,) = await exported(box, asked)
    assert (found, told.partition(" (")[0]) == (
        [],
        "1 workflow left out, whose documents would mean other machines than theirs: w",
    )
    other = workflow.replace("name: r1", "name: node1").replace("Ref: r1", "Ref: node1")
    *_, again = (await box.applying.apply(files(other), Wish(rehearsal=True), "ann")).results
    assert str(again.outcome) == "refused"


def with_agent(number: int, agent: str) -> str:
    return without_hostname(number).replace("spec:\n", f"spec:\n  agentID: {agent}\n")


BY_MAP = flow(1, "w").replace("  hardwareRef: node1\n", "")
BY_AGENT = STRUCTURED.replace("NAMESPACE", "default").replace("name: install-1", "name: w")
BY_AGENT = BY_AGENT.replace(
    "hardware: {hardwareRef: {name: node1}, bootOptions: {toggleNetboot: true}}", f'agentID: "{mac(1)}"'
)


async def by_hand(box: Appliance) -> None:
    await box.workflows.create("hello", {"device_1": mac(1).upper()}, name="w")


async def declared(box: Appliance) -> None:
    await box.applying.apply(files(BY_MAP), Wish(), "ann")


async def structured(box: Appliance) -> None:
    await box.applying.apply(files(BY_AGENT), Wish(), "ann")


@pytest.mark.parametrize("made", [by_hand, declared, structured])
async def test_a_workflow_whose_map_means_another_machine_by_now_is_left_out(
    box: Appliance, made: Callable[[Appliance], Awaitable[None]]
) -> None:
    """Its MAC moved, and while none has it, another appliance refuses the document."""
    await box.applying.apply(files(template(), without_hostname(1), without_hostname(2)), Wish(), "ann")
    await made(box)
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert (named(found), notes) == (["workflow/w"], [])
    moved = MachineChange(added_macs=(mac(7),), removed_macs=(mac(1),))
    await box.machine_changes.change("node1", moved, force=True)
    found, (told,) = await exported(box, Asked(Kind.WORKFLOW))
    assert (named(found), told.partition(", ")[0]) == (
        ["workflow/w"],
        "1 workflow without a machine that their documents name",
    )
    await box.machine_changes.change("node2", MachineChange(added_macs=(mac(1),)), force=True)
    found, (told,) = await exported(box, Asked(Kind.WORKFLOW))
    assert found == []
    assert told == (
        "1 workflow left out, whose documents would mean other machines than theirs: "
        f"w (node2 of namespace default ({mac(2)}) in place of its node1 of namespace default ({mac(7)}))"
    )


async def test_a_workflow_whose_agent_id_moved_is_left_out(box: Appliance) -> None:
    one, two = with_agent(1, "ag-1"), with_agent(2, "ag-2")
    await box.applying.apply(files(template(), one, two), Wish(), "ann")
    await box.workflows.create("hello", {"device_1": "ag-1"}, name="w")
    await box.workflows.cancel("w", "ann")
    exchanged = one.replace("ag-1", "ag-2"), two.replace("ag-2", "ag-1")
    assert set((await reapplied_texts(box, *exchanged)).values()) == {"configured"}
    found, (told,) = await exported(box, parse_asked("workflow/w"))
    assert found == []
    assert told.endswith(
        f"w (node2 of namespace default ({mac(2)}) in place of its node1 of namespace default ({mac(1)}))"
    )


async def test_a_workflow_whose_service_has_another_host_by_now_is_left_out(box: Appliance) -> None:
    text = f'{HELLO}services: [{{name: s, worker: "{{{{.host}}}}", image: x}}]\n'
    await box.applying.apply(files(template(text=text), without_hostname(1), with_agent(2, "ag-2")), Wish(), "ann")
    await box.workflows.create("hello", {"device_1": mac(1), "host": "ag-2"}, name="w")
    await box.workflows.cancel("w", "ann")
    await reapplied_texts(box, with_agent(2, "ag-3"), with_agent(3, "ag-2"))
    found, (told,) = await exported(box, parse_asked("workflow/w"))
    assert found == []
    assert f"w (node3 of namespace default ({mac(3)}) in place of its node2 of namespace default ({mac(2)}))" in told


async def reapplied_texts(box: Appliance, *texts: str) -> dict[str, str]:
    return outcomes(await box.applying.apply(files(*texts), Wish(), "ann"))


@pytest.mark.parametrize("made", [by_hand, declared, structured])
async def test_a_mac_of_a_deleted_machine_that_another_has_by_now_is_told(
    box: Appliance, made: Callable[[Appliance], Awaitable[None]]
) -> None:
    await box.applying.apply(files(template(), without_hostname(1)), Wish(), "ann")
    await made(box)
    await box.workflows.cancel("w", "ann")
    await box.departures.delete("node1", "ann")
    asked = parse_asked("workflow/w")
    found, (told,) = await exported(box, asked)
    assert (named(found), told.partition(", ")[0]) == (
        ["workflow/w"],
        "1 workflow without a machine that their documents name",
    )
    await box.applying.apply(files(without_hostname(1)), Wish(), "ann")
    found, (told,) = await exported(box, asked)
    assert (named(found), "registered anew" in told) == (["workflow/w"], True)
    await box.departures.delete("node1", "ann")
    await box.applying.apply(files(without_hostname(1).replace("node1", "node9")), Wish(), "ann")
    found, (told,) = await exported(box, asked)
    assert found == []
    assert f"w (node9 of namespace default ({mac(1)}) in place of its machine at " in told


async def test_a_hardware_ref_fits_the_machine_of_the_workflow_and_not_the_one_that_has_its_mac_by_now(
    box: Appliance,
) -> None:
    await box.applying.apply(files(template(), without_hostname(1), without_hostname(2)), Wish(), "ann")
    await by_hand(box)
    moved = MachineChange(added_macs=(mac(7),), removed_macs=(mac(1),))
    await box.machine_changes.change("node1", moved, force=True)
    await box.machine_changes.change("node2", MachineChange(added_macs=(mac(1),)), force=True)
    document = flow(1, "w").replace(mac(1), mac(1).upper())
    assert await reapplied_texts(box, document) == {"workflow/w": "unchanged"}
    assert await reapplied_texts(box, document.replace("hardwareRef: node1", "hardwareRef: node2")) == {
        "workflow/w": "refused"
    }


async def test_a_machine_that_was_registered_anew_under_the_name_that_the_document_has_is_told(box: Appliance) -> None:
    await box.applying.apply(files(site(1)), Wish(), "ann")
    await box.workflows.cancel("install-1", "ann")
    await box.departures.delete("node1", "ann")
    await box.applying.apply(files(machine(1)), Wish(), "ann")
    found, (told,) = await exported(box, parse_asked("workflow/install-1"))
    assert named(found) == ["workflow/install-1"]
    assert told == (
        "1 workflow with a machine that was deleted and registered anew under its name after them, so that `tinkbox apply` "
        "elsewhere fills their template as it is now: install-1"
    )
    assert await apply_again(box, site(1)) == {"unchanged"}


async def apply_again(box: Appliance, *texts: str) -> set[str]:
    return set(outcomes(await box.applying.apply(files(*texts), Wish(rehearsal=True), "ann")).values())


async def test_workflows_of_an_earlier_release_name_the_machine_that_had_the_name_from_its_document(
    box: Appliance,
) -> None:
    await box.applying.apply(files(template(), without_hostname(1), flow(1)), Wish(), "ann")
    (stored,) = await box.store.read(lambda tables: tables.declarations.named(["install-1"]))
    assert stored.declaration is not None
    machines = dict(stored.declaration.machines)
    assert replace(stored.declaration, machines={}).meant == machines
    await box.machine_changes.change("node1", MachineChange(name="m2"))
    assert replace(stored.declaration, machines={}).meant == machines


async def test_workflows_that_were_declared_again_are_left_out_but_for_the_newest_and_told(box: Appliance) -> None:
    await box.applying.apply(files(site(2)), Wish(), "ann")
    again = Creating(who="ann", again=True)
    (first,) = [each.id for each in await box.workflows.all() if each.name == "install-1"]
    (newest,) = (await box.creation.create(flow(2, "install-1"), again)).made
    told = f"1 workflow left out: another one has the same name and namespace, by which `apply` knows a workflow: install-1 ({first[:8]})"
    for asked in (Asked(Kind.WORKFLOW), parse_asked("workflow/install-1")):
        found, notes = await exported(box, asked)
        assert (found[0].manifest["spec"]["hardwareRef"], notes) == ("node2", [told])
    # The one that is asked for by its id is written, and of both the newest.
    found, notes = await exported(box, Asked(Kind.WORKFLOW, first))
    assert (found[0].manifest["spec"]["hardwareRef"], notes) == ("node1", [told.replace(first[:8], newest.id[:8])])
    for keys in ((first, newest.id), (newest.id, first)):
        both = await box.exporting.export([Asked(Kind.WORKFLOW, each) for each in keys], None)
        assert (len(both.documents), [each.key for each in both.absent]) == (1, [first])
        assert [each.text for each in both.notes] == [told]
    await box.workflows.cancel(first, "ann")
    assert (await exported(box, Asked(Kind.WORKFLOW)))[1] == []


async def test_what_is_named_and_left_out_is_absent(box: Appliance) -> None:
    await box.applying.apply(files(template(), machine(1)), Wish(), "ann")
    ids = [await box.workflows.create("hello", {"device_1": mac(1)}) for _ in range(2)]
    asked = [Asked(Kind.WORKFLOW, each) for each in ids]
    found = await box.exporting.export([*asked, Asked(Kind.WORKFLOW)], None)
    assert (list(found.documents), list(found.absent)) == ([], asked)
    assert not (await box.exporting.export([Asked(Kind.WORKFLOW)], None)).absent
    assert not (await box.exporting.export([Asked(Kind.TEMPLATE, "hello")], None)).absent


async def test_a_template_that_was_changed_or_made_anew_after_its_workflow_is_told(box: Appliance) -> None:
    await box.applying.apply(files(site(1)), Wish(), "ann")
    assert (await exported(box, Asked(Kind.WORKFLOW)))[1] == []
    told = (
        "1 workflow with a template that was changed or made anew after them, so that `tinkbox apply` elsewhere fills it as it is "
        "now: install-1"
    )
    box.clock.forward(1)
    await box.templates.label("hello", LabelChange(set=(("a", "b"),)))
    assert (await exported(box, Asked(Kind.WORKFLOW)))[1] == []
    await box.applying.apply(files(template(text=f"{HELLO}# another\n")), Wish(), "ann")
    found, notes = await exported(box, parse_asked("workflow/install-1"))
    assert (named(found), notes) == (["workflow/install-1"], [told])
    await box.applying.apply(files(flow(1, "later")), Wish(), "ann")
    assert (await exported(box, parse_asked("workflow/later")))[1] == []
    await box.templates.delete("hello")
    await box.applying.apply(files(template()), Wish(), "ann")
    assert (await exported(box, parse_asked("workflow/install-1")))[1] == [told]


async def test_a_template_that_was_renamed_is_told_by_its_new_name(box: Appliance) -> None:
    await box.applying.apply(files(site(1)), Wish(), "ann")
    await box.templates.update("hello", "hi")
    found, (told,) = await exported(box, Asked(Kind.WORKFLOW))
    assert named(found) == ["workflow/install-1"]
    assert told == (
        "1 workflow with a template that has another name by now, so that `tinkbox apply` refuses their documents where they are "
        "not known, and with them every document that is applied together with them: install-1 (hello is called hi by now). Give "
        "them its new name as templateRef there"
    )


async def test_workflows_of_machines_that_are_left_out_as_out_of_service_are_told(tmp_path: Path) -> None:
    """By a hardwareRef alone, and by an address alone."""
    async with appliance(tmp_path / "one") as box:
        await box.applying.apply(files(site(3), flow(1, "elsewhere", device=3)), Wish(), "ann")
        for number in (1, 2):
            await box.workflows.cancel(f"install-{number}", "ann")
            await box.departures.retire(f"node{number}", "ann")
        asked = *ALL, parse_asked("workflow/install-2")
        found, notes = await exported(box, *asked)
        assert notes[-1] == (
            "2 workflows of machines that are left out as out of service, so that `tinkbox apply` refuses their documents where "
            "these are not known, and with them every document that is applied together with them: elsewhere (node1), install-2 "
            "(node2). `tinkbox hardware return MACHINE` has a machine in documents again"
        )
        assert not [each for each in (await exported(box, *asked[1:]))[1] if "out of service" in each]
        for number in (1, 2):
            await box.departures.give_back(f"node{number}", "ann")
        back, notes = await exported(box, *asked)
        assert notes == ["2 machines with notes: notes are in no document"]
    async with appliance(tmp_path / "two") as box:
        with pytest.raises(Invalid, match="2 problems"):
            await reapplied(box, found)
        assert set((await reapplied(box, back)).values()) == {"created"}


async def test_a_task_that_is_gone_is_told(box: Appliance) -> None:
    await box.applying.apply(files(machine(1), STRUCTURED.replace("NAMESPACE", "default")), Wish(), "ann")
    assert (await exported(box, Asked(Kind.WORKFLOW)))[1] == []
    await box.kept_documents.delete(KeptKind.TASK, "wipe")
    found, (told,) = await exported(box, Asked(Kind.WORKFLOW))
    assert named(found) == ["workflow/install-1"]
    assert told.startswith("1 workflow without a Task to which they refer, which `tinkbox apply` refuses")


PAIR = f"""\
version: "0.1"
name: pair
tasks:
  - {{name: prepare, worker: "{mac(2)}", actions: [{{name: first, image: x}}]}}
  - name: install
    worker: "{{{{ .device_1 }}}}"
    actions:
      - {{name: disk, image: x, environment: {{DEST_DISK: "{{{{ index .Hardware.Disks 0 }}}}"}}}}
"""


async def made_for(box: Appliance, number: int = 1) -> str:
    """A workflow by hand of `pair`, said to be for node1, whose disk another machine has not, which runs the first task."""
    others = without_hostname(2).replace("/dev/vda", "/dev/nvme0n1"), without_hostname(3)
    await box.applying.apply(files(template("pair", PAIR), without_hostname(1), *others), Wish(), "ann")
    said = box.machines.known.find(f"node{number}").hardware
    return await box.workflows.create("pair", {"device_1": mac(number)}, machine=said)


async def disk_of(box: Appliance, key: str) -> str:
    workflow = await box.workflows.get(key)
    return dict(workflow.actions[-1].action.spec.environment)["DEST_DISK"]


async def test_a_workflow_by_hand_is_exported_with_the_machine_that_was_said(box: Appliance) -> None:
    """It is filled from that again, also where the machine has another name by now."""
    made = await made_for(box)
    assert await disk_of(box, made) == "/dev/vda"
    await box.machine_changes.change("node1", MachineChange(name="m4"))
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    assert (found[0].manifest["spec"]["hardwareRef"], notes) == ("m4", [])
    assert await reapplied(box, found) == {"workflow/pair": "unchanged"}
    await box.workflows.cancel(made, "ann")
    await box.workflows.delete(made)
    assert await reapplied(box, found, Wish()) == {"workflow/pair": "created"}
    assert await disk_of(box, "pair") == "/dev/vda"


async def test_the_machine_of_a_rollout_stays_said_after_a_retry(box: Appliance) -> None:
    await box.applying.apply(files(template(), machine(1), machine(2)), Wish(), "ann")
    await box.rollouts.create(Wanted(template="hello", machines=["node1"]), "ann")
    await box.rollouts.create_one(Wanted(template="hello", machines=["node2"]), "ann")
    await box.progression.look()
    for each in await box.workflows.all():
        await box.workflows.cancel(each.id, "ann")
        await box.workflows.retry(each.id, who="ann")
        (only,), notes = await exported(box, Asked(Kind.WORKFLOW, each.id))
        named_machine = {mac(1): "node1", mac(2): "node2"}[each.devices["device_1"]]
        assert (only.manifest["spec"]["hardwareRef"], notes) == (named_machine, [])


async def test_a_document_of_another_machine_than_was_said_by_hand_differs(box: Appliance) -> None:
    made = await made_for(box)
    found, _ = await exported(box, Asked(Kind.WORKFLOW))
    text = yaml_documents(each.manifest for each in found)

    async def became(reference: str) -> tuple[str, str, object]:
        given = text.replace("  hardwareRef: node1\n", reference)
        (result,) = (await box.applying.apply(files(given), Wish(rehearsal=True), "ann")).results
        return str(result.outcome), result.why.partition(" from")[0], (result.old or {})["spec"].get("hardwareRef")

    assert await became("  hardwareRef: node1\n") == ("unchanged", "", "node1")
    assert await became("") == ("unchanged", "", None)
    assert await became("  hardwareRef: node3\n") == ("refused", "its hardwareRef differs", "node1")
    # The names of now count, and of a machine that is gone the one that it had.
    await box.machine_changes.change("node1", MachineChange(name="m4"))
    await box.machine_changes.change("node3", MachineChange(name="node1"))
    assert await became("  hardwareRef: m4\n") == ("unchanged", "", "m4")
    assert (await became("  hardwareRef: node1\n"))[0] == "refused"
    await box.workflows.cancel(made, "ann")
    await box.departures.delete("m4", "ann")
    await box.machine_changes.change("node1", MachineChange(name="node3"))
    assert await became("  hardwareRef: node1\n") == ("unchanged", "", "node1")
    assert (await became("  hardwareRef: m4\n"))[0] == "refused"


async def test_a_document_of_a_said_machine_means_that_one_of_several_workflows_by_hand(box: Appliance) -> None:
    """Their devices are the same, as where an installer and its target are told apart by MACHINE alone."""
    await box.applying.apply(files(template(), machine(1), machine(2)), Wish(), "ann")
    found = [box.machines.known.find(each).hardware for each in ("node1", "node2")]
    ids = [await box.workflows.create("hello", {"device_1": mac(1)}, machine=each) for each in found]
    for number, made in enumerate(ids, 1):
        given = flow(number, "hello_world_workflow", device=1)
        (result,) = (await box.applying.apply(files(given), Wish(), "ann")).results
        assert (str(result.outcome), result.id) == ("unchanged", made)


async def test_where_no_machine_was_said_a_document_of_another_machine_than_its_own_differs(box: Appliance) -> None:
    await box.applying.apply(files(template("pair", PAIR), *map(without_hostname, (1, 2, 3))), Wish(), "ann")
    await box.workflows.create("pair", {"device_1": mac(1), "spare": "10.0.0.9"})
    ((only,), _) = await exported(box, Asked(Kind.WORKFLOW))
    assert "hardwareRef" not in only.manifest["spec"]

    async def became(reference: str) -> tuple[str, str]:
        given = yaml_documents([{**only.manifest, "spec": {**only.manifest["spec"], "hardwareRef": reference}}])
        (result,) = (await box.applying.apply(files(given), Wish(rehearsal=True), "ann")).results
        assert result.old is None or result.old["spec"].get("hardwareRef") in (None, reference)
        return str(result.outcome), result.why.partition(" from")[0]

    assert await became("node1") == ("unchanged", "")  # of its map
    assert await became("node2") == ("unchanged", "")  # of the template itself
    assert await became("node3") == ("refused", "its hardwareRef differs")
    await box.machine_changes.change(
        "node1", MachineChange(name="m4", added_macs=(mac(4),), removed_macs=(mac(1),)), force=True
    )
    assert await became("m4") == ("unchanged", "")
    assert await became("node1") == ("unchanged", "")  # which means none by now


async def test_a_said_machine_that_is_gone_or_another_by_now_is_told_as_that_of_a_document(box: Appliance) -> None:
    made = await made_for(box)
    await box.workflows.cancel(made, "ann")
    await box.departures.delete("node1", "ann")
    asked = Asked(Kind.WORKFLOW, made)
    found, (told,) = await exported(box, asked)
    assert (found[0].manifest["spec"]["hardwareRef"], told.partition(", ")[0]) == (
        "node1",
        "1 workflow without a machine that their documents name",
    )
    await box.applying.apply(files(without_hostname(1)), Wish(), "ann")
    found, (told,) = await exported(box, asked)
    assert (named(found), told.partition(" under")[0]) == (
        ["workflow/pair"],
        "1 workflow with a machine that was deleted and registered anew",
    )
    await box.departures.delete("node1", "ann")
    await box.applying.apply(files(without_hostname(1, "zz")), Wish(), "ann")
    found, (told,) = await exported(box, asked)
    mine, theirs = f"node1 of namespace zz ({mac(1)})", "its node1, which was deleted"
    assert (found, told.partition(": ")[2]) == ([], f"pair ({mine} in place of {theirs})")


@pytest.mark.parametrize("worker", [1, 2])
async def test_a_said_machine_without_a_name_is_left_to_the_first_task_or_its_workflow_left_out(
    box: Appliance, worker: int
) -> None:
    text = json.loads(of_2020(1).replace('"hostname": "machine-1", ', ""))
    await box.applying.apply(files(template(), json.dumps(text), machine(2)), Wish(), "ann")
    said = box.machines.known.find(mac(1)).hardware
    made = await box.workflows.create("hello", {"device_1": mac(worker)}, machine=said)
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    if worker == 1:
        assert ("hardwareRef" in found[0].manifest["spec"], notes) == (False, [])
        assert await reapplied(box, found) == {"workflow/hello_world_workflow": "unchanged"}
    else:
        (told,) = notes
        assert found == []
        assert told == (
            "1 workflow left out, filled from a machine without a name, which no hardwareRef can say: hello_world_workflow "
            f"({made[:8]}). `tinkbox hardware edit MAC --name NAME` gives a machine a name"
        )
    await box.machine_changes.change(mac(1), MachineChange(name="m1"))
    ((only,), notes) = await exported(box, Asked(Kind.WORKFLOW))
    assert (only.manifest["spec"]["hardwareRef"], notes) == ("m1", [])


@pytest.mark.parametrize("worker", [1, 2])
async def test_a_said_machine_whose_name_means_another_one_is_left_to_the_first_task_or_its_workflow_left_out(
    box: Appliance, worker: int
) -> None:
    """Its namesake is in the namespace of the workflow's document."""
    theirs = without_hostname(3).replace("node3", "node1")
    await box.applying.apply(files(template(), without_hostname(1, "zz"), machine(2), theirs), Wish(), "ann")
    said = box.machines.known.find(mac(1)).hardware
    await box.workflows.create("hello", {"device_1": mac(worker)}, machine=said)
    found, notes = await exported(box, Asked(Kind.WORKFLOW))
    if worker == 1:
        assert ("hardwareRef" in found[0].manifest["spec"], notes) == (False, [])
        assert await reapplied(box, found) == {"workflow/hello_world_workflow": "unchanged"}
    else:
        (told,) = notes
        assert (found, told.partition(", whose")[0]) == ([], "1 workflow left out")
        assert f"(node1 of namespace default ({mac(3)}) in place of its node1 of namespace zz ({mac(1)}))" in told


async def test_a_said_machine_of_2020_or_of_another_namespace_is_said_elsewhere(tmp_path: Path) -> None:
    async with appliance(tmp_path / "one") as box:
        await box.applying.apply(files(template(), of_2020(1), without_hostname(2, "zz")), Wish(), "ann")
        for key, number in (("machine-1", 1), ("node2", 2)):
            said = box.machines.known.find(key).hardware
            await box.workflows.create("hello", {"device_1": mac(number)}, machine=said, name=f"w{number}")
        found, notes = await exported(box)
        names = [each.manifest["spec"]["hardwareRef"] for each in found if each.kind is Kind.WORKFLOW]
        assert (names, notes) == (["machine-1", "node2"], [])
    async with appliance(tmp_path / "two") as box:
        assert set((await reapplied(box, found, Wish())).values()) == {"created"}
        assert set((await reapplied(box, found)).values()) == {"unchanged"}


async def test_of_namesakes_a_said_machine_is_the_one_whose_mac_stands_beside(box: Appliance) -> None:
    theirs = without_hostname(3, "yy").replace("node3", "node1")
    await box.applying.apply(files(template(), without_hostname(1, "zz"), theirs), Wish(), "ann")
    said = box.machines.known.find(mac(1)).hardware
    await box.workflows.create("hello", {"device_1": mac(1)}, machine=said)
    ((only,), notes) = await exported(box, Asked(Kind.WORKFLOW))
    assert (only.manifest["spec"].get("hardwareRef"), notes) == ("node1", [])
    assert await reapplied(box, [only]) == {"workflow/hello_world_workflow": "unchanged"}
