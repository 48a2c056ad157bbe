"""How a worker begins."""

import json

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.session import Opened, Opening, decode_opened, decode_opening, encode

OPENING = Opening(secret="s" * 43, boot_id="boot-1", instance="i", version="1")


def test_what_is_encoded_is_decoded_again() -> None:
    assert decode_opening(encode(OPENING)) == OPENING
    assert decode_opened(encode(Opened(worker="w"))) == Opened(worker="w")


def test_a_worker_need_not_name_its_process() -> None:
    assert decode_opening(json.dumps({"secret": "s" * 43, "boot_id": "b"})).instance == ""


@pytest.mark.parametrize(
    "changed", [{"secret": "short"}, {"secret": None}, {"secret": "s" * 257}, {"boot_id": ""}, {"boot_id": "b" * 257}, {"instance": 7}]
)  # fmt: skip
def test_what_could_be_guessed_or_is_too_long_or_missing_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        decode_opening(json.dumps(json.loads(encode(OPENING)) | changed))


@pytest.mark.parametrize("answer", ["", "[]", "{}", '{"worker": 1}'])
def test_an_answer_names_the_worker(answer: str) -> None:
    with pytest.raises(Invalid):
        decode_opened(answer)
