"""What is said about names: octet by octet where it matters, and the bounds whatever is asked."""

import struct
from ipaddress import IPv4Address

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tinkbox.wire.dns import GROWTH, Zone

ZONE = Zone("workflows.tinkbox.internal", IPv4Address("172.30.0.1"))
WORKFLOW = "0b4a67b2-6f0e-4a54-9a52-3f3dbd6a1c11"
NAME = f"{WORKFLOW}.workflows.tinkbox.internal"
A, NS, SOA, AAAA, OPT, TSIG, IXFR, AXFR, ANY = 1, 2, 6, 28, 41, 250, 251, 252, 255
NOERROR, FORMERR, NXDOMAIN, NOTIMP, REFUSED = 0, 1, 3, 4, 5
EDNS = struct.pack(">BHHBBHH", 0, OPT, 4096, 0, 0, 0x8000, 0)


def labels(name: str) -> bytes:
    return b"".join(bytes([len(each)]) + each.encode() for each in name.split(".") if each) + b"\0"


def question(name: str, kind: int = A, *, kind_class: int = 1, flags: int = 0x0100, more: bytes = b"") -> bytes:
    header = struct.pack(">6H", 0x1234, flags, 1, 0, 0, 1 if more else 0)
    return header + labels(name) + struct.pack(">HH", kind, kind_class) + more


def said(message: bytes) -> tuple[int, ...]:
    """Identity, flags without the response code, the code, and how many records each section has."""
    answer = ZONE.answer(message)
    assert answer is not None
    identity, flags, *counts = struct.unpack_from(">6H", answer)
    return (identity, flags & 0xFFF0, flags & 0xF, *counts)


def test_the_address_of_a_workflow_octet_by_octet() -> None:
    answer = ZONE.answer(question(NAME))
    assert answer == (
        bytes.fromhex("1234 8500 0001 0001 0000 0000")
        + labels(NAME) + bytes.fromhex("0001 0001")
        + bytes.fromhex("c00c 0001 0001 0000003c 0004 ac1e0001")
    )  # fmt: skip


def test_that_there_is_no_such_name_octet_by_octet() -> None:
    answer = ZONE.answer(question("x.workflows.tinkbox.internal"))
    assert answer == (
        bytes.fromhex("1234 8503 0001 0000 0001 0000")
        + labels("x.workflows.tinkbox.internal") + bytes.fromhex("0001 0001")
        + bytes.fromhex("c00e 0006 0001 00000005 0023") + bytes.fromhex("c00e 0a") + b"hostmaster"
        + bytes.fromhex("c00e 00000001 00000e10 00000258 00015180 00000005")
    )  # fmt: skip


@pytest.mark.parametrize(
    ("name", "kind", "code", "counts"),
    [
        (NAME, A, NOERROR, (1, 1, 0, 0)),
        (NAME.upper(), A, NOERROR, (1, 1, 0, 0)),
        (NAME, ANY, NOERROR, (1, 1, 0, 0)),
        (NAME, AAAA, NOERROR, (1, 0, 1, 0)),
        (NAME, 65_280, NOERROR, (1, 0, 1, 0)),
        (NAME, SOA, NOERROR, (1, 0, 1, 0)),
        ("workflows.tinkbox.internal", SOA, NOERROR, (1, 1, 0, 0)),
        ("workflows.tinkbox.internal", NS, NOERROR, (1, 1, 0, 0)),
        ("workflows.tinkbox.internal", A, NOERROR, (1, 1, 0, 0)),
        ("workflows.tinkbox.internal", AAAA, NOERROR, (1, 0, 1, 0)),
        (f"a.{NAME}", A, NXDOMAIN, (1, 0, 1, 0)),
        (f"{WORKFLOW}x.workflows.tinkbox.internal", A, NXDOMAIN, (1, 0, 1, 0)),
        (f"{WORKFLOW[:-1]}.workflows.tinkbox.internal", A, NXDOMAIN, (1, 0, 1, 0)),
        ("*.workflows.tinkbox.internal", A, NXDOMAIN, (1, 0, 1, 0)),
    ],
)
def test_within_the_domain_the_answer_is_final(name: str, kind: int, code: int, counts: tuple[int, ...]) -> None:
    assert said(question(name, kind)) == (0x1234, 0x8500, code, *counts)


@pytest.mark.parametrize(
    "name",
    ["", "internal", "tinkbox.internal", "example.com", f"{WORKFLOW}.workflows.tinkbox.internal.example.com",
     "xworkflows.tinkbox.internal", f"{WORKFLOW}.other.tinkbox.internal"],
)  # fmt: skip
@pytest.mark.parametrize("kind", [A, SOA, ANY])
def test_nothing_else_is_answered_or_looked_up(name: str, kind: int) -> None:
    assert said(question(name, kind)) == (0x1234, 0x8100, REFUSED, 1, 0, 0, 0)


@pytest.mark.parametrize(("kind", "kind_class"), [(AXFR, 1), (IXFR, 1), (A, 3), (A, 255), (A, 0), (A, 65_535)])
def test_transfers_and_other_classes_are_refused(kind: int, kind_class: int) -> None:
    assert said(question(NAME, kind, kind_class=kind_class))[2] == REFUSED


def test_a_name_comes_back_as_it_was_spelled() -> None:
    spelled = "0B4a67B2-6f0e-4A54-9a52-3F3dbd6a1c11.WorkFlows.tinkbox.INTERNAL"
    answer = ZONE.answer(question(spelled))
    assert answer is not None
    assert answer[12:].startswith(labels(spelled))
    assert answer.endswith(bytes([172, 30, 0, 1]))
    assert answer.lower().count(b"workflows") == 1


