"""A box whose people log in by an issuer, both on loopback."""

from collections.abc import AsyncIterator
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta

import aiohttp
import pytest
from aiohttp import web

from tests.issuer import CLIENT, Issuer, issuer
from tinkbox.api.access import bearer_only, caller, needing
from tinkbox.api.routes.people.login import LoginDoor, routes
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.model.access import Caller, Means, Right
from tinkbox.model.errors import Refusal
from tinkbox.model.labels import Selector
from tinkbox.oidc.issuer_keys import IssuerKeys
from tinkbox.oidc.logins import Logins, Terms

BEGAN = datetime(2026, 11, 30, 12, 0, tzinfo=UTC)


@dataclass
class Clock:
    """The clocks of the box, and that of the issuer, which a `jump` of the box's moves as well, but for its steady one."""

    now: datetime = BEGAN
    passed: float = 0.0

    def __call__(self) -> datetime:
        return self.now

    def seconds(self) -> float:
        return self.now.timestamp()

    def steady(self) -> float:
        return self.passed

    def forward(self, seconds: float) -> None:
        self.now += timedelta(seconds=seconds)
        self.passed += seconds

    def jump(self, by: timedelta) -> None:
        self.now += by


@dataclass
class Tokens:
    """Makes tokens in memory; refuses with `broken`."""

    made: dict[str, Caller] = field(default_factory=dict)
    until: dict[str, datetime | None] = field(default_factory=dict)
    broken: Refusal | None = None

    async def issue(
        self,
        name: str,
        rights: frozenset[Right],
        *,
        scope: Selector | None = None,
        until: datetime | None,
        by: Caller,
        means: Means = Means.TOKEN,
    ) -> str:
        if self.broken is not None:
            raise self.broken
        assert rights <= by.rights
        text = f"tbx_{len(self.made)}"
        self.made[text] = Caller(name=name, rights=rights, means=means, scope=scope)
        self.until[text] = until
        return text

    def bearer(self, text: str) -> Caller | None:
        return self.made.get(text)


@dataclass
class Box:
    issuer: Issuer
    clock: Clock
    tokens: Tokens
    keys: IssuerKeys
    logins: Logins
    refused: RefusedTokens
    url: str
    session: aiohttp.ClientSession

    async def ask(self, id_token: object, **headers: str) -> tuple[int, dict[str, object]]:
        body = {"id_token": id_token}
        async with self.session.post(f"{self.url}/v1/login", json=body, headers=headers) as answer:
            return answer.status, await answer.json(content_type=None)

    async def refusal(self, id_token: object) -> tuple[int, str]:
        status, problem = await self.ask(id_token)
        return status, str(problem["detail"])

    def be_impatient(self) -> None:
        """Wait for the issuer no longer than a test can."""
        self.keys._seconds = 0.3

    def restart(self) -> None:
        """Forget all that is in memory alone."""
        self.keys = IssuerKeys(self.issuer.url, "", self.clock.seconds)
        self.logins = Logins(self.logins.terms, self.keys, self.tokens, self.clock, self.clock.steady)


@asynccontextmanager
async def open_box(groups: dict[str, frozenset[Right]] | None = None, claim: str = "groups") -> AsyncIterator[Box]:
    async with AsyncExitStack() as stack:
        clock = Clock()
        by = await stack.enter_async_context(issuer(clock.seconds))
        keys = IssuerKeys(by.url, "", clock.seconds)
        given = groups or {"lab": frozenset({Right.LOOK, Right.OPERATE}), "audit": frozenset({Right.AUDIT})}
        terms = Terms(
            issuer=by.url, client_id=CLIENT, scopes=("openid", "profile"), groups=given, claim=claim,
            name="preferred_username", lifetime=timedelta(hours=8),
        )  # fmt: skip
        tokens, refused = Tokens(), RefusedTokens()
        logins = Logins(terms, keys, tokens, clock, clock.steady)
        session = await stack.enter_async_context(aiohttp.ClientSession())
        box = Box(by, clock, tokens, keys, logins, refused, "", session)
        box.url = await _serve(stack, box)
        clock.forward(60)  # it did not begin just now
        yield box


async def _serve(stack: AsyncExitStack, box: Box) -> str:
    async def who(request: web.Request) -> web.Response:
        known = caller(request)
        return web.json_response({"name": known.name, "means": known.means})

    application = web.Application(
        middlewares=[refusals_become_problems, bearer_only(box.tokens.bearer, box.refused)], client_max_size=0
    )
    application.add_routes(
        [
            *routes(LoginDoor(logins=_Current(box), refused=box.refused, monotonic=box.clock.seconds)),  # type: ignore[arg-type]
            *needing(Right.LOOK, web.get("/who", who)),
        ]
    )
    return await stack.enter_async_context(served(application))


@asynccontextmanager
async def served(application: web.Application) -> AsyncIterator[str]:
    """The URL of an application on a port of its own."""
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    try:
        await web.TCPSite(runner, "127.0.0.1", 0).start()
        yield f"http://127.0.0.1:{runner.addresses[0][1]}"
    finally:
        await runner.cleanup()


class _Current:
    """The box's logins, those after its last restart."""

    def __init__(self, box: Box) -> None:
        self._box = box

    def __getattr__(self, name: str) -> object:
        return getattr(self._box.logins, name)


@pytest.fixture
async def box() -> AsyncIterator[Box]:
    async with open_box() as made:
        yield made
