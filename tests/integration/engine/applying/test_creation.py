"""`workflow create -f`: what is there with the same content is not made twice."""

import asyncio
import re
from typing import Any

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, mac
from tests.integration.engine.applying.documents import files, flow, machine, outcomes, template
from tinkbox.engine.applying import creation
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.creation import Creating, Creations
from tinkbox.engine.machines.changes import Change as MachineChange
from tinkbox.engine.rules.arming import Change
from tinkbox.model.errors import Invalid, TooLarge

ONCE = Creating(who="ann")
AGAIN = Creating(who="ann", again=True)


async def site(box: Appliance, count: int = 1) -> None:
    await box.applying.apply(files(template(), *map(machine, range(1, count + 1))), Wish(), "ann")


async def create(box: Appliance, *texts: str, how: Creating = ONCE) -> Creations:
    return await box.creation.create("---\n".join(texts), how)


def made(found: Creations) -> list[tuple[str, bool]]:
    return [(each.name, each.is_new) for each in found.made]


async def test_the_same_file_a_second_time_makes_nothing_and_tells_the_id(box: Appliance) -> None:
    await site(box)
    (first,) = (await create(box, flow(1))).made
    second = await create(box, flow(1))
    assert (second.made[0].id, made(second)) == (first.id, [("install-1", False)])
    (note,) = map(str, second.notes)
    assert note == (
        "line 3, metadata.name: workflow install-1 is there already with the same content, and is not over: nothing was made. --again "
        "makes another one"
    )
    assert [each.id for each in await box.workflows.all()] == [first.id]


async def test_what_is_ignored_of_the_template_of_one_that_is_there_is_told_and_refused_where_that_is_wanted(
    box: Appliance,
) -> None:
    odd = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]")
    await box.applying.apply(files(template(text=odd), machine(1), machine(2)), Wish(), "ann")
    await create(box, flow(1), flow(2))
    told = [str(each) for each in (await create(box, flow(1), flow(2))).notes]
    place = "line 5, spec.templateRef: template hello: line 10, tasks[0].actions[0].args"
    assert len([each for each in told if each.startswith(place)]) == 1, "once for both"
    with pytest.raises(Invalid) as refusal:
        await create(box, flow(1), how=Creating(who="ann", strict=True))
    (found,) = map(str, refusal.value.problems)
    assert found.startswith(place)


async def test_a_document_that_names_its_machine_as_it_is_called_now_makes_nothing(box: Appliance) -> None:
    await site(box)
    await create(box, flow(1))
    await box.machine_changes.change("node1", MachineChange(name="m2"))
    assert made(await create(box, flow(1).replace("node1", "m2"))) == [("install-1", False)]
    with pytest.raises(Invalid, match="1 problem"):
        await create(box, flow(1).replace("hardwareRef: node1", "hardwareRef: ''"))


async def test_again_makes_another_one(box: Appliance) -> None:
    await site(box)
    await create(box, flow(1))
    assert made(await create(box, flow(1), how=AGAIN)) == [("install-1", True)]
    assert len(await box.workflows.all()) == 2


async def test_a_file_that_has_more_than_before_makes_the_rest(box: Appliance) -> None:
    await site(box, 2)
    await create(box, flow(1))
    assert made(await create(box, flow(1), flow(2), flow(2))) == [
        ("install-1", False),
        ("install-2", True),
        ("install-2", False),
    ]
    assert len(await box.workflows.all()) == 2


@pytest.mark.parametrize(
    ("change", "fields"),
    [
        (("hardwareRef: node1", "hardwareRef: node2"), "its hardwareRef differs"),
        ((mac(1), mac(2)), "its hardwareMap differs"),
        (("templateRef: hello", "templateRef: other"), "its templateRef differs"),
    ],
)
async def test_another_content_is_refused_before_anything_is_made(
    box: Appliance, change: tuple[str, str], fields: str
) -> None:
    await site(box, 2)
    (first,) = (await create(box, flow(1))).made
    with pytest.raises(Invalid) as refused:
        await create(box, flow(2), flow(1).replace(*change))
    (problem,) = refused.value.problems
    assert (problem.line, problem.key) == (11, "metadata.name")
    assert problem.text == (
        f"workflow install-1 is there already, {first.id}, and {fields}: a workflow never changes. Give the document another name, "
        "or have another one of this name made with --again"
    )
    assert len(await box.workflows.all()) == 1
    assert made(await create(box, flow(1, device=2), how=AGAIN)) == [("install-1", True)]


