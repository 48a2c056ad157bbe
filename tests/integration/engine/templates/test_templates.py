from contextlib import ExitStack

import pytest

from tests.integration.engine.appliance import HELLO, RELAY, Appliance, mac
from tinkbox.engine.templates.templates import NewTemplate, own_name
from tinkbox.model.errors import Conflict, Invalid, NotFound, TooMany
from tinkbox.model.limits import RENDERINGS
from tinkbox.model.listing import WorkflowListing


async def test_a_template_is_found_by_id_by_the_beginning_of_it_and_by_name(box: Appliance) -> None:
    identity = await box.templates.create("hello", HELLO)
    for key in (identity, identity[:8], "hello"):
        found = await box.templates.get(key)
        assert (found.id, found.name, found.data) == (identity, "hello", HELLO)


async def test_a_key_that_fits_none_or_several_says_so(box: Appliance) -> None:
    with pytest.raises(NotFound, match="tinkbox template list"):
        await box.templates.get("hello")
    await box.templates.create("hello", HELLO)
    await box.templates.create("relay", RELAY)
    with pytest.raises(Conflict, match="it fits 2, whose ids `tinkbox template list` shows"):
        await box.templates.get("0000")


async def test_a_name_belongs_to_one_template(box: Appliance) -> None:
    first = await box.templates.create("hello", HELLO)
    second = await box.templates.create("relay", RELAY)
    with pytest.raises(Conflict, match=first):
        await box.templates.create("hello", RELAY)
    with pytest.raises(Conflict, match=first):
        await box.templates.update(second, name="hello")
    assert (await box.templates.update(second, name="relay")).id == second
    assert [each.name for each in await box.templates.all()] == ["hello", "relay"]


async def test_the_same_text_under_its_name_is_the_template_that_is_there(box: Appliance) -> None:
    first = await box.templates.create("hello", HELLO)
    assert await box.templates.create("hello", HELLO) == first
    with pytest.raises(Conflict, match=f"`tinkbox template update {first} --file FILE` changes it"):
        await box.templates.create("hello", RELAY)
    assert (await box.templates.get("hello")).data == HELLO


@pytest.mark.parametrize("name", ["", "a b", "a/b", "x" * 200, "a\n", "ü", ".", "..", "-", "-x"])
async def test_a_name_that_no_command_line_could_say_is_refused(box: Appliance, name: str) -> None:
    with pytest.raises(Invalid, match="invalid template name"):
        await box.templates.create(name, HELLO)
    stored = await box.templates.create("hello", HELLO)
    with pytest.raises(Invalid, match="invalid template name"):
        await box.templates.update(stored, name=name)


@pytest.mark.parametrize("name", [".", "..", "-x"])
async def test_a_name_of_an_earlier_release_is_readable_changeable_and_deletable(box: Appliance, name: str) -> None:
    await box.store.write(lambda tables: box.templates.take_in(tables, "", "default", name, HELLO))
    (stored,) = await box.templates.all()
    assert (await box.templates.get(stored.id)).name == name
    await box.templates.update(stored.id, data=RELAY)
    await box.templates.update(stored.id, name="better")
    await box.templates.update("better", name="best")
    await box.templates.delete(stored.id)
    assert await box.templates.all() == []
    assert await box.templates.all() == []


async def test_what_is_ignored_of_a_text_is_told_whether_or_not_it_is_new_and_refused_where_that_is_wanted(
    box: Appliance,
) -> None:
    more = HELLO.replace("image: hello-world", "image: hello-world\n        args: [a]")
    with pytest.raises(Invalid, match="1 problem"):
        await box.templates.create_all([NewTemplate(name="hello", data=more)], strict=True)
    assert await box.templates.all() == []
    (stored,) = await box.templates.create_all([NewTemplate(name="hello", data=more)])
    assert [each.key for each in stored.ignored] == ["tasks[0].actions[0].args"]
    (again,) = await box.templates.create_all([NewTemplate(name="hello", data=more)])
    assert (again.is_new, again.ignored) == (False, stored.ignored)
    with pytest.raises(Invalid, match="1 problem"):
        await box.templates.update("hello", data=f"{more}# more\n", strict=True)
    assert (await box.templates.get("hello")).data == more
    assert (await box.templates.update("hello", data=f"{more}# more\n")).ignored == stored.ignored
    assert (await box.templates.update("hello", name="other", strict=True)).ignored == ()


async def test_a_templates_own_name_is_found_whatever_ends_its_lines() -> None:
    assert (
        own_name("name: a\r\ntasks:\r\n")
        == own_name("\ufeffname: 'a'  # b\r\n")
        == own_name("version: 1\nname: a")
        == "a"
    )


