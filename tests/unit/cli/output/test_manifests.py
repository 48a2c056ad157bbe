"""YAML that says the same when it is read again, as `apply` reads it."""

from hypothesis import given
from hypothesis import strategies as st

from tinkbox.cli.output.manifests import difference, yaml_document, yaml_documents
from tinkbox.yaml_nodes import NodeReader, compose

TRICKY = [
    "1e5", "1E5", "+1", ".5", "5.", "0644", "0x1f", "0o17", "1_000", "12:30:45", "52:54:00:12:34:56", "08:00:27:00:00:01",
    "true", "Yes", "no", "on", "null", "~", "", " ", "- a", "a: b", "# c", "'", '"', "{{ .x }}", "%", "@", "`", "|", ">",
    "2026-11-27", ".inf", ".nan", "<<", "=", "a\n", "a\n\nb", "\na", " a\n  b\n", "a  \nb", "\t", "a\r\nb", "\x85", "\u2028",
    "\u202e", "ünï", "\ufeff", "😀", "a" * 300,
]  # fmt: skip


def read_again(text: str) -> list[object]:
    reader = NodeReader()
    values = [reader.plain(node, "") for node in compose(text)]
    assert not reader.problems
    return values


def test_tricky_texts_stay_what_they_are() -> None:
    manifest = {"texts": TRICKY, "keys": {each: each for each in TRICKY if each.strip() and each != "<<"}}
    assert read_again(yaml_document(manifest)) == [manifest]


@given(st.text(st.characters(codec="utf-8", exclude_characters="\x00")))
def test_any_text_stays_what_it_is(text: str) -> None:
    manifest = {"a": {"b": [text, 1, True, None, 1.5]}}
    assert read_again(yaml_document(manifest)) == [manifest]


def test_text_of_several_lines_is_a_block_and_documents_are_apart() -> None:
    shown = yaml_documents([{"data": "version: 1\nname: x\n"}, {"mac": "08:00:27:00:00:01", "ip": "172.30.0.1"}])
    assert shown == "data: |\n  version: 1\n  name: x\n---\nmac: 08:00:27:00:00:01\nip: 172.30.0.1\n"


def test_nothing_in_a_document_steers_a_terminal() -> None:
    shown = yaml_document({"a": "x\x1b[2Jy", "b": "\u202e"})
    assert all(letter.isprintable() or letter == "\n" for letter in shown)


def test_a_difference_is_a_unified_diff() -> None:
    assert (
        difference("hardware/a", {"a": 1}, {"a": 2})
        == "--- a/hardware/a\n+++ b/hardware/a\n@@ -1 +1 @@\n-a: 1\n+a: 2\n"
    )
    assert difference("x", None, {"a": 1}).startswith("--- /dev/null\n+++ b/x\n")
    assert difference("x", {"a": 1}, None).startswith("--- a/x\n+++ /dev/null\n")
