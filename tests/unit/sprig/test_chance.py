"""What is made by chance has the form that Sprig's has."""

import base64
import re
import uuid

import pytest

from tests.unit.sprig.around import around
from tinkbox.gotemplate.values import GoError
from tinkbox.sprig.chance import functions


def call(name: str, *arguments: object) -> object:
    return functions(around())[name](*arguments)


@pytest.mark.parametrize(
    ("name", "form"),
    [
        ("randAlphaNum", "[A-Za-z0-9]"),
        ("randAlpha", "[A-Za-z]"),
        ("randAscii", "[ -~]"),
        ("randNumeric", "[0-9]"),
    ],
)
def test_letters_are_those_of_the_alphabet_and_all_of_them(name: str, form: str) -> None:
    text = call(name, 5000)
    assert isinstance(text, str)
    assert re.fullmatch(f"{form}{{5000}}", text)
    assert set(text) == set(re.findall(form, "".join(map(chr, range(128)))))
    assert (call(name, 0), call(name, -1)) == ("", "")
    assert call(name, 7) == text[:7]  # it is the chance that is given, and nothing else


def test_random_bytes_are_base64() -> None:
    assert len(base64.b64decode(str(call("randBytes", 33)))) == 33


def test_a_uuid_is_one_of_version_4() -> None:
    made = uuid.UUID(str(call("uuidv4")))
    assert (made.version, made.variant) == (4, uuid.RFC_4122)


def test_shuffling_keeps_every_character() -> None:
    text = "abcdefghijklmnopqrstuvwxyzé☺"
    assert sorted(str(call("shuffle", text))) == sorted(text)
    assert call("shuffle", text) != text


def test_a_random_number_is_below_the_second() -> None:
    given = functions(around())["randInt"]
    assert {given(-1, 3) for _ in range(200)} == {-1, 0, 1, 2}


@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("randInt", (4, 4)),
        ("randInt", (4, 3)),
        ("randBytes", (-1,)),
        ("randBytes", (1 << 40,)),
        ("randAscii", (1 << 40,)),
    ],
)
def test_what_cannot_be_is_refused(name: str, arguments: tuple[int, ...]) -> None:
    with pytest.raises(GoError):
        call(name, *arguments)
