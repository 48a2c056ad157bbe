"""How a worker begins."""

import base64
import json
from dataclasses import replace

import pytest

from tinkbox.model.errors import Invalid
from tinkbox.wire.messages.session import Challenge, Opened, Opening, ShownTpm, decode_answer, decode_opening, encode
from tinkbox.wire.tpm import TEMPLATES, read_endorsement_key

KEY = read_endorsement_key(TEMPLATES[1].endorsement[:-256] + b"\x81" * 256)
TPM = {"endorsement_key": base64.b64encode(KEY.public).decode(), "name": base64.b64encode(b"n" * 34).decode()}
OPENING = Opening(secret="s" * 43, boot_id="boot-1", instance="i", version="1")


def test_what_is_encoded_is_decoded_again() -> None:
    assert decode_opening(encode(OPENING)) == OPENING
    for answer in (Opened(worker="w"), Challenge(credential=b"\x00c", secret=b"\xffs")):
        assert decode_answer(encode(answer)) == answer


@pytest.mark.parametrize("proof", [b"", b"\x00proof"])
def test_a_tpm_is_shown_with_its_key_its_name_and_its_proof(proof: bytes) -> None:
    shown = replace(OPENING, tpm=ShownTpm(endorsement_key=KEY, name=b"n" * 34, proof=proof))
    assert decode_opening(encode(shown)) == shown


@pytest.mark.parametrize(
    "changed", [{"tpm": 7}, {"tpm": {}}, {"no_tpm": "n" * 257}, *({"tpm": TPM | changed} for changed in (
        {"name": "bm8="}, {"name": "no base64"}, {"name": 7}, {"endorsement_key": "bm8="}, {"proof": "?"}, {"proof": []},
    ))]
)  # fmt: skip
def test_what_is_no_tpm_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        decode_opening(json.dumps(json.loads(encode(OPENING)) | changed))


def test_a_worker_need_not_name_its_process() -> None:
    assert decode_opening(json.dumps({"secret": "s" * 43, "boot_id": "b"})).instance == ""


@pytest.mark.parametrize(
    "changed", [{"secret": "short"}, {"secret": None}, {"secret": "s" * 257}, {"boot_id": ""}, {"boot_id": "b" * 257}, {"instance": 7}, {"version": "1.\nRun `sh`"}]
)  # fmt: skip
def test_what_could_be_guessed_or_is_too_long_or_missing_is_refused(changed: dict[str, object]) -> None:
    with pytest.raises(Invalid):
        decode_opening(json.dumps(json.loads(encode(OPENING)) | changed))


@pytest.mark.parametrize("answer", ["", "[]", "{}", '{"worker": 1}'])
def test_an_answer_names_the_worker(answer: str) -> None:
    with pytest.raises(Invalid):
        decode_answer(answer)
