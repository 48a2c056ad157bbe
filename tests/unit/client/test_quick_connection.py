"""The connection that waits for its answers, against a door that records what it is asked."""

import asyncio
import errno
import json
import os
import socket
from collections.abc import Awaitable, Callable
from contextlib import suppress
from pathlib import Path
from typing import TypeVar

import aiohttp
import pytest
from aiohttp import web

from tests.unit.client.recording_door import RecordingDoor, served
from tinkbox.client import operator
from tinkbox.client.operator import Operator, Unreachable, lasting_connection, quick_connection
from tinkbox.client.operator.connection import Connection
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.client.operator.quick_connection import QuickConnection, answer_of
from tinkbox.model.errors import Invalid, NotFound, TooMany, Unavailable

T = TypeVar("T")
MOST_TICKS = 1000


async def asked(question: Callable[[Operator], Awaitable[T]], connection: QuickConnection) -> T:
    """The answer; it waits in another thread, for the door answers in this one."""

    async def ask() -> T:
        async with Operator(connection) as operator:
            return await question(operator)

    return await asyncio.to_thread(lambda: answer_of(ask()))


async def test_questions_are_asked_as_over_a_lasting_connection(tmp_path: Path) -> None:
    door = RecordingDoor()

    async def questions(operator: Operator) -> list[object]:
        return [
            await operator.hardware.get("täglich 100%"),
            await operator.hardware.push(b"not even json"),
            await operator.templates.update("x", None, "text"),
            await operator.images.delete("a&b=c:v1"),
        ]

    async with served(door, tmp_path) as socket:
        assert await asked(questions, QuickConnection(socket=socket, token="secret")) == [{}, {}, {}, {}]
    assert [(method, path) for method, path, _ in door.asked] == [
        ("GET", "/v1/hardware/t%C3%A4glich%20100%25"), ("POST", "/v1/hardware"),
        ("PUT", "/v1/templates/x"), ("DELETE", "/v1/images?reference=a%26b%3Dc:v1"),
    ]  # fmt: skip
    assert door.asked[1][2] == b"not even json"
    assert json.loads(door.asked[2][2]) == {"name": None, "data": "text"}
    assert door.headers["Authorization"] == "Bearer secret"


async def test_an_appliance_of_a_url_is_asked_below_its_path(tmp_path: Path) -> None:
    door = RecordingDoor(answer=b"[]")
    application = web.Application()
    application.router.add_route("*", "/{path:.*}", door.handle)
    runner = web.AppRunner(application, access_log=None)
    await runner.setup()
    try:
        site = web.TCPSite(runner, "127.0.0.1", 0)
        await site.start()
        port = runner.addresses[0][1]
        connection = QuickConnection(url=f"http://127.0.0.1:{port}/below")
        assert await asked(lambda operator: operator.hardware.all(), connection) == []
    finally:
        await runner.cleanup()
    assert door.asked == [("GET", "/below/v1/hardware", b"")]
    assert "Authorization" not in door.headers


@pytest.mark.parametrize(("status", "kind"), [(404, NotFound), (422, Invalid), (429, TooMany), (503, Unavailable)])
async def test_refusals_come_back(tmp_path: Path, status: int, kind: type[Exception]) -> None:
    door = RecordingDoor(answer=b'{"detail": "this is why"}', status=status)
    async with served(door, tmp_path) as socket:
        with pytest.raises(kind, match="this is why"):
            await asked(lambda operator: operator.hardware.all(), QuickConnection(socket=socket))


async def test_a_door_that_sends_elsewhere_is_told_with_the_place_and_the_remedy(tmp_path: Path) -> None:
    door = RecordingDoor(status=301, sent_on_to="https://elsewhere/")
    async with served(door, tmp_path) as socket:
        with pytest.raises(Unavailable, match=r"sends us on to https://elsewhere/: name .* TINKBOX_SERVER"):
            await asked(lambda operator: operator.hardware.all(), QuickConnection(socket=socket))


@pytest.mark.parametrize("url", ["http://127.0.0.1:1", "https://127.0.0.1:1"])
def test_nobody_at_a_url_is_told_with_the_place_and_the_remedy(url: str) -> None:
    async def question() -> object:
        async with Operator(QuickConnection(url=url)) as operator:
            return await operator.hardware.all()

    with pytest.raises(Unreachable, match="is `tinkbox serve` running") as refusal:
        answer_of(question())
    assert str(refusal.value).startswith(f"no appliance answers at {url} (")


def test_nobody_at_the_box_of_a_login_is_told_with_logout() -> None:
    async def question() -> object:
        async with Operator(QuickConnection(url="https://127.0.0.1:1", variable="tinkbox login")) as operator:
            return await operator.hardware.all()

    with pytest.raises(Unreachable, match=r"where you are logged in: .* `tinkbox logout` has the commands ask"):
        answer_of(question())


