"""Names that begin with what was typed, of a running engine."""

from dataclasses import replace
from uuid import UUID

import pytest

from tests.integration.engine.appliance import HELLO, Appliance
from tinkbox.engine.rollouts.planning import Wanted
from tinkbox.engine.views import suggested_names
from tinkbox.engine.views.suggested_names import SuggestedNames
from tinkbox.model.key_kinds import KeyKind
from tinkbox.model.notes import Retirement


@pytest.fixture
def names(box: Appliance) -> SuggestedNames:
    return SuggestedNames(box.store, box.machines.known, box.templates, box.services)


async def found(names: SuggestedNames, kind: KeyKind, prefix: str = "") -> dict[str, str]:
    return {each.name: each.about for each in await names.beginning(kind, prefix)}


async def test_a_machine_is_suggested_by_the_name_that_was_begun(box: Appliance, names: SuggestedNames) -> None:
    await box.machine(1)
    await box.machine(2)
    assert list(await found(names, KeyKind.MACHINE)) == ["machine-1", "machine-2"]
    assert list(await found(names, KeyKind.MACHINE, "08:00:27:00:00:02")) == ["08:00:27:00:00:02"]
    assert await found(names, KeyKind.MACHINE, "172.30.0.11") == {"172.30.0.11": "machine-1 08:00:27:00:00:01"}
    assert list(await found(names, KeyKind.MACHINE, str(UUID(int=2)))) == [str(UUID(int=2))]
    assert await found(names, KeyKind.MACHINE, "nothing") == {}


async def test_those_out_of_service_are_suggested_to_who_takes_them_back(box: Appliance, names: SuggestedNames) -> None:
    for number in (1, 2):
        await box.machine(number)
    record = box.machines.known.find("machine-2")
    box.machines.known.note(replace(record, retired=Retirement(at=box.clock(), who="ann", reason="")))
    assert list(await found(names, KeyKind.RETIRED_MACHINE)) == ["machine-2"]
    assert list(await found(names, KeyKind.MACHINE)) == ["machine-1", "machine-2"]


async def test_a_workflow_is_suggested_by_its_id_and_by_its_machine(box: Appliance, names: SuggestedNames) -> None:
    await box.machine(1)
    older, newer = await box.workflow(), await box.workflow()
    everything = await found(names, KeyKind.WORKFLOW)
    assert everything == {
        "machine-1": "hello_world_workflow PENDING",
        newer[:8]: "hello_world_workflow PENDING machine-1",
        older[:8]: "hello_world_workflow PENDING machine-1",
    }
    assert list(await found(names, KeyKind.WORKFLOW, older[:8])) == [older[:8]]
    assert list(await found(names, KeyKind.WORKFLOW, older)) == [older]
    assert list(await found(names, KeyKind.WORKFLOW, "mach")) == ["machine-1"]


async def test_templates_are_the_stored_and_those_of_the_program(box: Appliance, names: SuggestedNames) -> None:
    template = await box.templates.create("inst", HELLO)
    assert await found(names, KeyKind.TEMPLATE, "inst") == {
        "inst": template[:8],
        "install": (await found(names, KeyKind.TEMPLATE))["install"],
    }
    await box.templates.create("install", HELLO)
    assert len((await found(names, KeyKind.TEMPLATE))["install"]) == 8


async def test_a_rollout_is_suggested_by_its_id_and_by_its_template(box: Appliance, names: SuggestedNames) -> None:
    ids = [await box.machine(number) for number in (1, 2)]
    await box.templates.create("hello", HELLO)
    older, newer = [
        (await box.rollouts.create(Wanted(template="hello", machines=[each]), "ann")).rollout.id for each in ids
    ]
    everything = await found(names, KeyKind.ROLLOUT)
    assert list(everything) == [older[:8], newer[:8], "hello"]
    assert everything["hello"].startswith(newer[:8]), "which its name means"


async def test_no_more_are_suggested_than_a_screen_or_two(
    box: Appliance, names: SuggestedNames, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(suggested_names, "MOST_SUGGESTED", 2)
    for number in range(1, 5):
        await box.machine(number)
    assert len(await found(names, KeyKind.MACHINE)) == 2
