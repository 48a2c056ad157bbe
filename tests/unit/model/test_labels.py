"""Labels and selectors, in Kubernetes' grammar."""

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.model.labels import (
    MAX_LABELS,
    MAX_REQUIREMENTS,
    parse_change,
    parse_labels,
    parse_selector,
    requirements_among,
    show_labels,
)

MACHINE = {"rack": "r1", "gpu": "yes", "example.org/owner": "", "slot": "7"}


@pytest.mark.parametrize(
    ("text", "selects"),
    [
        ("rack=r1", True),
        ("rack==r1", True),
        ("rack = r1", True),
        ("rack=r2", False),
        ("gpu!=no", True),
        ("missing!=no", True),
        ("gpu!=yes", False),
        ("rack", True),
        ("missing", False),
        ("!missing", True),
        ("!rack", False),
        ("example.org/owner=", True),
        ("example.org/owner", True),
        ("rack in (r1,r2)", True),
        ("rack in ( r2 , r3 )", False),
        ("rack notin (r2)", True),
        ("missing notin (r2)", True),
        ("missing in (r2)", False),
        ("rack=r1,gpu!=no", True),
        ("rack in (r1, r2),gpu=no", False),
        ("rack=r1, slot notin (8,9), !missing", True),
    ],
)
def test_a_selector_selects_by_all_of_its_requirements(text: str, selects: bool) -> None:
    selector = parse_selector(text)
    assert selector.matches(MACHINE) is selects
    assert parse_selector(str(selector)) == selector


@pytest.mark.parametrize(
    "text", ["", " ", ",", "rack=r1,", "=r1", "rack in r1", "rack in (", "a b", "rack=r 1", "/a=b", "rack=r1=r2", "-a",
             "A.B/c=d", "!!rack", "rack<3", "rack in ()", "rack notin ( )", "a" * 64 + "=b", "a=" + "b" * 64, "rack=" + "r" * 5000]
)  # fmt: skip
def test_what_is_no_selector_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(Invalid):
        parse_selector(text)


def test_a_selector_has_few_requirements() -> None:
    text = ",".join(f"rack!=r{number}" for number in range(MAX_REQUIREMENTS))
    assert len(parse_selector(text).requirements) == MAX_REQUIREMENTS
    with pytest.raises(
        Invalid, match=r"at most 32 requirements, this one 33: name several values .* rack in \(r1,r2\)"
    ):
        parse_selector(f"{text},gpu")


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("rack in (r1, r2) held", ["rack in (r1,r2)", "held"]),
        ("held rack in (r1,r2)", ["held", "rack in (r1,r2)"]),
        ("rack notin(r1) held", ["rack!=r1", "held"]),
        ("!foo held", ["!foo", "held"]),
        ("held ! foo", ["held", "!foo"]),
        ("rack=r2, gpu=yes held", ["rack=r2", "gpu=yes", "held"]),
        ("rack = r2 gpu!=yes", ["rack=r2", "gpu!=yes"]),
        ("rack==r2 ,slot in (1) , gpu", ["rack=r2", "slot=1", "gpu"]),
        ("example.org/rack=r1 x", ["example.org/rack=r1", "x"]),
        (" , ", []),
    ],
)
def test_requirements_are_found_among_words_by_the_grammar_of_selectors(text: str, told: list[str]) -> None:
    assert [str(requirement) for _, requirement, _ in requirements_among(text)] == told


@pytest.mark.parametrize("text", ["rack=r1=r2", "52:54:00", "!", "=r1", "rack=r1(", "(r1,r2)x", "rack<3"])
def test_what_is_no_requirement_is_words(text: str) -> None:
    assert all(requirement is None for _, requirement, _ in requirements_among(text))


def test_words_of_a_text_tell_whether_a_comma_stands_before_them() -> None:
    told = [follows_comma for _, _, follows_comma in requirements_among("a,b c , d rack in (r1,r2) e")]
    assert told == [False, True, False, True, False, False]


def test_a_change_sets_and_removes_labels() -> None:
    change = parse_change(["rack=r2", "gpu-", "new="])
    assert change.applied_to({"rack": "r1", "gpu": "yes", "slot": "7"}) == {"rack": "r2", "slot": "7", "new": ""}
    assert not parse_change([])


@pytest.mark.parametrize("text", ["rack", "=r1", "rack=r 1", "-", "rack=r1\n"])
def test_what_is_no_change_is_refused(text: str) -> None:
    with pytest.raises(Invalid):
        parse_change([text] if text != "rack=r1\n" else ["rack=r1\n2"])


def test_a_label_is_not_set_and_removed_at_once() -> None:
    with pytest.raises(Invalid, match="rack is set and removed at once"):
        parse_change(["rack=r1", "rack-"])


def test_a_label_is_set_once() -> None:
    assert parse_change(["rack=r1", "rack=r1"]).set == (("rack", "r1"),)
    with pytest.raises(Invalid, match="label rack is set to 'r1' and to 'r2'"):
        parse_change(["rack=r1", "rack=r2"])


def test_every_problem_of_a_map_is_told_and_the_way_out() -> None:
    with pytest.raises(Invalid) as refused:
        parse_labels({"rack": 1, "a b": "c", "gpu": "yes", "x": "-"}, "metadata.labels")
    told = [str(each) for each in refused.value.problems]
    assert len(told) == 3
    assert told[0] == "metadata.labels: the value of rack is no text: put it in quotes"
    with pytest.raises(Invalid, match="expected a map"):
        parse_labels(["rack"])


def test_labels_are_few() -> None:
    many = {f"l{number}": "" for number in range(MAX_LABELS + 1)}
    with pytest.raises(Invalid, match=f"at most {MAX_LABELS}"):
        parse_labels(many)
    with pytest.raises(Invalid, match=f"at most {MAX_LABELS}"):
        parse_change(f"{key}=x" for key in many).applied_to({})
    assert parse_labels(None) == {}


def test_labels_are_shown_as_kubectl_does() -> None:
    assert show_labels({"rack": "r1", "gpu": "no"}) == "gpu=no,rack=r1"
