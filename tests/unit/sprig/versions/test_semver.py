"""Versions are read leniently and ordered by the rules of semver.org."""

import itertools

import pytest

from tinkbox.gotemplate import TemplateError
from tinkbox.gotemplate import parse as parse_template
from tinkbox.gotemplate.values import GoError
from tinkbox.sprig import FUNCTIONS
from tinkbox.sprig.versions.semver import compare, parse, semver

ORDERED = [
    "1.0.0-1",
    "1.0.0-alpha",
    "1.0.0-alpha.1",
    "1.0.0-alpha.beta",
    "1.0.0-beta.2",
    "1.0.0-beta.11",
    "1.0.0",
    "1.0.1",
]


def test_versions_have_an_order() -> None:
    for (earlier, one), (later, other) in itertools.product(enumerate(ORDERED), repeat=2):
        assert compare(parse(one), parse(other)) == (earlier > later) - (earlier < later)


def test_metadata_does_not_count() -> None:
    assert compare(parse("v1.2+a"), parse("1.2.0+b")) == 0


def shown(expression: str) -> str:
    return parse_template(f"{{{{ {expression} }}}}", functions=FUNCTIONS).render({})


@pytest.mark.parametrize(
    ("expression", "output"),
    [
        ('semver "v1.2-rc.1+m"', "1.2.0-rc.1+m"),
        ('(semver "v1.2-rc.1+m").Original', "v1.2-rc.1+m"),
        ('(semver "v1.2-rc.1+m").Prerelease', "rc.1"),
        ('(semver "v1.2-rc.1+m").Metadata', "m"),
        ('(semver "1.2.3").Major | printf "%d %T" 7', "7 uint64"),
        ('(semver "1.2.3").Compare (semver "1.3")', "-1"),
        ('semver "1.3" | (semver "1.2.3").LessThan', "true"),
        ('(semver "1.2.3-rc.1").IncPatch', "1.2.3"),
        ('((semver "1.2.3").SetPrerelease "a.b").IncMajor', "2.0.0"),
        ('typeOf (semver "1")', "*semver.Version"),
        ('(semver "1").IncMajor | kindOf', "struct"),
        ('typeIsLike "semver.Version" (semver "1")', "true"),
        ('semver "1" | quote', '"1.0.0"'),
    ],
)
def test_a_version_has_the_methods_of_gos_type(expression: str, output: str) -> None:
    assert shown(expression) == output


@pytest.mark.parametrize(
    ("expression", "problem"),
    [
        ('(semver "1").Majr', r'can\'t evaluate field Majr in type \*semver.Version; did you mean "Major"'),
        ('(semver "1").IncMajor.Original', "can't evaluate field Original in type semver.Version"),
        ('(semver "1").Compare', "wrong number of args for Compare: want 1 got 0"),
        ('(semver "1").Compare "2"', r"expected \*semver.Version; found \"2\""),
        ('(semver "1").Compare ((semver "1").IncMajor)', r"expected \*semver.Version; got semver.Version"),
        ('(semver "1").SetPrerelease "a_b"', "Invalid Prerelease"),
    ],
)
def test_what_a_version_cannot_do_is_refused(expression: str, problem: str) -> None:
    with pytest.raises(TemplateError, match=problem):
        shown(expression)


def test_jinja2_sees_the_parts_of_a_version_as_items() -> None:
    version = semver("v1.2-rc.1+m")
    assert [version[name] for name in ("Major", "Minor", "Patch", "Prerelease")] == [1, 2, 0, "rc.1"]
    assert str(version) == "1.2.0-rc.1+m"


@pytest.mark.parametrize("text", ["", "v", "1.2.3.4", "1.2.3\n", "1.x", "1.2.3-01", f"{1 << 64}.0", "1.2.3-a..b"])
def test_what_is_no_version_is_refused(text: str) -> None:
    with pytest.raises(GoError):
        parse(text)
