import pytest

from tinkbox.gotemplate.errors import GoError
from tinkbox.gotemplate.printing.directives import sprintf


@pytest.mark.parametrize(
    ("form", "values", "shown"),
    [
        ("%d%%", (5,), "5%"),
        ("%5d|%-5d|%05d|%+d|% d", (7, 7, -7, 7, 7), "    7|7    |-0007|+7| 7"),
        ("%x %X %#x %o %#o %O %b %#b", (255, 255, 255, 8, 8, 8, 5, 5), "ff FF 0xff 10 010 0o10 101 0b101"),
        ("%#.2O|%.3d|%8.3d|%.0d|", (18, 7, 7, 0), "0o022|007|     007||"),
        ("%c %q %U %#U", (0x263A, 39, 0x263A, 0x263A), "☺ '\\'' U+263A U+263A '☺'"),
        ("%U %.6U %#U", (-1, 1, 10), "U+FFFFFFFFFFFFFFFF U+000001 U+000A"),
        ("%s|%6s|%-6s|%.2s|%06s", ("héllo", "é", "é", "héllo", "a"), "héllo|     é|é     |hé|00000a"),
        ("%q %+q %#q %#q", ("é", "é", "a", "`"), '"é" "\\u00e9" `a` "`"'),
        (
            "%x|% x|%#x|%# x|%X|%.1x|%#x",
            ("hi", "hi", "hi", "hi", "é", "hi", ""),
            "6869|68 69|0x6869|0x68 0x69|C3A9|68|",
        ),
        (
            "%f|%.2f|%8.2f|%-8.2f|%08.2f|%+.1e",
            (1.5, 1.5, -1.5, 1.5, -1.5, 100.0),
            "1.500000|1.50|   -1.50|1.50    |-0001.50|+1.0e+02",
        ),
        ("%v|%6.2v|% f|%+v|%G", (1e21, 3.14159, 1.5, 1.5, 1e-7), "1e+21|   3.1| 1.500000|1.5|1E-07"),
        ("%t|%7t|%-7t|%05t", (True, False, True, True), "true|  false|true   |0true"),
        ("%v %v %s", ([1, None], {"b": 1, "a": "x"}, ["a", 1]), "[1 <nil>] map[a:x b:1] [a %!s(int=1)]"),
        ("%5d|%t", ([1, 22], {"a": 1}), "[    1    22]|map[%!t(string=a):%!t(int=1)]"),
        ("%v %5v| %d %s %T", (None, None, None, None, None), "<nil> <nil>| %!d(<nil>) %!s(<nil>) <nil>"),
        (
            "%T %T %T %T %8T|%.3T",
            (1, 1.0, [], {}, "a", 1.0),
            "int float64 []interface {} map[string]interface {}   string|flo",
        ),
        ("%.1T|%12T|", (None, None), "<nil>|       <nil>|"),
        (
            "%#v %#v",
            ([1, None, "a"], {"a": 1.0}),
            '[]interface {}{1, interface {}(nil), "a"} map[string]interface {}{"a":1}',
        ),
        ("%+v %+d", (5, 5), "5 +5"),
    ],
)
def test_directives_format_as_in_go(form: str, values: tuple[object, ...], shown: str) -> None:
    assert sprintf(form, *values) == shown


@pytest.mark.parametrize(
    ("form", "values", "shown"),
    [
        ("%d", ("hi",), "%!d(string=hi)"),
        ("%z %t", (1, 1), "%!z(int=1) %!t(int=1)"),
        ("%d %d", (1,), "1 %!d(MISSING)"),
        ("%d", (1, "a", None), "1%!(EXTRA string=a, <nil>)"),
        ("", (1,), "%!(EXTRA int=1)"),
        ("%", (), "%!(NOVERB)"),
        ("%5", (), "%!(NOVERB)"),
        ("%.", (1,), "%!.(int=1)"),
        ("%!", (1,), "%!!(int=1)"),
        ("%w", (1,), "%!w(int=1)"),
        ("%#w", ("a",), '%!w(string="a")'),
    ],
)
def test_what_does_not_fit_is_said_in_the_text(form: str, values: tuple[object, ...], shown: str) -> None:
    assert sprintf(form, *values) == shown


@pytest.mark.parametrize(
    ("form", "values", "shown"),
    [
        ("%*d|%-*d|%*d|", (5, 1, 5, 1, -5, 1), "    1|1    |1    |"),
        ("%.*f|%*.*f", (2, 3.14159, 8, 2, 3.14159), "3.14|    3.14"),
        ("%*d", ("a", 1), "%!(BADWIDTH)1"),
        ("%*d", (True, 1), "%!(BADWIDTH)1"),
        ("%*d", (), "%!(BADWIDTH)%!d(MISSING)"),
        ("%.*f", (-2, 1.5), "%!(BADPREC)1.500000"),
        ("%[2]d %[1]d", (1, 2), "2 1"),
        ("%[2]d %d", (1, 2), "2 %!d(MISSING)"),
        ("%[1]*[2]d", (3, 7), "  7"),
        ("%[3]*.[2]*[1]f", (3.14159, 2, 8), "    3.14"),
        ("%[3]d", (1,), "%!d(BADINDEX)"),
        ("%[0]d", (1,), "%!d(BADINDEX)"),
        ("%[x]d", (1,), "%!d(BADINDEX)"),
        ("%[1]5d", (1,), "%!d(BADINDEX)"),
        ("%[99999999999999999999]d", (1,), "%!d(BADINDEX)"),
    ],
)
def test_sizes_and_positions_may_be_arguments(form: str, values: tuple[object, ...], shown: str) -> None:
    assert sprintf(form, *values) == shown


@pytest.mark.parametrize(
    ("form", "values"), [("%300000d", (1,)), ("%.300000f", (1.0,)), ("%*d", (-300_000, 1)), ("%.300000d", (1,))]
)
def test_a_width_or_precision_that_makes_too_long_a_text_is_refused(form: str, values: tuple[object, ...]) -> None:
    with pytest.raises(GoError, match="longer than 262144 characters"):
        sprintf(form, *values)


@pytest.mark.parametrize(
    ("form", "values", "shown"),
    [
        ("%*d", (1_000_001, 7), "%!(BADWIDTH)7"),
        ("%.*f", (-(1 << 63), 1.0), "%!(BADPREC)1.000000"),
        ("%99999999999d %d", (1, 2), "%!(NOVERB)%!(EXTRA int=1, int=2)"),
        ("%.10000011d", (1,), "%!(NOVERB)%!(EXTRA int=1)"),
        ("%.1000000s", ("abc",), "abc"),
    ],
)
def test_a_width_or_precision_beyond_a_million_is_none(form: str, values: tuple[object, ...], shown: str) -> None:
    assert sprintf(form, *values) == shown


def test_many_wide_directives_do_not_make_an_endless_text() -> None:
    with pytest.raises(GoError, match="longer than 262144 characters"):
        sprintf("%4096d" * 65, *range(65))
