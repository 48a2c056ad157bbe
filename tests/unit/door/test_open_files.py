"""The descriptors that are kept in reserve, and what is told once they are used up."""

import errno
import os
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tinkbox.door.open_files import OpenFiles, number_open, tell_used_up
from tinkbox.door.problems import refusals_become_problems

NOW = datetime(2026, 11, 30, 9, tzinfo=UTC)
RESERVE = 8


@pytest.fixture
def files() -> Iterator[OpenFiles]:
    made = OpenFiles(lambda: NOW, RESERVE)
    made.begin()
    yield made
    made.close()


@pytest.mark.parametrize("number", [errno.EMFILE, errno.ENFILE])
def test_a_refused_descriptor_gives_the_reserve_back_until_there_is_room(files: OpenFiles, number: int) -> None:
    before = number_open()
    assert before is not None
    assert files.ran_out(OSError(number, os.strerror(number)))
    assert number_open() == before - RESERVE
    assert not files.ran_out(OSError(number, os.strerror(number))), "it is gone already"
    look = files.look()
    assert (look.used_up, look.refused_at, look.of_host) == (True, NOW, number == errno.ENFILE)
    assert errno.errorcode[number] in files.why
    files.try_again()
    assert number_open() == before
    assert not files.look().used_up


def test_another_error_is_no_matter_of_descriptors(files: OpenFiles) -> None:
    assert not files.ran_out(OSError(errno.EIO, "an error of the disk"))
    assert not files.ran_out(ValueError())
    assert (files.scarce, files.look().refused_at) == (False, None)


def test_a_kernel_that_does_not_tell_their_number_is_asked_for_each() -> None:
    old = Path("/proc/self/task")  # which has no size, as /proc/self/fd had none
    assert old.stat().st_size == 0
    assert number_open(old) == len(list(old.iterdir())) - 1
    assert number_open(Path("/nowhere")) is None


async def test_a_request_that_fails_for_want_of_a_descriptor_hears_that(files: OpenFiles) -> None:
    async def fail(_: web.Request) -> web.Response:
        raise OSError(errno.EMFILE, "Too many open files")

    application = web.Application(middlewares=[refusals_become_problems])
    application.router.add_get("/", fail)
    tell_used_up(application, files)
    async with TestClient(TestServer(application)) as client, client.get("/") as answer:
        assert answer.status == 503
        assert "no file descriptor left (EMFILE)" in (await answer.json())["detail"]
    assert files.look().used_up
