import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.parsing.literals import number


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("0", 0),
        ("-17", -17),
        ("+5", 5),
        ("017", 15),
        ("0_17", 15),
        ("-017", -15),
        ("0o17", 15),
        ("0b101", 5),
        ("0x1F", 31),
        ("0x1e", 30),
        ("0x_1", 1),
        ("1_000", 1000),
        ("9223372036854775807", 2**63 - 1),
        ("-9223372036854775808", -(2**63)),
    ],
)
def test_whole_numbers_are_ints(shown: str, value: int) -> None:
    assert number(shown) == value
    assert isinstance(number(shown), int)


@pytest.mark.parametrize(
    ("shown", "value"),
    [
        ("1.5", 1.5),
        (".5", 0.5),
        ("5.", 5.0),
        ("1e3", 1000.0),
        ("1E-3", 0.001),
        ("1_0.5", 10.5),
        ("0x1p4", 16.0),
        ("0x1.8p1", 3.0),
        ("0x.8p1", 1.0),
        ("0x_1p-2", 0.25),
        ("-0x1e", -30.0),
        ("1e-400", 0.0),
    ],
)
def test_a_point_or_an_exponent_makes_a_float(shown: str, value: float) -> None:
    assert number(shown) == value
    assert isinstance(number(shown), float)


@pytest.mark.parametrize(
    "shown",
    [
        "",
        "+",
        "-",
        "08",
        "1__0",
        "_1",
        "1_",
        "1_.5",
        "1e",
        "1e+",
        "1e1_",
        "0x",
        "0x1.8",
        "0xp1",
        "1e400",
        "-1e400",
        ".",
    ],
)
def test_what_is_no_number_is_refused(shown: str) -> None:
    with pytest.raises(GoError, match="illegal number syntax"):
        number(shown)


@pytest.mark.parametrize(
    "shown", ["9223372036854775808", "-9223372036854775809", "0xffffffffffffffff", "0x" + "f" * 9999]
)
def test_an_int_has_64_bits(shown: str) -> None:
    with pytest.raises(GoError, match="overflows int"):
        number(shown)


def test_thousands_of_digits_are_refused_as_well() -> None:
    for shown in ("9" * 9999, "0x1p" + "9" * 9999, "1e" + "9" * 9999):
        with pytest.raises(GoError):
            number(shown)
