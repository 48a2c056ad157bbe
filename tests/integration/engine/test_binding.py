"""Tasks meet their machines."""

import pytest

from tests.integration.engine.appliance import Appliance
from tests.integration.engine.flows import LIMITED, REBOOT, RETRIES
from tinkbox.model.errors import Invalid
from tinkbox.model.workflow import State

CHOICE = """\
version: "0.1"
name: choice
tasks:
  - name: prepare
    worker: "{{.a}}"
    actions:
      - {name: raid, image: x, if: "false"}
  - name: install
    worker: "{{.b}}"
    actions:
      - {name: write, image: x, if: "True"}
      - {name: verify, image: x, if: ""}
      - {name: report, image: x, if: "FALSE"}
"""


async def test_what_does_not_apply_is_skipped_from_the_beginning_and_needs_no_ticket(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    key = await box.workflow(CHOICE, a=1, b=2)
    workflow = await box.workflows.get(key)
    assert [each.state for each in workflow.actions] == [State.SKIPPED, State.PENDING, State.PENDING, State.SKIPPED]
    assert workflow.workers() == [second]
    assert [(await box.machines.get(each)).ticket for each in (first, second)] == [False, True]
    (created,) = await box.workflows.events(key)
    assert created.data["skipped"] == [0, 3]
    assert created.data["workers"] == [second]
    assert await box.finish(second) == ["write", "verify"]
    assert (await box.workflows.get(key)).state is State.SUCCESS


async def test_where_nothing_applies_there_is_no_workflow(box: Appliance) -> None:
    await box.machine(1)
    nothing = CHOICE.replace('"True"', '"false"').replace('if: ""', 'if: "false"')
    with pytest.raises(Invalid, match="there is nothing to do"):
        await box.workflow(nothing, a=1, b=1)
    assert await box.workflows.all() == []


async def test_every_unknown_machine_is_named(box: Appliance) -> None:
    await box.machine(1)
    with pytest.raises(Invalid) as refusal:
        await box.workflow(CHOICE, a=7, b=8)
    assert [each.key for each in refusal.value.problems] == ["tasks[0].worker", "tasks[1].worker"]


async def test_what_the_template_says_of_its_helper_is_kept(box: Appliance) -> None:
    await box.machine(1)
    text = CHOICE.replace("name: write,", "name: write, helper: false,").replace("{{.b}}", "{{.a}}")
    actions = (await box.workflows.get(await box.workflow(text, a=1))).actions
    assert [each.action.helper for each in actions] == [True, False, True, True]


async def test_what_the_template_says_of_retries_reboots_and_time_is_kept(box: Appliance) -> None:
    await box.machine(1)
    flaky = (await box.workflows.get(await box.workflow(RETRIES))).actions[0].action
    assert (flaky.retries, flaky.reboot) == (2, False)
    away = (await box.workflows.get(await box.workflow(REBOOT))).actions[1].action
    assert (away.retries, away.reboot) == (0, True)
    assert (await box.workflows.get(await box.workflow(LIMITED))).global_timeout == 100
