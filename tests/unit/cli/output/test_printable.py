"""Times: of one form for everything, in the zone of this host or in UTC."""

import time
from collections.abc import Iterator
from contextvars import copy_context
from datetime import UTC, datetime

import pytest

from tinkbox.cli.output import printable
from tinkbox.cli.output.printable import Times, age, moment, times_look, wrapped


@pytest.fixture
def berlin(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with monkeypatch.context() as changed:
        changed.setenv("TZ", "CET-1CEST,M3.5.0,M10.5.0/3")
        time.tzset()
        yield
    time.tzset()


def looks(times: Times, text: str) -> str:
    def told() -> str:
        times_look(times)
        return moment(text)

    return copy_context().run(told)


def test_times_are_local_with_their_zone(berlin: None) -> None:
    assert moment("2026-11-27T16:20:05.123456+00:00") == "2026-11-27 17:20:05 CET"
    assert moment("2026-07-27T16:20:05+02:00") == "2026-07-27 16:20:05 CEST"
    assert (moment(None), moment("")) == ("", "")


def test_times_can_be_utc_and_as_go_prints_them(berlin: None) -> None:
    assert looks(Times.UTC, "2026-11-27T17:20:05+01:00") == "2026-11-27 16:20:05 UTC"
    assert looks(Times.GO, "2026-11-27T17:20:05+01:00") == "2026-11-27 16:20:05 +0000 UTC"


def test_an_age_counts_from_now(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(printable, "now", lambda: datetime(2026, 11, 27, 16, 20, tzinfo=UTC))
    assert age("2026-11-27T14:00:00+00:00") == "2h"
    assert age("2026-11-27T18:00:00+01:00") == "0s"
    assert age(None) == ""


def test_a_command_stays_on_one_line_and_is_longer_than_that_rather_than_broken() -> None:
    command = "`iptables -I INPUT -i lab -p udp --dport 67 -j ACCEPT`"
    assert wrapped(f"Open it: {command}, and look again.", 40, "  ", "  ") == [
        "  Open it:",
        f"  {command},",
        "  and look again.",
    ]
    assert wrapped("a word `and a`", 12) == ["a word", "`and a`"]
