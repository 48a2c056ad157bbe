"""YAML as nodes: literal text, lines, and texts that are meant to hurt."""

import gc
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from yaml.nodes import MappingNode, Node, ScalarNode, SequenceNode

from tinkbox import yaml_nodes
from tinkbox.model.errors import Invalid
from tinkbox.yaml_nodes import NodeReader, compose, compose_first, compose_json, go_number, line_of


def plain(text: str) -> object:
    return NodeReader().plain(compose(text)[0], "")


@pytest.mark.parametrize(
    ("text", "value"),
    [("1", 1), ("-7", -7), ("0644", "0644"), ("0x1F", "0x1F"), ("1.5", 1.5), ("1.0e+3", 1000.0), ("true", True), ("False", False),
     ("yes", "yes"), ("~", None), ("'1'", "1"), ("2020-07-28", "2020-07-28"), ("52:54:00:12:34:56", "52:54:00:12:34:56"),
     ("!!str 1", "1"), ("[1, a]", [1, "a"]), ("a: {b: ~}", {"a": {"b": None}}), ("a: &x [1]\nb: *x", {"a": [1], "b": [1]}),
     ("0.00012345678901234568", 0.00012345678901234568), ("12345678901234567890", "12345678901234567890")],
)  # fmt: skip
def test_a_value_is_what_json_would_have(text: str, value: object) -> None:
    assert plain(text) == value
    assert type(plain(text)) is type(value)


def test_several_documents_come_in_their_order() -> None:
    assert [node.value for node in compose("a\n---\nb\n...\n---\nc\n")] == ["a", "b", "c"]
    assert compose("# nothing\n") == []


@pytest.mark.parametrize(
    ("text", "said"),
    [("a: [", "line 1: not valid YAML: while parsing"), ("a: b: c", "line 1: not valid YAML"), ("a:\n  - b\n c", "line 3: not valid YAML"),
     ("%YAML 9", "not valid YAML"), ("{" * 5000, "not valid YAML"), ("\x00", "not valid YAML"), ("a:\n\tb: c", "line 2: a tab"),
     ('a: b\nc: "\\U00110000"', "line 2: not valid YAML: an escape for a character that there is none of"),
     ('"\\UFFFFFFFF"', "line 1: not valid YAML: an escape for a character that there is none of"),
     ("%YAML " + "1" * 5000 + ".1\n--- a", "line 1: not valid YAML: Exceeds the limit")],
)  # fmt: skip
def test_what_is_no_yaml_says_where(text: str, said: str) -> None:
    with pytest.raises(Invalid) as refusal:
        compose(text)
    assert said in str(refusal.value.problems[0])


def test_an_alias_bomb_is_refused_before_it_is_expanded() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [
        f"{new}: &{new} [{', '.join(['*' + old] * 10)}]" for old, new in zip("abcdefghijk", "bcdefghijkl", strict=True)
    ]
    with pytest.raises(Invalid) as refusal:
        compose("\n".join(lines))
    assert "aliases" in str(refusal.value.problems[0])


def test_a_text_of_nothing_but_values_is_refused_before_it_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tinkbox.yaml_nodes.MAX_NODES", 100)
    compose("[" + ",".join(["{}"] * 99) + "]")
    with pytest.raises(Invalid) as refusal:
        compose("[" + ",".join(["{}"] * 100) + "]")
    assert "more than 100 values" in str(refusal.value.problems[0])


def test_a_long_tag_that_every_value_would_have_is_refused() -> None:
    assert len(compose("%TAG ! tag:example.org,2026:\n---\n[!a x, !b y]")) == 1
    with pytest.raises(Invalid) as refusal:
        compose(f"a: b\n...\n%TAG ! tag:{'x' * 200}\n---\n- !a x\n")
    assert "a %TAG of more than 128 letters" in str(refusal.value.problems[0])
    assert refusal.value.problems[0].line == 4


