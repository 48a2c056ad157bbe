"""What a client is told where it asks something else than an operator door, or with a token that is none."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Iterator
from contextlib import asynccontextmanager
from ipaddress import IPv4Address
from pathlib import Path

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.integration.catalogue.mirror import Mirror, mirror
from tinkbox.client.operator import Operator
from tinkbox.client.operator.connection import Connection
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.client.operator.other_doors import operator_door_advice, speaks_tls
from tinkbox.client.operator.quick_connection import QuickConnection, answer_of
from tinkbox.client.refusals import Unanswered, Unreachable, Untrusted
from tinkbox.door.answers.other_door import leads_to_other_door, leads_to_registry
from tinkbox.door.problems import Handler, problem, refusals_become_problems
from tinkbox.model.errors import Denied, Forbidden, Invalid, NotFound, Refusal, Unavailable
from tinkbox.wire.operator_door import OperatorDoor, read_operator_door

both_kinds = pytest.mark.parametrize("kind", [QuickConnection, LastingConnection])


async def look(operator: Operator) -> object:
    return await operator.hardware.all()


async def change(operator: Operator) -> object:
    return await operator.workflows.cancel("x")


async def follow(operator: Operator) -> object:
    return await anext(operator.events())


async def refusal_of(connection: Connection, question: Callable[[Operator], Awaitable[object]] = look) -> Refusal:
    async def ask() -> object:
        async with Operator(connection) as operator:
            return await question(operator)

    asked = asyncio.to_thread(lambda: answer_of(ask())) if isinstance(connection, QuickConnection) else ask()
    with pytest.raises(Refusal) as raised:
        await asked
    return raised.value


@asynccontextmanager
async def answering(handler: Callable[[web.Request], Awaitable[web.StreamResponse]]) -> AsyncIterator[str]:
    """The URL of a server."""
    application = web.Application(middlewares=[refusals_become_problems])
    application.router.add_route("*", "/{path:.*}", handler)
    async with TestServer(application) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
def publisher(tmp_path: Path) -> Iterator[Mirror]:
    """A server that is no appliance, with TLS (`url`) and without (`plain`)."""
    with mirror(tmp_path) as made:
        yield made


@pytest.mark.parametrize(
    ("asked", "listens", "typed"),
    [
        ("http://172.30.0.1", "172.16.0.1:7080", "https://172.16.0.1:7080"),
        ("http://172.30.0.1", "0.0.0.0:7081", "https://172.30.0.1:7081"),
        ("lab.example:8080", "0.0.0.0:7080", "https://lab.example:7080"),
        ("http://127.0.0.1", "127.0.0.1:7080", "https://127.0.0.1:7080"),
        ("http://localhost:80", "127.0.0.1:7080", "https://127.0.0.1:7080"),
        ("http://172.30.0.1", "lab.example:7080", "https://lab.example:7080"),
        ("http://172.30.0.1", "[fd00::1]:7080", "https://[fd00::1]:7080"),
        ("http://[fd00::2]:80", "[::]:7080", "https://[fd00::2]:7080"),
        ("http://[::1]", "[::1]:7080", "https://[::1]:7080"),
    ],
)
def test_what_to_type_instead_of_the_door_for_machines(asked: str, listens: str, typed: str) -> None:
    begin = f"{asked} is the appliance's door for machines. Commands go to its operator door: "
    door = read_operator_door(listens)
    assert door is not None
    assert operator_door_advice(asked, door, "TINKBOX_SERVER", "") == f"{begin}`TINKBOX_SERVER={typed}`"
    assert operator_door_advice(asked, door, "--to", "FILE") == f"{begin}`--to {typed}`, and a token in FILE"


def test_an_operator_door_of_loopback_is_asked_from_its_own_host() -> None:
    door = OperatorDoor(IPv4Address("127.0.0.1"), 7080)
    told = operator_door_advice("http://172.30.0.1", door, "TINKBOX_SERVER", "TINKBOX_TOKEN")
    assert "127.0.0.1:7080, which only its own host reaches" in told
    assert "set operator.listen in its tinkbox.yaml" in told
    assert "://127.0.0.1" not in told


@both_kinds
async def test_the_door_for_machines_names_the_operator_door(kind: type[Connection]) -> None:
    application = web.Application(
        middlewares=[
            refusals_become_problems,
            leads_to_other_door([web.get("/v1/hardware", lambda _: web.Response())], "0.0.0.0:7080"),
        ]
    )
    async with TestServer(application) as server:
        url = f"http://127.0.0.1:{server.port}"
        refused = await refusal_of(kind(url=url, token="secret", variable="TINKBOX_SERVER"))
        assert type(refused) is NotFound
        assert str(refused).endswith("operator door: `TINKBOX_SERVER=https://127.0.0.1:7080`")
        without = await refusal_of(kind(url=url, variable="--to", token_place="TINKBOX_TO_TOKEN"), change)
        assert str(without).endswith("`--to https://127.0.0.1:7080`, and a token in TINKBOX_TO_TOKEN")


async def test_the_operator_door_names_the_registry_to_its_clients_and_asks_for_no_token_first() -> None:
    @web.middleware
    async def wants_token(_: web.Request, handler: Handler) -> web.StreamResponse:
        return web.Response(status=401)

    async def wanted(_: web.Request) -> web.StreamResponse:
        return web.Response()

    application = web.Application(middlewares=[leads_to_registry("172.30.0.1"), wants_token])
    application.add_routes([web.get("/v1/hardware", wanted)])
    async with TestServer(application) as server, TestClient(server) as client:
        for path in ("/v2/", "/v2/hello/manifests/v1"):
            answer = await client.get(path)
            assert answer.status == 404
            (error,) = (await answer.json())["errors"]
            assert error["message"].endswith("on the node door: `docker login 172.30.0.1`")
        for path in ("/v1/hardware", "/v1/nothing", "/"):
            assert (await client.get(path)).status == 401


@both_kinds
async def test_the_header_of_the_door_for_machines_may_be_written_in_small_letters(kind: type[Connection]) -> None:
    async def door(_: web.Request) -> web.Response:
        return problem(404, "notfound", "elsewhere", headers={"tinkbox-operator-door": "0.0.0.0:7080"})

    async with answering(door) as url:
        assert "door for machines" in str(await refusal_of(kind(url=url)))


@both_kinds
async def test_a_header_that_names_no_address_is_no_command_to_type(kind: type[Connection]) -> None:
    async def door(_: web.Request) -> web.Response:
        return web.Response(status=404, headers={"Tinkbox-Operator-Door": "evil; rm -rf ~:80"})

    async with answering(door) as url:
        refused = str(await refusal_of(kind(url=url, variable="TINKBOX_SERVER")))
    assert refused.startswith(f"{url} does not answer as the operator door of an appliance: 404 ")
    assert "rm -rf" not in refused


@both_kinds
@pytest.mark.parametrize("token", ["", "wrong"])
async def test_who_is_denied_is_told_where_the_token_belongs(kind: type[Connection], token: str) -> None:
    async def door(request: web.Request) -> web.Response:
        raise Denied("not known here" if "Authorization" in request.headers else "needed")

    async with answering(door) as url:
        refused = await refusal_of(kind(url=url, token=token, token_place="FILE"))
    assert type(refused) is Denied
    assert str(refused) == f"{'not known here' if token else 'needed'}. Put yours into FILE"


@both_kinds
async def test_who_lacks_a_right_is_not_told_to_change_the_token(kind: type[Connection]) -> None:
    async def door(_: web.Request) -> web.Response:
        raise Forbidden("anna lacks the right to operate")

    async with answering(door) as url:
        assert str(await refusal_of(kind(url=url, token="anna's"))) == "anna lacks the right to operate"


@both_kinds
@pytest.mark.parametrize(("status", "refusal"), [(404, NotFound), (400, Invalid), (413, Refusal), (502, Unavailable)])
async def test_an_answer_that_no_appliance_gives_is_told_as_such(
    kind: type[Connection], status: int, refusal: type[Refusal]
) -> None:
    async def door(_: web.Request) -> web.Response:
        return web.Response(status=status, text="<html>nothing is here")

    async with answering(door) as url:
        refused = await refusal_of(kind(url=url, variable="TINKBOX_SERVER"))
    assert isinstance(refused, refusal)
    begin = f"{url} does not answer as the operator door of an appliance: {status} "
    assert str(refused).startswith(begin)
    assert (
        "<html>nothing is here. If a proxy stands before the appliance, look there; else correct TINKBOX_SERVER"
        in str(refused)
    )


@both_kinds
@pytest.mark.parametrize("text", ["<html>welcome</html>", '{"items": []}'])
async def test_a_success_that_no_appliance_tells_names_the_way_out(kind: type[Connection], text: str) -> None:
    async def door(_: web.Request) -> web.Response:
        return web.Response(text=text)

    async def read(operator: Operator) -> object:
        return (await operator.hardware.get("x"))["id"]

    async def summarize(operator: Operator) -> object:
        return await operator.status()

    way_out = ": is that an appliance of this version? If not, correct --to, which names the operator door, such as https://HOST:7080"
    async with answering(door) as url:
        for question in (look, read, summarize):
            refused = await refusal_of(kind(url=url, variable="--to"), question)
            assert type(refused) is Unavailable
            assert str(refused).endswith(way_out)
        assert str(refused) == f"{url}/v1/status did not answer with a snapshot{way_out}"


@both_kinds
@pytest.mark.parametrize(("variable", "end"), [("--to", "Correct --to"), ("TINKBOX_SERVER", "appliance on this host")])
async def test_what_names_a_place_where_nothing_answers_is_told_to_be_corrected(
    kind: type[Connection], variable: str, end: str
) -> None:
    told = str(await refusal_of(kind(url="http://127.0.0.1:1", variable=variable)))
    assert told.endswith(end)
    assert "operator.listen of its tinkbox.yaml" in told


@both_kinds
async def test_https_where_no_tls_is_spoken_is_told(kind: type[Connection], publisher: Mirror) -> None:
    url = publisher.plain.replace("http://", "https://")
    for question in (look, change, *([follow] if kind is LastingConnection else [])):
        refused = await refusal_of(kind(url=url, variable="TINKBOX_SERVER"), question)
        assert type(refused) is Unreachable
        assert str(refused).startswith(f"{url} does not speak TLS: that is machines' metadata or another program")
        assert "operator.listen of the box's tinkbox.yaml says, which is 127.0.0.1:7080 unless it is set" in str(
            refused
        )


@both_kinds
async def test_http_where_tls_is_spoken_is_told_to_be_https(kind: type[Connection], publisher: Mirror) -> None:
    url = publisher.url.replace("https://", "http://")
    for question in (look, change, *([follow] if kind is LastingConnection else [])):
        refused = await refusal_of(kind(url=url, variable="TINKBOX_SERVER"), question)
        assert type(refused) is Unreachable, "a change was not understood either, so it cannot be done"
        assert str(refused) == (
            f"{url} speaks TLS: write https:// instead of http://. `tinkbox login {publisher.url}` keeps its authority and "
            "your token"
        )


@both_kinds
@pytest.mark.parametrize("token", ["secret", ""])
async def test_nothing_crosses_a_network_unencrypted(
    kind: type[Connection], monkeypatch: pytest.MonkeyPatch, token: str
) -> None:
    """What is sent without a token may be a secret's value."""
    seen = []

    async def door(request: web.Request) -> web.Response:
        seen.append(request.headers.get("Authorization"))
        raise Denied("needed")

    monkeypatch.setattr("tinkbox.client.operator.connection.is_on_loopback", lambda _: False)
    async with answering(door) as url:
        for question in (look, change, *([follow] if kind is LastingConnection else [])):
            refused = await refusal_of(kind(url=url, token=token, variable="TINKBOX_SERVER"), question)
            assert type(refused) is Invalid
            assert str(refused) == (
                f"'{url}' is not encrypted, and no token or secret may cross the network so: write https:// instead of http:// in "
                f"TINKBOX_SERVER, after `tinkbox login {url.replace('http', 'https')}`, which keeps the authority of the box"
            )
    assert seen == []


