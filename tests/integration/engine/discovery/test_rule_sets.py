"""Rule sets of Tinkerbell accept machines that nobody knows."""

import json
from collections.abc import Mapping, Sequence
from typing import Any

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, mac
from tests.integration.engine.applying.documents import files, outcomes, template
from tests.integration.engine.discovery.test_discovery import discovery, standing, wait_here
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.exporting import parse_asked
from tinkbox.engine.discovery import kept_rule_sets
from tinkbox.engine.machines.changes import Change
from tinkbox.engine.wakeups import CHANGES
from tinkbox.model.discovery import Rule, Standing
from tinkbox.model.documents.rule_sets import RuleSet
from tinkbox.model.labels import parse_selector
from tinkbox.model.secret import revealed

ANY = {"networkInterfaces": {"mac": [{"wildcard": "*"}]}}
QEMU = {"product": {"vendor": ["QEMU"]}}
TWO_DISKS = {"blockDevices": {"name": ["vdb"]}}


def rule_set(name: str, *rules: Any, ref: str = "hello", **workflow: Any) -> str:
    template = {"agentValue": "device_1", "ref": ref, "kvs": {"more": "x"}}
    spec = {
        "rules": [each if isinstance(each, str) else json.dumps(each) for each in rules],
        "workflow": {"namespace": "lab", "template": template, **workflow},
    }
    return json.dumps(
        {
            "apiVersion": "tinkerbell.org/v1alpha1",
            "kind": "WorkflowRuleSet",
            "metadata": {"name": name, "labels": {"team": "lab"}},
            "spec": spec,
        }
    )


def policy(*rules: Any, **config: Any) -> str:
    spec = {"rules": {"workflowAutoCreation": [{"rules": list(rules), "config": config}]}}
    return json.dumps(
        {"apiVersion": "tinkerbell.org/v1alpha2", "kind": "Policy", "metadata": {"name": "example"}, "spec": spec}
    )


async def keep(box: Appliance, *texts: str) -> None:
    await box.applying.apply(files(*texts), Wish(), "ann")


async def problem(box: Appliance, *texts: str, **facts: object) -> str:
    """Why a machine still waits."""
    await keep(box, *texts)
    found = discovery(box)
    await wait_here(found, 7, **facts)
    assert standing(found) == {mac(7): Standing.WAITING}
    return found.all()[0].problem


async def test_a_machine_for_which_a_rule_holds_is_registered_and_has_its_workflow(box: Appliance) -> None:
    await box.templates.create("hello", HELLO)
    await keep(box, rule_set("all", ANY))
    found = discovery(box)
    await wait_here(found, 7)
    assert not found.all()
    (workflow,) = await box.workflows.all()
    assert workflow.name == f"enrollment-{mac(7).replace(':', '-')}"
    flow = await box.workflows.get(workflow.id)
    machine = box.machines.known.find(flow.workers()[0]).hardware
    assert machine.name == f"machine-{mac(7).replace(':', '-')}"
    (declared,) = await box.store.read(lambda tables: tables.declarations.named([workflow.name]))
    assert declared.devices == {"device_1": mac(7), "more": "x"}
    assert declared.declaration
    assert declared.labels == {"tinkerbell.org/auto-enrollment": "true"}
    assert (declared.declaration.namespace, declared.declaration.hardware_ref) == ("lab", machine.name)


async def lines(box: Appliance) -> list[dict[str, Any]]:
    return [each.document() for each in await box.audit.after(0, 100)]


