"""Constraints on versions; the golden cases have the whole product of operators and versions."""

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.versions.constraints import parse_constraint, semver_compare


@pytest.mark.parametrize(
    ("constraint", "inside", "outside"),
    [
        ("^1.2.3", "1.9.0", "2.0.0"),
        ("^0.2.3", "0.2.9", "0.3.0"),
        ("^0.0.3", "0.0.3", "0.0.4"),
        ("~1.2.3", "1.2.9", "1.3.0"),
        ("~1", "1.9.0", "2.0.0"),
        ("1.2 - 1.4", "1.4.9", "1.5.0"),
        (">1.1", "1.2.0", "1.1.9"),
        (">=1.2, <2 || 3.x", "3.1.0", "2.0.0"),
        ("!=1.2", "1.3.0", "1.2.7"),
        ("*", "7.0.0", "7.0.0-alpha"),
    ],
)
def test_a_constraint_separates_inside_from_outside(constraint: str, inside: str, outside: str) -> None:
    assert semver_compare(constraint, inside)
    assert not semver_compare(constraint, outside)


@pytest.mark.parametrize("constraint", ["", "nope", ">", ">1,", ">1,,<2", ">1 ||", "1.2.3.4", ">1<2", "1.2.3-01"])
def test_what_is_no_constraint_is_refused(constraint: str) -> None:
    with pytest.raises(GoError, match=r"improper constraint|Parser Error"):
        parse_constraint(constraint)


def test_a_wildcard_counts_as_not_given() -> None:
    ((clause,),) = parse_constraint(">=1.x.3")
    assert (clause.operator, clause.given, clause.version.numbers) == (">=", 1, (1, 0, 0))
