"""`/v1/documents` at the operator door."""

import json

from tests.integration.api.door import Door
from tests.integration.engine.appliance import HELLO
from tests.integration.engine.applying.test_kept_documents import MACHINE, RULES

TEMPLATE = (
    "apiVersion: tinkerbell.org/v1alpha1\nkind: Template\nmetadata: {name: hello, namespace: NAMESPACE}\n"
    f"spec: {{data: {json.dumps(HELLO)}}}\n"
)


async def test_kept_documents_are_listed_exported_and_deleted(door: Door) -> None:
    files = [{"name": "a.yaml", "text": RULES}, {"name": "b.yaml", "text": MACHINE}]
    answer = await door.done("POST", "/v1/apply", {"files": files})
    made = {f"{each['kind']}/{each['name']}": each["id"] for each in answer["results"]}
    assert set(made) == {"workflowruleset/all", "machine.bmc/node1"}
    listed = await door.done("GET", "/v1/documents")
    assert [(each["kind"], each["namespace"], each["name"], each["labels"]) for each in listed] == [
        ("machine.bmc", "tink-system", "node1", {"rack": "r1"}),
        ("workflowruleset", "tink-system", "all", {"team": "lab"}),
    ]
    assert {each["id"] for each in listed} == set(made.values())
    exported = await door.done("GET", "/v1/export")
    assert [each["kind"] for each in exported["items"]] == ["workflowruleset", "machine.bmc"]
    deleted = await door.done("DELETE", "/v1/documents/workflowruleset/all")
    assert deleted == {"id": made["workflowruleset/all"], "kind": "workflowruleset", "name": "all"}
    assert [each["kind"] for each in await door.done("GET", "/v1/documents")] == ["machine.bmc"]
    status, problem = await door.ask("DELETE", "/v1/documents/workflowruleset/all")
    assert status == 404
    assert "`tinkbox document list` shows what there is" in problem["detail"]


async def test_one_of_several_namespaces_is_deleted_by_its_namespace(door: Door) -> None:
    other = RULES.replace("all, namespace: tink-system", "all")
    await door.done("POST", "/v1/apply", {"files": [{"name": "a.yaml", "text": RULES}, {"name": "b", "text": other}]})
    status, problem = await door.ask("DELETE", "/v1/documents/workflowruleset/all")
    ids = {each["namespace"]: each["id"] for each in await door.done("GET", "/v1/documents")}
    assert status == 409
    assert problem["detail"] == (
        "document workflowruleset/all is in 2 namespaces: say which with --namespace, or give its id for the name: default "
        f"(workflowruleset/{ids['default']}), tink-system (workflowruleset/{ids['tink-system']})"
    )
    status, told = await door.ask("DELETE", "/v1/documents/workflowruleset/all?namespace=")
    assert (status, told["detail"]) == (422, "namespace is empty: give a value or leave it out")
    await door.done("DELETE", "/v1/documents/workflowruleset/all?namespace=default")
    (left,) = await door.done("GET", "/v1/documents")
    assert left["namespace"] == "tink-system"


async def test_the_key_of_what_is_applied_is_one_to_delete_it_by(door: Door) -> None:
    files = [{"name": "a.yaml", "text": RULES}, {"name": "b.yaml", "text": MACHINE}]
    first = (await door.done("POST", "/v1/apply", {"files": files}))["results"]
    assert {each["key"] for each in first} == {"workflowruleset/all", "machine.bmc/node1"}
    other = RULES.replace("all, namespace: tink-system", "all")
    (second,) = (await door.done("POST", "/v1/apply", {"files": [{"name": "c.yaml", "text": other}]}))["results"]
    assert second["key"] == f"workflowruleset/{second['id']}"
    for key in ("machine.bmc/node1", second["key"]):
        await door.done("DELETE", f"/v1/documents/{key}")
    (left,) = await door.done("GET", "/v1/documents")
    assert (left["kind"], left["namespace"]) == ("workflowruleset", "tink-system")


async def test_a_pruned_document_needs_the_time_that_was_agreed_to(door: Door) -> None:
    await door.done("POST", "/v1/apply", {"files": [{"name": "a.yaml", "text": RULES}]})
    asked = {"files": [{"name": "b.yaml", "text": MACHINE}], "prune": "team=lab"}
    rehearsed = await door.done("POST", "/v1/apply", {**asked, "dry_run": True})
    agreed = {each["id"]: each["created_at"] for each in rehearsed["results"] if each["outcome"] == "pruned"}
    assert len(agreed) == 1
    await door.done("POST", "/v1/apply", {**asked, "agreed": agreed})
    assert [each["kind"] for each in await door.done("GET", "/v1/documents")] == ["machine.bmc"]


async def test_a_rule_set_that_needs_a_template_is_told_when_that_is_deleted_or_renamed(door: Door) -> None:
    await door.done("POST", "/v1/apply", {"files": [{"name": "a.yaml", "text": RULES}]})
    hello = {"name": "hello", "data": HELLO}
    gone = "rule set all needs template hello, which is gone: machines for which one of its rules holds wait until it is there"
    for _ in range(2):
        made = await door.done("POST", "/v1/templates", hello)
        deleted = await door.done("DELETE", "/v1/templates/hello")
        assert deleted == {"id": made["id"], "notes": [{"text": gone, "line": None, "key": ""}]}
    await door.done("POST", "/v1/templates", hello)
    assert "notes" not in await door.done("PUT", "/v1/templates/hello", {"data": HELLO + "# more\n"})
    renamed = await door.done("PUT", "/v1/templates/hello", {"name": "other"})
    assert [each["text"] for each in renamed["notes"]] == [gone]
    assert await door.done("DELETE", "/v1/templates/other") == {"id": renamed["id"]}


async def test_a_rule_set_that_means_another_template_from_now_on_is_told(door: Door) -> None:
    files = [{"name": "a.yaml", "text": RULES}]
    for name, space in (("b", "tink-system"), ("c", "elsewhere")):
        files.append({"name": f"{name}.yaml", "text": TEMPLATE.replace("NAMESPACE", space)})
    await door.done("POST", "/v1/apply", {"files": files})
    ids = {each["namespace"]: each["id"] for each in await door.done("GET", "/v1/templates")}
    deleted = await door.done("DELETE", f"/v1/templates/{ids['tink-system']}")
    assert [each["text"] for each in deleted["notes"]] == [
        "rule set all means template hello of namespace elsewhere from now on"
    ]
