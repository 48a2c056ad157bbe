"""Tokens in files of the data folder, and what becomes of those that an earlier release made."""

import stat
from pathlib import Path

import pytest

from tinkbox.api.tokens import examine_tokens, operators_token, retired_people, take_in_files, told_before
from tinkbox.model.access import Right
from tinkbox.model.errors import Unavailable

LOOK, OPERATE, PUSH = Right.LOOK, Right.OPERATE, Right.PUSH
NAMED = {"anna": frozenset({LOOK}), "bert": frozenset({LOOK, OPERATE})}
ANNAS, BERTS = "anna-has-this-token-of-old", "bert-has-this-token-of-old"


class Kept:
    """Keeps tokens in memory; those of `taken` names are another's."""

    def __init__(self, *taken: str) -> None:
        self.taken = taken
        self.by_name: dict[str, tuple[frozenset[Right], str, str]] = {}

    async def take_in(self, name: str, rights: frozenset[Right], text: str, by: str) -> bool:
        if name in self.taken:
            return False
        self.by_name[name] = (rights, text, by)
        return True


@pytest.fixture
def old(tmp_path: Path) -> Path:
    """A data folder of a release that kept the tokens of people in files."""
    operators_token(tmp_path)
    (tmp_path / "people").mkdir()
    for name, text in (("anna", ANNAS), ("bert", BERTS), ("carl", "carl-is-named-no-more-there")):
        (tmp_path / "people" / f"{name}.token").write_text(f"{text}\n")
    return tmp_path


def test_the_operators_token_is_made_once_and_only_its_owner_reads_it(tmp_path: Path) -> None:
    made = operators_token(tmp_path)
    assert len(made) > 40
    assert stat.S_IMODE((tmp_path / "operator.token").stat().st_mode) == 0o600
    assert operators_token(tmp_path) == made


async def test_tokens_in_files_are_kept_with_their_rights_and_who_could_operate_may_push(old: Path) -> None:
    kept = Kept()
    said = await take_in_files(old, NAMED, kept)
    assert kept.by_name == {
        "anna": (frozenset({LOOK}), ANNAS, "operator.people"),
        "bert": (frozenset({LOOK, OPERATE, PUSH}), BERTS, "operator.people"),
    }
    assert [each.partition(":")[0] for each in said] == ["the tokens of anna, bert go on working"]


async def test_no_file_is_left_and_the_token_of_who_is_named_no_more_ends(old: Path) -> None:
    kept = Kept()
    await take_in_files(old, NAMED, kept)
    assert [*(old / "people").iterdir()] == []
    assert "carl" not in kept.by_name


async def test_a_second_start_takes_in_nothing(old: Path) -> None:
    await take_in_files(old, NAMED, Kept())
    kept = Kept()
    assert await take_in_files(old, NAMED, kept) == []
    assert kept.by_name == {}


async def test_a_file_stays_where_another_token_has_its_name(old: Path) -> None:
    said = await take_in_files(old, NAMED, Kept("anna"))
    assert [each.name for each in (old / "people").iterdir()] == ["anna.token"]
    assert f"{old / 'people' / 'anna.token'} counts no more" in said[-1]
    assert "`tinkbox token revoke anna`" in said[-1]


def test_what_the_configuration_still_says_is_told_with_what_to_type() -> None:
    said = retired_people(NAMED, lambda name: name == "anna")
    assert len(said) == 2
    assert "take it out of tinkbox.yaml" in said[0]
    assert "`tinkbox token create bert --right look --right operate --expires never`" in said[1]
    assert retired_people({}, lambda _: False) == []


@pytest.mark.parametrize(
    ("name", "remedy"),
    [
        ("operator.token", "the next start makes a new one. Scripts that use"),
        ("people/anna.token", "`tinkbox token create anna`"),
    ],
)
@pytest.mark.parametrize(("text", "why"), [("\n", "is empty"), ("secret\n", "is too short")])
async def test_a_token_that_can_be_guessed_fails_the_start_with_the_way_out(
    old: Path, name: str, remedy: str, text: str, why: str
) -> None:
    (old / name).write_text(text)
    with pytest.raises(Unavailable, match=rf"{name} {why}.*{remedy}"):
        examine_tokens(old, NAMED)
    with pytest.raises(Unavailable, match=rf"{name} {why}.*{remedy}"):
        await take_in_files(old, NAMED, Kept())


async def test_nobody_has_the_operators_token(old: Path) -> None:
    (old / "people" / "anna.token").write_text(operators_token(old))
    for refused in (take_in_files(old, NAMED, Kept()),):
        with pytest.raises(Unavailable, match=r"anna\.token holds the token of operator"):
            await refused
    with pytest.raises(Unavailable, match=r"anna\.token holds the token of operator"):
        examine_tokens(old, NAMED)


def test_to_examine_tokens_makes_and_deletes_none(old: Path) -> None:
    before = set(old.rglob("*"))
    examine_tokens(old, {"carla": frozenset({LOOK})})
    assert set(old.rglob("*")) == before


def test_a_check_before_the_first_start_tells_which_files_go_and_what_to_type(old: Path) -> None:
    before = set(old.rglob("*"))
    retired, taken, ended = told_before(old, NAMED)
    assert "take it out of tinkbox.yaml" in retired
    assert "the tokens of anna, bert, which go on working" in taken
    assert f"`cp -a {old / 'people'} FOLDER`" in taken
    assert "deletes the tokens of carl" in ended
    assert set(old.rglob("*")) == before
    assert told_before(old, {}) == []


async def test_a_check_after_the_first_start_tells_only_what_the_configuration_still_says(old: Path) -> None:
    await take_in_files(old, NAMED, Kept())
    assert len(told_before(old, NAMED)) == 1
