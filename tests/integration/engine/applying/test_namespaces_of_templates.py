"""Templates of documents are known by namespace and name: none takes the place of another's."""

from pathlib import Path

import pytest

from tests.integration.engine.appliance import HELLO, Appliance, appliance, mac
from tests.integration.engine.applying.documents import files, flow, machine, outcomes, pruning, template
from tinkbox.cli.output.manifests import yaml_documents
from tinkbox.engine.applying.applying import Wish
from tinkbox.engine.applying.creation import Creating
from tinkbox.engine.applying.exporting import Asked, Kind
from tinkbox.engine.applying.results import Applied
from tinkbox.engine.templates.templates import NewTemplate
from tinkbox.model.errors import Conflict, Invalid
from tinkbox.model.listing import WorkflowListing
from tinkbox.store.templates import Template

OTHER = HELLO.replace("hello_world", "another")


def of(namespace: str, document: str) -> str:
    """The document in a namespace."""
    return document.replace("metadata: {", f"metadata: {{namespace: {namespace}, ", 1)


async def apply(box: Appliance, *texts: str, wish: Wish | None = None) -> Applied:
    return await box.applying.apply(files(*texts), wish or Wish(), "ann")


async def actions_of(box: Appliance, key: str) -> list[str]:
    return [each.action.spec.name for each in (await box.workflows.get(key)).actions]


async def stored(box: Appliance) -> dict[str, str]:
    """The texts of all templates by their namespaces."""
    found = [await box.templates.get(each.id) for each in await box.templates.all()]
    return {each.namespace: each.data for each in found if isinstance(each, Template)}


@pytest.mark.parametrize("together", [True, False], ids=["in one file", "one after the other"])
async def test_a_workflow_runs_the_template_of_its_namespace(box: Appliance, together: bool) -> None:
    mine, theirs = of("a", template()), of("b", template(text=OTHER))
    for texts in ([f"{mine}---\n{theirs}"], [mine, theirs]) if together else ([mine], [theirs]):
        await apply(box, *texts)
    await apply(box, machine(1), machine(2), of("a", flow(1)), of("b", flow(2)))
    assert await actions_of(box, "install-1") == ["hello_world", "second"]
    assert await actions_of(box, "install-2") == ["another", "second"]
    assert set(outcomes(await apply(box, mine, theirs)).values()) == {"unchanged"}
    assert len(await stored(box)) == 2


async def test_workflow_create_looks_in_the_namespace_too(box: Appliance) -> None:
    await apply(box, of("a", template()), of("b", template(text=OTHER)), machine(1))
    (made,) = (await box.creation.create(of("b", flow(1)), Creating())).made
    assert await actions_of(box, made.id) == ["another", "second"]
    (again,) = (await box.creation.create(of("b", flow(1)), Creating())).made
    assert again == type(made)(id=made.id, name=made.name, is_new=False)


async def test_a_changed_template_changes_that_of_its_namespace_alone(box: Appliance) -> None:
    await apply(box, of("a", template()), of("b", template()))
    assert outcomes(await apply(box, of("b", template(text=OTHER)))) == {"template/hello": "configured"}
    assert {name: "another" in text for name, text in (await stored(box)).items()} == {"a": False, "b": True}


async def test_a_name_of_two_namespaces_is_refused_with_both(box: Appliance) -> None:
    await apply(box, of("a", template()), of("b", template(text=OTHER)))
    for ask in (box.templates.get("hello"), box.templates.delete("hello"), box.workflows.create("hello", {})):
        with pytest.raises(Conflict, match=r"it fits 2, name one by its id: \S+ \(namespace a\), \S+ \(namespace b\)"):
            await ask
    with pytest.raises(Conflict, match="ambiguous"):
        await box.templates.with_workflows("hello")
    for each in await box.templates.all():
        await box.templates.delete(each.id)


async def test_another_template_of_a_name_is_told_when_it_comes(box: Appliance) -> None:
    await apply(box, of("a", template()))
    (note,) = (await apply(box, of("b", template(text=OTHER)))).notes
    assert (
        "template hello is another one than that of namespace a: on the command line name each by its id" in note.text
    )
    assert not (await apply(box, of("b", template(text=OTHER)))).notes


