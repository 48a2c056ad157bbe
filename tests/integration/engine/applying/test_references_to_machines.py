"""What a `hardwareRef` means where several machines have its name: it depends on no order, and is told where it is not clear."""

from itertools import permutations

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, address, mac
from tests.integration.engine.applying.documents import files, flow, outcomes, template
from tests.integration.engine.applying.documents import machine as document
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.creation import Creating
from tinkbox.engine.applying.exporting import parse_asked
from tinkbox.engine.applying.results import Applied
from tinkbox.model.errors import Invalid

TEMPLATE = template(text=HELLO.replace("hello-world", "tools/{{ index .Hardware.Disks 0 }}:v1"))
TASK = """\
apiVersion: tinkerbell.org/v1alpha2
kind: Task
metadata: {name: wipe, namespace: qq}
spec:
  actions:
    - {name: first, image: hello-world, args: ["{{ .hardware.metadata.namespace }}"]}
"""


def k1(namespace: str, number: int) -> str:
    """Machine k1 of a namespace, with a disk that is called after that."""
    named = document(number).replace(f"name: node{number},", f"name: k1, namespace: {namespace},")
    return named.replace("/dev/vda", namespace).replace(f"hostname: node{number}", "hostname: k1")


def k1_of_2020(number: int) -> str:
    return f"""\
{{"id": "00000000-0000-4000-8000-00000000000{number}", "metadata": {{"instance": {{"storage": {{"disks": [{{"device": "old"}}]}}}}}},
 "network": {{"interfaces": [{{"dhcp": {{"mac": "{mac(number)}", "hostname": "k1",
  "ip": {{"address": "{address(number)}", "netmask": "255.255.255.0"}}}}}}]}}}}"""


def of_k1(namespace: str, number: int) -> str:
    """A workflow of a namespace for k1, which runs on the machine of this number."""
    named = flow(number, "w").replace("name: w", f"name: w, namespace: {namespace}")
    return named.replace(f"hardwareRef: node{number}", "hardwareRef: k1")


def structured(agent: int | None = None, namespace: str = "") -> str:
    place = f", namespace: {namespace}" if namespace else ""
    worker = f'agentID: "{mac(agent)}", ' if agent else ""
    return f"""\
apiVersion: tinkerbell.org/v1alpha2
kind: Workflow
metadata: {{name: w, namespace: qq}}
spec:
  tasks:
    - {{taskRef: {{name: wipe}}, {worker}hardware: {{hardwareRef: {{name: k1{place}}}}}}}
"""


AA, ZZ = k1("aa", 1), k1("zz", 2)


async def apply(box: Appliance, *texts: str) -> Applied:
    return await box.applying.apply(files(*texts), Wish(), "ann")


async def filled(box: Appliance) -> str:
    """What the first action was filled with."""
    first, *_ = (await box.workflows.get("w")).actions
    return first.action.spec.image.removeprefix("tools/").removesuffix(":v1")


async def refusal(box: Appliance, *texts: str) -> str:
    with pytest.raises(Invalid) as refused:
        await apply(box, *texts)
    (problem,) = refused.value.problems
    return str(problem)


@pytest.mark.parametrize("texts", list(permutations((AA, ZZ, of_k1("qq", 1)))))
async def test_of_several_the_one_of_the_hardware_map_is_meant_in_any_order(
    box: Appliance, texts: tuple[str, ...]
) -> None:
    applied = await apply(box, TEMPLATE, *texts)
    assert not [each for each in applied.notes if "hardwareRef" in each.key]
    assert await filled(box) == "aa"
    assert set(outcomes(await apply(box, TEMPLATE, *reversed(texts))).values()) == {"unchanged"}


async def test_two_workflows_may_mean_one_each_by_their_hardware_maps(box: Appliance) -> None:
    other = of_k1("qq", 2).replace("name: w,", "name: other,")
    await apply(box, ZZ, AA, TEMPLATE, other, of_k1("qq", 1))
    assert await filled(box) == "aa"
    assert (await box.workflows.get("other")).actions[0].action.spec.image == "tools/zz:v1"


@pytest.mark.parametrize("machines", list(permutations((AA, ZZ, k1_of_2020(3)))))
async def test_own_namespace_comes_first_then_what_has_none(box: Appliance, machines: tuple[str, ...]) -> None:
    await apply(box, *machines, TEMPLATE, of_k1("zz", 2))
    assert await filled(box) == "zz"
    await apply(box, of_k1("qq", 3).replace("name: w,", "name: old,"))
    assert (await box.workflows.get("old")).actions[0].action.spec.image == "tools/old:v1"


