"""`tinkbox document` on the command line."""

from collections.abc import Callable

from tests.unit.cli.conftest import FakeAppliance, Printed

Tinkbox = Callable[..., Printed]
ENTRY = {
    "id": "0a0a",
    "key": "workflowruleset/all",
    "kind": "workflowruleset",
    "namespace": "lab",
    "name": "all",
    "labels": {"team": "lab"},
    "created_at": "2026-01-01T00:00:00+00:00",
}


def test_kept_documents_are_listed_by_kind_and_name(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.answers["GET /v1/documents?sort=kind"] = [ENTRY]
    shown = tinkbox("document", "list").out
    assert "workflowruleset" in shown
    assert "team=lab" in shown
    assert tinkbox("document", "list", "-q").out == "workflowruleset/all\n"
    assert "0a0a" not in shown
    assert "0a0a" in tinkbox("document", "list", "-o", "wide").out


def test_one_is_deleted_by_kind_and_name(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    path = "DELETE /v1/documents/workflowruleset/all"
    appliance.answers[path] = appliance.answers[f"{path}?namespace=lab"] = ENTRY
    assert tinkbox("document", "delete", "workflowruleset/all").out == "Deleted workflowruleset:  all\n"
    assert tinkbox("document", "delete", "workflowruleset/all", "--namespace", "lab").status == 0
    assert [each for each, _ in appliance.asked] == [path, f"{path}?namespace=lab"]


def test_a_name_without_its_kind_is_refused(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    refused = tinkbox("document", "delete", "all")
    assert refused.status == 1
    assert "'all' is no KIND/NAME" in refused.err
    assert not appliance.asked
