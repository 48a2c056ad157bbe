"""The loop that feeds the view."""

import asyncio
import io
from datetime import UTC, datetime

import pytest
from rich.console import Console

from tinkbox.model.errors import Unavailable
from tinkbox.view.main import show
from tinkbox.wire.messages.status import MachineLine, Snapshot

NOW = datetime(2026, 11, 21, 3, 30, tzinfo=UTC)


def snapshot(hostname: str) -> Snapshot:
    line = MachineLine(id="1", hostname=hostname, mac="08:00:27:00:00:01", address="172.30.0.11")
    return Snapshot(now=NOW, version="0.1.0", machines=(line,), workflows=())


async def test_where_output_is_no_terminal_the_picture_is_printed_once_as_plain_text() -> None:
    printed = io.StringIO()

    async def fetch() -> Snapshot:
        return snapshot("server001")

    await show(fetch, Console(file=printed, width=100))
    assert printed.getvalue().count("server001") == 1
    assert "\x1b" not in printed.getvalue()


async def test_where_output_is_no_terminal_nothing_is_cut() -> None:
    printed = io.StringIO()
    name = "a-name-of-thirty-letters-long-"

    async def fetch() -> Snapshot:
        return snapshot(name)

    await show(fetch, Console(file=printed, width=40))
    assert f"{name}  08:00:27:00:00:01  172.30.0.11  not seen yet" in printed.getvalue()


async def test_a_terminal_that_cannot_go_back_gets_one_picture() -> None:
    printed = io.StringIO()

    async def fetch() -> Snapshot:
        return snapshot("server007")

    await show(fetch, Console(file=printed, force_terminal=True, width=100, _environ={"TERM": "dumb"}))
    assert printed.getvalue().count("server007") == 1


async def test_an_appliance_that_cannot_be_reached_at_the_start_is_an_error() -> None:
    async def fetch() -> Snapshot:
        raise Unavailable("nobody answers")

    with pytest.raises(Unavailable):
        await show(fetch, Console(file=io.StringIO()))


async def test_a_restart_of_the_appliance_is_survived_with_a_notice() -> None:
    printed = io.StringIO()
    answers = [snapshot("before"), Unavailable("nobody answers"), snapshot("after"), None]
    finished = asyncio.Event()

    async def fetch() -> Snapshot:
        answer = answers.pop(0)
        if isinstance(answer, Snapshot):
            return answer
        if answer is None:
            finished.set()
            await asyncio.Event().wait()
        raise Unavailable("nobody answers")

    console = Console(file=printed, force_terminal=True, width=100, height=30, _environ={"TERM": "xterm"})
    async with asyncio.TaskGroup() as group:
        task = group.create_task(show(fetch, console, interval=0))
        await finished.wait()
        task.cancel()
    text = printed.getvalue()
    assert text.index("before") < text.index("nobody answers") < text.index("after")
