"""Names in documents: all of Kubernetes, and nothing that a terminal, a shell or a path takes for something else."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.names import check_name, check_namespace, generated_name

# A DNS subdomain and a DNS label (RFC 1123), and what people write besides.
NAMES = ["a", "node-7.rack-1.example.com", "9lives", "x" * 253, "Node_7", "täglich neu", "1e5"]
WRONG = [
    ("", "may not be empty"),
    (" ", "may not be empty"),
    (" a", "no space at its ends"),
    ("a ", "no space at its ends"),
    ("yam\0l", "letters that can be shown"),
    ("a\x1b[2J", "letters that can be shown"),
    ("a\nb", "letters that can be shown"),
    ("a\u202eb", "letters that can be shown"),
    ("a\ud800b", "letters that can be shown"),
    ("node1\ufe0f", "letters that can be shown"),
    ("node\u31641", "letters that can be shown"),
    ("\u2800", "letters that can be shown"),
    ("-rf", "may not begin with a dash"),
    (".", "is a folder"),
    ("..", "is a folder"),
    ("a `reboot`", "may have no backquote"),
    ("x" * 254, "more than 253 bytes"),
    ("é" * 127, "more than 253 bytes"),
]


@pytest.mark.parametrize("name", NAMES)
def test_names_of_kubernetes_and_of_people_are_names(name: str) -> None:
    check_name(name, "Workflow")
    check_namespace(name)


@pytest.mark.parametrize(("name", "why"), WRONG)
def test_what_is_no_name_says_why(name: str, why: str) -> None:
    with pytest.raises(Invalid, match=f"is no name of a Workflow: .*{why}") as refused:
        check_name(name, "Workflow")
    assert str(refused.value).isprintable()
    with pytest.raises(Invalid, match="is no name of a namespace"):
        check_namespace(name)


def test_what_is_not_seen_of_a_name_is_an_escape_in_its_refusal() -> None:
    with pytest.raises(Invalid, match=r"^'node1\\ufe0f\\u200b' is no name of a Workflow: "):
        check_name("node1\ufe0f\u200b", "Workflow")


def test_a_slash_would_make_another_machine_of_a_namespace() -> None:
    check_name("a/b", "Hardware")
    with pytest.raises(Invalid, match="may have no slash"):
        check_namespace("a/b")


def test_a_generated_name_begins_with_its_prefix_and_ends_with_five_letters_of_chance() -> None:
    assert generated_name("install-", 0) == "install-bbbbb"
    assert generated_name("install-", 27**5 - 1) == "install-99999"
    assert len({generated_name("a-", number) for number in range(1000)}) == 1000
    assert generated_name("x" * 100, 1) == f"{'x' * 58}cbbbb"
    check_name(generated_name("é" * 126, 7), "Workflow")
