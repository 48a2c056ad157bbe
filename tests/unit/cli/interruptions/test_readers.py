"""A pipe whose reader is gone is noticed without printing."""

import asyncio
import os
import sys

import pytest

from tinkbox.cli.interruptions import readers
from tinkbox.cli.interruptions.readers import check_reader, while_read
from tinkbox.model.errors import Unavailable


def test_a_reader_that_went_away_is_noticed(monkeypatch: pytest.MonkeyPatch) -> None:
    reading, writing = os.pipe()
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        check_reader()
        os.close(reading)
        with pytest.raises(BrokenPipeError):
            check_reader()


def test_an_output_that_is_no_pipe_is_read(capsys: pytest.CaptureFixture[str]) -> None:
    check_reader()


def test_work_that_prints_nothing_ends_when_nothing_reads_it(monkeypatch: pytest.MonkeyPatch) -> None:
    ended = []

    async def silent() -> None:
        try:
            await asyncio.Event().wait()
        finally:
            ended.append(True)

    reading, writing = os.pipe()
    os.close(reading)
    monkeypatch.setattr(readers, "SECONDS", 0)
    with os.fdopen(writing, "w") as pipe:
        monkeypatch.setattr(sys, "stdout", pipe)
        with pytest.raises(BrokenPipeError):
            asyncio.run(while_read(silent()))
    assert ended == [True]


def test_work_returns_and_raises_as_without_a_look_at_its_reader() -> None:
    async def done() -> int:
        return 7

    async def away() -> None:
        raise Unavailable("away")

    assert asyncio.run(while_read(done())) == 7
    with pytest.raises(Unavailable, match="away"):
        asyncio.run(while_read(away()))
