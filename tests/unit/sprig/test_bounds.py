"""The bounds refuse what is one beyond them, and nothing else."""

import pytest

from tinkbox.gotemplate.values import GoError
from tinkbox.sprig import FUNCTIONS
from tinkbox.sprig.bounds import MAX_DEPTH, MAX_ITEMS, MAX_TEXT, Steps, bound_depth, bound_items, bound_text


def test_each_bound_allows_itself_and_no_more() -> None:
    for bound, limit in ((bound_text, 1048576), (bound_items, 100_000), (bound_depth, 100)):
        bound(limit)
        with pytest.raises(GoError, match=str(limit)):
            bound(limit + 1)
    assert (MAX_TEXT, MAX_ITEMS, MAX_DEPTH) == (1048576, 100_000, 100)


def test_steps_add_up() -> None:
    steps = Steps(10)
    steps.take(9)
    steps.take()
    with pytest.raises(GoError, match="more than 10 steps"):
        steps.take()


def doubled(levels: int) -> dict[str, object]:
    """A small value that unfolds to 2**levels parts."""
    value: dict[str, object] = {}
    for _ in range(levels):
        value = {"left": value, "right": value}
    return value


CYCLE: dict[str, object] = {}
CYCLE["self"] = CYCLE
OTHER_CYCLE: dict[str, object] = {}
OTHER_CYCLE["self"] = OTHER_CYCLE
TEXT = "a" * MAX_TEXT


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("repeat", (1 << 62, "ab")),
        ("until", (1 << 62,)),
        ("until", (-(1 << 62),)),
        ("untilStep", (-(1 << 63), (1 << 63) - 1, 1)),
        ("seq", (1 << 62,)),
        ("indent", (1 << 40, "a")),
        ("nindent", (2000, "\n" * 1000)),
        ("replace", ("", "x" * 2000, "a" * 1000)),
        ("wrapWith", (1, "x" * 2000, "a" * 1000)),
        ("join", (",", [TEXT] * 1000)),
        ("join", (TEXT, ["a", "b"])),
        ("toStrings", ([TEXT] * 2,)),
        ("cat", (TEXT, TEXT)),
        ("quote", ('"' * MAX_TEXT,)),
        ("squote", (TEXT,)),
        ("b64enc", (TEXT,)),
        ("b32enc", (TEXT,)),
        ("toJson", ("<" * MAX_TEXT,)),
        ("toPrettyJson", (doubled(60),)),
        ("toRawJson", (CYCLE,)),
        ("toString", (CYCLE,)),
        ("deepCopy", (CYCLE,)),
        ("deepCopy", (doubled(60),)),
        ("deepEqual", (CYCLE, OTHER_CYCLE)),
        ("deepEqual", (doubled(60), doubled(60))),
        ("merge", (CYCLE, OTHER_CYCLE)),
        ("merge", (doubled(60), doubled(60))),
        ("uniq", ([[[each]] for each in range(5000)],)),
        ("without", ([[[0]]] * 5000, *([[each]] for each in range(1, 5000)))),
        ("concat", ([None] * 60_000, [None] * 60_000)),
        ("append", ([None] * MAX_ITEMS, 1)),
        ("prepend", ([None] * MAX_ITEMS, 1)),
        ("splitList", (",", "," * MAX_ITEMS)),
        ("split", ("", TEXT)),
        ("splitn", (",", -1, "," * MAX_ITEMS)),
        ("fromJson", ("[" + "1," * MAX_ITEMS + "1]",)),
        ("fromJson", ("[" * 102 + "]" * 102,)),
        ("set", (dict.fromkeys(map(str, range(MAX_ITEMS))), "new", 1)),
        ("keys", (dict.fromkeys(map(str, range(60_000))),) * 2),
        ("regexReplaceAll", ("", "a" * 30_000, "x")),
        ("regexReplaceAll", ("a", "a" * 2000, "x" * 2000)),
        ("regexReplaceAll", (".*", TEXT, "$0$0")),
        ("regexReplaceAll", ("", "a" * 1000, "$1" * 1000)),
        ("regexFindAll", ("a.*b|a", "a" * 30_000, -1)),
        ("regexSplit", (",", "," * 30_000, -1)),
        ("regexMatch", ("[ab]*a[ab]{300}c", "a" * MAX_TEXT)),
        ("regexQuoteMeta", ("." * MAX_TEXT,)),
        ("urlJoin", ({"path": "é" * MAX_TEXT},)),
        ("mulf", (1e300,) * 1000),
        ("semverCompare", (" " * 2000, "1")),
    ],
)
def test_no_function_goes_beyond(name: str, arguments: tuple[object, ...]) -> None:
    with pytest.raises(GoError):
        FUNCTIONS[name](*arguments)


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("repeat", (MAX_TEXT // 2, "ab")),
        ("until", (MAX_ITEMS,)),
        ("join", (",", ["a" * 1000] * 1000)),
        ("uniq", (list(range(MAX_ITEMS)),)),
        ("uniq", ([{"a": each} for each in range(MAX_ITEMS)],)),
        ("has", ({"a": 1}, [{"a": each} for each in range(2, 10_000)])),
        ("regexReplaceAllLiteral", ("[^a-z]+", "some text, " * 1000, "-")),
        ("regexMatch", ("a+$", TEXT)),
        ("splitList", (",", "," * (MAX_ITEMS - 1))),
        ("durationRound", ("1" * MAX_TEXT,)),
        ("float64", ("1" * MAX_TEXT,)),
        ("int", ("1" * MAX_TEXT,)),
        ("atoi", ("1" * MAX_TEXT,)),
        ("fromJson", ("[" * MAX_TEXT,)),
    ],
)
def test_what_is_within_is_done(name: str, arguments: tuple[object, ...]) -> None:
    FUNCTIONS[name](*arguments)
