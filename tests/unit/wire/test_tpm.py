"""What is said to a TPM, and what it answers."""

import struct
from contextlib import suppress

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire import tpm

ECC, RSA = tpm.TEMPLATES
X, Y = b"\x01" * 32, b"\x02" * 31 + b"\x03"
ECC_KEY = ECC.endorsement[:-68] + b"\x00\x20" + X + b"\x00\x20" + Y
MODULUS = b"\x80" + b"\x04" * 254 + b"\x01"
RSA_KEY = RSA.endorsement[:-256] + MODULUS


def answered(code: int, body: bytes) -> bytes:
    return struct.pack(">HII", 0x8001, 10 + len(body), code) + body


def test_the_templates_are_those_of_the_credential_profile() -> None:
    """TCG EK Credential Profile for TPM family 2.0, §B.3.3 and §B.3.4: kind, SHA-256, attributes, policy, AES-128-CFB."""
    policy = "0020837197674484b3f81a90cc8d46a5d724fd52d76e06520b64f2a1da1b331469aa"
    assert ECC.endorsement.hex() == "0023000b000300b2" + policy + "000600800043001000030010" + ("0020" + "00" * 32) * 2
    assert RSA.endorsement.hex() == "0001000b000300b2" + policy + "00060080004300100800000000000100" + "00" * 256


def test_a_key_of_either_template_is_read() -> None:
    assert tpm.read_endorsement_key(RSA_KEY).modulus == int.from_bytes(MODULUS)
    assert tpm.read_endorsement_key(ECC_KEY).point == (int.from_bytes(X), int.from_bytes(Y))
    assert tpm.read_endorsement_key(ECC_KEY).public == ECC_KEY


@pytest.mark.parametrize(
    "public",
    [
        b"",
        ECC_KEY[:-1],
        ECC_KEY + b"\0",
        RSA_KEY[:-1],
        RSA_KEY + b"\0",
        RSA_KEY[:-1] + b"\x02",
        RSA_KEY[:-256] + b"\x7f" + RSA_KEY[-255:],
        ECC.attestation,
        ECC_KEY.replace(b"\x00\x03\x00\xb2", b"\x00\x03\x00\xf2"),  # its user may duplicate it
        ECC.endorsement[:-68] + b"\x00\x00" * 2,
        ECC.endorsement[:-68] + b"\x00\x21" + b"\x01" * 33 + b"\x00\x20" + Y,
    ],
)
def test_what_was_not_made_from_a_template_is_no_endorsement_key(public: bytes) -> None:
    with pytest.raises(Invalid, match="no endorsement key"):
        tpm.read_endorsement_key(public)


@given(st.binary(max_size=200))
def test_no_octets_do_more_than_be_refused(content: bytes) -> None:
    for read in (tpm.handle_of, tpm.created, tpm.activated, tpm.check):
        with suppress(tpm.TpmRefused):
            read(content)
    with pytest.raises(Invalid):
        tpm.read_endorsement_key(content)


def test_an_answer_is_read_where_the_tpm_did_it_and_refused_with_its_code_where_not() -> None:
    public = struct.pack(">II", 0x80000001, 0) + b"\x00\x03abc"
    assert tpm.created(answered(0, public)) == (0x80000001, b"abc")
    assert tpm.activated(answered(0, struct.pack(">I", 0) + b"\x00\x02ok")) == b"ok"
    with pytest.raises(tpm.TpmRefused, match="response code 0x9a2"):
        tpm.created(answered(0x9A2, b""))
    for cut in (answered(0, public)[:-1], answered(0, b""), b"\x80"):
        with pytest.raises(tpm.TpmRefused):
            tpm.created(cut)