async def test_what_was_applied_is_there_and_what_was_created_is_unchanged(box: Appliance) -> None:
    await site(box, 2)
    await box.applying.apply(files(flow(1)), Wish(), "ann")
    assert made(await create(box, flow(1), flow(2))) == [("install-1", False), ("install-2", True)]
    applied = await box.applying.apply(files(flow(1), flow(2)), Wish(), "ann")
    assert set(outcomes(applied).values()) == {"unchanged"}


async def test_in_another_namespace_it_is_another_workflow(box: Appliance) -> None:
    await site(box)
    await create(box, flow(1))
    elsewhere = flow(1).replace("metadata: {", "metadata: {namespace: lab, ")
    assert made(await create(box, elsewhere)) == [("install-1", True)]


async def test_one_that_was_made_by_hand_counts_as_for_apply(box: Appliance) -> None:
    await site(box)
    by_hand = await box.workflows.create("hello", {"device_1": mac(1)}, name="install-1")
    (found,) = (await create(box, flow(1))).made
    assert (found.id, found.is_new) == (by_hand, False)


@pytest.mark.parametrize("is_said", [True, False])
async def test_one_that_was_made_by_hand_for_another_machine_differs(box: Appliance, is_said: bool) -> None:
    await site(box, 2)
    said = box.machines.known.find("node1").hardware if is_said else None
    by_hand = await box.workflows.create("hello", {"device_1": mac(1)}, machine=said, name="install-1")
    with pytest.raises(Invalid) as refused:
        await create(box, flow(1).replace("hardwareRef: node1", "hardwareRef: node2"))
    assert f"is there already, {by_hand}, and its hardwareRef differs" in str(refused.value.problems[0])
    assert made(await create(box, flow(1))) == [("install-1", False)]


async def test_one_that_is_over_is_not_run_again(box: Appliance) -> None:
    await site(box)
    (first,) = (await create(box, flow(1))).made
    await box.finish((await box.workflows.get(first.id)).workers()[0])
    second = await create(box, flow(1))
    assert (second.made[0].id, made(second)) == (first.id, [("install-1", False)])
    assert "with the same content, and is over: nothing was made" in second.notes[0].text


async def test_what_is_there_keeps_its_labels_breakpoints_and_permission_and_that_is_told(box: Appliance) -> None:
    await site(box)
    await create(box, flow(1))
    how = Creating(labels={"a": "b"}, breakpoints=Change(on_failure=True), confirm_wipe=True)
    found = await create(box, flow(1), how=how)
    assert "nothing was made. It keeps the labels and breakpoints and permission to wipe disks that it has." in str(
        found.notes[0]
    )
    (workflow,) = await box.workflows.all()
    assert (await box.workflows.labels(workflow.id), workflow.wipe_confirmed) == ({}, False)


async def test_it_is_there_also_when_its_machine_and_template_are_gone(box: Appliance) -> None:
    await site(box)
    (first,) = (await create(box, flow(1))).made
    await box.finish((await box.workflows.get(first.id)).workers()[0])
    await box.machines.delete("node1")
    await box.templates.delete("hello")
    assert made(await create(box, flow(1))) == [("install-1", False)]


async def test_two_who_create_the_same_at_once_make_one(box: Appliance) -> None:
    await site(box)
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(create(box, flow(1))) for _ in range(2)]
    both = [each.result().made[0] for each in asked]
    assert sorted(each.is_new for each in both) == [False, True]
    assert len({each.id for each in both}) == 1
    assert len(await box.workflows.all()) == 1


