"""Documents of Tinkerbell that are kept as they are: applied, exported, compared and pruned like all others."""

import json
from dataclasses import replace
from typing import Any

import pytest
import yaml

from tests.integration.engine.appliance import HELLO, Appliance, mac
from tests.integration.engine.applying.documents import files, flow, machine, outcomes, pruning, template
from tinkbox.engine.applying import kept_documents
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.exporting import Asked, parse_asked
from tinkbox.model.disk_usage import Share, Stored
from tinkbox.model.documents.kept_documents import MAX_KEPT, ROW_BYTES, KeptKind, json_bytes
from tinkbox.model.documents.kubernetes import UNHEEDED
from tinkbox.model.errors import Conflict, Invalid, NotFound

BMC = "bmc.tinkerbell.org/v1alpha1"
MACHINE = f"""\
apiVersion: {BMC}
kind: Machine
metadata: {{name: node1, namespace: tink-system, labels: {{rack: r1}}, uid: abc}}
spec:
  connection:
    host: 10.0.0.7
    port: 623
    authSecretRef: {{name: bmc-node1, namespace: tink-system}}
    insecureTLS: true
status: {{powerState: "on"}}
"""
JOB = f"""\
apiVersion: {BMC}
kind: Job
metadata: {{name: boot-node1}}
spec:
  machineRef: {{name: node1, namespace: tink-system}}
  tasks: [{{powerAction: "off"}}, {{oneTimeBootDeviceAction: {{device: [pxe], efiBoot: true}}}}]
"""
TASK = f"""\
apiVersion: {BMC}
kind: Task
metadata: {{name: off}}
spec: {{task: {{powerAction: "off"}}, connection: {{host: 10.0.0.7}}}}
"""
RULES = """\
apiVersion: tinkerbell.org/v1alpha1
kind: WorkflowRuleSet
metadata: {name: all, namespace: tink-system, labels: {team: lab}}
spec:
  rules:
    - '{"networkInterfaces": {"mac": [{"wildcard": "*"}]}}'
  workflow:
    namespace: tink-system
    template: {agentValue: device_1, ref: hello, kvs: {size: "3"}}
"""
POLICY = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Policy
metadata: {name: example}
spec:
  rules:
    workflowAutoCreation:
      - rules: [{networkInterfaces: {mac: [{wildcard: "*"}]}}]
        config: {disabled: true, namespace: tinkerbell}
