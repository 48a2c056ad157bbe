"""Files of machines in both formats, in YAML and in JSON; and Kubernetes documents in JSON behind a mark of YAML."""

import json
from collections.abc import Sequence

import pytest

from tests.integration.engine.appliance import hardware, mac
from tinkbox.engine.documents.kubernetes import has_objects, is_one_object, take, take_hardware
from tinkbox.model.documents.kubernetes import identity
from tinkbox.model.errors import Invalid
from tinkbox.model.hardware import called

ID = "0eba0bf8-3772-4b4a-ab9f-6ebe93b90a94"
YAML_2020 = f"id: {ID}\nnetwork:\n  interfaces:\n    - dhcp: {{mac: '{mac(9)}', hostname: old9}}\n"
TODAY = {
    "apiVersion": "tinkerbell.org/v1alpha1",
    "kind": "Hardware",
    "metadata": {"name": "n1"},
    "spec": {"interfaces": [{"dhcp": {"mac": mac(11)}}]},
}
TEMPLATE = {**TODAY, "kind": "Template", "metadata": {"name": "t"}, "spec": {"data": "x"}}
YAML_TODAY = (
    f"apiVersion: tinkerbell.org/v1alpha1\nkind: Hardware\nmetadata: {{name: n1}}\nspec:\n  interfaces:\n"
    f"    - dhcp: {{mac: '{mac(11)}'}}\n"
)
OF_2020 = hardware(1)


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (f"{YAML_TODAY}---\n{YAML_2020}", ["n1", "old9"]),
        (f"{YAML_2020}---\n{YAML_TODAY}", ["old9", "n1"]),
        (f"---\n{YAML_2020}", ["old9"]),
        (f"{json.dumps(OF_2020)}\n{json.dumps(TODAY)}\n{json.dumps(hardware(2))}", ["machine-1", "n1", "machine-2"]),
        (json.dumps([TODAY, OF_2020]), ["n1", "machine-1"]),
        (json.dumps({"apiVersion": "v1", "kind": "List", "items": [OF_2020, TODAY]}), ["machine-1", "n1"]),
        (f"# machines\n- {json.dumps(OF_2020)}\n- {json.dumps(TODAY)}\n", ["machine-1", "n1"]),
        (f"---\n{json.dumps(TODAY)}\n---\n{YAML_2020}", ["n1", "old9"]),
    ],
)
def test_machines_of_both_formats_are_taken_from_one_file(text: str, names: Sequence[str]) -> None:
    machines, notes = take_hardware(text, strict=True)
    assert ([called(each) for each in machines], notes) == (names, ())


def test_the_document_of_2020_is_kept_as_it_stands() -> None:
    (machine, _), _ = take_hardware(json.dumps([{**OF_2020, "mine": [1, None, {}]}, TODAY]))
    assert machine.document == {**OF_2020, "mine": [1, None, {}]}


def test_what_is_wrong_with_a_document_of_2020_is_told_with_its_line_and_nothing_is_taken() -> None:
    for wrong, told in (
        (YAML_2020.replace(ID, "x"), "line 8: invalid uuid: x"),
        (YAML_2020.replace(mac(9), "zz"), "line 11, network.interfaces[0].dhcp.mac: invalid mac"),
        (YAML_2020.replace(mac(9), mac(11)), f"line 8: {mac(11)} is claimed by hardware n1 at line 1 too"),
        ("id: x\nname: y\n", "line 8: this is what a list prints, and no document"),
        ("some: thing\n", "line 8: neither a Kubernetes document"),
    ):
        with pytest.raises(Invalid) as refusal:
            take_hardware(f"{YAML_TODAY}---\n{wrong}")
        (problem,) = refusal.value.problems
        assert str(problem).startswith(told)


def test_a_wrong_id_in_the_annotation_is_told() -> None:
    annotated = {**TODAY, "metadata": {"name": "n1", "annotations": {"tinkbox.internal/id": "x"}}}
    with pytest.raises(Invalid) as refusal:
        take_hardware(json.dumps([annotated, OF_2020]))
    (problem,) = refusal.value.problems
    assert str(problem) == "line 1: Hardware n1: invalid uuid: x"  # there are two on this line


