"""Settings declare themselves: what is declared is read, everything else is a problem with its whole key."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tinkbox.model.errors import Problem
from tinkbox.settings import readers
from tinkbox.settings.declaring import Row, entries, inline, keys_of, required, section, setting


@dataclass(frozen=True, slots=True, kw_only=True)
class Value:
    """As `model` has them: knows no file."""

    label: str = "of the class"
    number: int = 0


def check_value(value: Value, unread: Sequence[str]) -> Iterator[Problem]:
    if value.number == 13 and not unread:
        yield Problem(key="number", text="is unlucky")


def check_together(values: Mapping[int, Value], _: Sequence[str]) -> Iterator[Problem]:
    for at, value in values.items():
        if value.label == "alone" and len(values) > 1:
            yield Problem(key=f"[{at}].label", text=f"has {len(values) - 1} beside it")


@dataclass(frozen=True, slots=True, kw_only=True)
class Inner:
    port: int = setting(80, readers.port(), "where it listens")
    also: Value = inline(
        keys_of(
            Value,
            label=setting("a", readers.text, "what it is called", key="title"),
            number=setting(1, readers.port(), "its number"),
        )
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class Outer:
    called: str = setting("x", readers.name, "its name", key="name")
    inner: Inner = section(Inner)
    values: tuple[Value, ...] = entries(
        keys_of(Value, label=required(readers.text, "what it is"), number=setting(2, readers.port(), "its number")),
        "some values",
        each=check_value,
        together=check_together,
    )


def read(document: Any) -> tuple[Outer, list[str]]:
    problems: list[Problem] = []
    return keys_of(Outer).read(document, "", problems), [str(each) for each in problems]


def test_a_field_of_the_dataclass_is_a_key_of_the_file() -> None:
    document = {
        "name": "n",
        "inner": {"port": 81, "title": "t"},
        "values": [{"label": "l"}, {"label": "m", "number": 3}],
    }
    assert read(document) == (
        Outer(
            called="n",
            inner=Inner(port=81, also=Value(label="t", number=1)),
            values=(Value(label="l", number=2), Value(label="m", number=3)),
        ),
        [],
    )


def test_what_is_not_in_the_file_has_the_declared_default() -> None:
    assert read({}) == (Outer(), [])
    assert read({"name": None, "inner": None, "values": None}) == (Outer(), [])
    assert Outer().inner.also == Value(label="a", number=1)


def test_a_section_in_a_section_names_its_problems_by_the_whole_key() -> None:
    outer, problems = read({"inner": {"port": 0}, "values": [{"label": "l", "number": -1}]})
    assert outer.inner.port == 80
    assert problems == [
        "inner.port: expected a port between 1 and 65535, not 0",
        "values[0].number: expected a port between 1 and 65535, not -1",
    ]


def test_only_what_was_declared_is_known() -> None:
    assert read({"nmae": "b", "inner": {"titel": 1, "zzz": 2}})[1] == [
        "inner.titel: unknown key; did you mean title?",
        "inner.zzz: unknown key; known here: port, title, number",
        "nmae: unknown key; did you mean name?",
    ]


def test_what_is_no_mapping_is_a_problem_and_has_no_keys() -> None:
    assert read([1]) == (Outer(), ["expected keys with values"])
    assert read({"inner": 5}) == (Outer(), ["inner: expected keys with values"])
    assert read({"values": {"label": "l"}}) == (Outer(), ["values: expected a list of keys with values"])
    assert read({"values": [5]})[1][0] == "values[0]: expected keys with values"


def test_an_entry_without_what_it_requires_is_left_out() -> None:
    outer, problems = read({"values": [{"label": 7}, {"label": "m"}, {"number": 5, "label": "n"}]})
    assert [each.label for each in outer.values] == ["m", "n"]
    assert problems == ["values[0].label: expected text, not 7"]


def test_values_are_checked_as_a_whole_and_together() -> None:
    values = [{"label": 7}, {"label": "alone", "number": 13}, {"label": "m"}, {"label": 8, "number": 13}]
    assert read({"values": values})[1] == [
        "values[0].label: expected text, not 7",
        "values[1].number: is unlucky",
        "values[3].label: expected text, not 8",
        "values[1].label: has 1 beside it",
    ]


def test_a_check_knows_what_could_not_be_read() -> None:
    assert read({"values": [{"label": "l", "number": 13, "x": 1}]})[1] == [
        "values[0].number: is unlucky",
        "values[0].x: unknown key; known here: label, number",
    ]


def test_the_reference_has_a_row_for_every_key() -> None:
    takes = readers.port().takes
    assert list(keys_of(Outer).rows("")) == [
        Row(key="name", default="x", takes=readers.name.takes, help_text="its name"),
        Row(key="inner.port", default="80", takes=takes, help_text="where it listens"),
        Row(key="inner.title", default="a", takes="text", help_text="what it is called"),
        Row(key="inner.number", default="1", takes=takes, help_text="its number"),
        Row(key="values", default="", takes="a list", help_text="some values"),
        Row(key="values[].label", default="", takes="text; required", help_text="what it is"),
        Row(key="values[].number", default="2", takes=takes, help_text="its number"),
    ]