async def test_nobody_at_a_socket_and_one_who_hangs_up_are_told(tmp_path: Path) -> None:
    with pytest.raises(Unreachable, match=rf"no appliance answers at {tmp_path}/nobody \(No such file or directory\)"):
        await asked(lambda operator: operator.hardware.all(), QuickConnection(socket=tmp_path / "nobody"))
    async with served(RecordingDoor(answer=b'[{"cut', broken=True), tmp_path) as socket:
        with pytest.raises(Unreachable):
            await asked(lambda operator: operator.hardware.all(), QuickConnection(socket=socket))


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give up its rights")
def test_whoever_may_not_use_the_door_is_told_so(tmp_path: Path) -> None:
    (tmp_path / "data").mkdir(mode=0o700)

    async def question() -> object:
        async with Operator(QuickConnection(socket=tmp_path / "data/operator.sock")) as operator:
            return await operator.hardware.all()

    os.seteuid(65534)
    try:
        with pytest.raises(Unreachable, match=r"no right to use .*/operator\.sock: run as the user of the appliance"):
            answer_of(question())
    finally:
        os.seteuid(0)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root can give a socket to another user")
def test_the_user_of_the_door_is_the_one_who_owns_it(tmp_path: Path) -> None:
    path = tmp_path / "operator.sock"
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(str(path))
        os.chown(path, 65534, 65534)
        denied = PermissionError(errno.EACCES, "Permission denied")
        path.chmod(0o600)
        assert "run as user nobody, whose it is. Or come to its operator door" in str(
            QuickConnection(socket=path).unreachable(denied)
        )
        path.chmod(0o660)
        os.chown(path, 65534, 1)
        member = "or as a member of the group daemon (`sudo usermod -aG daemon NAME`, and log in again). Or come"
        assert member in str(QuickConnection(socket=path).unreachable(denied))
    # Who may not even pass through its folder sees that folder.
    path.unlink()
    tmp_path.chmod(0o710)
    os.chown(tmp_path, 65534, 1)
    assert member in str(QuickConnection(socket=path).unreachable(denied))


def test_what_waits_for_more_than_answers_is_refused() -> None:
    async def waits() -> None:
        await asyncio.sleep(0)

    with pytest.raises(RuntimeError, match="over a lasting connection"):
        answer_of(waits())
    operator = Operator(QuickConnection(url="http://nobody"))
    with pytest.raises(NotImplementedError, match="only a lasting connection"):
        operator.shells.attach({"ticket": "x", "id": "y"}, tty=True)


async def test_after_an_answer_that_broke_off_the_next_question_is_asked_anew(tmp_path: Path) -> None:
    door = RecordingDoor(answer=b'[{"cut', broken=True)

    async def two_questions(operator: Operator) -> object:
        with pytest.raises(Unreachable):
            await operator.hardware.all()
        door.answer, door.broken = b"[]", False
        return await operator.hardware.all()

    async with served(door, tmp_path) as socket:
        assert await asked(two_questions, QuickConnection(socket=socket)) == []


@pytest.mark.parametrize("token", ["two\nlines", "sécret"])
def test_a_token_that_cannot_be_one_is_told(token: str) -> None:
    with pytest.raises(Invalid, match="TINKBOX_TOKEN"):
        QuickConnection(url="http://x", token=token)


@pytest.mark.parametrize("answer", [b"[" * 200_000, b"{", b"\xff"])
async def test_an_answer_that_is_no_document_is_told(tmp_path: Path, answer: bytes) -> None:
    async with served(RecordingDoor(answer=answer), tmp_path) as socket:
        with pytest.raises(Unavailable, match="did not answer with a list"):
            await asked(lambda operator: operator.hardware.all(), QuickConnection(socket=socket))


class WorkingDoor:
    """Answers a POST when `done` is set; `stuck`: it answers nothing else meanwhile."""

    def __init__(self, *, stuck: bool = False, hangs_up: bool = False) -> None:
        self.done = asyncio.Event()
        self.looks = 0
        self._stuck = stuck
        self._hangs_up = hangs_up

    async def handle(self, request: web.Request) -> web.StreamResponse:
        if request.method == "GET":
            self.looks += request.path == "/healthz"
            if self._stuck:
                await self.done.wait()
            elif self.looks == 3:
                self.done.set()
            raise web.HTTPForbidden  # as for those who may not look
        await self.done.wait()
        if self._hangs_up and request.transport is not None:
            request.transport.abort()
        return web.json_response({"results": []})


async def applied(door: WorkingDoor, folder: Path, heard: list[float], **how: bool) -> object:
    def hear(seconds: float) -> None:
        heard.append(seconds)
        # Without its looks at the appliance the wait would have no end here, and the test none either.
        assert len(heard) <= MOST_TICKS, f"{door.looks} looks at the appliance in {len(heard)} ticks"

    async with served(door, folder) as path:
        try:
            return await asked(
                lambda operator: operator.files.apply({"a": "b"}, hear, **how), QuickConnection(socket=path)
            )
        finally:
            door.done.set()


@pytest.fixture
def impatient(monkeypatch: pytest.MonkeyPatch) -> None:
    """Seconds pass at once."""
    monkeypatch.setattr(quick_connection, "TICK", 0.001)
    monkeypatch.setattr(quick_connection, "LOOK_EVERY", 0)