@both_kinds
@pytest.mark.parametrize("scheme", ["http", "HTTP", "ht\ttp", " http"])
@pytest.mark.parametrize("host", ["192.0.2.1", "127.example.org", "127.0.0.1.example.org", "[2001:db8::1]"])
async def test_http_to_another_host_is_refused_before_it_is_asked(
    kind: type[Connection], scheme: str, host: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However the scheme is written that a library reads as http."""
    monkeypatch.setattr("socket.getaddrinfo", pytest.fail)
    refused = await refusal_of(kind(url=f"{scheme}://{host}:7080", token="secret"))
    assert "no token or secret may cross the network so" in str(refused)


@both_kinds
@pytest.mark.parametrize("url", ["not a url", "ftp://x", "http://", "https:// ", "http://x:y", "https://192.0.2.1:99999", "http://[", "https://a b/"])  # fmt: skip
async def test_what_is_no_url_is_told_without_a_question_whether_an_appliance_runs_there(
    kind: type[Connection], url: str
) -> None:
    for question in (look, change):
        refused = await refusal_of(kind(url=url, variable="TINKBOX_SERVER"), question)
        assert type(refused) is Invalid
        assert str(refused).startswith(f"'{url.strip()}', which TINKBOX_SERVER names, is no URL of an appliance (")
        assert str(refused).endswith("): write https://HOST:7080, or unix:/PATH for a socket on this host")


@both_kinds
@pytest.mark.parametrize(
    ("url", "typed"),
    [
        ("http://u:secret@192.0.2.1:7080", "https://192.0.2.1:7080"),
        ("https://u:secret@[2001:db8::1]:7080/box/", "https://[2001:db8::1]:7080/box"),
        ("http://u:secret@127.0.0.1:1", "http://127.0.0.1:1"),
    ],
)
async def test_a_url_with_a_user_is_refused_and_its_password_is_not_told(
    kind: type[Connection], url: str, typed: str
) -> None:
    refused = await refusal_of(kind(url=url, token="token", variable="TINKBOX_SERVER"))
    assert type(refused) is Invalid
    assert str(refused) == (
        f"TINKBOX_SERVER has a user in it, and an appliance knows people by their tokens alone: write {typed}"
    )
    broken = str(
        await refusal_of(kind(url=url.replace("192.0.2.1", "[").replace(":1", ":99999"), variable="TINKBOX_SERVER"))
    )
    assert "secret" not in broken


@both_kinds
async def test_a_server_with_tls_that_answers_to_http_is_told_to_be_https(
    kind: type[Connection], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As nginx, Apache and programs in Go do."""

    async def door(_: web.Request) -> web.Response:
        return web.Response(status=400, text="Client sent an HTTP request to an HTTPS server.")

    monkeypatch.setattr("tinkbox.client.operator.connection.speaks_tls", lambda _: True)
    async with answering(door) as url:
        assert "speaks TLS: write https:// instead" in str(await refusal_of(kind(url=url), change))


@both_kinds
async def test_a_certificate_that_is_not_trusted_is_told_with_the_reason(
    kind: type[Connection], publisher: Mirror
) -> None:
    refused = await refusal_of(kind(url=publisher.url))
    assert type(refused) is Untrusted
    assert str(refused).startswith(f"{publisher.url} shows a certificate that is not valid (self-signed certificate)")


@both_kinds
async def test_a_server_without_tls_that_hangs_up_is_told_as_before(kind: type[Connection]) -> None:
    async def hang_up(_: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.close()

    server = await asyncio.start_server(hang_up, "127.0.0.1", 0)
    async with server:
        url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
        assert isinstance(await refusal_of(kind(url=url), change), Unanswered)


def test_tls_is_found_by_a_handshake(publisher: Mirror) -> None:
    assert speaks_tls(publisher.url.replace("https://", "http://"))
    assert not speaks_tls(publisher.plain)
    for wrong in ("http://127.0.0.1:1", "http://127.0.0.1:x", "http://", "http://["):
        assert not speaks_tls(wrong)
