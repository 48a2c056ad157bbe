"""What a worker tells of its machine's firmware."""

import json

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.enrolment import MAX_WHY, Enrolled, decode_enrolled, encode

OWN = "SHA256:" + ":".join(["AB"] * 32)


@pytest.mark.parametrize("message", [Enrolled(authority=OWN), Enrolled(why="this machine did not boot by UEFI")])
def test_what_is_told_is_understood(message: Enrolled) -> None:
    assert decode_enrolled(encode(message)) == message


@pytest.mark.parametrize(
    "content",
    [b"{}", b"[]", b"\xff", json.dumps({"authority": OWN[:-1]}), json.dumps({"authority": "ab" * 32}), json.dumps({"authority": OWN.lower()}),
     json.dumps({"why": 7}), json.dumps({"authority": "", "why": ""})],
)  # fmt: skip
def test_what_says_neither_is_refused(content: bytes | str) -> None:
    with pytest.raises(Invalid):
        decode_enrolled(content)


def test_the_reason_is_one_short_line_without_control_characters() -> None:
    found = decode_enrolled(json.dumps({"why": "a\n\x1b[2Jb" + "c" * 9_999}))
    assert found.why.isprintable()
    assert len(found.why) <= MAX_WHY


def test_one_who_is_enrolled_needs_no_reason() -> None:
    assert decode_enrolled(json.dumps({"authority": OWN, "why": "x"})) == Enrolled(authority=OWN)