async def test_what_a_rule_set_does_has_a_line_each_with_the_rule_set_and_who_applied_it(box: Appliance) -> None:
    await box.templates.create("hello", HELLO)
    await keep(box, rule_set("all", ANY))
    await box.applying.apply(files(rule_set("all", ANY, QEMU)), Wish(), "bert")
    await wait_here(discovery(box), 7)
    (workflow,) = await box.workflows.all()
    accepted, created = await lines(box)
    machine = box.machines.known.find(mac(7)).hardware
    (kept,) = await box.kept_documents.all()
    for line, what, which in ((accepted, "hardware accepted", machine.id), (created, "workflow created", workflow.id)):
        assert (line["kind"], line["who"], line["what"], line["object"]) == ("own", "tinkbox", what, which)
        assert line["why"] == "rule set all, which bert applied"
        assert {mac(7), machine.name, kept.id} <= set(line["names"])
    assert created["changed"][0]["after"].startswith("sha256:")
    assert {workflow.name, workflow.template_id, "hello"} <= set(created["names"])


async def test_line_of_a_rule_set_of_an_earlier_release_says_that_somebody_applied_it(box: Appliance) -> None:
    await box.applying.apply(files(rule_set("all", ANY, ref="")), Wish(), "")
    await wait_here(discovery(box), 7)
    (accepted,) = await lines(box)
    assert accepted["why"] == "rule set all, which somebody applied"


async def test_what_a_rule_of_the_configuration_does_has_a_line_and_what_cannot_be_done_has_none(
    box: Appliance,
) -> None:
    found = discovery(box, rules=[Rule(match={"serial": "x"}), Rule(match={"mac": "*"}, template="hello")])
    await wait_here(found, 7)
    assert await lines(box) == []
    await box.templates.create("hello", HELLO)
    await found.look()
    assert [(each["what"], each["why"]) for each in await lines(box)] == [
        ("hardware accepted", "rule 2 of discovery.rules"),
        ("workflow created", "rule 2 of discovery.rules"),
    ]


async def test_the_set_of_which_the_most_rules_hold_wins(box: Appliance) -> None:
    for name in ("hello", "other", "third"):
        await box.templates.create(name, HELLO.replace("hello_world_workflow", name))
    await keep(
        box, rule_set("a", ANY), rule_set("b", ANY, QEMU, TWO_DISKS, ref="other"), rule_set("c", ANY, QEMU, ref="third")
    )
    found = discovery(box)
    await wait_here(found, 7)
    (workflow,) = await box.workflows.all()
    assert workflow.template_id == (await box.templates.get("other")).id


async def test_the_template_is_that_of_the_namespace_in_which_the_workflow_is_made(box: Appliance) -> None:
    templates = [
        template(text=HELLO).replace("metadata: {", f"metadata: {{namespace: {each}, ") for each in ("other", "lab")
    ]
    applied = await box.applying.apply(files(*templates, rule_set("all", ANY)), Wish(), "ann")
    assert not [each.text for each in applied.notes if "is that of namespace" in each.text]
    await wait_here(discovery(box), 7)
    (workflow,) = await box.workflows.all()
    assert {each.namespace for each in await box.templates.all() if each.id == workflow.template_id} == {"lab"}


async def test_a_machine_for_which_no_rule_holds_waits_for_a_person(box: Appliance) -> None:
    assert not await problem(box, rule_set("b", TWO_DISKS), rule_set("none"))


async def test_a_set_with_a_rule_that_is_none_holds_of_nothing(box: Appliance) -> None:
    assert not await problem(box, rule_set("b", ANY, '{"cpu": 1}'))


async def test_a_disabled_set_leaves_the_machine_to_a_person(box: Appliance) -> None:
    await box.templates.create("hello", HELLO)
    told = await problem(box, rule_set("look", ANY, disabled=True))
    assert told == f"rule set look holds, and is disabled. Accept it with `tinkbox hardware accept {mac(7)}`"


async def test_what_is_in_the_way_is_shown_and_tried_again(box: Appliance) -> None:
    await keep(box, rule_set("all", ANY))
    found = discovery(box)
    await wait_here(found, 7)
    assert found.all()[0].problem.startswith("rule set all would accept it: template 'hello' not found")
    await box.templates.create("hello", HELLO)
    await found.look()
    assert not found.all()


