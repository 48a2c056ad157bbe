"""The certificates that UEFI firmware keeps: read, written, ours put in, those of others left alone."""

import base64
import hashlib
import struct
from uuid import UUID

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.model.errors import Invalid
from tinkbox.wire.efi_signature_lists import (
    MOST_BYTES,
    OWNER,
    X509,
    SignatureList,
    authority_fingerprint,
    certificates,
    read_lists,
    with_authorities,
    write_lists,
)

OTHER = UUID("77fa9abd-0359-4d32-bd60-28f4e78f784b")
SHA256 = UUID("c1c41626-504c-4092-aca9-41f936934328")
OWN, OLD = b"\x30\x82own authority", b"\x30\x82authority of before, of another length"


def one(owner: UUID, data: bytes, kind: UUID = X509) -> SignatureList:
    return SignatureList(kind=kind, header=b"", entries=((owner, data),))


def pem(*contents: bytes) -> str:
    return "".join(
        f"-----BEGIN CERTIFICATE-----\n{base64.encodebytes(each).decode()}-----END CERTIFICATE-----\n"
        for each in contents
    )


entries = st.integers(0, 40).flatmap(
    lambda size: st.lists(st.tuples(st.uuids(), st.binary(min_size=size, max_size=size)), min_size=1, max_size=4)
)
lists = st.lists(
    st.builds(
        lambda kind, header, found: SignatureList(kind=kind, header=header, entries=tuple(found)),
        st.sampled_from([X509, SHA256]),
        st.binary(max_size=8),
        entries,
    ),
    max_size=4,
).map(tuple)


def test_one_certificate_is_written_as_the_specification_has_it() -> None:
    guid = bytes.fromhex("a159c0a5e494a74a87b5ab155c2bf072")
    size = 16 + len(OWN)
    expected = guid + struct.pack("<III", 28 + size, 0, size) + OWNER.bytes_le + OWN
    assert with_authorities(b"", (OWN,)) == expected


@given(lists)
def test_what_is_written_is_read_back(found: tuple[SignatureList, ...]) -> None:
    assert read_lists(write_lists(found)) == found


@given(lists, st.lists(st.binary(min_size=1, max_size=60), min_size=1, max_size=2, unique=True).map(tuple))
def test_nothing_of_others_is_lost_and_a_second_time_changes_nothing(
    found: tuple[SignatureList, ...], own: tuple[bytes, ...]
) -> None:
    made = with_authorities(write_lists(found), own)
    of_others = [each for each in found if all(owner != OWNER for owner, _ in each.entries)]
    assert [each for each in read_lists(made) if all(owner != OWNER for owner, _ in each.entries)] == of_others
    assert with_authorities(made, own) == made
    there = {data for each in read_lists(made) if each.kind == X509 for _, data in each.entries}
    assert set(own) <= there


def test_ours_of_another_authority_is_replaced_and_the_others_stay() -> None:
    before = write_lists((one(OTHER, b"theirs"), one(OWNER, OLD), one(OTHER, b"digest", SHA256)))
    after = with_authorities(before, (OWN,))
    assert read_lists(after) == (one(OTHER, b"theirs"), one(OTHER, b"digest", SHA256), one(OWNER, OWN))


def test_of_a_list_that_is_shared_only_our_entry_goes() -> None:
    shared = SignatureList(kind=X509, header=b"", entries=((OTHER, b"12345"), (OWNER, b"54321")))
    after = with_authorities(write_lists((shared,)), (OWN,))
    assert read_lists(after) == (one(OTHER, b"12345"), one(OWNER, OWN))


def test_an_authority_that_a_person_put_there_is_not_put_there_twice() -> None:
    before = write_lists((one(OTHER, OWN),))
    assert with_authorities(before, (OWN,)) == before


@pytest.mark.parametrize(
    "content",
    [
        b"\0",
        bytes(27),
        bytes(28),
        X509.bytes_le + struct.pack("<III", 28, 0, 0),
        X509.bytes_le + struct.pack("<III", 2**32 - 1, 0, 16),
        X509.bytes_le + struct.pack("<III", 44, 2**32 - 1, 16) + bytes(16),
        X509.bytes_le + struct.pack("<III", 45, 0, 16) + bytes(17),
        X509.bytes_le + struct.pack("<III", 44, 20, 16) + bytes(16),
        write_lists((one(OTHER, b"theirs"),)) + b"more",
        write_lists((one(OTHER, b"theirs"),))[:-1],
    ],
)
def test_what_is_no_list_is_refused_and_not_written_over(content: bytes) -> None:
    with pytest.raises(Invalid, match="no list of signatures"):
        with_authorities(content, (OWN,))


@given(st.binary(max_size=200))
def test_whatever_a_variable_holds_it_is_read_or_refused(content: bytes) -> None:
    try:
        found = read_lists(content)
    except Invalid:
        return
    assert sum(len(each.entries) for each in found) <= len(content)


def test_more_than_firmware_has_room_for_is_refused() -> None:
    full = write_lists((one(OTHER, bytes(MOST_BYTES - 60)),))
    with pytest.raises(Invalid, match="more than 32768"):
        with_authorities(full, (OWN,))


def test_the_authority_is_read_of_pem_with_whatever_stands_around_it() -> None:
    assert certificates(f"subject=x\n{pem(OWN)}\n{pem(OLD)}") == (OWN, OLD)
    assert certificates(pem(OWN).replace("\n", "\r\n")) == (OWN,)


@pytest.mark.parametrize("text", ["", "no certificate", pem(OWN).replace("MI", "M-"), pem(OWN)[:40]])
def test_what_is_no_certificate_is_refused(text: str) -> None:
    with pytest.raises(Invalid, match="no certificate in PEM"):
        certificates(text)


def test_an_authority_is_known_by_the_digest_that_openssl_prints() -> None:
    assert authority_fingerprint(pem(OWN)).replace(":", "").lower() == f"sha256{hashlib.sha256(OWN).hexdigest()}"
    assert authority_fingerprint("") == ""