"""
ALL = (MACHINE, JOB, TASK, RULES, POLICY)


async def apply(box: Appliance, *texts: str, wish: Wish | None = None) -> dict[str, str]:
    return outcomes(await box.applying.apply(files(*texts), wish or Wish(), "ann"))


async def notes(box: Appliance, text: str) -> list[str]:
    return [str(each) for each in (await box.applying.apply(files(text), Wish(), "ann")).notes]


async def test_all_of_them_are_kept_once(box: Appliance) -> None:
    first = await apply(box, *ALL)
    assert first == dict.fromkeys(
        ["machine.bmc/node1", "job.bmc/boot-node1", "task.bmc/off", "workflowruleset/all", "policy/example"], "created"
    )
    assert set((await apply(box, *ALL)).values()) == {"unchanged"}


async def test_what_is_exported_is_applied_again_without_change(box: Appliance) -> None:
    await apply(box, *ALL)
    exported = (await box.exporting.export([Asked(each) for each in KeptKind], None)).documents
    assert [each.kind for each in exported] == ["workflowruleset", "policy", "machine.bmc", "job.bmc", "task.bmc"]
    (machine,) = [each.manifest for each in exported if each.kind == "machine.bmc"]
    assert machine == {
        "apiVersion": BMC,
        "kind": "Machine",
        "metadata": {"name": "node1", "namespace": "tink-system", "labels": {"rack": "r1"}},
        "spec": {
            "connection": {
                "host": "10.0.0.7",
                "port": 623,
                "authSecretRef": {"name": "bmc-node1", "namespace": "tink-system"},
                "insecureTLS": True,
            }
        },
    }
    assert set((await apply(box, *(json.dumps(each.manifest) for each in exported))).values()) == {"unchanged"}


async def test_a_changed_one_takes_the_place_of_the_former_and_labels_stay(box: Appliance) -> None:
    await apply(box, RULES)
    before = await box.store.read(lambda tables: tables.kept_documents.all())
    changed = RULES.replace("ref: hello", "ref: other").replace(", labels: {team: lab}", "")
    assert await apply(box, changed) == {"workflowruleset/all": "configured"}
    (kept,) = await box.store.read(lambda tables: tables.kept_documents.all())
    assert kept.id == before[0].id
    assert kept.spec["workflow"]["template"]["ref"] == "other"
    assert kept.labels == {"team": "lab"}


async def test_the_same_name_in_another_namespace_is_another_one(box: Appliance) -> None:
    await apply(box, RULES)
    assert await apply(box, RULES.replace("all, namespace: tink-system", "all")) == {"workflowruleset/all": "created"}
    found = await box.exporting.export([parse_asked("workflowruleset/all")], None)
    assert len(found.documents) == 2


async def test_a_rehearsal_keeps_nothing(box: Appliance) -> None:
    assert await apply(box, RULES, wish=Wish(rehearsal=True)) == {"workflowruleset/all": "created"}
    assert not await box.store.read(lambda tables: tables.kept_documents.all())


async def test_those_with_labels_that_no_file_declares_are_pruned(box: Appliance) -> None:
    await apply(box, RULES, MACHINE)
    assert await apply(box, POLICY, wish=pruning("team=lab")) == {
        "policy/example": "created",
        "workflowruleset/all": "pruned",
    }
    with pytest.raises(Conflict, match="node1 would be pruned too"):
        await apply(box, POLICY, wish=pruning("rack=r1", agreed={}))
    left = await box.store.read(lambda tables: tables.kept_documents.all())
    assert [each.name for each in left] == ["node1", "example"]


def task(name: str, letters: int = 0) -> str:
    """A document that is as large as so many letters, and some."""
    return TASK.replace("name: off", f"name: {name}, annotations: {{about: {'x' * letters!r}}}")


async def refused(box: Appliance, *texts: str, wish: Wish) -> str:
    with pytest.raises(Invalid) as refusal:
        await apply(box, *texts, wish=wish)
    (problem,) = refusal.value.problems
    return str(problem)


BOTH = pytest.mark.parametrize("wish", [Wish(), Wish(rehearsal=True)], ids=["apply", "rehearsal"])


@BOTH
async def test_a_document_that_is_too_large_is_refused_with_its_place(box: Appliance, wish: Wish) -> None:
    assert await apply(box, task("off", MAX_KEPT - 1000)) == {"task.bmc/off": "created"}
    told = await refused(box, task("on"), task("off", MAX_KEPT), wish=wish)
    assert told.startswith("1.yaml:1: task.bmc off has 262")
    assert told.endswith("bytes in JSON, and at most 262144 are kept of one: split it into several documents")
    assert len(await box.kept_documents.all()) == 1


@BOTH
async def test_no_more_documents_are_kept_than_may_be(
    box: Appliance, wish: Wish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_documents, "MAX_KEPT_NUMBER", 2)
    await apply(box, task("one"), RULES)
    told = await refused(box, task("two"), task("three"), wish=wish)
    assert told == (
        "2 rule sets, policies, tasks, ConfigMaps and BMC documents are kept, and 2 more would be too many: at most 2 are kept. Delete some "
        "first: `tinkbox document list` shows them, and `tinkbox document delete KIND/NAME` deletes one"
    )
    # What takes the place of another is no more.
    assert await apply(box, task("one", 99)) == {"task.bmc/one": "configured"}
    assert await apply(box, task("two"), wish=pruning("team=lab")) == {
        "task.bmc/two": "created",
        "workflowruleset/all": "pruned",
    }


@BOTH
async def test_documents_take_no_more_room_than_they_may(
    box: Appliance, wish: Wish, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_documents, "MAX_KEPT_BYTES", 1 << 20)
    large = [task(f"t{each}", 200_000) for each in range(5)]
    await apply(box, *large)
    told = await refused(box, task("more", 50_000), wish=wish)
    assert "they may take 1 MiB in all. Delete some first: `tinkbox document list`" in told
    await refused(box, task("t0", 250_000), wish=wish)
    # As large as before, or less.
    assert await apply(box, task("t0", 150_000)) == {"task.bmc/t0": "configured"}
    assert await apply(box, task("more", 40_000)) == {"task.bmc/more": "created"}


async def test_no_more_are_kept_where_another_took_the_last_place_meanwhile(
    box: Appliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(kept_documents, "MAX_KEPT_NUMBER", 1)
    carry_out = box.applying._carry_out

    async def after_another(*parts: Any) -> Any:
        monkeypatch.setattr(box.applying, "_carry_out", carry_out)
        await apply(box, task("other"))
        return await carry_out(*parts)

    monkeypatch.setattr(box.applying, "_carry_out", after_another)
    assert "at most 1 are kept" in await refused(box, task("one"), wish=Wish())
    assert [each.name for each in await box.kept_documents.all()] == ["other"]


async def test_what_they_take_is_told_of_the_disk(box: Appliance) -> None:
    await apply(box, task("one", 1000))
    share = (await box.disk.usage()).shares[Stored.DOCUMENTS]
    (kept,) = await box.kept_documents.all()
    assert share == Share(octets=ROW_BYTES + json_bytes(kept.manifest), number=1)


async def test_two_of_one_name_are_refused(box: Appliance) -> None:
    with pytest.raises(Invalid) as refused:
        await apply(box, RULES, RULES)
    assert "workflowruleset all is declared a second time" in str(refused.value.problems[0])


async def test_what_nothing_drives_yet_is_told(box: Appliance) -> None:
    assert await notes(box, MACHINE) == [f"0.yaml:5, spec: not honoured: {UNHEEDED['bmc Machine']['spec'].text}"]


async def test_rules_of_an_appliance_that_ignores_unknown_machines_wait_and_say_so(box: Appliance) -> None:
    told, _ = await notes(box, RULES)
    assert told.startswith(
        "0.yaml:5, spec: kept, and no rule of it accepts a machine before tinkbox.yaml has unknown_machines: d"
    )


async def test_a_rule_set_whose_template_is_not_there_is_told(box: Appliance) -> None:
    _, told = await notes(box, RULES)
    assert told.startswith("0.yaml:9, spec.workflow.template.ref: template 'hello' not found")
    assert told.endswith("Machines for which a rule holds wait for it")
    assert len(await notes(box, f"{RULES}---\n{template()}")) == 1


async def test_a_policy_whose_task_is_not_there_is_told(box: Appliance) -> None:
    policy = POLICY.replace("namespace: tinkerbell}", "tasks: [{taskRef: {name: wipe}}]}")
    told = (await notes(box, policy))[-1]
    assert told == (
        "0.yaml:8, spec.rules.workflowAutoCreation[0].config.tasks[0].taskRef: task wipe of namespace default is not there. "
        "Machines for which a rule holds wait for it"
    )
    task = (
        "apiVersion: tinkerbell.org/v1alpha2\nkind: Task\nmetadata: {name: wipe}\n"
        "spec: {actions: [{name: a, image: b}]}\n"
    )
    assert "is not there" not in "".join(await notes(box, f"{policy}---\n{task}"))
    assert "is not there" not in "".join(await notes(box, policy))


@pytest.mark.parametrize(
    ("spec", "told"),
    [
        ("{}", "spec.rules.workflowAutoCreation: there is no rule: it accepts no machine"),
        (
            "{rules: {workflowAutoCreation: []}}",
            "spec.rules.workflowAutoCreation: there is no rule: it accepts no machine",
        ),
        (
            "{rules: {workflowAutoCreation: [{config: {tasks: [{taskRef: {name: wipe}}]}}]}}",
            "spec.rules.workflowAutoCreation[0].rules: there is no rule: it holds of no machine",
        ),
        (
            "{rules: {workflowAutoCreation: [{rules: [{arch: [x86]}], config: {tasks: [{taskReff: {name: wipe}}]}}]}}",
            "spec.rules.workflowAutoCreation[0].config.tasks[0].taskRef: the name of a Task is required",
        ),
    ],
)
async def test_what_a_policy_lacks_is_told(box: Appliance, spec: str, told: str) -> None:
    found = await notes(box, f"{POLICY.partition('spec:')[0]}spec: {spec}\n")
    assert any(told in each for each in found), found


@pytest.mark.parametrize("rehearsal", [False, True])
@pytest.mark.parametrize("stays", [False, True], ids=["in the files", "applied before"])
async def test_a_template_that_a_rule_set_needs_is_not_pruned(box: Appliance, rehearsal: bool, stays: bool) -> None:
    labelled = template(labels="z: '1'")
    await apply(box, labelled, RULES)
    with pytest.raises(Invalid) as refused:
        await apply(box, TASK if stays else RULES, wish=replace(pruning("z=1"), rehearsal=rehearsal))
    (told,) = map(str, refused.value.problems)
    if stays:
        assert told == (
            "template hello would be pruned, and rule set all, which was applied before, needs it: give its document as well, "
            "`tinkbox document delete workflowruleset/all --namespace tink-system` first, or have --prune select others"
        )
    else:
        assert told == (
            "0.yaml:9, spec.workflow.template.ref: template hello would be pruned, and rule set all needs it: give its document as well, or have "
            "--prune select others"
        )
    assert [each.name for each in await box.templates.all()] == ["hello"]


async def test_a_template_goes_with_the_rule_set_that_needs_it(box: Appliance) -> None:
    await apply(box, template(labels="team: lab"), RULES)
    assert set((await apply(box, TASK, wish=pruning("team=lab"))).values()) == {"created", "pruned"}
    await apply(box, template(labels="team: lab"), RULES)
    other = RULES.replace("ref: hello", "ref: other")
    assert (await apply(box, other, wish=pruning("team=lab")))["template/hello"] == "pruned"


async def test_a_task_that_a_policy_needs_is_not_pruned(box: Appliance) -> None:
    task = "apiVersion: tinkerbell.org/v1alpha2\nkind: Task\nmetadata: {name: wipe, labels: {z: '1'}}\nspec: {actions: [{name: a, image: b}]}\n"
    policy = POLICY.replace("namespace: tinkerbell}", "tasks: [{taskRef: {name: wipe}}]}")
    await apply(box, task, policy)
    with pytest.raises(Invalid) as refused:
        await apply(box, policy, wish=pruning("z=1"))
    assert "task wipe would be pruned, and policy example needs it" in str(refused.value.problems[0])


LABELLED = machine(7, "r7")
NAMING = [
    pytest.param(template(text=HELLO.replace("{{.device_1}}", mac(7))), "ref", id="a task"),
    pytest.param(
        template(text=HELLO.rstrip() + f'\nservices:\n  - {{name: files, image: nginx, worker: "{mac(7)}"}}\n'),
        "ref",
        id="a service",
    ),
    pytest.param(template(text=HELLO.replace("{{.device_1}}", f'{{{{ "{mac(7)}" | lower }}}}')), "ref", id="as it is filled"),
    pytest.param(template(text=HELLO.replace("{{.device_1}}", f"{mac(7)[:-1]}{{{{.size}}}}")), "ref", id="by a value"),
    pytest.param(
        template(text=HELLO.replace("{{.device_1}}", f'{{{{ if eq .size "7" }}}}{mac(7)}{{{{ else }}}}{{{{.device_1}}}}{{{{ end }}}}')),
        "ref",
        id="where a value says so",
    ),
    pytest.param(template(), "kvs.device_2", id="a value"),
    pytest.param(template(text=HELLO.replace("device_1", "device_2")), "kvs.device_2", id="a value that is the worker"),
]  # fmt: skip


@pytest.mark.parametrize(("naming", "field"), NAMING)
@pytest.mark.parametrize("rehearsal", [False, True])
@pytest.mark.parametrize("stays", [False, True], ids=["in the files", "applied before"])
async def test_a_machine_that_the_template_of_a_rule_set_names_is_not_pruned(
    box: Appliance, naming: str, field: str, rehearsal: bool, stays: bool
) -> None:
    rules = RULES.replace('size: "3"', f'device_2: "{mac(7)}"' if field == "kvs.device_2" else 'size: "7"')
    await apply(box, LABELLED, naming, rules)
    with pytest.raises(Invalid) as refused:
        await apply(box, naming if stays else rules, wish=replace(pruning("rack=r7"), rehearsal=rehearsal))
    (told,) = map(str, refused.value.problems)
    if stays:
        assert told.startswith("machine node7 would be pruned, and rule set all, which was applied before, needs it")
    else:
        assert told.startswith(
            f"0.yaml:9, spec.workflow.template.{field}: machine node7 would be pruned, and rule set all needs it"
        )
    await box.kept_documents.delete("workflowruleset", "all")
    assert (await apply(box, naming, wish=pruning("rack=r7")))["hardware/node7"] == "pruned"


async def test_a_machine_that_no_template_of_a_rule_set_names_is_pruned(box: Appliance) -> None:
    unread = RULES.replace("ref: hello", "ref: broken").replace("name: all", "name: other")
    await apply(box, LABELLED, template(), template("broken", text="{{ .hardware.nothing.at.all }}\n"), RULES, unread)
    assert (await apply(box, TASK, wish=pruning("rack=r7")))["hardware/node7"] == "pruned"


@pytest.mark.parametrize(
    "worker",
    [
        f"{mac(7)[:-1]}{{{{.size}}}}",
        f'{{{{ if eq .size "3" }}}}{{{{.device_1}}}}{{{{ else }}}}{mac(7)}{{{{ end }}}}',
    ],
)
async def test_a_machine_that_a_template_names_with_other_values_than_those_of_the_rule_set_is_pruned(
    box: Appliance, worker: str
) -> None:
    await apply(box, LABELLED, template(text=HELLO.replace("{{.device_1}}", worker)), RULES)
    assert (await apply(box, TASK, wish=pruning("rack=r7")))["hardware/node7"] == "pruned"


async def test_a_machine_is_needed_also_by_a_template_that_lacks_another_value(box: Appliance) -> None:
    lacking = HELLO.replace("{{.device_1}}", mac(7)) + "# {{.nothing}}\n"
    await apply(box, LABELLED, template(text=lacking), RULES)
    with pytest.raises(Invalid) as refused:
        await apply(box, RULES, wish=pruning("rack=r7"))
    assert "machine node7 would be pruned, and rule set all needs it" in str(refused.value.problems[0])


async def test_a_rule_that_asks_for_nothing_is_told(box: Appliance) -> None:
    told = await notes(box, RULES.replace('{"networkInterfaces": {"mac": [{"wildcard": "*"}]}}', "{}"))
    assert told[0] == "0.yaml:6, spec.rules[0]: it asks for nothing: it holds of no machine"


@pytest.mark.parametrize(
    ("rule", "told"),
    [
        ('{"chassis": {"serial": ["12345"]}}', "it holds of no machine: nothing is known of chassis here"),
        ('{"cpu": {"totalCores": [8]}}', "it holds of no machine: nothing is known of cpu.totalCores here"),
        ('{"produkt": {"vendr": ["x"]}}', "it holds of no machine: there is no produkt; did you mean product?"),
        (
            '{"gpuDevices": {"vendor": [{"exists": false}]}, "bios": {"version": ["1"]}}',
            "what it wants to be absent always is: nothing is known of gpuDevices here",
        ),
    ],
)
async def test_a_rule_about_what_no_machine_is_known_to_have_is_told_and_refused_where_that_is_wanted(
    box: Appliance, rule: str, told: str
) -> None:
    rules = RULES.replace("  rules:\n", f"  rules:\n    - '{rule}'\n")
    place = "0.yaml:6, spec.rules[0]"
    assert f"{place}: {told}" in await notes(box, rules)
    with pytest.raises(Invalid) as refused:
        await apply(box, rules, wish=Wish(strict=True))
    assert list(map(str, refused.value.problems)) == [f"{place}: {told}"]
    await apply(box, RULES, wish=Wish(strict=True))


async def test_a_rule_of_a_policy_about_what_no_machine_is_known_to_have_is_told(box: Appliance) -> None:
    document = yaml.safe_load(POLICY)
    document["spec"]["rules"]["workflowAutoCreation"][0]["rules"] = [{"product": {"nam": ["R650"]}}]
    told = "\n".join(await notes(box, yaml.safe_dump(document)))
    place = "spec.rules.workflowAutoCreation[0].rules[0]"
    assert f"{place}: it holds of no machine: there is no product.nam; did you mean name?" in told


@pytest.mark.parametrize(
    ("written", "field"), [("agentValue: 'a\"}}'", "agentValue"), ("kvs: {a b: x}", "kvs"), ("kvs: {1st: x}", "kvs")]
)
async def test_a_name_that_no_placeholder_can_have_is_told(box: Appliance, written: str, field: str) -> None:
    given = "agentValue: device_1" if field == "agentValue" else 'kvs: {size: "3"}'
    told = await notes(box, RULES.replace(given, written))
    assert f"spec.workflow.template.{field}: no placeholder such as {{{{.device_1}}}} can name " in told[0]
    assert "no placeholder" not in "".join(await notes(box, RULES))


async def test_where_several_begin_on_one_line_it_is_told_which_is_meant(box: Appliance) -> None:
    document = yaml.safe_load(RULES)
    document["spec"]["rules"] = ["{}"]
    other = {**document, "metadata": {"name": "odd"}, "spek": 1}
    items = {"apiVersion": "v1", "kind": "List", "items": [document, other]}
    told = "\n".join(await notes(box, json.dumps(items)))
    assert "0.yaml:1, spec.rules[0]: WorkflowRuleSet all: it asks for nothing" in told
    assert "0.yaml:1, spec.rules[0]: WorkflowRuleSet odd: it asks for nothing" in told
    assert "0.yaml:1, spek: WorkflowRuleSet odd: unknown key spek" in told
    assert "WorkflowRuleSet all:" not in "\n".join(await notes(box, json.dumps(items, indent=1)))


async def test_a_rule_that_is_no_pattern_is_told_with_its_line(box: Appliance) -> None:
    told = await notes(box, RULES.replace('[{"wildcard": "*"}]', '"x"'))
    assert told[0].startswith("0.yaml:6, spec.rules[0]: networkInterfaces.mac: the values stand in a list")
    assert told[0].endswith("With it no rule of this set holds")


@pytest.mark.parametrize("strict", [False, True])
async def test_a_misspelt_field_of_a_rule_is_told_beside_a_rule_that_is_no_pattern(
    box: Appliance, *, strict: bool
) -> None:
    text = RULES.replace("  workflow:", '    - \'{"produkt": {"name": ["x"]}}\'\n  workflow:')
    text = text.replace('[{"wildcard": "*"}]', '"x"')
    misspelt = "spec.rules[1]: it holds of no machine: there is no produkt; did you mean product?"
    if not strict:
        first, second = (each for each in await notes(box, text) if "spec.rules[" in each)
        assert (first.endswith("With it no rule of this set holds"), second.endswith(misspelt)) == (True, True)
        return
    with pytest.raises(Invalid) as refusal:
        await box.applying.apply(files(text), Wish(strict=True), "ann")
    assert [str(each).endswith(misspelt) for each in refusal.value.problems] == [True]


async def test_an_unknown_key_of_a_rule_set_is_told(box: Appliance) -> None:
    assert "did you mean agentValue?" in (await notes(box, RULES.replace("agentValue", "agentvalue")))[0]


async def test_what_is_not_kept_is_not_exported(box: Appliance) -> None:
    with pytest.raises(NotFound, match="`tinkbox export workflowruleset` prints all there are"):
        await box.exporting.export([parse_asked("workflowrulesets/x")], None)


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("workflowruleset", KeptKind.RULE_SET),
        ("WorkflowRuleSets", KeptKind.RULE_SET),
        ("policies", KeptKind.POLICY),
        ("machine.bmc", KeptKind.BMC_MACHINE),
        ("machines.bmc.tinkerbell.org", KeptKind.BMC_MACHINE),
    ],
)
def test_kinds_are_spelled_as_kubectl_does(word: str, kind: KeptKind) -> None:
    assert parse_asked(f"{word}/x") == Asked(kind, "x")


MACHINE_2 = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Hardware
metadata: {name: node1, labels: {rack: r1}}
spec:
  networkInterfaces:
    "08:00:27:00:00:01":
      dhcp: {ipv4: {hostname: node1}}
      ipam: {ipv4: {address: 172.30.0.11, prefix: "24"}}
      netboot: {disabled: true}
"""


