from tinkbox.gotemplate.spelling import suggestion


def test_the_nearest_name_is_suggested_whatever_its_case() -> None:
    assert suggestion("hostnam", ["Netmask", "Hostname", "MAC"]) == '; did you mean "Hostname"?'

    for names in (["Hardware", "hardware"], ["hardware", "Hardware"]):
        assert suggestion("Hardwar", names) == '; did you mean "Hardware"?'
        assert suggestion("hardwar", names) == '; did you mean "hardware"?'


def test_nothing_is_suggested_if_no_name_is_near() -> None:
    assert suggestion("xyz", ["Netmask", "Hostname"]) == ""
    assert suggestion("xyz", []) == ""


def test_names_that_are_no_text_or_very_long_are_passed_over() -> None:
    assert suggestion("a" * 60, [5, "a" * 61]) == ""
    assert suggestion("a" * 61, ["a" * 60]) == ""
    assert suggestion("a" * 60, [5, "a" * 60]) != ""


def test_only_the_first_names_are_compared() -> None:
    names = [f"{number}-{number}" for number in range(500)]
    assert suggestion("hostname", [*names[:499], "hostnames"]) != ""
    assert suggestion("hostname", [*names, "hostnames"]) == ""
