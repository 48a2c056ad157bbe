import pytest

from tinkbox.gotemplate.execution.escaping import html, js, urlquery


def test_html_escapes_what_html_gives_a_meaning() -> None:
    assert html("<a href=\"x\">'&'\0</a>é") == "&lt;a href=&#34;x&#34;&gt;&#39;&amp;&#39;\ufffd&lt;/a&gt;é"


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ("<b class='x'>&=\"\\", "\\u003Cb class\\u003D\\'x\\'\\u003E\\u0026\\u003D\\\"\\\\"),
        ("\t\n\0\x7f", "\\u0009\\u000A\\u0000\x7f"),
        ("é☺\U0001f600", "é☺\U0001f600"),
        ("\xa0\u2028\U000e0001", "\\u00A0\\u2028\\uE0001"),
        ("\udcff", "\udcff"),
    ],
)
def test_js_escapes_what_ends_a_string_or_cannot_be_seen(given: str, shown: str) -> None:
    assert js(given) == shown


def test_urlquery_escapes_bytes() -> None:
    assert urlquery("a b+c/é~_.-*\udcff") == "a+b%2Bc%2F%C3%A9~_.-%2A%FF"


def test_arguments_are_printed_first_and_nil_is_no_value() -> None:
    assert html(1, 2, "<", None) == "1 2&lt;&lt;no value&gt;"
    assert js(None, 1) == "\\u003Cno value\\u003E1"
    assert urlquery([1, None]) == "%5B1+%3Cnil%3E%5D"
    assert html() == js() == urlquery() == ""