async def test_hardware_of_v1alpha2_is_applied_compared_and_exported_as_it_was_given(box: Appliance) -> None:
    assert await apply(box, MACHINE_2) == {"hardware/node1": "created"}
    assert await apply(box, MACHINE_2) == {"hardware/node1": "unchanged"}
    (exported,) = (await box.exporting.export([parse_asked("hardware/node1")], None)).documents
    assert exported.manifest["apiVersion"] == "tinkerbell.org/v1alpha2"
    assert await apply(box, json.dumps(exported.manifest)) == {"hardware/node1": "unchanged"}
    assert await apply(box, MACHINE_2.replace("172.30.0.11", "172.30.0.12")) == {"hardware/node1": "configured"}
    assert str(box.machines.known.find("node1").hardware.addresses[0]) == "172.30.0.12"


async def test_a_workflow_runs_on_hardware_of_v1alpha2_and_lets_it_netboot(box: Appliance) -> None:
    applied = await apply(box, MACHINE_2, template(), flow(1, toggles=True))
    assert set(applied.values()) == {"created"}
    assert await box.finish((await box.workflows.get("install-1")).workers()[0]) == ["hello_world", "second"]
    assert box.machines.known.find("node1").hardware.interfaces[0].allow_pxe
    assert set((await apply(box, MACHINE_2, template(), flow(1, toggles=True))).values()) == {"unchanged"}
