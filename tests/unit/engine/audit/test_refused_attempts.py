"""Attempts that were refused: a flood of them is a few lines."""

from tinkbox.engine.audit.refused_attempts import LINES, MOST, OTHERS, WINDOW, RefusedAttempts
from tinkbox.model.audit import Act, Kind


def attempt(source: str, who: str = "") -> Act:
    return Act(kind=Kind.REFUSED, source=source, who=who, what="GET /v1/hardware", status=401)


def test_first_attempt_of_a_host_is_told_at_once_and_those_that_follow_once_a_minute() -> None:
    refused = RefusedAttempts()
    assert refused.note(attempt("192.0.2.1"))
    assert not refused.note(attempt("192.0.2.1"))
    (first,) = refused.due(0.0)
    assert (first.source, first.times) == ("192.0.2.1", 2)
    assert not refused.note(attempt("192.0.2.1"))
    assert refused.due(WINDOW - 1) == []
    (later,) = refused.due(WINDOW)
    assert later.times == 1
    assert refused.due(3 * WINDOW) == []
    assert refused.note(attempt("192.0.2.1")), "it is news again"


def test_hosts_and_people_are_told_apart_up_to_so_many() -> None:
    refused = RefusedAttempts()
    for number in range(1000):
        refused.note(attempt(f"192.0.2.{number}"))
    told = refused.due(0.0)
    assert len(told) == MOST + 1
    assert (told[-1].source, told[-1].times) == (OTHERS, 1000 - MOST)
    assert sum(each.times for each in told) == 1000


def test_person_who_lacks_a_right_is_told_apart_from_a_stranger_of_the_same_host() -> None:
    refused = RefusedAttempts()
    for who in ("", "anna", "", "anna", "bert"):
        refused.note(attempt("192.0.2.1", who))
    assert [(each.who, each.times) for each in refused.due(0.0)] == [("", 2), ("anna", 2), ("bert", 1)]


def test_hours_of_attempts_are_bounded_and_none_is_lost() -> None:
    refused, lines, tried, told = RefusedAttempts(), 0, 0, 0
    for minute in range(24 * 60):
        for number in range(40):
            refused.note(attempt(f"192.0.2.{minute % 7}.{number}"))
            tried += 1
        due = refused.due(minute * WINDOW)
        lines += len(due)
        told += sum(each.times for each in due)
    told += sum(each.times for _ in range(30) for each in refused.due(100 * 24 * 60 * WINDOW, all_of_them=True))
    assert lines <= LINES.burst + 24 * 3600 * LINES.a_second
    assert told == tried
