"""Signatures by pinned keys: modern ones, those of old keys, and what proves nothing."""

import base64
from contextlib import suppress
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pysequoia import ArmorKind, Cert, SignatureMode, Tsk, armor, sign

from tests.unit.catalogue.openpgp_samples import (
    BY_BOTH,
    BY_ENDED,
    BY_ENDED_SUBKEY,
    BY_OLD,
    BY_REVOKED_SUBKEY,
    BY_VOUCHED,
    DOCUMENT,
    ENDED,
    ENDED_BY_LASTING,
    LASTING,
    OLD,
    SUBKEYS,
    VOUCHED,
)
from tinkbox.catalogue.openpgp import MAX_SIGNATURE, Key, load_keys, read_key, signed_document, signer_of
from tinkbox.catalogue.openpgp_packets import MAX_SIGNATURES, packets, rsa_key, rsa_signature, signatures
from tinkbox.model.errors import Invalid, Unavailable

NOW = datetime(2027, 1, 1, tzinfo=UTC)


def key(content: bytes) -> Key:
    return read_key(content, Cert.from_bytes(content).fingerprint.upper())


OLD_KEY, LASTING_KEY = key(OLD), key(LASTING)


def test_a_key_that_certified_itself_with_sha1_is_known_and_proves_what_it_signed() -> None:
    old = key(OLD)
    assert (old.user, old.expires, old.modern) == ("old <old@x>", None, False)
    assert signer_of(DOCUMENT, BY_OLD, [old], NOW) == old


def test_a_file_is_proven_as_bytes_are(tmp_path: Path) -> None:
    (tmp_path / "image").write_bytes(DOCUMENT)
    for content, signature in ((OLD, BY_OLD), (LASTING, BY_BOTH)):
        assert signer_of(tmp_path / "image", signature, [key(content)], NOW) == key(content)


def test_one_trusted_signature_among_several_is_enough() -> None:
    for content in (OLD, LASTING):
        assert signer_of(DOCUMENT, BY_BOTH, [key(content)], NOW) == key(content)


def test_armour_around_a_signature_is_taken_off() -> None:
    armoured = armor(BY_BOTH, ArmorKind.Signature).encode()
    assert signer_of(DOCUMENT, armoured.replace(b"\n", b"\r\n"), [key(OLD)], NOW) == key(OLD)


@pytest.mark.parametrize("content", [OLD, LASTING])
def test_a_changed_document_is_told_from_one_that_another_key_signed(content: bytes) -> None:
    with pytest.raises(Invalid, match=rf"^it is not what ({key(OLD).fingerprint}|{key(LASTING).fingerprint}) signed"):
        signer_of(DOCUMENT + b"!", BY_OLD if content is OLD else BY_BOTH, [key(content)], NOW)
    with pytest.raises(Invalid, match=f"^no trusted key signed it, but {key(OLD).fingerprint}"):
        signer_of(DOCUMENT, BY_OLD, [key(LASTING)], NOW)


def test_what_has_expired_is_refused_with_the_day() -> None:
    with pytest.raises(Invalid, match=r"is not valid any more: .*\(exp <exp@x>\) expired on 2024-12-31"):
        signer_of(DOCUMENT, BY_ENDED, [key(ENDED)], NOW)
    assert signer_of(DOCUMENT, BY_ENDED, [key(ENDED)], datetime(2024, 6, 1, tzinfo=UTC))
    with pytest.raises(Invalid, match="its signature expired on 2024-03-02"):
        signer_of(DOCUMENT, ENDED_BY_LASTING, [key(LASTING)], NOW)
    with pytest.raises(Invalid, match="was revoked"):
        signer_of(DOCUMENT, BY_OLD, [replace(key(OLD), revoked=True)], NOW)


def test_the_word_of_another_key_does_not_prolong_an_old_one() -> None:
    vouched = key(VOUCHED)
    with pytest.raises(Invalid, match=r"\(old <old@x>\) expired on 2021-12-31"):
        signer_of(DOCUMENT, BY_VOUCHED, [vouched], NOW)
    assert signer_of(DOCUMENT, BY_VOUCHED, [vouched], datetime(2021, 6, 1, tzinfo=UTC)) == vouched