def test_few_aliases_that_grow_are_refused_as_well() -> None:
    lines = ["a: &a [x, x, x, x, x, x, x, x, x, x]"]
    lines += [f"{new}: &{new} [{', '.join(['*' + old] * 10)}]" for old, new in zip("abcdefg", "bcdefgh", strict=True)]
    with pytest.raises(Invalid):
        plain("\n".join(lines))
    with pytest.raises(Invalid):
        plain("a: &a [*a]")


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("x: &a {b: 1, c: 2}\ny: {<<: *a, c: 3, d: 4}", {"c": 3, "d": 4, "b": 1}),
        ("x: &a {b: 1}\nz: &c {b: 2, d: 3}\ny: {<<: [*a, *c]}", {"b": 1, "d": 3}),
        ("y: {<<: {b: 1, <<: {b: 2, c: 3}}}", {"b": 1, "c": 3}),
        ("y: {'<<': 1}", {"<<": 1}),
        ("y: {<<: {}, b: 1}", {"b": 1}),
    ],
)
def test_what_a_mapping_merges_stands_behind_its_own(text: str, value: object) -> None:
    found = plain(text)
    assert isinstance(found, dict)
    assert found["y"] == value


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("{<<: x}", "line 1, <<: << takes keys with values, or a list of such"),
        ("{<<: }", "line 1, <<: << takes keys with values, or a list of such"),
        ("{<<: [[{a: b}]]}", "line 1, <<: << takes keys with values, or a list of such"),
        ("{<<: {a: b}, <<: {c: d}}", "line 1, <<: key << is given twice"),
        ("{<<: {a: b, a: c}}", "line 1, a: key a is given twice"),
        ("&a {<<: *a}", "line 1, <<: an alias stands within what it names: write the values out"),
        ("&a {b: c, <<: [{<<: *a}]}", "line 1, <<: an alias stands within what it names: write the values out"),
    ],
)
def test_what_cannot_be_merged_is_refused(text: str, problem: str) -> None:
    reader = NodeReader()
    reader.plain(compose(text)[0], "")
    assert [str(each) for each in reader.problems] == [problem]


def test_merges_that_grow_are_refused() -> None:
    keys = ", ".join(f"k{number}: 1" for number in range(2000))
    merges = ", ".join(["*a"] * 90)
    reader = NodeReader()
    (node,) = compose(f"a: &a {{{keys}}}\nb: {{<<: [{merges}]}}\n")
    with pytest.raises(Invalid) as refusal:
        reader.plain(node, "")
    assert "more than 100000 values" in str(refusal.value.problems[0])
    grown = ["a: &a {x: 1}"]
    grown += [
        f"{new}: &{new} {{<<: [{', '.join(['*' + old] * 9)}]}}"
        for old, new in zip("abcdefghij", "bcdefghijk", strict=True)
    ]
    with pytest.raises(Invalid):
        NodeReader().plain(compose("\n".join(grown))[0], "")


@pytest.mark.parametrize(
    ("text", "number"),
    [("60", 60), ("60.0", 60.0), ("1.5", 1.5), ("0x3C", 60), ("-0x3c", -60), ("1_000", 1000), ("0o17", 15), ("017", 15), ("0b11", 3),
     ("1e3", 1000.0), ("+5", 5), (".6e1", 6.0), ("0_1", 1), ("1_", 1), ("6_0.0", 60.0), ("60.", 60.0), ("08", 8), ("0x_1", 1),
     ("true", None), ("~", None), ("", None), ("60s", None), ("1:30", None), ("0x", None), ("_1", None), (".inf", None), ("1e999", None),
     ("2020-01-01", None), ("٣", None), ("._5", None), ("9" * 500, None)],
)  # fmt: skip
def test_numbers_are_those_of_gos_readers(text: str, number: float | None) -> None:
    assert go_number(text) == number


@pytest.mark.parametrize(
    "text", ["a:\tb", "a: b\tc", "a: b\t", "a: b\t# c", "a: [b,\tc]", "a: [b,\n\tc]", "x: &a b\ny: &a c\nz: *a"]
)
def test_what_gos_readers_take_is_taken_for_them_alone(text: str) -> None:
    first, behind = compose_first(text)
    assert (behind, first is not None) == (None, True)
    assert len(compose(text, as_go=True)) == 1
    with pytest.raises(Invalid):
        compose(text)


@pytest.mark.parametrize("text", ["\ta: b", "a:\n\tb: c", "-\ta: b", "a: b\n\t\nc: d"])
def test_a_tab_does_not_indent(text: str) -> None:
    with pytest.raises(Invalid):
        compose_first(text)


def test_an_anchor_that_is_given_again_is_the_next_ones() -> None:
    first, _ = compose_first("x: &a b\ny: *a\nz: &a c\nw: *a")
    assert first is not None
    assert NodeReader().plain(first, "") == {"x": "b", "y": "b", "z": "c", "w": "c"}


