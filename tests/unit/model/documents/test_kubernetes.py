"""The fields of Tinkerbell's Kubernetes documents."""

from tinkbox.model.documents.kubernetes import SHAPES, UNHEEDED, identity, paths


def test_a_machine_of_the_same_name_is_the_same_machine() -> None:
    assert identity("tink", "machine1") == identity("tink", "machine1") == "fc3a51fd-b4b4-50f8-bca6-201915b953c4"
    assert len({identity("", "a"), identity("default", "a"), identity("tink", "a"), identity("tink", "b")}) == 3


def test_fields_are_named_by_their_path() -> None:
    shape = {"a": "", "b": [{"c": 0, "d": [""]}], "e": {"*": ""}, "f": None}
    assert list(paths(shape)) == ["a", "b[].c", "b[].d[]", "e.*", "f"]


def test_what_is_said_of_a_field_is_said_of_one_that_there_is() -> None:
    for kind, fields in UNHEEDED.items():
        known = list(paths(SHAPES[kind]))
        for field in fields:
            assert any(each == field or each.startswith((f"{field}.", f"{field}[")) for each in known), field
