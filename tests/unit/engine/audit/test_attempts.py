"""Attempts that came to nothing: none hides another one, and a flood of them is a few lines."""

from tinkbox.engine.audit.attempts import APART, DISTINCT, LINES, MOST, OTHER, OTHERS, WINDOW, Attempts
from tinkbox.model.audit import Act, Kind, shortened


def attempt(source: str, who: str = "", what: str = "GET /v1/hardware", about: str = "", status: int = 401) -> Act:
    return Act(kind=Kind.REFUSED, source=source, who=who, what=what, object=about, status=status)


def test_first_attempt_of_a_host_is_told_at_once_and_those_that_follow_once_a_minute() -> None:
    attempts = Attempts()
    assert attempts.note(attempt("192.0.2.1"))
    assert not attempts.note(attempt("192.0.2.1"))
    (first,) = attempts.due(0.0)
    assert (first.source, first.times) == ("192.0.2.1", 2)
    assert not attempts.note(attempt("192.0.2.1"))
    assert attempts.due(WINDOW - 1) == []
    (later,) = attempts.due(WINDOW)
    assert later.times == 1
    assert attempts.due(3 * WINDOW) == []
    assert attempts.note(attempt("192.0.2.1")), "it is news again"


def test_what_a_host_tries_is_told_apart_by_route_object_and_status() -> None:
    attempts = Attempts()
    tried = [("GET /v1/status", ""), ("DELETE /v1/secrets/{key}", "dbpw"), ("DELETE /v1/secrets/{key}", "other")]
    for what, about in (*tried, *tried):
        attempts.note(attempt("192.0.2.1", "anna", what, about, 403))
    assert [(each.what, each.object, each.times) for each in attempts.due(0.0)] == [(*each, 2) for each in tried]


def test_what_one_host_tries_beyond_a_number_is_one_line_that_names_routes_and_objects() -> None:
    attempts = Attempts()
    for number in range(DISTINCT + 30):
        attempts.note(attempt("192.0.2.1", what=f"GET /x{number}", status=404))
    attempts.note(attempt("192.0.2.1", what="DELETE /v1/secrets/{key}", about="dbpw", status=403))
    *apart, others = attempts.due(0.0)
    assert len(apart) == DISTINCT
    assert (others.what, others.times, others.source) == (OTHER, 31, "192.0.2.1")
    assert others.why.startswith("DELETE /v1/secrets/{key} 403: 1; GET /x20 404: 1; ")
    assert others.why.endswith("; of other routes: 26")
    assert others.names == ["dbpw"]
    assert len(others.why) < 300, "it is whole in a line"


def test_hosts_and_people_are_told_apart_up_to_so_many() -> None:
    attempts = Attempts()
    for number in range(1000):
        attempts.note(attempt(f"192.0.2.{number}"))
    told = attempts.due(0.0)
    assert len(told) == MOST + 1
    assert (told[-1].source, told[-1].times) == (OTHERS, 1000 - MOST)
    assert sum(each.times for each in told) == 1000


def test_person_who_lacks_a_right_is_told_apart_from_a_stranger_of_the_same_host() -> None:
    attempts = Attempts()
    for who in ("", "anna", "", "anna", "bert"):
        attempts.note(attempt("192.0.2.1", who))
    assert [(each.who, each.times) for each in attempts.due(0.0)] == [("", 2), ("anna", 2), ("bert", 1)]


def test_host_that_tries_ever_else_takes_no_line_from_others() -> None:
    attempts, lines = Attempts(), 0
    for minute in range(60):
        for number in range(100):
            attempts.note(attempt("192.0.2.1", what=f"GET /{minute}/{number}"))
        lines += len(attempts.due(minute * WINDOW))
    assert lines <= APART.burst + 3600 * APART.a_second + 60
    attempts.note(attempt("192.0.2.2", what="DELETE /v1/secrets/{key}", about="dbpw"))
    assert ("192.0.2.2", "dbpw") in {(each.source, each.object) for each in attempts.due(60 * WINDOW)}


def test_name_that_is_long_is_short_and_told_by_its_length_and_digest() -> None:
    attempts = Attempts()
    attempts.note(attempt("192.0.2.1", about="😀" * 300))
    attempts.note(attempt("192.0.2.1", about="😀" * 301))
    first, second = attempts.due(0.0)
    assert first.object.startswith("😀" * 40 + "… (300 letters, sha256:")
    assert first.object != second.object
    assert len(first.object) < 100
    assert shortened("n" * 100) == "n" * 100


def test_hours_of_attempts_are_bounded_and_none_is_lost() -> None:
    attempts, lines, tried, told = Attempts(), 0, 0, 0
    for minute in range(24 * 60):
        for number in range(40):
            attempts.note(attempt(f"192.0.2.{minute % 7}.{number}", what=f"GET /{minute * number}"))
            tried += 1
        due = attempts.due(minute * WINDOW)
        lines += len(due)
        told += sum(each.times for each in due)
    told += sum(each.times for _ in range(30) for each in attempts.due(100 * 24 * 60 * WINDOW, all_of_them=True))
    assert lines <= LINES.burst + 24 * 3600 * LINES.a_second
    assert told == tried