async def test_what_is_wrong_with_the_template_is_shown_by_its_first_problem(box: Appliance) -> None:
    await box.templates.create("hello", HELLO)
    told = await problem(box, rule_set("all", ANY).replace('"device_1"', '"a b"'))
    begin, _, first = told.partition(", read as a Go template")
    assert begin.startswith("rule set all would accept it: invalid template: ")
    assert "device_1" in first


async def test_a_set_that_is_applied_later_accepts_those_that_wait_and_one_that_was_pruned_does_not(
    box: Appliance,
) -> None:
    await box.templates.create("hello", HELLO)
    found = discovery(box)
    await wait_here(found, 7)
    await keep(box, rule_set("all", TWO_DISKS))
    await found.look()
    assert standing(found) == {mac(7): Standing.WAITING}
    await keep(box, rule_set("all", ANY))
    await found.look()
    assert not found.all()
    await box.applying.apply(files(rule_set("b", TWO_DISKS)), Wish(prune=parse_selector("team=lab")), "ann")
    await wait_here(found, 8)
    assert standing(found) == {mac(8): Standing.WAITING}


async def test_rules_of_the_configuration_come_first(box: Appliance) -> None:
    await keep(box, rule_set("all", ANY))
    found = discovery(box, rules=[Rule(match={"manufacturer": "QEMU"}, name="by-{{serial}}")])
    await wait_here(found, 7)
    assert not await box.workflows.all()
    assert box.machines.known.find("by-s-7")


async def test_without_a_template_a_machine_is_registered_alone(box: Appliance) -> None:
    await keep(box, rule_set("all", ANY, ref=""))
    found = discovery(box)
    await wait_here(found, 7)
    assert not found.all()
    assert not await box.workflows.all()


TASK = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Task
metadata: {name: t, namespace: lab}
spec:
  actions: [{name: first, image: hello-world, args: ["{{ .hardware.metadata.name }}", "{{ .workflow.spec.globals.env.A }}"]}]
