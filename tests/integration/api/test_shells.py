"""Shells over real sockets: the operator's side by TCP and unix socket, the machine's by a hub that a test plays."""

import asyncio
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import aiohttp
import pytest
from aiohttp import ClientWebSocketResponse, WSMsgType

from tests.integration.api.door import PEOPLE, TOKEN, Door
from tests.integration.engine.held import hold, out, typed
from tinkbox.model.access import Caller, Right
from tinkbox.model.shells import ShellEnd
from tinkbox.wire.messages.breakpoints import MAX_WORDS
from tinkbox.wire.messages.shell import Channel, Frame, close, control, decode, encode, read_status, resize, status
from tinkbox.wire.messages.worker import Offer


@dataclass
class Held:
    door: Door
    worker: str
    offer: Offer

    @property
    def path(self) -> str:
        return f"/v1/workflows/{self.offer.workflow_id}/shells"

    async def open(self, token: str = TOKEN, **wish: object) -> dict[str, str]:
        headers = {"Authorization": f"Bearer {token}"}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.post(self.door.url + self.path, json=wish) as response,
        ):
            assert response.status in (200, 201), await response.text()
            answer: dict[str, str] = await response.json()
            return answer

    @asynccontextmanager
    async def attached(
        self, opened: Mapping[str, str], token: str = "", **query: str
    ) -> AsyncIterator[ClientWebSocketResponse]:
        """A WebSocket by TCP, with a ticket; without a token unless one is given."""
        url = f"{self.door.url}/v1/shells/{opened['id']}/attach"
        params = {"ticket": opened["ticket"], **query}
        headers = {"Authorization": f"Bearer {token}"} if token else {}
        async with (
            aiohttp.ClientSession(headers=headers) as session,
            session.ws_connect(url, params=params) as websocket,
        ):
            yield websocket


@pytest.fixture
async def held(door: Door) -> Held:
    worker = await door.box.machine(1)
    return Held(door, worker, await hold(door.box, worker))


async def frame(websocket: ClientWebSocketResponse, *channels: Channel) -> Frame:
    """The next frame of one of these channels."""
    async with asyncio.timeout(60):
        while True:
            message = await websocket.receive()
            assert message.type is WSMsgType.BINARY, message
            found = decode(message.data)
            if found.channel in channels:
                return found


async def shown(websocket: ClientWebSocketResponse, what: bytes) -> None:
    seen = b""
    while what not in seen:
        seen += (await frame(websocket, Channel.STDOUT)).content


async def test_a_shell_over_a_websocket_with_a_ticket_and_no_token(held: Held) -> None:
    opened = await held.open(rows=50, columns=132, term="xterm-256color")
    async with (
        held.attached(opened) as client,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
    ):
        (wish,) = (await held.door.breakpoints.orders(held.worker, held.offer.attempt)).shells
        assert (wish.tty, wish.rows, wish.columns, wish.term) == (True, 50, 132, "xterm-256color")
        await line.deliver(out(b"/ # "))
        await shown(client, b"/ # ")
        await client.send_bytes(encode(typed("grün\r".encode())))
        await client.send_bytes(encode(resize(20, 40)))
        assert [await line.next_frame() for _ in range(2)] == [typed("grün\r".encode()), resize(20, 40)]
        await line.deliver(status(ShellEnd(4)))
        assert read_status(await frame(client, Channel.STATUS)) == ShellEnd(4)
        assert (await client.receive()).type is WSMsgType.CLOSE
        assert client.close_code == 1000


async def test_the_socket_of_this_host_opens_shells_in_the_users_name(held: Held) -> None:
    opened = await held.door.done("POST", held.path, {"tty": True})
    async with held.attached(opened):
        (listed,) = await held.door.done("GET", held.path)
        assert listed["people"] == [{"who": listed["who"], "driver": True}]
        assert listed["who"] != "operator"


async def test_who_may_only_look_or_operate_opens_no_shell_and_sees_no_recording(held: Held) -> None:
    opened = await held.open("attach-token", tty=False, command=["id"])
    async with held.attached(opened):
        pass
    asked = [("POST", held.path), ("GET", held.path), ("GET", f"/v1/shells/{opened['id']}/recording")]
    for token, expected in (("look-token", 403), ("operate-token", 403), ("nobodys", 401), ("attach-token", 200)):
        headers = {"Authorization": f"Bearer {token}"}
        async with aiohttp.ClientSession(headers=headers) as session:
            for method, path in asked:
                async with session.request(method, held.door.url + path, json={}) as response:
                    assert response.status in (expected, expected + 1), (token, path)