async def test_a_bad_text_changes_nothing(box: Appliance) -> None:
    identity = await box.templates.create("hello", HELLO)
    with pytest.raises(Invalid):
        await box.templates.update(identity, data=HELLO.replace("image:", "imago:"))
    with pytest.raises(Invalid):
        await box.templates.create("other", "tasks:\n\t- x")
    assert [each.id for each in await box.templates.all()] == [identity]
    assert (await box.templates.get(identity)).data == HELLO


async def test_an_update_keeps_what_is_not_said_and_tells_when(box: Appliance) -> None:
    identity = await box.templates.create("hello", HELLO)
    box.clock.forward(5)
    await box.templates.update("hello", data=RELAY)
    await box.templates.update("hello", name="relay")
    changed = await box.templates.get(identity)
    assert (changed.name, changed.data) == ("relay", RELAY)
    assert (changed.updated_at - changed.created_at).total_seconds() == 5


async def test_an_update_with_the_same_text_is_no_change(box: Appliance) -> None:
    identity = await box.templates.create("hello", HELLO)
    box.clock.forward(5)
    await box.templates.update("hello", name="hello", data=HELLO)
    same = await box.templates.get(identity)
    assert same.updated_at == same.created_at


async def test_a_deleted_template_leaves_its_workflows_whole(box: Appliance) -> None:
    await box.machine(1)
    template = await box.templates.create("hello", HELLO)
    workflow = await box.workflows.create("hello", {"device_1": "08:00:27:00:00:01"})
    assert (await box.templates.delete("hello")).id == template
    with pytest.raises(NotFound):
        await box.templates.delete("hello")
    assert (await box.workflows.get(workflow)).actions[0].action.spec.name == "hello_world"


async def test_a_document_is_read_in_its_persons_turn(box: Appliance) -> None:
    assert await box.templates.read("x", str.upper, "anna") == "X"
    with ExitStack() as stack:
        for _ in range(RENDERINGS.each):
            stack.enter_context(box.templates._renderings.place("anna"))
        with pytest.raises(TooMany):
            await box.templates.read("x", str.upper, "anna")
        assert await box.templates.read("x", str.upper, "bert") == "X"


PARAMETERS = {"device_1": mac(1), "image": "debian-13"}


async def test_a_template_of_the_program_is_used_by_its_name_until_one_is_stored(box: Appliance) -> None:
    await box.machine(1)
    first = await box.workflows.get(await box.workflows.create("install", PARAMETERS))
    assert (first.template_id, first.name) == ("install", "install")
    assert 'IMAGE: "debian-13"' in first.text
    assert (await box.templates.get("install")).id == "install"
    stored = await box.templates.create("install", HELLO)
    second = await box.workflows.get(await box.workflows.create("install", {"device_1": mac(1)}))
    assert (second.template_id, second.name) == (stored, "hello_world_workflow")
    assert [(each.name, instead) for each, instead in await box.templates.catalogue()] == [("install", stored)]
    await box.templates.delete("install")
    assert (await box.templates.get("install")).id == "install"


async def workflows_of(box: Appliance, key: str) -> list[str]:
    """The ids of the workflows that a list has of a template."""
    wanted = WorkflowListing(template=await box.templates.with_workflows(key))
    return (await box.store.read(lambda tables: tables.workflows.listed_ids(wanted)))[0]


async def test_a_template_of_the_program_means_the_workflows_of_those_in_its_place_too(box: Appliance) -> None:
    await box.machine(1)
    assert await workflows_of(box, "install") == []
    first = await box.workflows.create("install", PARAMETERS)
    stored = await box.templates.create("install", HELLO)
    second = await box.workflows.create("install", {"device_1": mac(1)})
    assert (await workflows_of(box, "install"), await workflows_of(box, stored)) == ([first, second], [second])
    await box.templates.delete("install")
    assert (await workflows_of(box, "install"), await workflows_of(box, stored)) == ([first, second], [second])
    with pytest.raises(NotFound):
        await workflows_of(box, "inst")


async def test_a_key_of_a_deleted_template_that_fits_none_or_several_says_so(box: Appliance) -> None:
    await box.machine(1)
    gone = await box.templates.create("gone", HELLO)
    unused = await box.templates.create("unused", HELLO)
    made = await box.workflows.create("gone", {"device_1": mac(1)})
    for each in ("gone", "unused"):
        await box.templates.delete(each)
    assert await workflows_of(box, gone) == await workflows_of(box, "gone") == await workflows_of(box, "0000") == [made]
    for key in ("unused", unused, gone[:3]):
        with pytest.raises(NotFound, match="tinkbox template list"):
            await workflows_of(box, key)
    await box.templates.create("hello", HELLO)
    with pytest.raises(Conflict, match="it fits 2"):
        await workflows_of(box, "0000")


async def test_a_template_of_the_program_cannot_be_changed(box: Appliance) -> None:
    for refused in (box.templates.update("install", data=HELLO), box.templates.delete("install")):
        with pytest.raises(Conflict, match="install is built in"):
            await refused