@pytest.mark.parametrize("content", [OLD, VOUCHED, LASTING, ENDED])
def test_a_key_without_its_own_certification_is_refused(content: bytes) -> None:
    first, user, *rest = packets(bytes(Cert.from_bytes(content)))
    changed = rest[0].whole[:-1] + bytes([rest[0].whole[-1] ^ 1])
    for left in ([], [changed], [each.whole for each in rest[1:]]):
        with pytest.raises(Invalid, match="holds no key to believe: "):
            key(b"".join([first.whole, user.whole, *left]))


@pytest.mark.parametrize(
    ("signature", "why"), [(BY_ENDED_SUBKEY, "expired on 2024-12-31"), (BY_REVOKED_SUBKEY, "was revoked")]
)
def test_a_subkey_that_ended_since_it_signed_proves_nothing(signature: bytes, why: str) -> None:
    with pytest.raises(Invalid, match=rf"the subkey [0-9A-F]{{40}} of .*\(mod <mod@x>\), which signed it, {why}"):
        signer_of(DOCUMENT, signature, [key(SUBKEYS)], NOW)


def test_a_damaged_file_of_a_key_does_not_prolong_it() -> None:
    for content, signature in ((SUBKEYS, BY_ENDED_SUBKEY), (VOUCHED, BY_VOUCHED)):
        whole = bytes(Cert.from_bytes(content))
        for place in range(0, len(whole), 3):
            changed = bytearray(whole)
            changed[place] ^= 0x81
            with pytest.raises(Invalid):
                signer_of(DOCUMENT, signature, [read_key(bytes(changed), key(content).fingerprint)], NOW)


def test_a_signature_of_the_future_is_refused() -> None:
    with pytest.raises(
        Invalid, match=r"its signature was made on 2026-.*, which is still to come: check this host's clock"
    ):
        signer_of(DOCUMENT, BY_OLD, [OLD_KEY], datetime(2026, 1, 1, tzinfo=UTC))


def test_a_condition_that_is_not_known_is_not_passed_over() -> None:
    body = bytearray(signatures(BY_OLD)[0].body)
    body[6 + 1] = 0x80 | 20  # in place of the first subpacket: a notation that is critical
    with pytest.raises(Invalid, match="has a condition that is not known here"):
        rsa_signature(bytes(body))


@pytest.mark.parametrize("kind", [2, 3])
@pytest.mark.parametrize("length", [0, 3, 8, 40])
def test_a_time_beyond_all_times_is_refused(kind: int, length: int) -> None:
    body = signatures(BY_OLD)[0].body
    created = b"\x05\x02\x60\0\0\0" if kind != 2 else b""
    told = created + bytes([length + 1, kind]) + b"\xff" * length
    body = body[:4] + len(told).to_bytes(2, "big") + told + body[6 + int.from_bytes(body[4:6], "big") :]
    with pytest.raises(Invalid, match="the signature is damaged"):
        signer_of(DOCUMENT, b"\xc2\xff" + len(body).to_bytes(4, "big") + body, [OLD_KEY], NOW)


def test_an_image_is_not_read_for_any_number_of_signatures() -> None:
    assert signer_of(DOCUMENT, BY_OLD * MAX_SIGNATURES, [OLD_KEY], NOW) == OLD_KEY
    with pytest.raises(Invalid, match="there are 17 signatures, and 16 are the most"):
        signer_of(DOCUMENT, BY_OLD * (MAX_SIGNATURES + 1), [OLD_KEY], NOW)


def test_a_key_that_cannot_check_a_signature_leaves_it_to_the_others() -> None:
    # The certificate is one that no RSA signature can be held against.
    odd = replace(key(LASTING), modern=False)
    assert signer_of(DOCUMENT, BY_OLD, [odd, OLD_KEY], NOW) == OLD_KEY


@pytest.mark.parametrize(
    "signature",
    [b"", b"junk", b"\xff", BY_OLD[:-1], BY_OLD + b"\x00", b"\xc8\xff\xff\xff\xff\xff", OLD, base64.b64encode(BY_OLD)],
)
def test_what_is_no_signature_is_refused(signature: bytes) -> None:
    with pytest.raises(Invalid):
        signer_of(DOCUMENT, signature, [key(OLD), key(LASTING)], NOW)