def test_a_slip_in_a_document_of_2020_is_told_and_refused_where_that_is_wanted() -> None:
    text = f"{YAML_TODAY}---\n{YAML_2020}lables: {{a: b}}\n"
    _, (note,) = take_hardware(text)
    assert str(note) == "line 12, lables: unknown key lables; did you mean labels?"
    with pytest.raises(Invalid, match="invalid Hardware: 1 problem"):
        take_hardware(text, strict=True)


def test_other_commands_leave_a_document_of_2020_for_the_one_that_takes_it() -> None:
    notes = take(f"{json.dumps(TEMPLATE)}\n{json.dumps(OF_2020)}", "Template").notes
    assert f"line 2: hardware {OF_2020['id']} is left for `tinkbox hardware push`" in map(str, notes)


@pytest.mark.parametrize(
    ("text", "has"),
    [
        (f"---\n{json.dumps(TODAY)}", True),
        (f"\ufeff# ours\n\n---\n---\n{json.dumps(TODAY, indent=2)}\n", True),
        (f"{json.dumps(OF_2020)}\n---\n{json.dumps(TODAY)}", True),
        (json.dumps([OF_2020, TODAY]), True),
        (f"---\n{json.dumps(OF_2020)}\n---\n{YAML_TODAY}", True),
        (f"---\n{json.dumps(OF_2020)}", False),
        ("---\n{{ .x }}", False),
        ("---{}", False),
        ("---\n[[", False),
    ],
)
def test_kubernetes_documents_are_known_in_json_behind_marks_and_other_documents(text: str, has: bool) -> None:
    assert has_objects(text) is has
    if has:
        assert [called(each) for each in take_hardware(text)[0]][-1] == "n1"


@pytest.mark.parametrize(
    ("text", "is_one"),
    [("", True), (" {}\n", True), ("{", True), ("{} {}", False), ("[]", False), ("---\n{}", False), ("a: b", False)],
)
def test_one_object_of_json_is_known(text: str, is_one: bool) -> None:
    assert is_one_object(text) is is_one


AGAIN = YAML_TODAY.replace(mac(11), mac(12))


@pytest.mark.parametrize(
    ("first", "second", "told"),
    [
        (YAML_TODAY, AGAIN, "line 3, metadata.name: hardware n1 is declared again at line 8, which counts: this document is left out"),
        (YAML_2020, YAML_2020.replace(mac(9), mac(8)), "line 1, id: hardware old9 is declared again at line 6, which counts: this document is left out"),
    ],
)  # fmt: skip
def test_of_two_documents_of_one_machine_the_last_counts_and_the_other_is_told(
    first: str, second: str, told: str
) -> None:
    (machine,), notes = take_hardware(f"{first}---\n{second}")
    assert machine.interfaces[0].mac in (mac(12), mac(8))
    assert [str(each) for each in notes] == [told]
    with pytest.raises(Invalid) as refusal:
        take_hardware(f"{first}---\n{second}", strict=True)
    assert [str(each) for each in refusal.value.problems] == [told]


def test_the_mac_of_a_document_that_does_not_count_is_free() -> None:
    other = YAML_TODAY.replace("name: n1", "name: n2")
    machines, _ = take_hardware(f"{YAML_TODAY}---\n{AGAIN}---\n{other}")
    assert [(called(each), each.interfaces[0].mac) for each in machines] == [("n1", mac(12)), ("n2", mac(11))]


def test_one_machine_under_two_names_is_refused() -> None:
    for first, second, told in (
        (YAML_2020, YAML_2020.replace("old9", "new9"), "line 6, id: hardware new9 has the id of old9 at line 1: it is one machine that was renamed. Delete the document of the name that it has no more"),
        (
            YAML_TODAY,
            YAML_TODAY.replace("name: n1", f"name: n2, annotations: {{tinkbox.internal/id: {identity('', 'n1')}}}"),
            "line 10, metadata.name: hardware n2 has the id of n1 at line 1: it is one machine that was renamed. Delete the document of the name that it has no more",
        ),
        (
            YAML_TODAY,
            YAML_TODAY.replace("name: n1", f"name: n1, namespace: a, annotations: {{tinkbox.internal/id: {identity('', 'n1')}}}"),
            "line 10, metadata.name: hardware n1 has the id of n1 at line 1: it is one machine that was moved. Delete the document of the namespace that it is in no more",
        ),
    ):  # fmt: skip
        with pytest.raises(Invalid) as refusal:
            take_hardware(f"{first}---\n{second}")
        assert [str(each) for each in refusal.value.problems] == [told]