@pytest.mark.usefixtures("impatient")
async def test_work_is_waited_for_as_long_as_the_appliance_answers_anything(tmp_path: Path) -> None:
    heard: list[float] = []
    door = WorkingDoor()
    assert await applied(door, tmp_path, heard) == {"results": []}
    assert door.looks >= 3
    assert heard == sorted(heard)
    assert heard


@pytest.mark.usefixtures("impatient")
@pytest.mark.parametrize(
    ("dry_run", "told"), [(False, "apply them again, which is safe"), (True, "nothing was applied")]
)
async def test_an_appliance_that_answers_nothing_more_is_given_up(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, dry_run: bool, told: str
) -> None:
    monkeypatch.setattr(quick_connection, "SECONDS", 0.05)
    with pytest.raises(Unavailable, match=rf"did not answer POST /v1/apply \(timed out\): .*{told}"):
        await applied(WorkingDoor(stuck=True), tmp_path, [], dry_run=dry_run)


@pytest.mark.usefixtures("impatient")
async def test_whose_connection_breaks_is_told_that_it_may_be_done(tmp_path: Path) -> None:
    with pytest.raises(Unavailable, match="the files may be applied all the same: apply them again, which is safe"):
        await applied(WorkingDoor(hangs_up=True), tmp_path, [])


class SilentDoor:
    """Takes questions, and answers none before `done` is set."""

    def __init__(self) -> None:
        self.done = asyncio.Event()

    async def handle(self, _: web.Request) -> web.StreamResponse:
        await self.done.wait()
        return web.json_response([])


@pytest.mark.parametrize("kind", [QuickConnection, LastingConnection])
async def test_who_took_the_question_and_does_not_answer_is_not_told_to_be_started(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Connection]
) -> None:
    monkeypatch.setattr(quick_connection, "SECONDS", 0.05)
    monkeypatch.setattr(lasting_connection, "QUICK", aiohttp.ClientTimeout(total=0.05))
    door = SilentDoor()

    async def ask(path: Path) -> object:
        async with Operator(kind(socket=path)) as operator:
            return await operator.hardware.all()

    async with served(door, tmp_path) as path:
        with pytest.raises(Unreachable) as refusal:
            await (asyncio.to_thread(lambda: answer_of(ask(path))) if kind is QuickConnection else ask(path))
        door.done.set()
    assert str(refusal.value) == (
        f"the appliance at {path} took the question, and did not answer within 0.05 s: it may be busy. Type the same again; "
        "when it stays silent, see its log, `journalctl -u tinkbox`, and what its processor does"
    )


@pytest.mark.parametrize("kind", [QuickConnection, LastingConnection])
async def test_the_doctor_is_waited_for_longer_than_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: type[Connection]
) -> None:
    monkeypatch.setattr(operator, "EXAMINED_WITHIN", 0.07)
    door = SilentDoor()

    async def ask(path: Path) -> object:
        async with Operator(kind(socket=path)) as asked:
            return await asked.doctor()

    async with served(door, tmp_path) as path:
        with pytest.raises(Unreachable, match=r"did not answer within 0\.07 s"):
            await (asyncio.to_thread(lambda: answer_of(ask(path))) if kind is QuickConnection else ask(path))
        door.done.set()


async def test_a_refusal_for_want_of_room_says_when_to_come_again(tmp_path: Path) -> None:
    connection = QuickConnection(socket=tmp_path)
    for given, seconds in (("17", 17), ("99999999", 600), ("Fri, 31 Dec 1999 23:59:59 GMT", 5), ("", 5)):
        with pytest.raises(TooMany) as refusal:
            connection.raise_refusal(429, "", {"Retry-After": given}, b'{"detail": "later"}')
        assert refusal.value.retry_after == seconds


async def test_an_answer_that_is_late_is_told_once_and_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(quick_connection, "LATE", 0.05)
    told: list[str] = []
    gate = asyncio.Event()

    def late(text: str) -> None:
        told.append(text)
        loop.call_soon_threadsafe(gate.set)

    class Late(RecordingDoor):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            with suppress(TimeoutError):  # where nothing is told, the answer comes all the same
                async with asyncio.timeout(10):
                    await gate.wait()
            return await super().handle(request)

    loop = asyncio.get_running_loop()
    async with served(Late(answer=b"[]"), tmp_path) as socket:
        connection = QuickConnection(socket=socket)
        connection.late = late
        assert await asked(lambda operator: operator.hardware.all(), connection) == []
    assert told == [f"the appliance at {socket} has not answered for 10 s: it may be busy. It is waited for up to 60 s"]


async def test_an_answer_that_does_not_come_is_told_when_its_time_is_over(tmp_path: Path) -> None:
    told: list[str] = []
    never = asyncio.Event()

    class Silent(RecordingDoor):
        async def handle(self, request: web.Request) -> web.StreamResponse:
            await never.wait()
            return await super().handle(request)

    async with served(Silent(), tmp_path) as socket:
        connection = QuickConnection(socket=socket)
        connection.late = told.append
        with pytest.raises(Unreachable, match=r"did not answer within 0.05 s: it may be busy"):
            await asked(lambda operator: operator.connection.document("GET", "/v1/x", seconds=0.05), connection)
        never.set()
    assert told == []
