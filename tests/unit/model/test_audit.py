"""Lines of the audit: how large one may be, so that others can be sent it whole."""

import json
from datetime import UTC, datetime

import pytest

from tinkbox.model.audit import (
    MOST_OCTETS,
    NONE_BEFORE,
    Act,
    Chain,
    Changed,
    Did,
    Kind,
    Line,
    in_lines,
    line_from_document,
    line_of,
)
from tinkbox.wire.syslog import Severity, datagram, framed

NOW = datetime(2026, 11, 30, 12, 0, 0, 123456, tzinfo=UTC)
LARGEST = 8192
DIGEST = "sha256:" + "0" * 64


def lines_of(act: Act) -> list[Line]:
    lines: list[Line] = []
    for number, each in enumerate(in_lines(act), 10**12):
        lines.append(line_of(each, number, NOW, lines[-1].digest if lines else NONE_BEFORE))
    return lines


def message(line: Line) -> bytes:
    return framed(
        datagram(
            facility=10, severity=Severity.NOTICE, at=NOW.isoformat(), host="h" * 255, program="tinkbox", kind="audit",
            text=json.dumps(line.document()),
        )
    )  # fmt: skip


@pytest.mark.parametrize("letter", ["a", "ü", "€", "😀", "\x00", '"', "\udc80"])
@pytest.mark.parametrize("number", [0, 1, 3, 1000])
def test_each_line_fits_into_a_message_that_syslog_servers_take(letter: str, number: int) -> None:
    text = letter * 5000
    act = Act(
        kind=Kind.DONE, who=text, how="socket", source=text, what=text, object=text, asked=10**12, status=200,
        times=10**9, why=text, did=[Did(text, text)] * number, changed=[Changed("hardware", text, DIGEST, DIGEST)] * number,
    )  # fmt: skip
    lines = lines_of(act)
    assert max(len(message(each)) for each in lines) < LARGEST
    assert max(len(json.dumps(each.document())) for each in lines) <= MOST_OCTETS
    assert sum(len(each.document().get("did", ())) for each in lines) == number
    assert sum(len(each.document().get("changed", ())) for each in lines) == number


def test_a_change_of_many_machines_names_each_of_them_once_and_its_lines_are_one_chain() -> None:
    names = [f"0eba0bf8-3772-4b4a-ab9f-6ebe93b9{each:04}" for each in range(1000)]
    act = Act(
        kind=Kind.DONE, who="anna", how="token", what="POST /v1/hardware", asked=7, status=200,
        did=[Did("hardware pushed", each) for each in names],
        changed=[Changed("hardware", each, "", DIGEST) for each in names[:500]],
    )  # fmt: skip
    lines = lines_of(act)
    told = [each.document() for each in lines]
    assert [did["which"] for each in told for did in each["did"]] == names
    assert [changed["key"] for each in told for changed in each.get("changed", ())] == names[:500]
    assert {(each["kind"], each["asked"], each["who"]) for each in told} == {("done", 7, "anna")}
    chain = Chain(10**12 - 1)
    for each in told:
        chain.add(line_from_document(json.loads(json.dumps(each))))
    assert chain.verdict().problem == ""
    assert len(lines) < 50, "a line is used well"


def test_names_of_the_usual_length_are_whole() -> None:
    names = ["n" * 300, "größe-" * 30, "机" * 110]
    told = [each.document()["object"] for name in names for each in in_lines(Act(kind=Kind.OWN, object=name))]
    assert told == names
    (cut,) = in_lines(Act(kind=Kind.OWN, object="机" * 200))
    assert cut.document()["object"] == "机" * 115 + "…"


def test_a_line_of_before_that_is_larger_is_still_as_it_was_written() -> None:
    act = Act(kind=Kind.DONE, did=[Did("hardware pushed", "x" * 300)] * 100)
    chain = Chain()
    chain.add(line_from_document(line_of(act, 1, NOW, NONE_BEFORE).document()))
    assert chain.verdict().problem == ""
