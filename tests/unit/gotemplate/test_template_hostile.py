"""Whatever the text, only TemplateError comes out, and rendering stays within its limits."""

from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from tests.unit.gotemplate.test_template_as_go import CASES, FUNCTIONS, RECORDED
from tinkbox.gotemplate import Limits, TemplateError, parse

LIMITS = Limits(output_bytes=2000, steps=2000, depth=50)
PIECES = [
    *(
        "{{",
        "}}",
        "{{-",
        " -}}",
        '"',
        "'",
        "`",
        "(",
        ")",
        "|",
        ".",
        "$",
        "$x",
        ":=",
        "=",
        ",",
        " ",
        "\n",
        "/*",
        "*/",
        "\\",
    ),
    *(
        "1",
        "-1",
        "1e5",
        "0x",
        "1i",
        "nil",
        "true",
        ".s",
        ".l",
        ".m",
        ".zz",
        "%",
        "%5d",
        "%[1]*d",
        "é",
        "☺",
        "\0",
        "\xa0",
    ),
    *(
        "print ",
        "printf ",
        "len ",
        "index ",
        "eq ",
        "slice ",
        "list ",
        "{{end}}",
        "{{else}}",
        "{{if .}}",
        "{{range .}}",
    ),
    *("{{with .}}", "{{break}}", "{{continue}}", '{{define "a"}}', '{{template "a" .}}', '{{block "b" .}}'),
]
SOURCES = st.sampled_from([case["template"] for case in CASES])


@st.composite
def mutated(draw: st.DrawFn) -> str:
    """A recorded template, cut and spliced a few times."""
    text: str = draw(SOURCES)
    for _ in range(draw(st.integers(1, 4))):
        start = draw(st.integers(0, len(text)))
        end = draw(st.integers(start, min(len(text), start + 12)))
        text = (
            text[:start]
            + draw(st.sampled_from(PIECES) | st.text(max_size=3) | SOURCES.map(lambda each: each[:20]))
            + text[end:]
        )
    return text


DATA: Any = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**63), 2**63 - 1) | st.floats() | st.text(),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=3), inner, max_size=4),
    max_leaves=12,
)


def outcome(source: str, data: object) -> str | TemplateError:
    try:
        return parse(source, functions=FUNCTIONS).render(data, LIMITS)
    except TemplateError as error:
        return error


def assert_is_sound(outcome: str | TemplateError, source: str) -> None:
    if isinstance(outcome, str):
        assert len(outcome.encode()) <= LIMITS.output_bytes
        return
    lines = source.split("\n")
    assert 1 <= outcome.line <= len(lines)
    assert 1 <= outcome.column <= len(lines[outcome.line - 1]) + 1
    assert 0 < len(outcome.problem) < 700


@given(st.text() | st.lists(st.sampled_from(PIECES)).map("".join) | st.text().map("{{{{{}}}}}".format))
def test_any_text_is_parsed_or_refused(source: str) -> None:
    assert_is_sound(outcome(source, {}), source)


@given(mutated())
def test_any_mutated_template_ends_within_its_limits(source: str) -> None:
    assert_is_sound(outcome(source, RECORDED["data"]["values"]), source)


@given(SOURCES, DATA)
def test_any_data_is_rendered_or_refused(source: str, data: object) -> None:
    assert_is_sound(outcome(source, data), source)


@given(DATA)
def test_any_data_can_be_shown(data: object) -> None:
    assert isinstance(parse('{{.}}{{printf "%v %+q %#v %x %5.1f" . . . . .}}').render(data), str)
