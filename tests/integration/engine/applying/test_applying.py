"""Files are applied once, in any order, all or none; and again without any change."""

import asyncio
import json
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, appliance, mac
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
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.workflows.retention import Retainer
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.hardware import parse_hardware
from tinkbox.model.labels import LabelChange
from tinkbox.model.retention import Retention
from tinkbox.model.workflow import State

STORED = Wish()
DRY = Wish(rehearsal=True)


async def apply(box: Appliance, *texts: str, wish: Wish = STORED) -> dict[str, str]:
    return outcomes(await box.applying.apply(files(*texts), wish, "ann"))


async def forget(box: Appliance) -> None:
    """Have the retainer delete every workflow that is over."""
    at_once = Retention(workflows=timedelta(0), newest=0)
    box.clock.forward(60)

    async def forgotten() -> None: ...

    await Retainer(box.store, box.wakeups, box.machines, box.clock, at_once, forgotten, lambda: 2**40).look()


async def problems(box: Appliance, *texts: str) -> list[str]:
    with pytest.raises(Invalid) as refused:
        await apply(box, *texts)
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


async def test_a_workflow_that_a_person_deletes_is_run_again(box: Appliance) -> None:
    await apply(box, site(1))
    await box.finish((await box.workflows.get("install-1")).workers()[0])
    await forget(box)
    await apply(box, flow(1).replace("hardwareRef: node1", "hardwareRef: ''"))
    await box.workflows.delete("install-1")
    assert await apply(box, flow(1)) == {"workflow/install-1": "created"}


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


async def test_every_problem_is_told_with_file_and_line_and_nothing_is_stored(box: Appliance) -> None:
    broken = machine(1).replace("mac: 08", "mac: zz").replace("netboot:", "netbot:")
    bad_template = template(text=HELLO.replace("image: hello-world", "imag: hello-world"))
    found = await problems(box, machine(2), broken, "kind: Foo\napiVersion: x/y\n", bad_template, flow(1))
    assert [each.split(": ")[0] for each in found] == [
        "1.yaml:11, spec.interfaces[0].netbot",
        "1.yaml:8, spec.interfaces[0].dhcp.mac",
        "2.yaml:1",
        "3.yaml:13, tasks[0].actions[0].image",
        "3.yaml:14, tasks[0].actions[0].imag",
    ]
    assert not await box.machines.all()
    assert not await box.templates.all()


async def test_user_data_that_no_system_takes_is_refused_and_odd_is_told(box: Appliance) -> None:
    (found,) = await problems(box, machine(1) + "  userData: '#cloud-config\n\n    a: ['\n")
    assert found.startswith("0.yaml:5, spec: node1: userData")
    odd = await box.applying.apply(files(machine(1) + "  userData: no user-data\n"), STORED, "ann")
    assert str(odd.notes[0]).startswith("0.yaml:5, spec: node1: userData")


async def test_references_to_nothing_are_told_each_at_its_place(box: Appliance) -> None:
    found = await problems(box, machine(1), flow(2), flow(1).replace("templateRef: hello", "templateRef: nope"))
    assert found == [
        "1.yaml:5, spec.templateRef: template hello not found",
        "2.yaml:5, spec.templateRef: template nope not found",
    ]
    found = await problems(box, template(), flow(2))
    assert found[0] == "1.yaml:6, spec.hardwareRef: hardware node2 is neither known nor in these files"
    assert not await box.templates.all()


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


async def test_what_another_machine_has_is_refused_by_its_name(box: Appliance) -> None:
    await apply(box, machine(1))
    (found,) = await problems(box, machine(2, card=1))
    assert found == f"0.yaml:1: {mac(1)} belongs to machine node1 already: `tinkbox hardware get node1` shows it"


async def test_the_card_of_a_machine_with_work_does_not_change(box: Appliance) -> None:
    await apply(box, site(1))
    (found,) = await problems(box, machine(1, card=8))
    assert "is not over and knows machine node1 by its MACs" in found


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
        times.append(ready)
        return ready

    monkeypatch.setattr(box.applying, "_prepared", prepared_before)
    assert (await apply(box, site(1)))["workflow/install-1"] == "created"
    assert [len(each) for each in times] == [0, 1]


async def test_pruning_deletes_what_is_selected_and_in_no_file(box: Appliance) -> None:
    await apply(
        box, machine(1), machine(2), machine(3, rack="r2"), template("old", labels="rack: r1"), template("other")
    )
    applied = await apply(box, machine(1), wish=pruning("rack=r1"))
    assert applied == {"hardware/node1": "unchanged", "hardware/node2": "pruned", "template/old": "pruned"}
    assert sorted(each.hardware.name for each in box.machines.known.all()) == ["node1", "node3"]
    assert [each.name for each in await box.templates.all()] == ["other"]


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
        await apply(box, machine(1), machine(4), wish=pruning("rack=r1", [node2]))
    assert len(box.machines.known.all()) == 3


async def test_a_pruned_machine_leaves_its_card_to_a_new_one(box: Appliance) -> None:
    await apply(box, machine(1))
    assert await apply(box, machine(2, card=1), wish=pruning("rack=r1")) == {
        "hardware/node2": "created",
        "hardware/node1": "pruned",
    }
    assert box.machines.known.find(mac(1)).hardware.name == "node2"


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


async def test_only_documents_of_others_are_no_documents(box: Appliance) -> None:
    with pytest.raises(Invalid, match="no documents"):
        await apply(box, "apiVersion: v1\nkind: Namespace\nmetadata: {name: x}\n", wish=pruning("rack=r1"))