async def test_the_only_one_of_another_namespace_is_taken_and_told(box: Appliance) -> None:
    notes = (await apply(box, template(), machine(1), of("a", flow(1)))).notes
    told = "template hello is that of namespace default, for namespace a has none"
    assert told in [each.text for each in notes]
    again = await box.creation.create(of("a", flow(1)), Creating(again=True))
    assert told in [each.text for each in again.notes]
    assert await actions_of(box, "install-1") == ["hello_world", "second"]


async def test_of_several_other_namespaces_none_is_taken(box: Appliance) -> None:
    await apply(box, of("b", template()))
    with pytest.raises(Invalid) as refused:
        await apply(box, of("c", template(text=OTHER)), machine(1), of("a", flow(1)))
    (problem,) = refused.value.problems
    assert "namespace a has no template hello, and namespaces b and c have one each: give its document" in problem.text


async def test_what_was_made_by_hand_is_any_namespaces_with_its_text(box: Appliance) -> None:
    identity = await box.templates.create("hello", HELLO.rstrip("\n") + "\n")
    await apply(box, machine(1), of("a", flow(1)))
    assert (await box.workflows.get("install-1")).template_id == identity
    assert outcomes(await apply(box, of("b", template(text=OTHER)))) == {"template/hello": "created"}
    assert outcomes(await apply(box, of("a", template()))) == {"template/hello": "configured"}
    assert set(outcomes(await apply(box, of("a", template()), of("b", template(text=OTHER)))).values()) == {"unchanged"}
    assert set(await stored(box)) == {"a", "b"}
    assert (await box.workflows.get("install-1")).template_id == identity


async def test_by_hand_none_takes_a_name_of_any_namespace(box: Appliance) -> None:
    await apply(box, of("a", template()))
    with pytest.raises(Conflict, match="there is a template named hello already"):
        await box.templates.create("hello", OTHER)
    (other,) = await box.templates.create_all([NewTemplate(name="hello", namespace="b", data=OTHER)])
    assert other.is_new


async def test_one_without_a_namespace_is_changed_whatever_namespaces_have_its_name(box: Appliance) -> None:
    plain = await box.templates.create("hello", HELLO)
    await apply(box, of("a", template(text=OTHER)))
    await box.templates.update(plain, data=f"{HELLO}# more\n")
    await box.templates.update(plain, name="hello", data=HELLO)
    for name in ("another", "hello"):
        await box.templates.update(plain, name=name)
    found = await box.templates.get(plain)
    assert isinstance(found, Template)
    assert (found.name, found.namespace, found.data) == ("hello", "", HELLO)
    assert await stored(box) == {"": HELLO, "a": OTHER}


@pytest.mark.parametrize(("namespace", "taken"), [("default", True), ("b", True), ("a", False)])
async def test_no_name_is_taken_that_a_document_could_not_tell_apart(
    box: Appliance, namespace: str, taken: bool
) -> None:
    await apply(box, of(namespace, template()))
    (other,) = await box.templates.create_all([NewTemplate(name="other", namespace="b", data=OTHER)])
    plain = await box.templates.create("plain", OTHER)
    renamed = plain if namespace == "default" else other.id
    if taken:
        (there,) = (each.id for each in await box.templates.all() if each.name == "hello")
        with pytest.raises(Conflict, match=rf"{there} \(namespace {namespace}\): `tinkbox template update {there} "):
            await box.templates.update(renamed, name="hello")
    else:
        await box.templates.update(renamed, name="hello")


async def test_a_refused_name_is_told_with_an_id_that_can_be_changed(box: Appliance) -> None:
    await apply(box, of("a", template()), of("b", template()))
    with pytest.raises(Conflict) as refused:
        await box.templates.create("hello", OTHER)
    advised = str(refused.value).partition("`tinkbox template update ")[2].partition(" ")[0]
    assert (await box.templates.update(advised, data=OTHER)).id == advised


@pytest.mark.parametrize("names", [("a", "b"), ("b", "a"), ("a", "b", "default"), ("default", "a")])
async def test_what_was_made_by_hand_becomes_that_of_one_document(box: Appliance, names: tuple[str, ...]) -> None:
    plain = await box.templates.create("hello", HELLO.rstrip("\n") + "\n")
    texts = [of(each, template()) for each in names]
    first = "default" if "default" in names else "a"
    for wish in (Wish(rehearsal=True), Wish()):
        results = (await apply(box, *texts, wish=wish)).results
        became = {each.namespace: str(each.outcome) for each in results}
        assert became.pop(first) == ("unchanged" if first == "default" else "configured")
        assert set(became.values()) == {"created"}
    assert {each.namespace: each.id for each in results}[first] == plain
    ids = {each.namespace or "default": each.id for each in await box.templates.all()}
    assert ids == {each.namespace: each.id for each in results}
    assert set(outcomes(await apply(box, *texts)).values()) == {"unchanged"}


