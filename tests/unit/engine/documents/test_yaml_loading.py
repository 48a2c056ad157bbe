"""Of a cloud-config is refused what PyYAML cannot load, and nothing that is said to be fit makes PyYAML fail."""

import pytest
import yaml
from hypothesis import example, given, settings
from hypothesis import strategies as st

from tinkbox.engine.documents.user_data import odd, unfit
from tinkbox.model.documents.json_text import MAX_DEPTH

HEAD = "#cloud-config\n"


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("write_files: [{path: /a, content: 2020-13-45}]", "line 2, write_files[0].content: '2020-13-45' is read as a date or time, and there is none such: quote it"),
        ("final_message:\n  2020-01-01 10:00:00 +99:00", "line 3, final_message: '2020-01-01 10:00:00 +99:00' is read as a date"),
        ("bootcmd: !!python/object/apply:os.system [id]", "line 2, bootcmd: cloud-init does not read the tag !!python/object/apply:os.system: leave it out"),
        ("bootcmd:\n- !foo [id]", "line 3, bootcmd[0]: cloud-init does not read the tag !foo: leave it out"),
        ("locale: !foo x", "line 2, locale: cloud-init does not read the tag !foo"),
        ("!foo\nlocale: x", "line 2: cloud-init does not read the tag !foo"),
        ('write_files: [{path: /a, content: !!binary "xx*"}]', "line 2, write_files[0].content: 'xx*' is not base64, as !!binary says"),
        ("write_files: [{path: /a, content: !!binary é}]", "line 2, write_files[0].content: 'é' is not base64"),
        ("groups:\n- ? [a]\n  : b", "line 3, groups[0]: a key must be text"),
        ("bootcmd: [{<<: 5}]", "line 2, bootcmd[0].<<: << takes keys with values, or a list of such"),
        ("bootcmd: [{<<: [{a: 1}, 5]}]", "line 2, bootcmd[0].<<: << takes keys"),
        ("ntp: &a {? *a : b}", "line 2, ntp: a key must be text"),
        ("bootcmd: !!omap [{a: 1, b: 2}]", "line 2, bootcmd[0]: expected one key with its value, as !!omap and !!pairs say"),
        ("bootcmd: !!pairs [a]", "line 2, bootcmd[0]: expected one key with its value"),
        ("bootcmd: !!omap [=: 1]", "line 2, bootcmd[0].=: '=' means something else to YAML: quote it"),
        ("locale: =", "line 2, locale: '=' means something else to YAML: quote it"),
        ("locale: <<", "line 2, locale: '<<' means something else"),
        ("locale: !!int abc", "line 2, locale: 'abc' is read as a number, and is none: quote it"),
        ("locale: 0x_", "line 2, locale: '0x_' is read as a number"),
        ("locale: !!bool abc", "line 2, locale: 'abc' is neither true nor false"),
        ("locale: !!str [a]", "line 2, locale: what follows the tag !!str does not fit it: leave the tag out"),
        (f"locale: {'9' * 5000}", "line 2, locale: a number of 5000 characters: quote it"),
        (f"locale: {'[' * MAX_DEPTH}{']' * MAX_DEPTH}", "line 2: more than 100000 values, or 64 within each other"),
    ],
)  # fmt: skip
def test_what_pyyaml_cannot_load_is_refused_with_its_line(text: str, problem: str) -> None:
    found = [str(each) for each in unfit(f"{HEAD}{text}\n")]
    assert [each[: len(problem)] for each in found] == [problem]


@pytest.mark.parametrize(
    "text",
    [
        "runcmd: [2020-12-31, 0x1f, 1_000, .inf, 1:30, ~, '2020-13-45', !!str 2020-13-45, !!binary aGk=]",
        "runcmd: [&a {x: 1}, {<<: *a, x: 2}, {<<: [*a, *a]}, {'<<': 5}, {=: 1}]",
        "locale: &a x\nruncmd: [*a, *a]\n1: a\n'1': b\n~: c",
        "ntp: {pools: !!set {a, b}}",
        "ntp: {pools: !!pairs [a: 1, a: !!omap [b: {c: 2}]]}",
        f"locale: {'[' * (MAX_DEPTH - 2)}{']' * (MAX_DEPTH - 2)}",
    ],
)
def test_what_pyyaml_loads_is_fit(text: str) -> None:
    assert unfit(HEAD + text) == []
    yaml.safe_load(HEAD + text)


