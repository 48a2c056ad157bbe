"""Passwords are hashed so that others can check them; tests/golden/sprig/snippets.json has what Sprig derives."""

import bcrypt
import pytest

from tests.unit.sprig.around import AROUND, around
from tinkbox.gotemplate import TemplateError, parse
from tinkbox.gotemplate.values import GoError
from tinkbox.sprig import all_functions
from tinkbox.sprig.cryptography.passwords import functions
from tinkbox.sprig.surroundings import MAX_SLOW


@pytest.mark.parametrize("password", ["", "secret", "pässwörd", "x" * 72, "a\0b"])
def test_a_hash_is_verified_by_bcrypt(password: str) -> None:
    hashed = str(functions(around())["bcrypt"](password))
    assert hashed.startswith("$2a$10$")
    assert len(hashed) == 60
    assert bcrypt.checkpw(password.encode(), hashed.encode())
    assert not bcrypt.checkpw(b"another", hashed.encode())


def test_a_salt_is_all_of_the_chance() -> None:
    given = functions(around())["bcrypt"]
    assert len({str(given("x"))[:29] for _ in range(4)}) == 4


def test_a_line_of_htpasswd_has_user_and_hash() -> None:
    user, hashed = str(functions(around())["htpasswd"]("ann", "secret")).split(":")
    assert user == "ann"
    assert bcrypt.checkpw(b"secret", hashed.encode())


def test_one_rendering_hashes_some_passwords_and_no_more() -> None:
    given = around()
    given.pay(MAX_SLOW - 100)
    with pytest.raises(TemplateError, match="too many keys and passwords"):
        parse('{{ bcrypt "x" }}{{ htpasswd "x" "y" }}', functions=all_functions.functions(given)).render(None)
    with pytest.raises(GoError, match="too many keys and passwords"):
        functions(given)["derivePassword"](1, "pin", "p", "u", "s")


def test_jinja2_has_one_kind_of_integer() -> None:
    assert functions(AROUND)["derivePassword"](1, "long", "password", "user", "example.com") == "ZedaFaxcZaso9*"
    with pytest.raises(GoError, match="expected uint32"):
        functions(AROUND)["derivePassword"](-1, "long", "password", "user", "example.com")