async def test_two_of_a_name_that_come_together_are_told(box: Appliance) -> None:
    texts = of("a", template()), of("b", template(text=OTHER))
    for wish in (Wish(rehearsal=True), Wish()):
        (note,) = (await apply(box, *texts, wish=wish)).notes
        assert "template hello is another one than that of namespace a: on the command line" in note.text
        assert note.key.startswith("1.yaml:")
    assert not (await apply(box, *texts)).notes


async def test_one_that_is_pruned_is_no_other_of_the_name(box: Appliance) -> None:
    await apply(box, of("a", template(labels="site: lab")))
    pruned = await apply(box, of("b", template(text=OTHER)), wish=pruning("site=lab"))
    assert ([str(each.outcome) for each in pruned.results], pruned.notes) == (["created", "pruned"], [])


async def test_each_is_exported_with_its_namespace_and_pruned_by_it(box: Appliance) -> None:
    mine, theirs = (of(each, template(labels="site: lab")) for each in ("a", "b"))
    await apply(box, mine, theirs)
    exported = (await box.exporting.export([Asked(Kind.TEMPLATE)], None)).documents
    assert [each.manifest["metadata"]["namespace"] for each in exported] == ["a", "b"]
    assert outcomes(await apply(box, theirs, machine(1), wish=pruning("site=lab")))["template/hello"] == "pruned"
    assert set(await stored(box)) == {"b"}


async def test_a_workflow_by_hand_is_exported_in_the_namespace_of_its_template(box: Appliance, tmp_path: Path) -> None:
    await apply(box, of("a", template()), of("b", template(text=OTHER)), machine(1))
    made = {each.namespace: each.id for each in await box.templates.all()}
    await box.workflows.create(made["b"], {"device_1": mac(1)}, name="wiping")
    export = await box.exporting.export([Asked(each) for each in Kind], None)
    written = files(yaml_documents(each.manifest for each in export.documents))
    assert outcomes(await box.applying.apply(written, Wish(), "ann"))["workflow/wiping"] == "unchanged"
    async with appliance(tmp_path / "elsewhere") as elsewhere:
        await elsewhere.applying.apply(written, Wish(), "ann")
        assert await actions_of(elsewhere, "wiping") == await actions_of(box, "wiping") == ["another", "second"]


@pytest.mark.parametrize("by_hand", [True, False])
async def test_a_workflow_that_would_have_another_template_elsewhere_is_in_no_export(
    box: Appliance, by_hand: bool
) -> None:
    """Its template has another name by now, which one of another namespace still has."""
    await apply(box, of("a", template()), of("b", template(text=OTHER)), machine(1))
    made = {each.namespace: each.id for each in await box.templates.all()}
    await (
        box.workflows.create(made["b"], {"device_1": mac(1)}, name="install-1")
        if by_hand
        else apply(box, of("b", flow(1)))
    )
    await box.templates.update(made["b"], "wipe")
    export = await box.exporting.export([Asked(Kind.WORKFLOW)], None)
    told = [each.text for each in export.notes]
    if by_hand:  # it says the name that its template has now
        assert (len(export.documents), told) == (1, [])
    else:
        assert (export.documents, len(told)) == ([], 1)
        assert told[0] == (
            "1 workflow left out, whose documents would mean other templates than theirs: "
            "install-1 (hello of namespace a in place of its wipe of namespace b)"
        )


async def test_the_workflows_of_one_are_listed_by_its_id(box: Appliance) -> None:
    await apply(box, of("a", template()), of("b", template()), machine(1), of("a", flow(1)))
    listed = {}
    for each in await box.templates.all():
        wanted = WorkflowListing(template=await box.templates.with_workflows(each.id))
        ids, *_ = await box.store.read(lambda tables, wanted=wanted: tables.workflows.listed_ids(wanted))
        listed[each.namespace] = ids
    assert listed == {"a": [(await box.workflows.get("install-1")).id], "b": []}