async def test_generate_name_makes_another_one_each_time(box: Appliance) -> None:
    await site(box)
    generated = flow(1).replace("name: install-1", "generateName: install-")
    names = [(await create(box, generated)).made[0].name for _ in range(3)]
    assert all(re.fullmatch(r"install-[bcdfghjklmnpqrstvwxz2456789]{5}", each) for each in names)
    assert len(set(names)) == 3
    assert {each.name for each in await box.workflows.all()} == set(names)


async def test_a_name_beats_generate_name(box: Appliance) -> None:
    await site(box)
    both = flow(1).replace("name: install-1", "generateName: install-, name: mine")
    assert made(await create(box, both)) == [("mine", True)]
    assert made(await create(box, both)) == [("mine", False)]


async def test_apply_refuses_generate_name_with_the_way_out(box: Appliance) -> None:
    await site(box)
    generated = flow(1).replace("name: install-1", "generateName: install-")
    with pytest.raises(Invalid) as refused:
        await box.applying.apply(files(generated), Wish(), "ann")
    assert ["or make it with `tinkbox workflow create -f`" in each.text for each in refused.value.problems] == [True]


async def test_hardware_in_the_same_file_is_no_hardware_yet_and_apply_is_named(box: Appliance) -> None:
    await box.templates.create("hello", HELLO)
    with pytest.raises(Invalid) as refused:
        await create(box, flow(1), flow(2), machine(1))
    assert [each.text for each in refused.value.problems] == [
        "hardware node1 not found: it is in the same file, and `tinkbox apply -f` takes all kinds at once",
        "hardware node2 not found: push its document first",
    ]


async def test_a_template_in_the_same_file_is_none_yet_and_apply_is_named(box: Appliance) -> None:
    await box.applying.apply(files(machine(1)), Wish(), "ann")
    with pytest.raises(Invalid) as refused:
        await create(box, flow(1), template())
    (told,) = map(str, refused.value.problems)
    assert told.startswith("line 5, spec.templateRef: template 'hello' not found")
    assert told.endswith("it is in the same file, and `tinkbox apply -f` takes all kinds at once")


async def test_a_workflow_that_is_taken_between_look_and_making_with_another_content_is_refused(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site(box, 2)
    prepare = box.workflows.prepare

    async def meanwhile(*given: Any, **how: Any) -> Any:
        monkeypatch.undo()
        await create(box, flow(1, device=2))
        return await prepare(*given, **how)

    monkeypatch.setattr(box.workflows, "prepare", meanwhile)
    with pytest.raises(Invalid) as refused:
        await create(box, flow(1))
    assert "its hardwareMap differs" in str(refused.value.problems[0])
    assert len(await box.workflows.all()) == 1


async def test_images_that_are_required_are_refused(box: Appliance) -> None:
    await site(box)
    with pytest.raises(Invalid) as refused:
        await create(box, flow(1), how=Creating(require_images=True))
    assert [each.text.split(":")[0] for each in refused.value.problems] == [
        "template hello",
        "template hello",
    ]
    assert ["image hello-world is not in the registry" in each.text for each in refused.value.problems] == [True, False]
    assert await box.workflows.all() == []


async def test_a_workflow_that_ran_elsewhere_is_told_to_run_anew(box: Appliance) -> None:
    await site(box)
    ran = f"{flow(1)}status: {{state: STATE_SUCCESS}}\n"
    (told,) = (str(each) for each in (await create(box, ran)).notes if "status" in str(each))
    assert told.startswith("line 8, status: its status says STATE_SUCCESS, which is not read")
    assert not any("its status" in str(each) for each in (await create(box, ran)).notes)


UNKNOWN_MAC = mac(99)


@pytest.mark.parametrize(
    ("change", "how", "told"),
    [
        (("templateRef: hello", "templateRef: none"), ONCE, "line 13, spec.templateRef: template 'none' not found"),
        (("templateRef: hello", "templateRef: twice"), ONCE, "line 13, spec"),
        ((mac(2), UNKNOWN_MAC), ONCE, "line 13, spec.templateRef: template hello: "),
        (("node2", "node3"), ONCE, "line 13, spec: machine node3 is retired"),
        (
            ("templateRef: hello", "templateRef: odd"),
            Creating(strict=True),
            "line 13, spec.templateRef: template odd: line 10",
        ),
        (("", ""), Creating(breakpoints=Change(after=("none",))), "line 5, spec"),
    ],
)
async def test_one_of_a_file_that_cannot_be_made_refuses_all_of_it_with_its_line(
    box: Appliance, change: tuple[str, str], how: Creating, told: str
) -> None:
    await site(box, 3)
    odd = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]")
    twice = [template("twice", labels="", text=HELLO.replace("hello-world", each)) for each in ("a", "b")]
    twice = [
        each.replace("{name: twice", f"{{namespace: {space}, name: twice")
        for space, each in zip("ab", twice, strict=True)
    ]
    await box.applying.apply(files(template("odd", odd), *twice), Wish(), "ann")
    await box.departures.retire("node3", "ann")
    second = flow(2).replace(*change).replace(mac(2), mac(3) if "node3" in change else mac(2))
    with pytest.raises(Invalid) as refused:
        await create(box, flow(1), second, how=how)
    assert str(refused.value.problems[0]).startswith(told), [str(each) for each in refused.value.problems]
    assert await box.workflows.all() == []


