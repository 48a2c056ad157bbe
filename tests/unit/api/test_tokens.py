"""Tokens in the data directory, and whose they are."""

import stat
from pathlib import Path

import pytest

from tinkbox.api.tokens import People, examine_people, read_people
from tinkbox.model.access import Caller, Right
from tinkbox.model.errors import Unavailable

LOOK, EVERY = frozenset({Right.LOOK}), frozenset(Right)
ANNA = {"anna": LOOK | {Right.ATTACH}}


def token(path: Path) -> str:
    return path.read_text().strip()


def test_each_person_has_a_token_that_only_its_owner_reads(tmp_path: Path) -> None:
    people = read_people(tmp_path, ANNA)
    paths = [tmp_path / "operator.token", tmp_path / "people" / "anna.token"]
    assert [stat.S_IMODE(path.stat().st_mode) for path in paths] == [0o600, 0o600]
    assert stat.S_IMODE((tmp_path / "people").stat().st_mode) == 0o700
    assert people.bearer(token(paths[0])) == Caller(name="operator", rights=EVERY)
    assert people.bearer(token(paths[1])) == Caller(name="anna", rights=ANNA["anna"])
    assert len(token(paths[1])) > 40


def test_a_token_stays_over_restarts(tmp_path: Path) -> None:
    read_people(tmp_path, ANNA)
    before = token(tmp_path / "people" / "anna.token")
    assert read_people(tmp_path, {"anna": LOOK}).bearer(before) == Caller(name="anna", rights=LOOK)


def test_a_token_dies_with_the_name_in_the_configuration(tmp_path: Path) -> None:
    read_people(tmp_path, ANNA)
    before = token(tmp_path / "people" / "anna.token")
    assert read_people(tmp_path, {}).bearer(before) is None
    assert read_people(tmp_path, ANNA).bearer(before) is None


@pytest.mark.parametrize("name", ["operator.token", "people/anna.token"])
def test_an_empty_token_lets_nobody_in_and_the_start_fails(tmp_path: Path, name: str) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / name).write_text("\n")
    with pytest.raises(Unavailable, match=name):
        read_people(tmp_path, ANNA)


@pytest.mark.parametrize("name", ["operator.token", "people/anna.token"])
def test_a_token_that_can_be_guessed_lets_nobody_in_and_the_start_fails(tmp_path: Path, name: str) -> None:
    (tmp_path / "people").mkdir()
    (tmp_path / name).write_text("secret\n")
    with pytest.raises(Unavailable, match=rf"{name} is too short.* 6 characters, .* delete it"):
        read_people(tmp_path, ANNA)


def test_to_examine_tokens_makes_and_deletes_none(tmp_path: Path) -> None:
    read_people(tmp_path, ANNA)
    before = set(tmp_path.rglob("*"))
    examine_people(tmp_path, {"bert": LOOK})
    assert set(tmp_path.rglob("*")) == before


def test_to_examine_tokens_refuses_what_the_start_refuses(tmp_path: Path) -> None:
    read_people(tmp_path, ANNA)
    (tmp_path / "people" / "anna.token").write_text(token(tmp_path / "operator.token"))
    with pytest.raises(Unavailable, match=r"anna\.token holds the token of operator"):
        examine_people(tmp_path, ANNA)


def test_a_token_is_one_persons(tmp_path: Path) -> None:
    read_people(tmp_path, ANNA)
    (tmp_path / "people" / "anna.token").write_text(token(tmp_path / "operator.token"))
    with pytest.raises(Unavailable, match=r"anna\.token holds the token of operator"):
        read_people(tmp_path, ANNA)


def test_a_token_is_compared_whole() -> None:
    people = People({"secret": Caller(name="anna", rights=LOOK), "other": Caller(name="bert", rights=LOOK)})
    assert [people.bearer(each) for each in ("", "secre", "secrets", "Secret", "secretother", "\udcff")] == [None] * 6
    assert [getattr(people.bearer(each), "name", "") for each in ("secret", "other")] == ["anna", "bert"]


def test_people_are_known_by_name() -> None:
    anna = Caller(name="anna", rights=LOOK)
    people = People({"a": anna, "b": Caller(name="bert", rights=EVERY)})
    assert (people.named("anna"), people.named("a")) == (anna, None)
