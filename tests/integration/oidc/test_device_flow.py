"""A person logs in with a code and a browser: from the box that names the issuer to the token that the box gives."""

import ssl
from collections.abc import AsyncIterator

import pytest
from aiohttp import web

from tests.integration.oidc.conftest import Box
from tests.issuer import DEVICE_GRANT, hang
from tinkbox.cli.device_login import signed_in
from tinkbox.cli.output.printable import moment
from tinkbox.client import device_flow
from tinkbox.client.device_flow import Token, sign_in
from tinkbox.client.issuer import IssuerClient, trusting
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.model.errors import Denied, Forbidden, Invalid, Refusal, Unavailable
from tinkbox.wire.oidc import DeviceCode


class Terminal:
    """Somebody who logs in: what is shown to them, and how long they waited, on the box's clock."""

    def __init__(self, box: Box, operator: Operator) -> None:
        self.box = box
        self.operator = operator
        self.shown: list[DeviceCode] = []
        self.waited: list[float] = []

    async def wait(self, seconds: float) -> None:
        self.waited.append(seconds)
        self.box.clock.forward(seconds)

    async def log_in(self) -> Token:
        return await sign_in(
            self.operator, self.shown.append, lambda _: ssl.create_default_context(), self.wait, self.box.clock.seconds
        )


@pytest.fixture
async def terminal(box: Box) -> AsyncIterator[Terminal]:
    async with Operator(LastingConnection(url=box.url)) as operator:
        yield Terminal(box, operator)


async def test_who_confirms_the_code_is_logged_in(box: Box, terminal: Terminal) -> None:
    box.issuer.answers = ["authorization_pending", "authorization_pending"]
    made = await terminal.log_in()
    assert (made.value, made.name, made.rights) == ("tbx_0", "anna", ("look", "operate"))
    assert box.tokens.made["tbx_0"].name == "anna"
    (code,) = terminal.shown
    assert (code.user_code, code.url) == ("WDJB-MJHT", f"{box.issuer.url}/confirm")
    assert code.complete_url == f"{box.issuer.url}/confirm?user_code=WDJB-MJHT"
    assert [round(each) for each in terminal.waited] == [1, 1, 1]
    first, *polled = box.issuer.forms
    assert first == {"client_id": "tinkbox", "scope": "openid profile"}
    assert polled == [{"grant_type": DEVICE_GRANT, "device_code": "a-device-code", "client_id": "tinkbox"}] * 3


async def test_an_issuer_that_wants_it_slower_gets_it_slower(box: Box, terminal: Terminal) -> None:
    box.issuer.answers = ["slow_down", "authorization_pending", 503, 429]
    await terminal.log_in()
    assert [round(each) for each in terminal.waited] == [1, 6, 6, 12, 24]


async def test_an_issuer_that_gives_no_answer_once_is_asked_again(
    box: Box, terminal: Terminal, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked = list[str]()

    async def silent_once(request: web.Request) -> web.StreamResponse:
        asked.append(request.path)
        return await hang(request) if len(asked) == 1 else await box_token(request)

    async def box_token(_: web.Request) -> web.StreamResponse:
        return web.json_response({"id_token": box.issuer.id_token()})

    def impatient(issuer: str, tls: ssl.SSLContext | None) -> IssuerClient:
        return IssuerClient(issuer, tls, 0.3)

    monkeypatch.setattr(device_flow, "IssuerClient", impatient)
    box.issuer.instead["/token"] = silent_once
    assert (await terminal.log_in()).name == "anna"
    assert [round(each) for each in terminal.waited] == [1, 2]


@pytest.mark.parametrize(
    ("answers", "kind", "why"),
    [
        (["access_denied"], Forbidden, "the log-in was refused at the issuer"),
        (["expired_token"], Unavailable, "nobody confirmed it in time"),
        (["authorization_pending"] * 70, Unavailable, "nobody confirmed it in time"),
        (["invalid_client"], Invalid, "refuses: 'invalid_client': 'as told'"),
        ([404], Invalid, "refuses: HTTP 404"),
    ],
)
async def test_who_is_not_let_in_is_told_why(
    box: Box, terminal: Terminal, answers: list[str | int], kind: type[Refusal], why: str
) -> None:
    box.issuer.answers = answers
    with pytest.raises(kind, match=why):
        await terminal.log_in()
    assert box.tokens.made == {}


async def test_who_has_no_group_is_told_which_groups_there_are(box: Box, terminal: Terminal) -> None:
    box.issuer.claims["groups"] = ["cooks"]
    with pytest.raises(Forbidden, match="rights come with 'audit', 'lab'"):
        await terminal.log_in()


async def test_a_box_that_does_not_believe_the_issuer_says_so(box: Box, terminal: Terminal) -> None:
    box.issuer.claims["aud"] = "wiki"
    with pytest.raises(Denied, match="is for 'wiki'"):
        await terminal.log_in()


@pytest.mark.parametrize("missing", ["device_authorization_endpoint", "token_endpoint"])
async def test_an_issuer_without_device_flow_is_named(box: Box, terminal: Terminal, missing: str) -> None:
    box.issuer.discovery = {missing: None}
    with pytest.raises(Invalid, match="has no device flow"):
        await terminal.log_in()


async def test_an_issuer_that_does_not_know_the_client_is_told(box: Box, terminal: Terminal) -> None:
    async def refused(_: web.Request) -> web.Response:
        return web.json_response({"error": "unauthorized_client"}, status=401)

    box.issuer.instead["/device"] = refused
    with pytest.raises(Invalid, match="begins no log-in: 'unauthorized_client'"):
        await terminal.log_in()


async def test_a_box_cannot_have_a_person_ask_without_https(box: Box, terminal: Terminal) -> None:
    object.__setattr__(box.logins.terms, "issuer", "http://evil.example")
    with pytest.raises(Invalid, match="begins with https://"):
        await terminal.log_in()


async def test_a_redirect_does_not_get_the_device_code(box: Box, terminal: Terminal) -> None:
    async def elsewhere(_: web.Request) -> web.Response:
        raise web.HTTPTemporaryRedirect(f"{box.url}/elsewhere")

    box.issuer.instead["/token"] = elsewhere
    with pytest.raises(Invalid, match="is not followed"):
        await terminal.log_in()


def test_what_is_no_authority_is_refused() -> None:
    for text in ("", "x", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"):
        with pytest.raises(Invalid, match="no certificate"):
            trusting(text)


async def test_a_person_is_shown_where_to_type_which_code_and_the_token_is_shown_nowhere(
    box: Box, terminal: Terminal, capsys: pytest.CaptureFixture[str]
) -> None:
    assert await signed_in(LastingConnection(url=box.url), terminal.wait) == "tbx_0"
    shown = capsys.readouterr()
    assert shown.out == ""
    assert shown.err.splitlines() == [
        "Open this in a browser, on any device, and log in there:",
        f"  {box.issuer.url}/confirm",
        "Type this code there: WDJB-MJHT",
        "Or open this, which has the code in it, and compare that with the one above:",
        f"  {box.issuer.url}/confirm?user_code=WDJB-MJHT",
        "Waiting until you have confirmed it, for 1m. Ctrl-C ends this.",
        f"You are anna there, with the rights look, operate, until {moment(str(box.tokens.until['tbx_0']))}.",
    ]