async def test_more_new_ones_than_are_made_at_once_are_refused(box: Appliance, monkeypatch: pytest.MonkeyPatch) -> None:
    await site(box, 2)
    monkeypatch.setattr(creation, "MAX_NEW", 1)
    with pytest.raises(TooLarge, match="2 new workflows, and 1 are made at once: split the file"):
        await create(box, flow(1), flow(2))
    assert await box.workflows.all() == []
    await create(box, flow(1))
    assert made(await create(box, flow(1), flow(2))) == [("install-1", False), ("install-2", True)]


async def test_one_that_vanishes_between_look_and_making_is_made_again(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    await site(box, 2)
    (first,) = (await create(box, flow(1))).made
    prepare = box.workflows.prepare

    async def meanwhile(*given: Any, **how: Any) -> Any:
        monkeypatch.undo()
        await box.finish((await box.workflows.get(first.id)).workers()[0])
        await box.workflows.delete(first.id)
        return await prepare(*given, **how)

    monkeypatch.setattr(box.workflows, "prepare", meanwhile)
    assert made(await create(box, flow(1), flow(2))) == [("install-1", True), ("install-2", True)]


async def test_one_that_is_not_over_cannot_be_disabled(box: Appliance) -> None:
    disabled = f"{flow(1)}  disabled: true\n"
    await site(box, 2)
    with pytest.raises(Invalid, match="nothing is left to make") as none_left:
        await create(box, disabled)
    assert [each.text.partition(":")[0] for each in none_left.value.problems] == ["Workflow install-1 is left out"]
    await create(box, flow(1))
    short = (await box.workflows.get("install-1")).id[:8]
    for texts in ([disabled], [disabled, flow(2)]):
        with pytest.raises(Invalid) as refusal:
            await create(box, *texts)
        (found,) = map(str, refusal.value.problems)
        assert found == (
            f"line 8, spec.disabled: workflow {short} of this name is there and not over, and it cannot be held back: `tinkbox "
            f"workflow cancel {short}` if it is not to run, or give its document without disabled"
        )
    await box.workflows.cancel("install-1", "ann")
    assert made(await create(box, disabled, flow(2))) == [("install-2", True)]


async def test_they_are_made_in_the_order_of_their_creation_elsewhere(box: Appliance) -> None:
    await site(box)
    wipe = flow(1, "wipe").replace("{name", "{creationTimestamp: 2026-05-04T12:30:00Z, name")
    assert made(await create(box, flow(1), wipe)) == [("install-1", True), ("wipe", True)], "as they stand in the file"
    there = await box.store.read(lambda tables: tables.declarations.unfinished())
    assert [each.name for each in there] == ["wipe", "install-1"]
