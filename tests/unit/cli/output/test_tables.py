"""Columns that fit a screen."""

import pytest

from tinkbox.cli.output.tables import Fit, listing, pairs
from tinkbox.model.cells import cells

TITLES = ("ID", "Name", "Machine", "State", "Reason")
FITS = (Fit(), Fit(least=8, rank=1), Fit(least=6), Fit(), Fit(least=8, rank=2))
ROWS = [
    ("a8984b09", "ubuntu-provisioning-of-rack-7", "node7.example.org", "FAILED", "DiskTooSmall: it has 8 GiB"),
    ("b8984b09", "hello", "node8", "SUCCESS", ""),
]


def test_columns_stand_below_each_other_also_behind_wide_letters() -> None:
    assert listing(("Name", "State"), [("日本", "x"), ("abc", "y")]).splitlines() == [
        "NAME  STATE",
        "日本  x",
        "abc   y",
    ]


def test_what_has_room_is_whole_whatever_the_screen() -> None:
    whole = listing(TITLES, ROWS)
    assert whole.splitlines() == [
        "ID        NAME                           MACHINE            STATE    REASON",
        "a8984b09  ubuntu-provisioning-of-rack-7  node7.example.org  FAILED   DiskTooSmall: it has 8 GiB",
        "b8984b09  hello                          node8              SUCCESS",
    ]
    assert listing(TITLES, ROWS, FITS, 200) == listing(TITLES, ROWS, FITS, 120) == whole


@pytest.mark.parametrize("screen", [200, 120, 80, 60, 40])
def test_no_line_is_longer_than_the_screen_and_no_room_is_wasted(screen: int) -> None:
    lines = listing(TITLES, ROWS, FITS, screen).splitlines()
    widest = max(map(cells, lines))
    assert widest <= screen
    assert widest >= min(screen, 95) - 20


def test_the_widest_columns_are_shortened_first() -> None:
    assert listing(TITLES, ROWS, FITS, 80).splitlines() == [
        "ID        NAME                  MACHINE            STATE    REASON",
        "a8984b09  ubuntu-provisioning…  node7.example.org  FAILED   DiskTooSmall: it ha…",
        "b8984b09  hello                 node8              SUCCESS",
    ]


def test_the_column_of_the_highest_rank_is_left_out_first_and_never_one_without() -> None:
    headings = [listing(TITLES, ROWS, FITS, screen).splitlines()[0].split() for screen in (47, 40, 30, 20)]
    assert headings == [
        ["ID", "NAME", "MACHINE", "STATE", "REASON"],
        ["ID", "NAME", "MACHINE", "STATE"],
        ["ID", "MACHINE", "STATE"],
        ["ID", "MACHINE"],
    ]


@pytest.mark.parametrize(
    ("screen", "shown"),
    [
        (22, ["ID        STATE    AGE", "a8984b09  RUNNING  3m"]),
        (21, ["ID        STATE", "a8984b09  RUNNING"]),
        (15, ["ID        STATE", "a8984b09  RUNN…"]),
        (14, ["ID", "a8984b09"]),
        (4, ["ID", "a89…"]),
    ],
)
def test_no_heading_is_cut_and_no_column_is_an_ellipsis_alone(screen: int, shown: list[str]) -> None:
    rows = [("a8984b09", "RUNNING", "3m")]
    assert listing(("Id", "State", "Age"), rows, screen=screen).splitlines() == shown
    assert not listing((), rows, screen=screen).endswith(" …\n")


def test_a_column_is_not_shortened_below_its_heading() -> None:
    rows = [("a" * 30, "checked by its signature")]
    lines = listing(("Image", "Verified"), rows, (Fit(least=16), Fit(least=6)), 24).splitlines()
    assert lines == ["IMAGE", "a" * 23 + "…"]


@pytest.mark.parametrize("screen", [10, 11, 12, 13])
def test_wide_letters_are_cut_within_the_screen(screen: int) -> None:
    lines = listing(("Name", "State"), [("日本語日本語", "RUNNING")], (Fit(least=3), Fit()), screen).splitlines()
    assert max(map(cells, lines)) <= screen


def test_a_machines_text_steers_no_terminal() -> None:
    assert listing(("Name",), [("a\x1b[2J\nb",)]) == "NAME\na [2J b\n"
    assert pairs([("Na\x1bme", "a\x1b[2J\nb")]) == "Na me:  a [2J b\n"


def test_long_values_go_on_below_their_name_on_a_screen_alone() -> None:
    named = [("Name", "x"), ("Message", "word " * 20 + "end"), ("", "more")]
    assert pairs(named) == f"Name:     x\nMessage:  {'word ' * 20}end\n          more\n"
    lines = pairs(named, 60).splitlines()
    assert max(map(len, lines)) <= 60
    assert lines[2:] == ["          " + " ".join(["word"] * 10), "          end", "          more"]
