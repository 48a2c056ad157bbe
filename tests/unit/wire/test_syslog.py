"""What machines say by syslog, read as RFC 3164 and RFC 5424 want it, and as machines do it."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tests.processor_time import takes_at_most
from tinkbox.wire.syslog import MAX_LINES, MAX_PROGRAM, MAX_TEXT, Message, Severity, parse


def one(datagram: bytes) -> tuple[int, int, str, str]:
    (message,) = parse(datagram)
    return (message.facility, message.severity, message.program, message.text)


@pytest.mark.parametrize(
    ("datagram", "expected"),
    [
        # RFC 3164 §5.4
        (b"<34>Oct 11 22:14:15 mymachine su: 'su root' failed for lonvick on /dev/pts/8",
         (4, 2, "su", "'su root' failed for lonvick on /dev/pts/8")),
        (b"<13>Feb  5 17:32:18 10.0.0.99 Use the BFG!", (1, 5, "", "10.0.0.99 Use the BFG!")),
        # RFC 5424 §6.5
        (b"<34>1 2003-10-11T22:14:15.003Z mymachine.example.com su - ID47 - \xef\xbb\xbf'su root' failed for lonvick",
         (4, 2, "su", "'su root' failed for lonvick")),
        (b"<165>1 2003-08-24T05:14:15.000003-07:00 192.0.2.1 myproc 8710 - - %% It's time to make the do-nuts.",
         (20, 5, "myproc", "%% It's time to make the do-nuts.")),
        (b'<165>1 2003-10-11T22:14:15.003Z m evntslog - ID47 [exampleSDID@32473 iut="3" a="x\\"]y"][b@1 c="1"] An event',
         (20, 5, "evntslog", "An event")),
        (b"<14>1 - - - - - - nothing known", (1, 6, "", "nothing known")),
        (b"<14>1 - - prog - - - a [b] c", (1, 6, "prog", "a [b] c")),
        # As programs do it.
        (b"<13>Nov 21 17:44:30 osie: [3.2] network card eth0", (1, 5, "osie", "[3.2] network card eth0")),
        (b"<6>Nov 21 17:44:30 kernel: [    0.000000] Linux version 6.1", (0, 6, "kernel", "[    0.000000] Linux version 6.1")),
        (b"<30>Nov 21 17:44:30 host dockerd[123]: API listen", (3, 6, "dockerd", "API listen")),
        (b"<134>ipxe: initialised", (16, 6, "ipxe", "initialised")),
        (b"<134>host-1 ipxe: initialised", (16, 6, "ipxe", "initialised")),
        (b"<134>two words: here", (16, 6, "", "two words: here")),
        (b"<5>[    1.5] usb 1-1: new device", (0, 5, "", "[    1.5] usb 1-1: new device")),
        (b"no priority", (1, 5, "", "no priority")),
        (b"<999>x", (1, 5, "", "x")),
        (b"<192>x", (1, 5, "", "x")),
        (b"<191>x", (23, 7, "", "x")),
        (b"<14>a\ttab", (1, 6, "", "a       tab")),
        (b"<14>1 - - `sh` - - - a", (1, 6, "'sh'", "a")),
    ],
)  # fmt: skip
def test_a_message_is_read(datagram: bytes, expected: tuple[int, int, str, str]) -> None:
    assert one(datagram) == expected


def test_every_line_of_a_datagram_is_a_message() -> None:
    messages = parse(b"<6>first\n\n<3>second\r\n\0")
    assert [(each.severity, each.text) for each in messages] == [(6, "first"), (3, "second")]


def test_of_a_datagram_full_of_lines_only_the_first_few_are_read() -> None:
    assert [each.text for each in parse(b"a\n" * 4_000)] == ["a"] * MAX_LINES
    assert [each.text for each in parse(b"\n" * 8 + b"b")] == ["b"]
    assert parse(b"\n" * MAX_LINES + b"b") == ()


def test_where_nothing_is_said_there_is_no_message() -> None:
    for datagram in (b"", b"\0", b"<13>", b"<13>Nov 21 17:44:30 su: ", b"<14>1 - - - - - -", b"\x1b\x07"):
        assert parse(datagram) == (), datagram


def test_control_characters_are_gone_and_length_is_bounded() -> None:
    (message,) = parse(b"<14>p\x07rog: \x1b]0;owned\x07 " + b"x" * 5_000)
    assert message.text.startswith("p rog:  ]0;owned  xxx")
    assert len(message.text) == MAX_TEXT
    (message,) = parse(b"<14>1 - - " + b"p" * 500 + b" - - - text")
    assert (len(message.program), message.text) == (MAX_PROGRAM, "text")


@given(st.binary(max_size=400))
def test_whatever_comes_what_is_made_of_it_can_be_shown(datagram: bytes) -> None:
    for message in parse(datagram):
        assert isinstance(message, Message)
        assert isinstance(message.severity, Severity)
        assert message.text.isprintable()
        assert message.program.isprintable()
        assert 0 < len(message.text) <= MAX_TEXT


@pytest.mark.parametrize(
    "hostile",
    [
        b"<14>1 - - - - - " + b'["' * 4_000,
        b"<14>1 - - - - - " + b"[a]" * 2_700,
        b"<14>1 - - - - - " + b'[a b="' + b"\\" * 8_000,
        b"<14>" + b"a" * 8_000,
        b"<14>" + b"a " * 4_000,
        b"<14>Nov 21 17:44:30 " + b"a" * 8_000 + b" " * 100,
        b"<14>1 " * 2_000,
    ],
)
def test_no_text_takes_long_to_read(hostile: bytes) -> None:
    assert takes_at_most(0.25, lambda: parse(hostile))
