"""Asking the time servers of a host."""

import struct
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest

from tinkbox.vitals.time_servers import configured, is_timeless, question, read_answer

NOW = datetime(2026, 11, 29, 12, tzinfo=UTC)
SECOND = timedelta(seconds=1)
IDENTITY = bytes(range(8))


def answer(at: datetime, *, first: int = 0x24, stratum: int = 2, identity: bytes = IDENTITY, era: int = 0) -> bytes:
    seconds = int((at - datetime(1900, 1, 1, tzinfo=UTC)).total_seconds()) % (1 << 32)
    stamp = struct.pack(">2I", seconds, 1 << 31)  # and half a second
    return bytes((first, stratum, 6, 0xEC)) + bytes(12) + stamp + identity + stamp + stamp


def test_the_question_is_a_clients_and_names_no_time() -> None:
    assert question(IDENTITY) == b"\x23" + bytes(39) + IDENTITY


def test_an_answer_tells_how_far_the_clock_is_ahead() -> None:
    behind = NOW - timedelta(days=365)
    assert read_answer(answer(NOW), IDENTITY, NOW, NOW + SECOND) == timedelta()
    assert read_answer(answer(NOW), IDENTITY, behind, behind + SECOND) == -timedelta(days=365)
    late = datetime(2036, 3, 1, tzinfo=UTC)  # the count begins anew in February
    assert read_answer(answer(late), IDENTITY, late, late + 3 * SECOND) == SECOND


@pytest.mark.parametrize(
    "other",
    [
        b"",
        answer(NOW)[:47],
        answer(NOW, identity=bytes(8)),
        answer(NOW, stratum=0),  # a kiss of death
        answer(NOW, stratum=16),
        answer(NOW, first=0xE4),  # it is not synchronised itself
        answer(NOW, first=0x23),
    ],
)
def test_what_tells_no_time_is_passed_over(other: bytes) -> None:
    assert read_answer(other, IDENTITY, NOW, NOW) is None


@pytest.mark.parametrize(
    ("told", "timeless"),
    [
        (answer(NOW), False),
        (answer(NOW, stratum=16), True),
        (answer(NOW, first=0xE4), True),
        (answer(NOW, first=0xE4, stratum=0), True),
        (answer(NOW, first=0xE4, stratum=16, identity=bytes(8)), False),
        (answer(NOW, first=0xE4, stratum=0)[:12] + b"RATE" + answer(NOW)[16:], False),
        (b"", False),
    ],
)
def test_a_server_that_is_not_synchronised_is_told_from_one_that_sends_us_away(told: bytes, timeless: bool) -> None:
    assert is_timeless(told, IDENTITY) is timeless


def test_the_servers_are_those_that_the_host_is_configured_with(tmp_path: Path) -> None:
    assert configured(tmp_path) == ()
    for name, text in (
        ("etc/systemd/timesyncd.conf", "[Time]\n#NTP=no\nFallbackNTP=last.example\n"),
        ("etc/systemd/timesyncd.conf.d/own.conf", "[Time]\nNTP=one.example two.example\n"),
        ("etc/chrony/chrony.conf", "# server no\nmakestep 1 3\npool two.example iburst\nserver 10.0.0.1\n"),
    ):
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text)
    assert configured(tmp_path) == ("last.example", "one.example", "two.example")
