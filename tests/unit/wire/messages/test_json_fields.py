from collections.abc import Callable
from dataclasses import dataclass

import pytest

from tinkbox.model.breakpoint import Verb
from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.json_fields import MAX_VALUES, flag, mapping, member, number, read_object, text, texts, write

ENTRY = {"name": "disk", "words": ["a", "b"], "pairs": {"A": "1"}, "yes": True, "many": 7, "verb": "retry"}


def test_what_is_there_is_taken_as_what_it_is() -> None:
    assert text(ENTRY, "name") == "disk"
    assert texts(ENTRY, "words") == ("a", "b")
    assert mapping(ENTRY, "pairs") == {"A": "1"}
    assert flag(ENTRY, "yes") is True
    assert number(ENTRY, "many") == 7
    assert member(ENTRY, "verb", Verb) is Verb.RETRY


def test_what_may_be_missing_has_its_default() -> None:
    assert text({}, "name", "") == ""
    assert texts({}, "words") == ()
    assert mapping({}, "pairs") == {}
    assert flag({}, "yes") is False
    assert flag({}, "yes", default=True) is True
    assert number({}, "many", 3) == 3


ALL = [None, 1, True, "x", ["x"], {"x": "y"}, [1], {"x": 1}, 1.5]
RIGHT = {text: ["x"], number: [1], flag: [True], texts: [None, ["x"]], mapping: [None, {"x": "y"}]}


@pytest.mark.parametrize(
    ("read", "wrong"),
    [(read, wrong) for read, right in RIGHT.items() for wrong in ALL if repr(wrong) not in map(repr, right)],
)
def test_what_is_something_else_is_named(read: Callable[..., object], wrong: object) -> None:
    with pytest.raises(Invalid, match="it "):
        read({"it": wrong}, "it")


def test_half_a_character_becomes_a_question_mark() -> None:
    entry = read_object(r'{"a": "x\ud800", "b": ["\udfff"], "c": {"\ud800": "\ud800"}}', "message")
    assert text(entry, "a") == "x?"
    assert texts(entry, "b") == ("?",)
    assert mapping(entry, "c") == {"?": "?"}


@pytest.mark.parametrize("content", [b"", b"[]", b"7", b"{", b"\xff", b"[" * 100_000])
def test_what_is_no_object_is_refused_by_the_messages_name(content: bytes) -> None:
    with pytest.raises(Invalid, match=r"^order: "):
        read_object(content, "order")


def test_one_of_several_is_told_with_all_of_them() -> None:
    with pytest.raises(Invalid, match="verb is one of continue, skip, fail, retry, abort, not 'dance'"):
        member({"verb": "dance"}, "verb", Verb)


@dataclass(frozen=True, slots=True)
class Inner:
    verb: Verb
    words: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Outer:
    b: Inner | None
    a: dict[str, Inner]


def test_message_is_written_as_one_line_in_the_order_of_its_fields() -> None:
    inner = Inner(Verb.RETRY, ("ü", ""))
    line = r'{"b":{"verb":"retry","words":["\u00fc",""]},"a":{"x":{"verb":"retry","words":["\u00fc",""]}}}'
    assert write(Outer(inner, {"x": inner})) == line
    assert write(Outer(None, {})) == '{"b":null,"a":{}}'


@pytest.mark.parametrize("piece", ["[]", "{}", "1", '"x"'])
def test_what_is_nothing_but_values_is_refused_without_being_read(piece: str) -> None:
    begun = '{"x": [' + ",".join([piece] * 10)
    assert read_object(begun + "]}", "it")
    with pytest.raises(Invalid, match="more than 100000 values"):
        read_object(begun + f",{piece}" * MAX_VALUES, "it")  # unfinished: nobody looks


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
def test_a_message_in_another_encoding_than_utf_8_is_refused(encoding: str) -> None:
    with pytest.raises(Invalid, match="it: invalid json"):
        read_object('{"x": 1}'.encode(encoding), "it")


@pytest.mark.parametrize("value", [2**53, -(2**53), 10**4200])
def test_a_number_that_nobody_counts_to_is_refused(value: int) -> None:
    assert number({"n": 2**53 - 1}, "n") == 2**53 - 1
    with pytest.raises(Invalid, match="counted to"):
        number({"n": value}, "n")
