"""To which bytes a workflow pins the names of its images."""

import pytest

from tests.integration.engine.appliance import HELLO, Appliance
from tests.integration.engine.serving import Host
from tinkbox.model.errors import Conflict, NotFound
from tinkbox.model.images.needs import ImageNeed
from tinkbox.model.services import Phase
from tinkbox.model.workflow import State
from tinkbox.wire.messages.worker import Offer, Pulled

TWO = """\
version: "0.1"
name: two
tasks:
  - {name: a, worker: "{{.a}}", actions: [{name: one, image: "tool:v1", timeout: 60}]}
  - {name: b, worker: "{{.b}}", actions: [{name: two, image: "tool:v1", timeout: 60}, {name: three, image: "x.test/y:z", timeout: 60}]}
"""
SHARED = """\
version: "0.1"
name: shared
services:
  - {name: files, worker: provisioner, image: "x.test/y:z", timeout: 60}
tasks:
  - {name: a, worker: "{{.device_1}}", actions: [{name: one, image: "x.test/y:z", timeout: 60}]}
"""


def digest(number: int) -> str:
    return f"sha256:{number:064x}"


async def begun(box: Appliance, worker: str) -> Offer:
    offer = await box.offer(worker)
    assert offer is not None
    return offer


async def images(box: Appliance, workflow_id: str) -> list[str]:
    return [each.digest for each in (await box.workflows.get(workflow_id)).actions]


async def told(box: Appliance, workflow_id: str) -> list[tuple[str, object]]:
    return [
        (each.kind, each.data.get("images") or {each.data["image"]: each.data["digest"]})
        for each in await box.workflows.events(workflow_id)
        if "images" in each.data or each.kind == "image.pinned"
    ]


async def tellers(box: Appliance, workflow_id: str) -> list[str]:
    """By whose word images were pinned since the workflow was created; empty: by the registry's."""
    pinned = [each for each in await box.workflows.events(workflow_id) if each.kind == "image.pinned"]
    return [each.data.get("told_by", "") for each in pinned]


