"""Whose token pushes images."""

from dataclasses import replace

import pytest

from tests.people import People
from tinkbox.model.access import Caller, Right
from tinkbox.model.errors import Forbidden
from tinkbox.model.labels import parse_selector
from tinkbox.registry.protocol.push_tokens import LIFETIME, PushTokens
from tinkbox.registry.protocol.pushers import Pushers, require_push

PUSH = frozenset({Right.PUSH})
ANNA = Caller(name="anna@example", rights=PUSH, token="anna@example")
BERT = Caller(name="bert", rights=PUSH, token="bert")
BOTH = {"annas-own": ANNA, "berts-own": BERT}


def known(person: Caller | None) -> Caller:
    assert person is not None
    return require_push(person)


class Clock:
    seconds = 0.0

    def __call__(self) -> float:
        return self.seconds


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def tokens(clock: Clock) -> PushTokens:
    return PushTokens(b"key", clock)


def test_push_tokens_of_two_people_differ_and_name_them(tokens: PushTokens) -> None:
    pushers = Pushers(People(BOTH), tokens)
    annas, berts = pushers.push_token(ANNA), pushers.push_token(BERT)
    assert annas != berts
    assert [pushers.by_any_token(each) for each in (annas, berts, "annas-own", "berts-own")] == [ANNA, BERT, ANNA, BERT]


def test_a_push_token_fetches_no_other(tokens: PushTokens) -> None:
    pushers = Pushers(People(BOTH), tokens)
    assert pushers.by_own_token("annas-own") == ANNA
    assert pushers.by_own_token(pushers.push_token(ANNA)) is None


def test_a_push_token_ends(tokens: PushTokens, clock: Clock) -> None:
    given = tokens.issue("anna")
    clock.seconds = LIFETIME - 1
    assert tokens.owner(given) == "anna"
    clock.seconds = LIFETIME
    assert tokens.owner(given) is None


def test_a_push_token_of_another_process_is_none(tokens: PushTokens, clock: Clock) -> None:
    assert PushTokens(b"other", clock).owner(tokens.issue("anna")) is None


@pytest.mark.parametrize("forged", ["", ".", "..", "900", "900.616e6e61", "900..", "x.y.z", "\udcff.\udcff.\udcff"])
def test_what_was_not_signed_is_no_push_token(tokens: PushTokens, forged: str) -> None:
    assert tokens.owner(forged) is None


def test_a_push_token_ends_with_the_token_that_it_was_given_for(tokens: PushTokens) -> None:
    people = People(BOTH)
    pushers = Pushers(people, tokens)
    annas, berts = pushers.push_token(ANNA), pushers.push_token(BERT)
    people.forget("anna@example")
    assert [pushers.by_any_token(each) for each in (annas, berts)] == [None, BERT]


@pytest.mark.parametrize("right", [each for each in Right if each is not Right.PUSH])
def test_who_lacks_the_right_to_push_is_refused_by_their_own_token_and_by_a_push_token(
    tokens: PushTokens, right: Right
) -> None:
    given = Pushers(People(BOTH), tokens).push_token(ANNA)
    other = Pushers(People({"annas-own": Caller(name=ANNA.name, rights=frozenset({right}))}), tokens)
    for token in (given, "annas-own"):
        with pytest.raises(Forbidden, match=r"anna@example .* lacks the right to push"):
            known(other.by_any_token(token))


def test_who_has_a_scope_pushes_nothing_for_images_are_of_all_machines(tokens: PushTokens) -> None:
    pushers = Pushers(People({"annas-own": replace(ANNA, scope=parse_selector("rack=r1"))}), tokens)
    with pytest.raises(Forbidden, match=r"anna@example has the scope rack=r1"):
        known(pushers.by_own_token("annas-own"))