@pytest.mark.parametrize(
    ("text", "note"),
    [
        (
            "packages: [a]\npackages: [b]",
            "line 3, packages: key packages is given twice: cloud-init takes the last one",
        ),
        ("ntp: {yes: 1, true: 2}", "line 2, ntp.true: key true is given twice"),
        ("bootcmd: &a [*a]", "line 2, bootcmd[0]: an alias stands within what it names, so this value has no end"),
        ("ntp: &a {<<: *a}", "line 2, ntp.<<: an alias stands within"),
        ("ntp: &a {<<: &b {c: 1, <<: [*a, *b]}}", "line 2, ntp.<<.<<[0]: an alias stands within"),
    ],
)
def test_what_pyyaml_loads_as_hardly_anybody_means_it_is_told(text: str, note: str) -> None:
    assert unfit(HEAD + text) == []
    yaml.safe_load(HEAD + text)
    assert str(odd(HEAD + text)[0]).startswith(note)


def test_each_further_one_of_a_key_is_told_up_to_a_limit() -> None:
    assert [each.line for each in odd(f"{HEAD}locale: a\nlocale: b\nlocale: c")] == [3, 4]
    assert len(odd(f"{HEAD}ntp:\n" + "  a: 1\n" * 500)) == 100


@pytest.mark.parametrize(
    "text",
    [
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{<<: [*a{n - 1}, *a{n - 1}]}}\n" for n in range(1, 45)),
        "a0: &a0 [x]\n" + "".join(f"a{n}: &a{n} [*a{n - 1}, *a{n - 1}]\n" for n in range(1, 45)),
        "a0: &a0 {x: 1}\n" + "".join(f"a{n}: &a{n} {{b: {{b: *a{n - 1}}}}}\n" for n in range(1, 90)),
        f"locale: {'1:' * 100_000}1",
        f"{'k' * 100_000}:\n" + "- !foo a\n" * 10_000,
    ],
)
def test_bombs_are_refused_in_time(text: str) -> None:
    assert unfit(HEAD + text)


_SCALARS = st.sampled_from(
    ["x", "'y'", "=", "<<", "2020-13-45", "2020-01-01", "2020-02-30 1:1:1 +30", "0x_", "0b_", "1:2", "1e5", "_", "~", "!!int ''",
     "!!float z", "!!binary 'xx*'", "!!timestamp q", "!!bool q", "!!null x", "!foo", "&a b", "*a", "&b c", "*b", "!!merge x", "!!value y"]
) | st.from_regex(r"[-+0-9._:xbeTZ]{1,12}", fullmatch=True).map(lambda text: f"{text} ")  # fmt: skip
_TAGS = st.sampled_from(["", "", "", "", "&a ", "&b ", "!!map ", "!!seq ", "!!set ", "!!omap ", "!!pairs ", "!!str "])
_VALUES = st.recursive(
    _SCALARS,
    lambda inner: (
        st.builds(lambda tag, items: f"{tag}[{', '.join(items)}]", _TAGS, st.lists(inner, max_size=4))
        | st.builds(
            lambda tag, pairs: tag + "{" + ", ".join(f"? {key} : {value}" for key, value in pairs) + "}",
            _TAGS,
            st.lists(st.tuples(_SCALARS | inner, inner), max_size=4),
        )
    ),
    max_leaves=8,
)


@settings(max_examples=300)
@given(st.lists(st.tuples(_SCALARS, _VALUES), max_size=3).map(lambda all_: "".join(f"? {k}\n: {v}\n" for k, v in all_)))
@example("x: &a {b: *a}\n")
def test_what_is_fit_loads(text: str) -> None:
    if not unfit(HEAD + text):
        yaml.safe_load(HEAD + text)


@settings(max_examples=300)
@given(st.text(alphabet="ab:-?[]{}&*!<=|>'\"#%@,.0123 \n\t~\u00e9\x85\u2028", max_size=40))
def test_random_text_that_is_fit_loads(text: str) -> None:
    if not unfit(HEAD + text):
        yaml.safe_load(HEAD + text)
