"""`tinkbox events`: every event once, also over a restart of the appliance."""

import json
from collections.abc import Callable

import pytest

from tests.unit.cli.conftest import FakeAppliance, Printed

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


def test_an_appliance_that_was_never_there_is_3(tinkbox: Tinkbox, appliance: FakeAppliance) -> None:
    appliance.away = True
    assert tinkbox("events", "watch").status == 3


def test_one_can_go_on_behind_an_event_that_was_seen(
    tinkbox: Tinkbox, appliance: FakeAppliance, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def stop(_: float) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("asyncio.sleep", stop)
    appliance.answers["GET /v1/events"] = stream(4, 5)
    assert json.loads(tinkbox("events", "watch", "--after", "4").out)["sequence"] == 5
    assert appliance.last_event_ids == ["4"]
