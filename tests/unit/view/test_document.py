"""The picture as one document."""

from tests.unit.view.snapshots import TROUBLED, failed, machine, snapshot, work
from tinkbox.view.document import document_of
from tinkbox.view.rows import Scope


def test_a_machine_that_waits_in_a_rollout_has_no_workflow_but_one_under_way() -> None:
    told = snapshot(
        failed(1), failed(2, rollout="1a2b3c4d-00", rollout_paused=True), machine(3, work=work(), rollout="1a2b3c4d-00")
    )
    by_name = {each["name"]: each for each in document_of(told)["machines"]}
    assert {name: each["state"] for name, each in by_name.items()} == {
        "node1": "FAILED",
        "node2": "WAITING",
        "node3": "RUNNING",
    }
    assert [name for name, each in by_name.items() if each["workflow"] is None] == ["node2"]
    assert by_name["node2"]["rollout"] == "1a2b3c4d-00"
    assert [name for name, each in by_name.items() if each["rollout_paused"]] == ["node2"]
    assert by_name["node2"]["why"] == "waits in rollout 1a2b3c4d, which is paused"


def test_what_a_state_selects_is_what_the_counts_count() -> None:
    told = snapshot(failed(1, state="failed"), *(failed(each, state="failed", rollout="1a") for each in (2, 3)))
    selected = document_of(told, Scope(states=frozenset({"failed"})))
    assert [each["name"] for each in selected["machines"]] == ["node1"]
    assert document_of(told)["counts"]["by_state"] == {"FAILED": 1, "WAITING": 2}


def test_conditions_of_the_appliance_and_what_was_found_of_a_machine_are_there() -> None:
    document = document_of(TROUBLED)
    assert [(each["rule"], each["gravity"]) for each in document["health"]["conditions"]] == [
        ("DiskNearlyFull", "fault"),
        ("DeletedEarly", "suspect"),
    ]
    assert document["health"]["conditions"][0]["since"] == "2026-11-21T03:17:55+00:00"
    assert document["health"]["faults"] == ["DiskNearlyFull"]
    silent = next(each for each in document["machines"] if each["name"] == "node1")
    assert silent["silent_since"] == "2026-11-21T03:28:14+00:00"
    assert silent["diagnosis"] == "The machine lost its power, or its cable is out."
    assert silent["why"] == f"silent for 1:46: {silent['diagnosis']}"
