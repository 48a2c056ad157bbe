"""What is there, as files that make the same again."""

from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, appliance, mac
from tests.integration.engine.applying.documents import files, flow, machine, of_2020, outcomes, site, template
from tinkbox.cli.output.manifests import yaml_documents
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.exporting import Asked, Exported, Kind, parse_asked
from tinkbox.model.errors import Invalid, NotFound
from tinkbox.model.labels import LabelChange, parse_selector

ALL = tuple(map(Asked, Kind))


async def exported(box: Appliance, *asked: Asked, selector: str = "") -> tuple[list[Exported], list[str]]:
    found, notes = await box.exporting.export(asked or ALL, parse_selector(selector) if selector else None)
    return found, [each.text for each in notes]


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
        assert box.machines.known.find("machine-50").hardware.labels == {"rack": "r5", "empty": ""}
        assert box.machines.known.find("machine-50").hardware.id == "00000000-0000-0000-0000-000000000032"
        assert not box.machines.known.find("node7").hardware.labels


async def test_documents_come_by_kind_and_by_name_as_people_sort(box: Appliance) -> None:
    await box.applying.apply(files(machine(10), machine(9), template("b"), template("a")), Wish(), "ann")
    assert named((await exported(box))[0]) == ["hardware/node9", "hardware/node10", "template/a", "template/b"]


async def test_what_kubernetes_adds_is_left_out(box: Appliance) -> None:
    added = "uid: x, resourceVersion: '7', creationTimestamp: null, namespace: default, annotations: {a: b}"
    given = machine(1).replace("name: node1,", f"name: node1, {added},") + "status: {state: x}\n"
    await box.applying.apply(files(given), Wish(), "ann")
    ((only,), _) = await exported(box)
    assert only.manifest["metadata"] == {"name": "node1", "labels": {"rack": "r1"}, "annotations": {"a": "b"}}
    assert "status" not in only.manifest
    plain = machine(1).replace("name: node1,", "name: node1, annotations: {a: b},")
    assert outcomes(await box.applying.apply(files(plain), Wish(), "ann")) == {"hardware/node1": "unchanged"}


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
    assert notes == ["1 machine is retired, and no document says so: applied elsewhere it is in service"]
    assert (await exported(box, Asked(Kind.HARDWARE, "machine-3")))[1] == []
