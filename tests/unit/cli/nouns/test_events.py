"""`tinkbox events`: every event once, also over a restart of the appliance."""

import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed
from tests.unit.cli.documents import EVENTS
from tinkbox.cli.nouns import events

Tinkbox = Callable[..., Printed]


def stream(begin: int, *numbers: int) -> bytes:
    events = "".join(f'id: {number}\nevent: x\ndata: {{"kind": "x{number}"}}\n\n' for number in numbers)
    return f"id: {begin}\n\n: still here\n\n{events}".encode()


def test_events_are_lines_of_json_and_resume_where_they_were_cut_off(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The first connection ends before any event came, the second is never made.
    streams = [stream(4), None, stream(4, 5, 6), stream(6, 7)]
    appliance.answers["GET /v1/events"] = streams[0]
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == len(streams):
            raise KeyboardInterrupt
        following = streams[len(pauses)]
        appliance.away = following is None
        appliance.answers["GET /v1/events"] = following or b""

    monkeypatch.setattr("asyncio.sleep", pause)
    watched = tinkbox("events", "watch")
    assert watched.status == 130
    told = [json.loads(line) for line in watched.out.splitlines()]
    assert [(each["sequence"], each["kind"]) for each in told] == [(5, "x5"), (6, "x6"), (7, "x7")]
    assert watched.err.count("trying again") == 1
    assert appliance.last_event_ids == [None, "4", "6"]


def test_the_place_of_an_event_of_a_hold_is_told_and_not_the_holds(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncio.sleep", stop)
    appliance.answers["GET /v1/events"] = b'id: 4\n\nid: 5\nevent: x\ndata: {"kind": "action.held", "sequence": 1}\n\n'
    watched = tinkbox("events", "watch", "-o", "json")
    assert watched.out == '{"sequence": 5, "kind": "action.held"}\n'


@pytest.mark.parametrize(
    ("flags", "terminal", "people"),
    [([], False, False), ([], True, True), (["-o", "table"], False, True), (["-o", "json"], True, False)],
)
def test_people_get_a_line_of_words_and_programs_json(
    tinkbox: Tinkbox,
    appliance: FakeAppliance,
    monkeypatch: pytest.MonkeyPatch,
    flags: list[str],
    terminal: bool,
    people: bool,
) -> None:
    async def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncio.sleep", stop)
    monkeypatch.setattr(events, "is_terminal", lambda: terminal)
    monkeypatch.setenv("TINKBOX_FORMAT", "tink")  # which had no such command
    told = json.dumps({**EVENTS[4], "message": "no disk\x1b[2J"})
    appliance.answers["GET /v1/events"] = f"id: 4\n\nid: 5\nevent: x\ndata: {told}\n\n".encode()
    printed = tinkbox("events", "watch", "--utc", *flags).out
    if people:
        assert printed == (
            "2020-07-08 15:17:02 UTC  a8984b09  action.failed      hello world / two after 0.2 s: DiskNotFound: no disk [2J\n"
        )
    else:
        assert json.loads(printed) == {"sequence": 5, **json.loads(told)}


def test_an_appliance_that_was_never_there_is_3(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.away = True
    assert tinkbox("events", "watch").status == 3


@pytest.mark.parametrize("after", ["-1", "x", "1.5", "9" * 19])
def test_what_is_no_number_of_an_event_is_refused(tinkbox: Tinkbox, appliance: FakeAppliance, after: str) -> None:
    printed = tinkbox("events", "watch", f"--after={after}")
    assert (printed.status, "is no place of an event" in printed.err) == (2, True)
    assert appliance.last_event_ids == []


def test_an_appliance_that_was_put_back_is_told_in_a_line_and_begins_anew(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncio.sleep", stop)
    appliance.answers["GET /v1/events"] = stream(0, 1, 2)
    watched = tinkbox("events", "watch", "--after", "900")
    assert [json.loads(line)["sequence"] for line in watched.out.splitlines()] == [1, 2]
    assert watched.err == (
        "tinkbox: the appliance has no event 900: was it put back to an earlier day? All that it has follow\n"
    )


def test_one_can_go_on_behind_an_event_that_was_seen(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncio.sleep", stop)
    appliance.answers["GET /v1/events"] = stream(4, 5)
    assert json.loads(tinkbox("events", "watch", "--after", "4").out)["sequence"] == 5
    assert appliance.last_event_ids == ["4"]


def test_the_places_of_a_token_with_a_scope_are_resumed_from_and_told_as_they_are(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    flow = "0a0a0a0a-0000-4000-8000-000000000000"
    event = f'id: {flow}:7\nevent: x\ndata: {{"kind": "x7"}}\n\n'
    streams = [f"id: 0\n\n{event}", f"id: {flow}:7\n\n", "id: 0\n\n"]
    appliance.answers["GET /v1/events"] = streams[0].encode()
    pauses: list[float] = []

    async def pause(seconds: float) -> None:
        pauses.append(seconds)
        if len(pauses) == len(streams):
            raise KeyboardInterrupt
        appliance.answers["GET /v1/events"] = streams[len(pauses)].encode()

    monkeypatch.setattr("asyncio.sleep", pause)
    watched = tinkbox("events", "watch", "--after", "0", "-o", "json")
    assert [json.loads(line) for line in watched.out.splitlines()] == [{"sequence": f"{flow}:7", "kind": "x7"}]
    assert appliance.last_event_ids == ["0", f"{flow}:7", f"{flow}:7"]
    assert watched.err == (
        f"tinkbox: no event {flow}:7 is within the scope of this token: its workflow was deleted or left the scope, or the "
        "appliance was put back to an earlier day. All events within follow\n"
    )
    refused = tinkbox("events", "watch", "--after", "x:7")
    assert refused.status == 2
    assert (
        "'x:7' is no place of an event: write 0 for all, or a `sequence` as it was told, N or WORKFLOW:N" in refused.err
    )
    (told,) = [
        each
        for each in tinkbox("events", "watch", "--help").out.split("\n\n")
        if "--after" in each and "`sequence`" in each
    ]
    assert "WORKFLOW:N for a token with a scope" in " ".join(told.split())