async def test_one_that_is_not_clear_is_refused_with_all_and_the_ways_out(box: Appliance) -> None:
    elsewhere = of_k1("qq", 3)
    told = await refusal(box, TEMPLATE, document(3), ZZ, AA, elsewhere)
    assert told == (
        f"4.yaml:6, spec.hardwareRef: hardware k1 is ambiguous for namespace qq: it fits k1 of namespace aa ({mac(1)}), k1 of "
        f"namespace zz ({mac(2)}): give the Workflow the namespace of the one that is meant, or name it by its MAC in "
        "hardwareMap as well"
    )
    as_told = elsewhere.replace("hardwareMap: {", f'hardwareMap: {{device_2: "{mac(1)}", ')
    await apply(box, TEMPLATE, document(3), ZZ, AA, as_told)
    assert await filled(box) == "aa"


async def test_hardware_map_with_both_leaves_the_namespace_as_the_way_out(box: Appliance) -> None:
    both = of_k1("qq", 1).replace("hardwareMap: {", f'hardwareMap: {{device_2: "{mac(2)}", ')
    told = await refusal(box, TEMPLATE, ZZ, AA, both)
    assert told.endswith(": give the Workflow the namespace of the one that is meant")
    await apply(box, TEMPLATE, ZZ, AA, both.replace("namespace: qq", "namespace: zz"))
    assert await filled(box) == "zz"


async def test_two_hosts_of_a_name_without_namespaces_are_told_with_their_macs(box: Appliance) -> None:
    told = await refusal(box, TEMPLATE, document(1), k1_of_2020(2), k1_of_2020(3), of_k1("qq", 1))
    assert f"it fits k1 of no namespace ({mac(2)}), k1 of no namespace ({mac(3)}): name it by its MAC" in told


async def test_the_name_of_a_machine_comes_before_a_hostname_of_another(box: Appliance) -> None:
    host = document(3).replace("hostname: node3", "hostname: k1")
    await apply(box, host, TEMPLATE, AA, of_k1("default", 1))
    assert await filled(box) == "aa"


async def test_workflow_create_means_and_refuses_the_same(box: Appliance) -> None:
    await apply(box, ZZ, AA, TEMPLATE, document(3))
    with pytest.raises(Invalid) as refused:
        await box.creation.create(of_k1("qq", 3), Creating())
    assert "hardware k1 is ambiguous for namespace qq: it fits k1 of namespace aa" in str(refused.value.problems[0])
    await box.creation.create(of_k1("qq", 1), Creating())
    assert await filled(box) == "aa"


async def test_a_namesake_that_comes_later_leaves_the_workflow_unchanged(box: Appliance) -> None:
    elsewhere = of_k1("qq", 3)
    await apply(box, TEMPLATE, document(3), AA, elsewhere)
    assert outcomes(await apply(box, ZZ, elsewhere))["workflow/w"] == "unchanged"


async def test_where_it_runs_elsewhere_namespaces_tell_namesakes_apart(box: Appliance) -> None:
    applied = await apply(box, ZZ, AA, TEMPLATE, of_k1("zz", 1))
    (note,) = [each for each in applied.notes if each.key.endswith("spec.hardwareRef")]
    mine, others = f"k1 of namespace zz ({mac(2)})", f"k1 of namespace aa ({mac(1)})"
    assert note.text == (
        f"its template is filled from machine {mine}, and its actions run on {others}, whose MAC or address hardwareMap has: "
        f"if {mine} is meant, give its own there, and if {others} is, give the Workflow its namespace"
    )


async def test_a_workflow_of_several_of_a_name_is_exported_as_it_was_given(box: Appliance) -> None:
    given = of_k1("qq", 1)
    await apply(box, ZZ, AA, TEMPLATE, given)
    (exported,) = (await box.exporting.export([parse_asked("workflow/w")], None)).documents
    assert exported.manifest["spec"]["hardwareRef"] == "k1"


@pytest.mark.parametrize("machines", list(permutations((AA, ZZ))))
async def test_structured_workflows_mean_the_agents_machine_or_that_of_the_namespace(
    box: Appliance, machines: tuple[str, ...]
) -> None:
    told = await refusal(box, *machines, TASK, structured())
    assert "spec.tasks[0]: hardware k1 is ambiguous for namespace qq: it fits k1 of namespace" in told
    assert told.endswith(
        ": give hardwareRef the namespace of the one that is meant, or name it by its MAC in agentID as well"
    )
    await apply(box, *machines, TASK, structured(agent=1))
    assert (await box.workflows.get("w")).actions[0].action.spec.command == ("aa",)
    await apply(box, structured(namespace="zz").replace("name: w,", "name: other,"))
    assert (await box.workflows.get("other")).actions[0].action.spec.command == ("zz",)


async def test_a_structured_workflow_lets_the_machine_of_its_references_namespace_netboot(box: Appliance) -> None:
    closed = [each.replace("allowPXE: true", "allowPXE: false") for each in (AA, ZZ)]
    toggling = structured(namespace="zz").replace("hardware: {", "hardware: {bootOptions: {toggleNetboot: true}, ")
    await apply(box, *closed, TASK, toggling)
    machines = (each.hardware for each in box.machines.known.all())
    allowed = {each.id for each in machines if all(one.allow_pxe for one in each.interfaces)}
    assert allowed == {box.machines.known.holder(mac(2))}