async def test_a_tag_that_moves_changes_nothing_of_a_workflow(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    box.registry["tool:v1"] = digest(1)
    workflow_id = await box.workflow(TWO, a=1, b=2)
    offered = await begun(box, first)
    box.registry["tool:v1"] = digest(2)
    await box.report(first, offered)
    assert [offered.action.spec.image, (await begun(box, second)).action.spec.image] == [f"tool:v1@{digest(1)}"] * 2
    assert await images(box, workflow_id) == [digest(1), digest(1), ""]
    assert await told(box, workflow_id) == [("workflow.created", {"tool:v1": digest(1)})]


async def test_an_image_that_comes_later_is_pinned_when_it_is_first_offered(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    workflow_id = await box.workflow(TWO, a=1, b=2)
    assert await images(box, workflow_id) == ["", "", ""]
    box.registry["tool:v1"] = digest(1)
    offered = await begun(box, first)
    box.registry["tool:v1"] = digest(2)
    await box.report(first, offered)
    assert (await begun(box, second)).action.spec.image == f"tool:v1@{digest(1)}"
    assert await told(box, workflow_id) == [("image.pinned", {"tool:v1": digest(1)})]


async def test_another_registrys_image_is_what_the_first_worker_pulled(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    box.registry["tool:v1"] = digest(1)
    workflow_id = await box.workflow(TWO, a=1, b=2)
    await box.report(first, await begun(box, first))
    await box.report(second, await begun(box, second))
    offered = await begun(box, second)
    assert offered.action.spec.image == "x.test/y:z"
    for number in (3, 4):
        pulled = Pulled(workflow_id=workflow_id, boot_id="boot-1", digest=digest(number))
        assert await box.attempts.pulled(second, offered.attempt, pulled) == digest(3)
    assert await tellers(box, workflow_id) == [second]
    other = Pulled(workflow_id=workflow_id, boot_id="boot-2", digest=digest(5))
    with pytest.raises(Conflict):
        await box.attempts.pulled(second, offered.attempt, other)
    assert (await begun(box, second)).action.spec.image == f"x.test/y:z@{digest(3)}"
    assert await images(box, workflow_id) == [digest(1), digest(1), digest(3)]


async def test_a_retry_pins_what_runs_again_to_what_is_there_now(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    box.registry["tool:v1"] = digest(1)
    workflow_id = await box.workflow(TWO, a=1, b=2)
    await box.report(first, await begun(box, first))
    await box.report(second, await begun(box, second), State.FAILED)
    box.registry["tool:v1"] = digest(2)
    await box.workflows.retry(workflow_id)
    assert await images(box, workflow_id) == [digest(1), digest(2), ""]
    assert (await told(box, workflow_id))[-1] == ("workflow.retried", {"tool:v1": digest(2)})
    await box.report(second, await begun(box, second), State.FAILED)
    await box.workflows.retry(workflow_id)
    assert len(await told(box, workflow_id)) == 2


async def test_what_an_earlier_retry_left_out_is_pinned_to_the_same_as_the_rest(box: Appliance) -> None:
    first, second = await box.machine(1), await box.machine(2)
    box.registry["tool:v1"] = digest(1)
    workflow_id = await box.workflow(TWO, a=1, b=2)
    await box.report(first, await begun(box, first))
    await box.report(second, await begun(box, second), State.FAILED)
    box.registry["tool:v1"] = digest(2)
    await box.workflows.retry(workflow_id)
    await box.report(second, await begun(box, second), State.FAILED)
    await box.workflows.retry(workflow_id, "one")
    assert await images(box, workflow_id) == [digest(2), digest(2), ""]
    assert (await told(box, workflow_id))[-1] == ("workflow.retried", {"tool:v1": digest(2)})


async def test_an_attempt_that_is_over_pins_nothing(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.machine(2)
    workflow_id = await box.workflow(TWO.replace("tool:v1", "x.test/y:z"), a=1, b=2)
    offered = await begun(box, worker)
    await box.report(worker, offered, State.FAILED)
    await box.workflows.retry(workflow_id)
    late = Pulled(workflow_id=workflow_id, boot_id="boot-1", digest=digest(3))
    with pytest.raises(Conflict):
        await box.attempts.pulled(worker, offered.attempt, late)
    assert await images(box, workflow_id) == ["", "", ""]


async def test_a_worker_is_not_believed_what_an_image_of_our_registry_is(box: Appliance) -> None:
    worker = await box.machine(1)
    await box.machine(2)
    workflow_id = await box.workflow(TWO, a=1, b=2)
    offered = await begun(box, worker)
    pulled = Pulled(workflow_id=workflow_id, boot_id="boot-1", digest=digest(3))
    with pytest.raises(NotFound):
        await box.attempts.pulled(worker, offered.attempt, pulled)
    assert await images(box, workflow_id) == ["", "", ""]
    box.registry["tool:v1"] = digest(1)
    assert await box.attempts.pulled(worker, offered.attempt, pulled) == digest(1)
    assert await images(box, workflow_id) == [digest(1), digest(1), ""]
    assert await tellers(box, workflow_id) == [""]


async def test_a_host_is_not_believed_what_an_image_of_our_registry_is(box: Appliance) -> None:
    await box.machine(1)
    host = Host(box)
    workflow_id = await box.workflow(SHARED.replace("x.test/y:z", "tool:v1"))
    await host.ask()
    await host.say("files", Phase.STARTING, digest=digest(3))
    assert await images(box, workflow_id) == [""]
    box.registry["tool:v1"] = digest(1)
    await host.say("files", Phase.READY, digest=digest(3))
    assert await images(box, workflow_id) == [digest(1)]


async def test_a_host_is_told_of_which_image_only_the_appliance_is_asked(box: Appliance) -> None:
    worker, host = await box.machine(1), Host(box)
    box.appliance_only.add("x.test/y:z")
    await box.workflow(SHARED)
    await host.ask()
    assert host.told("files").appliance_only
    await host.say("files", Phase.READY, digest=digest(3))
    offered = await begun(box, worker)
    assert (offered.action.spec.image, offered.appliance_only) == (f"x.test/y:z@{digest(3)}", True)


async def test_another_registry_may_be_asked_unless_the_appliance_says_otherwise(box: Appliance) -> None:
    worker, host = await box.machine(1), Host(box)
    await box.workflow(SHARED)
    await host.ask()
    assert not host.told("files").appliance_only
    await host.say("files", Phase.READY, digest=digest(3))
    assert not (await begun(box, worker)).appliance_only


async def test_a_service_and_an_action_of_one_name_run_the_same_bytes(box: Appliance) -> None:
    worker, host = await box.machine(1), Host(box)
    await box.workflow(SHARED)
    await host.ask()
    assert host.told("files").service.spec.image == "x.test/y:z"
    await host.say("files", Phase.READY, digest=digest(3))
    assert (await begun(box, worker)).action.spec.image == f"x.test/y:z@{digest(3)}"


async def test_only_unfinished_workflows_need_their_images(box: Appliance) -> None:
    worker = await box.machine(1)
    box.registry["hello-world"] = digest(1)
    workflow_id = await box.workflow(HELLO)
    needed = await box.store.read(lambda tables: tables.images.needed())
    workflow = await box.workflows.get(workflow_id)
    (named,) = [each for each in needed if each.image == "hello-world"]
    assert named == ImageNeed(
        digest=digest(1),
        image="hello-world",
        template=workflow.template_name,
        workflow_id=workflow_id,
        workflow=workflow.name,
    )
    await box.finish(worker)
    assert await box.store.read(lambda tables: tables.images.needed()) == []


async def test_templates_need_the_images_that_they_name_by_digest(box: Appliance) -> None:
    text = HELLO.replace("hello-world\n", f"quay.io/x/hello-world:v1@{digest(2)}\n", 1)
    assert text != HELLO
    await box.templates.create("by-digest", text)
    await box.templates.create("by-tag", HELLO)
    named = await box.store.read(lambda tables: tables.images.named_by_templates())
    assert named == [ImageNeed(digest=digest(2), image="quay.io/x/hello-world:v1", template="by-digest")]


async def test_templates_need_the_digests_that_logic_puts_behind_names(box: Appliance) -> None:
    text = HELLO.replace("hello-world\n", '"z/jin@{{ $dig }}"\n', 1)
    await box.templates.create("by-logic", f'{{{{ $dig := "{digest(2)}" }}}}\n{text}')
    named = await box.store.read(lambda tables: tables.images.named_by_templates())
    assert named == [ImageNeed(digest=digest(2), image="", template="by-logic")]


async def test_what_a_placeholder_stands_before_is_no_whole_name(box: Appliance) -> None:
    text = HELLO.replace("hello-world\n", f'"{{{{ workflow_id }}}}/hello-world@{digest(2)}"\n', 1)
    await box.templates.create("by-digest", text)
    named = await box.store.read(lambda tables: tables.images.named_by_templates())
    assert [each.image for each in named] == ["}/hello-world"]


async def test_an_unfinished_workflow_needs_the_system_images_that_it_names(box: Appliance) -> None:
    worker = await box.machine(1)
    text = HELLO.replace("hello-world\n", f"hello-world\n        environment: {{IMAGE: 'debian-13@{digest(2)}'}}\n", 1)
    assert text != HELLO
    workflow_id = await box.workflow(text)
    needed = f"debian-13@{digest(2)}"
    assert await box.store.read(lambda tables: tables.images.needed_systems()) == {needed: workflow_id}
    await box.finish(worker)
    assert await box.store.read(lambda tables: tables.images.needed_systems()) == {}