def test_recursion_is_never_offered_and_the_wish_for_it_comes_back() -> None:
    assert said(question(NAME, flags=0x0000))[1] == 0x8400
    assert said(question(NAME, flags=0x0100))[1] == 0x8500
    assert said(question(NAME, flags=0x07B0))[1] == 0x8500, "neither TC, RA nor the rest is repeated"


def test_the_extension_is_spoken_with_whoever_speaks_it() -> None:
    answer = ZONE.answer(question(NAME, more=EDNS))
    assert answer is not None
    assert answer.endswith(struct.pack(">BHHBBHH", 0, OPT, 1232, 0, 0, 0, 0))
    assert said(question(NAME, more=EDNS))[3:] == (1, 1, 0, 1)
    options = bytes.fromhex("000c 0004 00000000")  # padding (RFC 7830): nobody gets more for it
    padded = ZONE.answer(question(NAME, more=EDNS[:-2] + struct.pack(">H", len(options)) + options))
    assert padded == answer


def test_a_later_version_of_the_extension_is_answered_with_ours() -> None:
    answer = ZONE.answer(question(NAME, more=struct.pack(">BHHBBHH", 0, OPT, 4096, 0, 1, 0, 0)))
    assert answer is not None
    assert struct.unpack_from(">6H", answer)[1] == 0x8100
    assert answer.endswith(struct.pack(">BHHBBHH", 0, OPT, 1232, 1, 0, 0, 0)), "BADVERS is 16: 1 here, 0 in the header"


def test_answers_and_scraps_are_met_with_silence() -> None:
    for message in (b"", question(NAME)[:11], question(NAME, flags=0x8100), ZONE.answer(question(NAME)) or b""):
        assert ZONE.answer(message) is None


@pytest.mark.parametrize("opcode", [1, 2, 4, 5, 15])
def test_nothing_but_questions_is_understood(opcode: int) -> None:
    assert ZONE.answer(question(NAME, flags=opcode << 11 | 0x0100)) == struct.pack(
        ">6H", 0x1234, 0x8100 | opcode << 11 | NOTIMP, 0, 0, 0, 0
    )


def header(*counts: int) -> bytes:
    return struct.pack(">6H", 0x1234, 0x0100, *counts)


ASKED = question(NAME)[12:]


@pytest.mark.parametrize(
    "message",
    [
        header(0, 0, 0, 0),
        header(2, 0, 0, 0) + ASKED + ASKED,
        header(1, 1, 0, 0) + ASKED + EDNS,
        header(1, 0, 1, 0) + ASKED + EDNS,
        header(1, 0, 0, 2) + ASKED + EDNS + EDNS,
        header(1, 0, 0, 1) + ASKED,
        header(1, 0, 0, 1) + ASKED + EDNS[:-1],
        header(1, 0, 0, 1) + ASKED + EDNS[:-1] + b"\x09",
        header(1, 0, 0, 1) + ASKED + b"\x01x" + EDNS,
        header(1, 0, 0, 1) + ASKED + struct.pack(">BHHIH", 0, TSIG, 255, 0, 0),
        question(NAME) + b"x",
        question(NAME)[:-1],
        header(1, 0, 0, 0) + b"\x40" + b"x" * 64 + b"\0" + b"\0\1\0\1",
        header(1, 0, 0, 0) + b"\xc0\x0c" + b"\0\1\0\1",
        header(1, 0, 0, 0) + b"\xc0\x05" + b"\0\1\0\1",
        header(1, 0, 0, 0) + b"\x3f" + b"x" * 63 + b"\xc0\x0b" + b"\0\1\0\1",
        header(1, 0, 0, 0) + (b"\x3f" + b"x" * 63) * 4 + b"\0" + b"\0\1\0\1",
    ],
)
def test_what_is_malformed_is_told_so_in_a_header(message: bytes) -> None:
    assert ZONE.answer(message) == struct.pack(">6H", 0x1234, 0x8100 | FORMERR, 0, 0, 0, 0)


@st.composite
def spoiled(draw: st.DrawFn) -> bytes:
    """A question that was cut, spliced and appended to."""
    whole = draw(
        st.sampled_from(
            [
                question(NAME),
                question(NAME, AAAA, more=EDNS),
                question("workflows.tinkbox.internal", SOA),
                question("a.b"),
            ]
        )
    )
    start = draw(st.integers(0, len(whole)))
    end = draw(st.integers(start, min(len(whole), start + 8)))
    return whole[:start] + draw(st.binary(max_size=12)) + whole[end:] + draw(st.binary(max_size=4))


@given(spoiled() | st.binary(max_size=600))
def test_whatever_comes_the_answer_is_bounded_and_an_answer(message: bytes) -> None:
    answer = ZONE.answer(message)
    if answer is None:
        assert len(message) < 12 or message[2] & 0x80
    else:
        assert len(answer) <= len(message) + GROWTH
        assert answer[:2] == message[:2]
        assert answer[2] & 0x80
        assert ZONE.answer(answer) is None, "two of us never talk to each other"


NAMES = st.lists(st.sampled_from(["a", "x" * 63, WORKFLOW, "*", "workflows", "tinkbox", "internal"]), max_size=8)


@given(NAMES, st.booleans(), st.integers(0, 65_535), st.integers(0, 65_535), st.booleans())
def test_however_long_a_name_is_the_answer_grows_no_more_than_that(
    words: list[str], ours: bool, kind: int, kind_class: int, edns: bool
) -> None:
    name = ".".join([*words, *(["workflows", "tinkbox", "internal"] if ours else [])])
    message = question(name, kind, kind_class=1 if ours else kind_class, more=EDNS if edns else b"")
    answer = ZONE.answer(message)
    assert answer is not None
    assert len(answer) <= min(512, len(message) + GROWTH)
