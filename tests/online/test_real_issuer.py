"""Log-in at an issuer that is none of ours: Zitadel's, certified by the OpenID Foundation, built of its Go module.

make campaign PART=tests/online/test_real_issuer.py
"""

import asyncio
import json
import re
import ssl
import time
from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web

from tests.integration.oidc.conftest import Tokens, served
from tests.online.real_go import built
from tinkbox.api.access import bearer_only
from tinkbox.api.routes.people.login import LoginDoor, routes
from tinkbox.client.device_flow import Token, sign_in
from tinkbox.client.operator import Operator
from tinkbox.client.operator.lasting_connection import LastingConnection
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Means, Right
from tinkbox.model.errors import Denied, Forbidden, Invalid
from tinkbox.oidc.issuer_keys import IssuerKeys
from tinkbox.oidc.logins import Logins, Terms
from tinkbox.wire.oidc import DeviceCode

PASSWORD = "verysecure"
ANNA = {"ID": "anna", "Username": "anna", "Password": PASSWORD, "FirstName": "Anna", "LastName": "Lab"}
pytestmark = [pytest.mark.campaign, pytest.mark.timeout(900)]


@pytest.fixture(scope="module")
def program(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return built("go_issuer", tmp_path_factory.mktemp("go_issuer"))


@pytest.fixture
async def issuer(program: Path, tmp_path: Path) -> AsyncIterator[str]:
    """Its URL, which ends with a slash, as it says itself."""
    users = tmp_path / "users.json"
    users.write_text(json.dumps({"anna": ANNA}))
    pipe = asyncio.subprocess.PIPE
    running = await asyncio.create_subprocess_exec(
        program, users, stdin=pipe, stdout=pipe, stderr=asyncio.subprocess.DEVNULL
    )
    assert running.stdin is not None
    assert running.stdout is not None
    yield f"http://localhost:{int(await running.stdout.readline())}/"
    running.stdin.close()
    await running.wait()


class Person:
    """Confirms a code in a browser, or refuses it, when the program has asked once in vain."""

    def __init__(self, action: str) -> None:
        self._action = action
        self._codes: list[DeviceCode] = []
        self._waits = 0

    def show(self, code: DeviceCode) -> None:
        self._codes.append(code)

    async def wait(self, _: float) -> None:
        self._waits += 1
        if self._waits != 2:
            return
        (code,) = self._codes
        jar = aiohttp.CookieJar(unsafe=True)
        async with aiohttp.ClientSession(cookie_jar=jar) as browser:
            form = {"user_code": code.user_code, "username": "anna", "password": PASSWORD}
            async with browser.get(code.complete_url) as page:
                assert code.user_code in await page.text()
            async with browser.post(f"{code.url}/login", data=form) as page:
                text = await page.text()
                assert re.search("tinkbox", text), text
            async with browser.post(f"{code.url}/confirm", data={"action": self._action}) as page:
                assert f"Device authorization {self._action}" in await page.text()


@asynccontextmanager
async def box(issuer: str, client: str = "tinkbox", group: str = "lab") -> AsyncIterator[tuple[Operator, Tokens]]:
    async with AsyncExitStack() as stack:
        terms = Terms(
            issuer=issuer, client_id=client, scopes=("openid", "profile"), groups={group: frozenset({Right.LOOK})},
            claim="groups", name="sub", lifetime=timedelta(hours=8),
        )  # fmt: skip
        tokens, refused = Tokens(), RefusedTokens()
        logins = Logins(
            terms, IssuerKeys(issuer, "", time.monotonic), tokens, lambda: datetime.now(UTC), time.monotonic
        )
        logins._began -= 60
        application = web.Application(middlewares=[refusals_become_problems, bearer_only(tokens.bearer, refused)])
        application.add_routes(routes(LoginDoor(logins=logins, refused=refused, monotonic=time.monotonic)))
        url = await stack.enter_async_context(served(application))
        yield await stack.enter_async_context(Operator(LastingConnection(url=url))), tokens


async def log_in(operator: Operator, action: str = "allowed") -> Token:
    person = Person(action)
    return await sign_in(operator, person.show, lambda _: ssl.create_default_context(), person.wait)


async def test_who_confirms_at_a_real_issuer_is_logged_in(issuer: str) -> None:
    async with box(issuer) as (operator, tokens):
        made = await log_in(operator)
        assert (made.name, made.rights) == ("anna", ("look",))
        assert tokens.made[made.value].means is Means.ISSUER


async def test_who_says_no_at_a_real_issuer_is_not(issuer: str) -> None:
    async with box(issuer) as (operator, tokens):
        with pytest.raises(Forbidden, match="refused at the issuer"):
            await log_in(operator, "denied")
        assert tokens.made == {}


async def test_whose_groups_give_no_rights_is_told_which_would(issuer: str) -> None:
    async with box(issuer, group="wheel") as (operator, _):
        with pytest.raises(Forbidden, match="is 'lab', 'staff', and rights come with 'wheel'"):
            await log_in(operator)


async def test_a_client_that_a_real_issuer_does_not_know_is_told(issuer: str) -> None:
    async with box(issuer, client="other") as (operator, _):
        with pytest.raises(Invalid, match="begins no log-in"):
            await log_in(operator)


async def test_an_id_token_for_another_client_of_a_real_issuer_is_refused(issuer: str) -> None:
    async with box(issuer) as (at_one, _), box(issuer, client="other") as (at_other, tokens):
        taken = list[str]()

        async def note(id_token: str) -> dict[str, object]:
            taken.append(id_token)
            return {"token": "x", "name": "x", "rights": [], "expires": ""}

        at_one.logins.log_in = note  # type: ignore[method-assign,assignment]
        await log_in(at_one)
        with pytest.raises(Denied, match="not for the client other"):
            await at_other.logins.log_in(taken[0])
        assert tokens.made == {}