@pytest.mark.parametrize("place", range(0, len(BY_OLD), 7))
def test_no_changed_signature_of_an_old_key_passes(place: int) -> None:
    changed = bytearray(BY_OLD)
    changed[place] ^= 0x10
    unhashed = signatures(BY_OLD)[0].body
    end = 6 + int.from_bytes(unhashed[4:6], "big")
    header = len(BY_OLD) - len(unhashed)
    if header + end <= place < len(BY_OLD) - 386:
        return  # what is there is not signed, and nothing is read of it
    with pytest.raises(Invalid):
        signer_of(DOCUMENT, bytes(changed), [key(OLD)], NOW)


def test_a_signature_that_is_too_large_is_refused() -> None:
    with pytest.raises(Invalid, match="too large"):
        signer_of(DOCUMENT, b"\0" * (MAX_SIGNATURE + 1), [key(OLD)], NOW)


def test_a_clear_signed_document_gives_what_was_signed() -> None:
    secret = Tsk.generate("me <me@x>")
    mine = key(bytes(secret.extract_certificate()))
    content = sign(secret.signer(), b"- one\ntwo\n", mode=SignatureMode.CLEAR)
    assert signed_document(content + b"and more\n", [mine], NOW) == (b"- one\ntwo\n", mine)
    stranger = sign(Tsk.generate("x").signer(), b"three\n", mode=SignatureMode.CLEAR)
    for around in (b"\n" + content, content + stranger, content.replace(b"\n\n", b"\nthree\n\n", 1)):
        assert signed_document(around, [mine], NOW)[0] == b"- one\ntwo\n"
    for wrong in (
        content.replace(b"two", b"ten"),
        b"- one\ntwo\n",
        sign(secret.signer(), b"x"),
        stranger + content,
        content.replace(b"\n", b"\n-----BEGIN PGP SIGNED MESSAGE-----\n\nthree\n", 1),
        b"-----BEGIN PGP SIGNED MESSAGE-----three\n\n" + sign(secret.signer(), b"x"),
    ):
        with pytest.raises(Invalid):
            signed_document(wrong, [mine], NOW)


@pytest.mark.parametrize("content", [b"", b"no key", OLD[:200], b"x" * 300_000])
def test_what_is_no_key_is_refused(content: bytes) -> None:
    with pytest.raises(Invalid, match="holds no OpenPGP key"):
        read_key(content, "0" * 40)


def test_a_key_must_be_the_one_that_its_file_is_named_for(tmp_path: Path) -> None:
    fingerprint = "0" * 40
    with pytest.raises(Unavailable, match=f"there is no key {fingerprint}"):
        load_keys([fingerprint], [tmp_path, tmp_path / "nowhere"])
    (tmp_path / f"{fingerprint}.asc").write_bytes(OLD)
    with pytest.raises(Invalid, match=f"holds another key: {key(OLD).fingerprint}"):
        load_keys([fingerprint], [tmp_path])


@pytest.mark.parametrize(
    "body", [b"", b"\x04\0\0\0\0\x16\x00\x08\x01", b"\x04\0\0\0\0\x01\x04\x00" + b"\xff" * 128 + b"\x00\x02\x03"]
)
def test_only_long_rsa_keys_are_checked_by_hand(body: bytes) -> None:
    with pytest.raises(Invalid):
        rsa_key(body)


@given(st.binary(max_size=400))
def test_no_bytes_of_a_stranger_do_more_than_be_refused(content: bytes) -> None:
    for read in (signatures, rsa_signature, rsa_key):
        with suppress(Invalid):
            read(content)
    header = b"\xc2\xff" + len(content).to_bytes(4, "big")
    with pytest.raises(Invalid):
        signer_of(DOCUMENT, header + content, [OLD_KEY, LASTING_KEY], NOW)


@pytest.mark.parametrize(("place", "value"), [(0, 3), (1, 1), (2, 17), (3, 2), (3, 1)])
def test_an_old_key_signs_only_binary_documents_with_a_sound_hash(place: int, value: int) -> None:
    body = bytearray(signatures(BY_OLD)[0].body)
    body[place] = value
    assert rsa_signature(bytes(body)) is None