async def test_a_ticket_is_good_for_one_websocket(held: Held) -> None:
    opened, other = await held.open(), await held.open(user="root")
    async with held.attached(opened):
        pass
    for query in (
        {"ticket": opened["ticket"]},
        {"ticket": "nonsense"},
        {"ticket": ""},
        {},
    ):
        for headers in ({}, {"Authorization": f"Bearer {TOKEN}"}):
            url = f"{held.door.url}/v1/shells/{opened['id']}/attach"
            async with aiohttp.ClientSession(headers=headers) as session:
                with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
                    await session.ws_connect(url, params=query)
                assert refused.value.status == 401
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with held.attached({"id": opened["id"], "ticket": other["ticket"]}):
            pass
    assert refused.value.status == 401
    async with held.attached(other):
        pass


async def attach_status(held: Held, opened: Mapping[str, str], token: str) -> int:
    """How an attempt to attach is refused."""
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        async with held.attached(opened, token):
            pass
    return refused.value.status


async def test_a_ticket_beside_another_persons_token_is_refused_and_stays_unused(held: Held) -> None:
    opened = await held.open("attach-token")
    refused = [await attach_status(held, opened, each) for each in ("look-token", "operate-token", TOKEN, "nobodys")]
    assert refused == [403, 403, 403, 401]
    async with held.attached(opened, "attach-token"):
        (listed,) = await held.door.done("GET", held.path)
        assert listed["people"] == [{"who": "who-may-attach", "driver": True}]


async def test_a_ticket_is_not_for_the_user_of_the_socket_when_it_is_another_persons(held: Held) -> None:
    opened = await held.open("attach-token")
    url = f"http://tinkbox/v1/shells/{opened['id']}/attach"
    with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
        await held.door.local.ws_connect(url, params={"ticket": opened["ticket"]})
    assert refused.value.status == 403
    own = await held.door.done("POST", held.path, {"session": opened["id"]})
    async with held.door.local.ws_connect(url, params={"ticket": own["ticket"]}):
        pass


async def test_a_ticket_beside_the_token_of_its_person_needs_their_right(
    held: Held, monkeypatch: pytest.MonkeyPatch
) -> None:
    opened = await held.open("attach-token")
    looking = Caller(name="who-may-attach", rights=frozenset({Right.LOOK}))
    monkeypatch.setitem(PEOPLE._tokens, "attach-token", looking)
    assert await attach_status(held, opened, "attach-token") == 403
    monkeypatch.delitem(PEOPLE._tokens, "attach-token")
    assert await attach_status(held, opened, "attach-token") == 401


async def test_two_viewers_and_a_driver_over_websockets(held: Held) -> None:
    opened = await held.open()
    async with (
        held.attached(opened) as anna,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
    ):
        await line.deliver(out(b"before "))
        watching = await held.open("attach-token", mode="view")
        taking = await held.open("attach-token", session=opened["id"])
        async with held.attached(watching, mode="view") as ben, held.attached(taking, mode="take", after="3") as cleo:
            await line.deliver(out(b"after"))
            await shown(anna, b"before after")
            await shown(ben, b"before after")
            await shown(cleo, b"ore after")
            await anna.send_bytes(encode(typed(b"a")))
            await ben.send_bytes(encode(typed(b"b")))
            await cleo.send_bytes(encode(typed(b"c")))
            while (found := await line.next_frame()) is not None and found.channel is not Channel.STDIN:
                pass
            assert found == typed(b"c")
            await ben.send_bytes(encode(control({"take": True})))
            assert (await frame(cleo, Channel.CONTROL, Channel.STDIN)).channel is Channel.CONTROL


async def test_a_client_that_reads_nothing_is_hung_up_on_and_the_others_do_not_notice(held: Held) -> None:
    opened = await held.open()
    async with (
        held.attached(opened) as anna,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
        held.attached(await held.open("attach-token", mode="view"), mode="view"),
        asyncio.timeout(60),
    ):
        seen = 0
        while len((await held.door.done("GET", held.path))[0]["people"]) == 2:
            for _ in range(20):
                await line.deliver(out(b"x" * 65_000))
                while seen < 65_000:
                    seen += len((await frame(anna, Channel.STDOUT)).content)
                seen -= 65_000
        await anna.send_bytes(encode(typed(b"still here")))
        while await line.next_frame() != typed(b"still here"):
            pass


async def test_a_command_has_two_streams_a_half_closed_input_and_a_status(held: Held) -> None:
    opened = await held.open(tty=False, command=["sort"])
    async with (
        held.attached(opened) as client,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
    ):
        await client.send_bytes(encode(typed(b"b\na\n")))
        await client.send_bytes(encode(close(Channel.STDIN)))
        assert [await line.next_frame() for _ in range(2)] == [typed(b"b\na\n"), close(Channel.STDIN)]
        await line.deliver(out(b"a\nb\n"))
        await line.deliver(Frame(Channel.STDERR, b"oh"))
        await line.deliver(status(ShellEnd(2)))
        channels = (Channel.STDOUT, Channel.STDERR, Channel.STATUS)
        assert [(await frame(client, *channels)).content for _ in range(2)] == [b"a\nb\n", b"oh"]
        assert read_status(await frame(client, *channels)) == ShellEnd(2)


