"""Copies of the audit in files: what a syslog server wrote, with lines that came twice."""

import json
from collections.abc import Sequence
from datetime import UTC, datetime

import pytest

from tinkbox.model.audit import NONE_BEFORE, Act, Chain, Kind, Verdict, canonical, line_digest, line_of
from tinkbox.model.audit_copies import CopiedLines
from tinkbox.model.errors import Invalid

AT = datetime(2026, 11, 30, 16, tzinfo=UTC)
TRADITIONAL = "Nov 30 16:00:00 box tinkbox: "
RFC_5424 = "<110>1 2026-11-30T16:00:00.000000+00:00 box tinkbox - audit - "


def written(count: int) -> list[bytes]:
    """Lines as `tinkbox audit export` prints them."""
    found, previous = [], NONE_BEFORE
    for number in range(1, count + 1):
        line = line_of(Act(kind=Kind.OWN, what="x {y}", object="z"), number, AT, previous)
        previous = line.digest
        found.append(json.dumps(line.document()).encode() + b"\n")
    return found


def examined(lines: Sequence[bytes], after: int = 0) -> tuple[Verdict, int]:
    copied, chain = CopiedLines(after), Chain(after)
    for each in lines:
        if (line := copied.take(each)) is not None:
            chain.add(line)
    return chain.verdict(), copied.again


@pytest.mark.parametrize("head", ["", TRADITIONAL, RFC_5424])
def test_the_head_that_a_syslog_server_writes_is_passed_over(head: str) -> None:
    verdict, again = examined([head.encode() + each for each in written(3)])
    assert (verdict.problem, verdict.lines, again) == ("", 3, 0)


def test_lines_that_came_again_as_they_were_are_counted_and_no_fault() -> None:
    lines = written(6)
    verdict, again = examined([*lines[:5], *lines[2:5], lines[5]], after=1)
    assert (verdict.problem, verdict.lines, verdict.last, again) == ("", 5, 6, 3)


def test_a_line_that_came_again_changed_is_a_fault() -> None:
    lines = written(4)
    forged = json.loads(lines[1])
    forged["what"] = "nothing"
    verdict, _ = examined([*lines, json.dumps(forged).encode()])
    assert "line 2 is not as it was written" in verdict.problem
    del forged["digest"]
    forged["digest"] = line_digest(canonical(forged))
    verdict, _ = examined([*lines, json.dumps(forged).encode()])
    assert "line 2 follows line 4" in verdict.problem


@pytest.mark.parametrize("more", ['{"who":"eve",', '{"what":"token revoked",'])
def test_a_line_with_a_key_twice_is_refused(more: str) -> None:
    """Whoever reads the line sees another one than its digest is of."""
    line = written(1)[0].decode().replace("{", more, 1)
    with pytest.raises(Invalid, match="twice, which no line of the audit has"):
        examined([line.encode()])


def test_a_line_in_another_place_is_a_fault() -> None:
    lines = written(4)
    verdict, _ = examined([lines[0], lines[2], lines[1], lines[3]])
    assert "line 2 is missing or in another place" in verdict.problem


@pytest.mark.parametrize("line", [b"\n", b"Nov 30 16:00:00 box tinkbox: torn {", b"[]\n", b"{}\n"])
def test_what_is_no_line_of_an_audit_is_refused(line: bytes) -> None:
    with pytest.raises(Invalid):
        CopiedLines().take(line)
