"""Saving in batches."""

import asyncio
import logging

import pytest

from tinkbox.engine import batch_saving as saving
from tinkbox.model.errors import Unavailable


async def test_what_was_noted_is_saved_soon_and_what_was_refused_again_later(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(saving, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(saving, "RETRY_SAVING", 0.0)
    noted, enough, outcomes = asyncio.Event(), asyncio.Event(), [Unavailable("the disk is full"), None, None]
    tried = 0

    async def save() -> None:
        nonlocal tried
        tried += 1
        outcome = outcomes.pop(0)
        if outcome:
            raise outcome
        enough.set()

    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        saver = parts.create_task(saving.keep_saving(noted, save, "this"))
        for _ in range(3):
            await asyncio.sleep(0)
        assert tried == 0
        noted.set()
        await enough.wait()
        assert tried == 2, "once refused, once done"
        enough.clear()
        for _ in range(9):
            await asyncio.sleep(0)
        assert tried == 2, "nothing was noted since"
        noted.set()
        await enough.wait()
        saver.cancel()


async def test_that_a_disk_refuses_is_said_once_until_it_takes_something(
    monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    monkeypatch.setattr(saving, "SAVE_EVERY", 0.0)
    monkeypatch.setattr(saving, "RETRY_SAVING", 0.0)
    caplog.set_level(logging.INFO)
    full = Unavailable("the disk is full")
    noted, over, outcomes = asyncio.Event(), asyncio.Event(), [full, full, full, None, None, full, None]

    async def save() -> None:
        outcome = outcomes.pop(0)
        (noted if outcomes else over).set()
        if outcome:
            raise outcome

    async with asyncio.timeout(60), asyncio.TaskGroup() as parts:
        saver = parts.create_task(saving.keep_saving(noted, save, "this"))
        noted.set()
        await over.wait()
        await asyncio.sleep(0)
        saver.cancel()
    refused = "this is not saved: the disk is full"
    assert caplog.messages == [refused, "this is saved again", refused, "this is saved again"]