"""
TASKS = [{"taskRef": {"name": "t", "namespace": "lab"}}]


async def test_the_workflow_of_a_policy_has_the_secrets_and_config_maps_that_it_names(box: Appliance) -> None:
    found = discovery(box)
    references = {
        "login": {"version": "v1", "resource": "secrets", "name": "lab"},
        "site": {"version": "v1", "resource": "configmaps", "name": "site"},
    }
    env = {"A": "{{ .references.site.data.ntp }} {{ .references.login.data.password | b64dec }}"}
    secret = {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "lab"},
        "stringData": {"password": "correct-horse"},
    }
    config_map = {"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": "site"}, "data": {"ntp": "10.0.0.1"}}
    document = policy(ANY, namespace="lab", globals={"env": env}, references=references, tasks=TASKS)
    await keep(box, document, TASK, json.dumps(secret), json.dumps(config_map))
    await wait_here(found, 7)
    assert not found.all()
    (workflow,) = await box.workflows.all()
    offer = await box.offer(workflow.actions[0].action.worker)
    assert offer is not None
    assert revealed(offer.action.spec.environment["A"], offer.given) == "10.0.0.1 correct-horse"


@pytest.mark.parametrize("rule", [ANY, QEMU, {"cpu": {"totalThreads": [2]}, "memory": {"total": ["2GB"]}}])
async def test_a_policy_makes_a_workflow_of_its_tasks(box: Appliance, rule: object) -> None:
    found = discovery(box)
    await keep(box, policy(rule, namespace="lab", globals={"env": {"A": "b"}}, tasks=TASKS), TASK)
    await wait_here(found, 7)
    assert not found.all()
    (workflow,) = await box.workflows.all()
    flow = await box.workflows.get(workflow.id)
    name = mac(7).replace(":", "-")
    assert (flow.name, flow.template_name) == (f"enrollment-{name}", "task t")
    assert flow.actions[0].action.spec.command == (f"machine-{name}", "b")
    (exported,) = (await box.exporting.export([parse_asked(f"workflow/{flow.id}")], None)).documents
    assert exported.manifest["spec"]["tasks"][0]["agentID"] == mac(7)
    applied = await box.applying.apply(files(json.dumps(exported.manifest)), Wish(), "ann")
    assert outcomes(applied) == {f"workflow/enrollment-{name}": "unchanged"}


@pytest.mark.parametrize(
    "given", [rule_set("all", ANY), policy(ANY, namespace="lab", globals={"env": {"A": "b"}}, tasks=TASKS)]
)
async def test_the_workflow_of_a_renamed_machine_is_exported_with_its_name_of_now(box: Appliance, given: str) -> None:
    await box.templates.create("hello", HELLO)
    await keep(box, given, TASK)
    await wait_here(discovery(box), 7)
    (workflow,) = await box.workflows.all()
    for name in ("m2", "m3"):
        await box.machine_changes.change(mac(7), Change(name=name))
        found = await box.exporting.export([parse_asked(f"workflow/{workflow.id}")], None)
        assert not found.notes
        written = json.dumps(found.documents[0].manifest)
        assert f'"{name}"' in written
        applied = await box.applying.apply(files(written), Wish(rehearsal=True), "ann")
        assert outcomes(applied) == {f"workflow/{workflow.name}": "unchanged"}


async def test_a_policy_without_its_tasks_says_which_is_lacking(box: Appliance) -> None:
    told = await problem(box, policy(ANY, namespace="lab", tasks=TASKS))
    assert told == (
        "policy example, workflowAutoCreation[0] would accept it: task t of namespace lab is not there: `tinkbox apply` its document"
    )
    assert not await box.workflows.all()


async def test_a_policy_without_tasks_registers_a_machine_alone(box: Appliance) -> None:
    await keep(box, policy(ANY))
    found = discovery(box)
    await wait_here(found, 7)
    assert not found.all()
    assert not await box.workflows.all()


@pytest.fixture
def compared(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """With how many sets each machine was compared."""
    numbers, best = list[int](), kept_rule_sets.best_rule_set

    def noted(rule_sets: Sequence[RuleSet], attributes: Mapping[str, Any]) -> RuleSet | None:
        numbers.append(len(rule_sets))
        return best(rule_sets, attributes)

    monkeypatch.setattr(kept_rule_sets, "best_rule_set", noted)
    return numbers


async def test_a_machine_that_waits_is_compared_with_the_rules_again_only_when_these_changed(
    box: Appliance, compared: list[int]
) -> None:
    await keep(box, rule_set("b", TWO_DISKS))
    found = discovery(box)
    await wait_here(found, 7)
    await wait_here(found, 8)
    box.wakeups.wake(CHANGES)
    for _ in range(3):
        await found.look()
    assert compared == [1, 1]
    await keep(box, rule_set("c", TWO_DISKS))
    await found.look()
    assert compared == [1, 1, 2, 2]


async def test_of_machines_without_number_it_is_not_remembered_which_set_holds(
    box: Appliance, compared: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rule_sets, "MOST_INVENTORIES", 1)
    await keep(box, rule_set("b", TWO_DISKS))
    found = discovery(box)
    await wait_here(found, 7)
    await wait_here(found, 8)
    await found.look()
    assert len(compared) == 4


async def test_what_a_set_said_is_shown_no_more_once_it_is_gone(box: Appliance) -> None:
    await keep(box, rule_set("all", ANY))
    found = discovery(box)
    await wait_here(found, 7)
    assert found.all()[0].problem.startswith("rule set all would accept it")
    await box.kept_documents.delete("workflowruleset", "all")
    await found.look()
    assert found.all()[0].problem == ""


async def test_sets_beyond_so_many_rules_are_left_out_and_that_is_shown(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_rule_sets, "MOST_RULES", 2)
    told = await problem(box, rule_set("a", TWO_DISKS), rule_set("b", TWO_DISKS, TWO_DISKS), rule_set("c", ANY))
    assert told.startswith(
        "2 rule sets are not looked at, the last by their names, for all sets together have more than 2"
    )
    assert "`tinkbox document delete" in told
