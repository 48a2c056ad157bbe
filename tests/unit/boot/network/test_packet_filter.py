"""What the kernel keeps out of a real socket."""

import pytest

from tests.unit.boot.filtered_line import let_in, line
from tinkbox.boot.network.packet_filter import attach, detach

MAX_INSTRUCTIONS = 4096
EVERYTHING, NOTHING = (0x06, 0, 0, 0xFFFF), (0x06, 0, 0, 0)
FIRST_OCTET = (0x30, 0, 0, 8)  # behind the UDP header


def beginning_with(octet: bytes) -> list[tuple[int, int, int, int]]:
    return [FIRST_OCTET, (0x15, 0, 1, octet[0]), EVERYTHING, NOTHING]


def test_only_what_the_program_says_is_let_in_until_another_says_otherwise() -> None:
    with line() as bound:
        assert let_in(bound, b"a1", b"b2") == [b"a1", b"b2"]
        attach(bound, beginning_with(b"a"))
        assert let_in(bound, b"a1", b"b2", b"a3") == [b"a1", b"a3"]
        attach(bound, beginning_with(b"b"))
        assert let_in(bound, b"a1", b"b2", b"a3") == [b"b2"]
        detach(bound)
        assert let_in(bound, b"a1", b"b2") == [b"a1", b"b2"]


def test_what_is_no_program_is_refused_and_changes_nothing() -> None:
    with line() as bound:
        attach(bound, beginning_with(b"a"))
        for program in ([], [FIRST_OCTET], [(0x05, 0, 0, 7), EVERYTHING], [EVERYTHING] * (MAX_INSTRUCTIONS + 1)):
            with pytest.raises(OSError, match="Invalid argument"):
                attach(bound, program)
        assert let_in(bound, b"a1", b"b2") == [b"a1"]
        attach(bound, [EVERYTHING] * MAX_INSTRUCTIONS)
        assert let_in(bound, b"a1", b"b2") == [b"a1", b"b2"]