def test_what_does_not_fit_is_noted_with_its_line() -> None:
    reader = NodeReader()
    (node,) = compose("a: [1]\nb: 5\na: 2\n<<: x\n[c]: d\nname: e\n")
    fields = reader.fields(node, "root", ("a", "b", "names"))
    assert set(fields) == {"a", "b"}
    assert reader.text(fields, "a", "root") == ""
    assert reader.number(fields["b"], "root.b", "seconds", 4) == 0
    assert [str(problem) for problem in reader.problems] == [
        "line 3, root.a: key a is given twice",
        "line 5, root: a key must be text",
        "line 4, root.<<: << takes keys with values, or a list of such",
        "line 6, root.name: unknown key name; did you mean names?",
        "line 1, root.a: expected text (quote it if it begins with { or [)",
        "line 2, root.b: expected seconds as a whole number, at most 4, not '5'",
    ]


@given(text=st.text(max_size=80))
def test_any_text_is_read_or_refused(text: str) -> None:
    try:
        for node in compose(text):
            NodeReader().plain(node, "")
    except Invalid as refusal:
        assert refusal.problems  # noqa: PT017  the point is that nothing else is raised


@pytest.mark.parametrize("escape", ["\\uD800", "\\udfff", "\\U0000dabc", "\\uDE00\\uD83D"])
def test_half_of_a_character_is_refused_with_its_line_and_field(escape: str) -> None:
    text = f'a: b\nspec:\n  list:\n    - x\n    - {{c: "x{escape}y"}}\n    - {{"{escape}": d}}\n'
    with pytest.raises(Invalid) as refused:
        compose(text)
    first, second = map(str, refused.value.problems)
    assert first == "line 5, spec.list[1].c: half of a character (\\ud800 to \\udfff alone) is no text"
    assert second.startswith("line 6, spec.list[2].?")


def test_two_halves_in_a_row_are_a_character_as_in_json() -> None:
    assert plain(json.dumps({"\U0001f600": ["a\U0001f600b", "\\ud800"]})) == {"\U0001f600": ["a\U0001f600b", "\\ud800"]}
    assert plain("a: &x ['\\ud800', *x]\n".replace("*x", "b")) == {"a": ["\\ud800", "b"]}


def test_of_a_hostile_number_of_halves_some_are_told() -> None:
    with pytest.raises(Invalid) as refused:
        compose("&a [" + '"\\ud800", ' * 10_000 + "*a]")
    assert 1 < len(refused.value.problems) < 100


@pytest.mark.parametrize(
    "text",
    [
        '{"kind": "Hardware",\n "spec": {"interfaces": [{"dhcp": {"mac": "08:00:27:00:00:01"}},\r\n {}], "n": -5}}\n',
        '[1, 2.5, true, false, null, "", "a\\n\\u00e4\\ud83d\\ude00", [], {}, [[{"a":[]}]]]',
        '"text"',
        ' {\t"a" :\n\n"b" } ',
    ],
)
def test_json_is_composed_as_yaml_composes_it(text: str) -> None:
    def shown(node: Node) -> object:
        if isinstance(node, ScalarNode):
            return node.value, NodeReader().plain(node, ""), line_of(node)
        if isinstance(node, SequenceNode):
            return [shown(each) for each in node.value], line_of(node)
        return [(shown(name), shown(value)) for name, value in node.value], line_of(node)

    assert [shown(each) for each in compose_json(text)] == [shown(each) for each in compose(text.replace("\t", " "))]


def test_json_of_too_many_values_and_half_a_character_in_it_are_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(yaml_nodes, "MAX_NODES", 10)
    with pytest.raises(Invalid) as refused:
        compose_json("[" + ", ".join("1" * 10) + "]")
    assert "more than 10 values" in str(refused.value.problems[0])
    with pytest.raises(Invalid) as refused:
        compose_json('{"a": "\\ud800"}')
    assert "half of a character" in str(refused.value.problems[0])


def test_where_nodes_stand_is_nothing_that_garbage_is_looked_for_in() -> None:
    for (node,) in (compose("a: [b, {c: d}]"), compose_json('{"a": 1}')):
        waiting = [node]
        while waiting:
            each = waiting.pop()
            assert not gc.is_tracked(each.start_mark)
            assert not gc.is_tracked(each.end_mark)
            if isinstance(each, MappingNode):
                waiting += [one for pair in each.value for one in pair]
            elif isinstance(each, SequenceNode):
                waiting += each.value
