"""One section of the configuration file: what it takes is known, what it does not take is named."""

from tinkbox.model.errors import Problem
from tinkbox.settings_section import Section


def noted(problems: list[Problem]) -> list[str]:
    return [str(problem) for problem in problems]


def test_a_section_in_a_section_names_its_problems_by_the_whole_key() -> None:
    problems: list[Problem] = []
    inner = Section({"outer": {"inner": {"port": 0}}}, "", problems).section("outer").section("inner")
    assert inner.port("port", 80) == 80
    inner.refuse("", "makes no sense")
    assert noted(problems) == [
        "outer.inner.port: expected a port between 1 and 65535, not 0",
        "outer.inner: makes no sense",
    ]


def test_only_what_was_taken_is_known() -> None:
    problems: list[Problem] = []
    section = Section({"name": "a", "nmae": "b", "far": 1}, "", problems)
    section.name("name", "x")
    section.refuse_the_rest()
    assert noted(problems) == ["nmae: unknown key; did you mean name?", "far: unknown key; known here: name"]


def test_what_is_no_mapping_is_a_problem_and_has_no_keys() -> None:
    problems: list[Problem] = []
    assert Section([1], "node", problems).text("x") == ""
    assert noted(problems) == ["node: expected keys with values"]
