"""Moments and durations in templates; tests/golden/sprig/snippets.json has what Go's methods give."""

import pytest

from tests.unit.sprig.around import AROUND
from tinkbox.gotemplate import TemplateError, parse
from tinkbox.sprig.all_functions import functions
from tinkbox.sprig.dates.times import Duration, Month, Weekday, rounded


def rendered(text: str) -> str:
    return parse(text, functions=functions(AROUND)).render(None)


def test_a_named_integer_prints_as_its_name_and_counts_as_its_number() -> None:
    assert rendered(
        "{{ now.Month }} {{ now.Weekday }} {{ eq now.Month 7 }} {{ add now.Month 1 }} {{ toJson now.Month }}"
    ) == ("July Thursday true 8 7")
    assert rendered('{{ printf "%d %s %q %#v %T" now.Month now.Month now.Month now.Month now.Month }}') == (
        '7 July "July" 7 time.Month'
    )


def test_what_has_no_name_says_so() -> None:
    assert (Month(13).text(), Weekday(7).text()) == ("%!Month(13)", "%!Weekday(7)")


def test_a_method_that_is_not_there_is_refused_with_the_nearest() -> None:
    with pytest.raises(TemplateError, match=r"can't evaluate field Unixx in type time.Time.*Unix"):
        rendered("{{ now.Unixx }}")


def test_a_year_that_json_does_not_have_is_refused_by_must() -> None:
    assert rendered("{{ toJson (now.AddDate 9000 0 0) }}") == ""
    with pytest.raises(TemplateError, match="year outside of range"):
        rendered("{{ mustToJson (now.AddDate 9000 0 0) }}")


def test_durations_end_where_int64_does() -> None:
    assert rendered("{{ (now.Sub (now.AddDate 3000 0 0)).Abs }}") == "2562047h47m16.854775807s"
    assert rounded((1 << 63) - 1, 10) == (1 << 63) - 1
    assert str(Duration(-1500)) == "-1.5µs"
