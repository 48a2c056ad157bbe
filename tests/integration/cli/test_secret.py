"""`tinkbox secret set` at a terminal."""

import json
from collections.abc import Iterator

import pytest

from tests.integration.cli.person import Person
from tests.integration.cli.serving import Configuration, configure, run, serving


@pytest.fixture(scope="module")
def words(tmp_path_factory: pytest.TempPathFactory) -> Iterator[list[str]]:
    configuration: Configuration = configure(tmp_path_factory.mktemp("appliance"))
    with serving(configuration):
        yield ["--data", str(configuration.data), "secret"]


def test_a_value_is_asked_for_twice_and_not_shown(words: list[str]) -> None:
    with Person([*words, "set", "db-password"]) as anna:
        anna.sees("Value of db-password: ")
        anna.type("correct horse\n")
        anna.sees("The same again: ")
        anna.type("correct horse\n")
        assert anna.ends() == 0
        assert b"Created Secret" in anna.seen
        assert b"horse" not in anna.seen
    (kept,) = json.loads(run(*words, "list", "-o", "json").out)
    assert (kept["name"], kept["size"]) == ("db-password", len("correct horse"))


def test_two_values_that_differ_set_nothing(words: list[str]) -> None:
    with Person([*words, "set", "other"]) as anna:
        anna.sees("Value of other: ")
        anna.type("correct horse\n")
        anna.sees("The same again: ")
        anna.type("correct house\n")
        assert anna.ends() == 1
        assert b"nothing was set" in anna.seen
    assert "other" not in run(*words, "list").out


def test_who_names_standard_input_at_a_terminal_is_told_how_it_ends(words: list[str]) -> None:
    with Person([*words, "set", "third", "-f", "-"]) as anna:
        anna.sees("until Ctrl-D")
        anna.type("battery staple\n\x04")
        assert anna.ends() == 0