async def test_the_last_words_reach_a_client_that_is_still_sending(held: Held) -> None:
    opened = await held.open(tty=False, command=["head", "-1"])
    async with (
        held.attached(opened) as client,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
        asyncio.timeout(60),
        asyncio.TaskGroup() as group,
    ):

        async def send() -> None:
            while not client.closed:
                try:
                    await client.send_bytes(encode(typed(b"x" * 60_000)))
                except ConnectionError:
                    return

        group.create_task(send())
        await line.next_frame()
        await line.deliver(status(ShellEnd(0)))
        assert read_status(await frame(client, Channel.STATUS)) == ShellEnd(0)
        await client.receive()


async def test_a_recording_has_the_output_and_not_what_was_typed(held: Held) -> None:
    opened = await held.open()
    async with (
        held.attached(opened) as client,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
    ):
        await client.send_bytes(encode(typed(b"secret\r")))
        assert await line.next_frame() == typed(b"secret\r")
        await line.deliver(out(b"Password: "))
        await shown(client, b"Password: ")
    async with held.door.local.get(f"http://tinkbox/v1/shells/{opened['id'][:13]}/recording") as response:
        assert response.content_type == "application/x-asciicast"
        text = await response.text()
    assert "Password: " in text
    assert "secret" not in text


@pytest.mark.parametrize(
    ("wish", "status"),
    [
        ({"tty": False}, 422),
        ({"tty": "yes"}, 422),
        ({"command": "ls"}, 422),
        ({"command": ["x"] * (MAX_WORDS + 1)}, 422),
        ({"environment": {"": "x"}}, 422),
        ({"mode": "look"}, 422),
        ({"mode": "view"}, 409),
        ({"session": "nonsense"}, 404),
        ({"record_input": 1}, 422),
        ({"cmd": ["ls"]}, 422),
    ],
)
async def test_a_wish_that_makes_no_sense_is_refused(held: Held, wish: dict[str, object], status: int) -> None:
    assert (await held.door.ask("POST", held.path, wish))[0] == status


async def test_without_a_held_container_there_is_no_shell(door: Door) -> None:
    await door.box.machine(1)
    status, problem = await door.ask("POST", f"/v1/workflows/{await door.box.workflow()}/shells", {})
    assert (status, problem["type"]) == (409, "/problems/conflict")
    assert "not held" in problem["detail"]


async def test_a_request_for_no_websocket_leaves_the_ticket_good(held: Held) -> None:
    opened = await held.open()
    path = f"/v1/shells/{opened['id']}/attach?ticket={opened['ticket']}"
    assert (await held.door.ask("GET", path))[0] == 422
    for query in ({"mode": "look"}, {"after": "-1"}):
        with pytest.raises(aiohttp.WSServerHandshakeError) as refused:
            async with held.attached(opened, **query):
                pass
        assert refused.value.status == 422
    async with held.attached(opened):
        pass


@pytest.mark.parametrize("said", [b"", b"\x09x", b"\x05[", b"\x04{}", b"\x00" + b"x" * 70_000, "text"])
async def test_whoever_sends_nonsense_is_hung_up_on(held: Held, said: bytes | str) -> None:
    opened = await held.open()
    async with held.attached(opened) as client:
        await (client.send_str(said) if isinstance(said, str) else client.send_bytes(said))
        async with asyncio.timeout(60):
            while (await client.receive()).type is WSMsgType.BINARY:
                pass
        assert client.close_code in (1002, 1009)
    (listed,) = await held.door.done("GET", held.path)
    assert (listed["ended_at"], listed["people"]) == (None, [])


async def test_a_session_is_listed_with_its_end(held: Held, tmp_path: Path) -> None:
    opened = await held.open(tty=False, command=["false"], user="root", folder="/tmp")
    async with (
        held.attached(opened) as client,
        held.door.shells.served(held.worker, held.offer.attempt, opened["id"]) as line,
    ):
        await line.deliver(status(ShellEnd(None, "ExecFailed", "no such program")))
        await frame(client, Channel.STATUS)
    (listed,) = await held.door.done("GET", held.path)
    recording = tmp_path / "recordings" / held.offer.workflow_id / f"{opened['id']}.cast"
    assert listed | {"recording": listed["recording"] | {"sha256": "..."}} == {
        "id": opened["id"], "workflow_id": held.offer.workflow_id, "attempt": held.offer.attempt, "who": "operator",
        "driver": "operator", "people": [], "tty": False, "command": ["false"], "user": "root", "folder": "/tmp",
        "record_input": False, "opened_at": "2026-11-21T03:00:00+00:00", "ended_at": "2026-11-21T03:00:00+00:00",
        "exit_code": None, "reason": "ExecFailed", "message": "no such program",
        "recording": {"sha256": "...", "bytes": recording.stat().st_size},
    }  # fmt: skip
