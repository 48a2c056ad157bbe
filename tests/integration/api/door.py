"""The operator door over a real engine and store, on a unix socket and on TCP as the appliance opens it."""

import hashlib
import io
import json
import secrets
import socket
import tarfile
import time
from collections import Counter
from collections.abc import AsyncIterator, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import cache, partial
from ipaddress import IPv4Address
from pathlib import Path
from typing import Any
from uuid import uuid4

import aiohttp
from aiohttp import web
from aiohttp.typedefs import Middleware
from cryptography.hazmat.primitives.serialization import Encoding

from tests.integration.api.described import Described
from tests.integration.engine.appliance import Appliance, appliance
from tests.integration.engine.held import Hub
from tests.people import People
from tests.unit.api.routes.test_routes import table
from tests.unit.engine.presences import presence_where
from tinkbox.api.access import bearer_only
from tinkbox.api.auditing import record_changes
from tinkbox.api.following import Followers
from tinkbox.api.long_answers import queue, take_turns
from tinkbox.api.openapi import description
from tinkbox.api.routes.operator_door import OperatorDoor
from tinkbox.api.routes.people.login import LoginDoor
from tinkbox.api.scopes import end_with_rights
from tinkbox.certificates.issuing import new_key, self_signed
from tinkbox.door.problems import refusals_become_problems
from tinkbox.door.requests.auditing import keep_audit, refused_attempts
from tinkbox.door.requests.live_requests import LiveRequests, end_with_token
from tinkbox.door.requests.paths import add_routes
from tinkbox.door.requests.refused_tokens import RefusedTokens
from tinkbox.engine.audit.audit import Audit
from tinkbox.engine.doctor.case import OsieSize
from tinkbox.engine.doctor.examiner import Examiner, Premises
from tinkbox.engine.doctor.rounds import Rounds
from tinkbox.engine.machines.boot_history import Seen
from tinkbox.engine.people.tokens import Tokens
from tinkbox.engine.shells.shells import Shells
from tinkbox.engine.turns import Queue, Turns
from tinkbox.engine.views.metrics import Meter
from tinkbox.engine.views.suggested_names import SuggestedNames
from tinkbox.engine.workflows.breakpoints import Breakpoints
from tinkbox.model.access import Caller, Right, operator
from tinkbox.model.diagnosis import Diagnosis, Heard
from tinkbox.model.firmware_traits import FirmwareTraits
from tinkbox.model.inventory import Inventory
from tinkbox.model.labels import parse_selector
from tinkbox.model.leases import Lease
from tinkbox.model.limits import DECLARED, EXAMINATIONS, STREAMS, Ledger, Limits
from tinkbox.model.vitals import Vitals
from tinkbox.oidc.issuer_keys import IssuerKeys
from tinkbox.oidc.logins import Logins, Terms
from tinkbox.registry.storage import ImageStore
from tinkbox.wire.messages.worker import TlsDoor

TOKEN = "the-operators-token"
SCOPE = parse_selector("rack=r1")
PEOPLE = People(
    {
        TOKEN: operator(),
        **{f"{right}-token": Caller(name=f"who-may-{right}", rights=frozenset({right})) for right in Right},
        # Every right, and a scope.
        "rack-token": Caller(name="of-rack-r1", rights=frozenset(Right), scope=SCOPE),
        "none-of-r1-token": Caller(name="none-of-r1", rights=frozenset(), scope=SCOPE),
    }
)
# Letters of an answer: to look into more of them takes seconds.
LOOKED_INTO = 50_000
OSIE = {"architecture": "x86_64", "version": "1", "kernel": "6.1", "files": {}, "packages": {}}


@dataclass
class Door:
    """`url` is TCP and wants the token, `local` is a session on the unix socket and wants nothing.

    `answers` is what the node door is said to have answered, `tls` has the node door over TLS, if it is to have one, `lent` what pools are said to have lent, `routes` is all that the door serves,
    `streams` what is followed, `examinations` what the doctor does; `found` is what its next one of `rounds` finds.
    """

    box: Appliance
    breakpoints: Breakpoints
    shells: Shells
    images: ImageStore
    answers: Counter[tuple[str, str, int]]
    tls: list[TlsDoor]
    lent: list[Lease]
    routes: Sequence[web.RouteDef]
    streams: Ledger
    examinations: Ledger
    found: list[Diagnosis]
    rounds: Rounds
    tokens: Tokens
    url: str
    path: str
    local: aiohttp.ClientSession
    described: Described

    async def ask(self, method: str, path: str, document: object = None) -> tuple[int, Any]:
        """Status and decoded body of one request over the unix socket, which are as `/openapi.json` describes them."""
        body = json.dumps(document).encode() if isinstance(document, dict | list) else document
        body = io.BytesIO(body) if isinstance(body, bytes) else body
        async with self.local.request(method, f"http://tinkbox{path}", data=body) as response:
            if response.status >= 400:
                assert response.content_type == "application/problem+json"
            text = await response.text()
            body = json.loads(text) if text else None
            if len(text) < LOOKED_INTO:
                self.described.check(method, path, response.status, response.content_type, body)
                if response.status < 300 and isinstance(document, dict) and document:
                    self.described.check_accepted(method, path, document)
            return response.status, body

    async def done(self, method: str, path: str, document: object = None) -> Any:
        """The same for what must succeed."""
        status, answer = await self.ask(method, path, document)
        assert status < 300, answer
        return answer


def examiner(box: Appliance, seen: Seen, limits: Limits) -> Examiner:
    """A doctor who hears of no other DHCP server, and knows what was seen."""

    async def nobody() -> Heard:
        return Heard()

    async def no_inventory(_: str) -> Inventory | None:
        return None

    async def sound() -> Vitals:
        return Vitals(at=box.clock())

    premises = Premises(address=IPv4Address("172.30.0.1"), since=box.clock(), mode="reservation")
    osie = [OsieSize(architecture="x86_64", ramdisk=80 << 20)]
    return Examiner(
        box.machines,
        seen,
        premises,
        ask=nobody,
        osie=lambda: osie,
        inventory=no_inventory,
        firmware_traits=lambda _: FirmwareTraits(),
        lost=box.lost_histories.by_machine,
        disk=box.disk.usage,
        clock=box.clock,
        turns=Turns(limits.of(EXAMINATIONS)),
        limits=tuple,
        at=lambda _: None,
        claimants=tuple,
        vitals=sound,
        unkept=lambda: None,
        work=box.work_in_hand,
        presence=presence_where(clock=box.clock),
        lease_at=lambda _: None,
    )


async def _copied(found: Sequence[Diagnosis]) -> tuple[Diagnosis, ...]:
    return tuple(found)


@asynccontextmanager
async def open_door(folder: Path) -> AsyncIterator[Door]:
    async with appliance(folder / "tinkbox.sqlite") as box, AsyncExitStack() as stack:
        limits = Limits(DECLARED, time.monotonic)
        images = ImageStore(folder / "registry", box.clock, limits)
        answers: Counter[tuple[str, str, int]] = Counter()
        lent: list[Lease] = []
        breakpoints = Breakpoints(
            box.store, box.wakeups, box.machines, box.clock, box.giving, box.masks, box.shell_drivers
        )
        hub = Hub(box, folder)
        stack.push_async_callback(hub.stop)
        seen = Seen(box.store, box.machines, box.syslog, box.clock)
        found: list[Diagnosis] = []
        tls: list[TlsDoor] = []
        doctor = examiner(box, seen, limits)
        rounds = Rounds(
            partial(_copied, found),
            partial(_copied, ()),
            box.store,
            box.wakeups,
            box.clock,
            asked=lambda: doctor.has_asked,
        )
        tokens = Tokens(
            box.store,
            box.clock,
            lambda: str(uuid4()),
            partial(secrets.token_hex, 24),
            own="the-token-in-the-file",
            another=lambda: "another-token-in-the-file",
        )
        await tokens.load()
        operator = OperatorDoor(
            machines=box.machines,
            additions=box.additions,
            machine_changes=box.machine_changes,
            imports=box.imports,
            departures=box.departures,
            seen=seen,
            discovery=box.discovery,
            examiner=doctor,
            rounds=rounds,
            foreign=(),
            followers=Followers(limits.of(STREAMS)),
            templates=box.templates,
            workflows=box.workflows,
            applying=box.applying,
            creation=box.creation,
            shortages=box.shortages,
            exporting=box.exporting,
            kept_documents=box.kept_documents,
            workflow_plans=box.workflow_plans,
            tokens=tokens,
            deadlines=box.deadlines,
            rollouts=box.rollouts,
            overview=box.overview,
            status_changes=box.status_changes,
            breakpoints=breakpoints,
            lost_histories=box.lost_histories,
            secrets=box.secrets,
            services=box.services,
            directory=box.directory,
            shells=hub.shells,
            images=images,
            names=SuggestedNames(box.store, box.machines.known, box.templates, box.services),
            meter=Meter(box.store, box.machines, box.attempts, box.disk.usage, box.clock),
            answers=answers,
            leases=lambda: lent,
            osie=lambda: [OSIE],
            server="http://172.30.0.1",
            registry="172.30.0.1",
            authority=authority(),
            tls=lambda: next(iter(tls), None),
            remarks_on_machine=box.remarks_on_machine,
            login=LoginDoor(logins=_logins(box), refused=RefusedTokens(), monotonic=time.monotonic),
            progress=box.running_progress.of,
            audit=box.audit,
            audit_deliveries=box.deliveries.standing,
        )
        routes = operator.routes()  # the same for both listeners, as the appliance has it
        live = LiveRequests(lambda token: PEOPLE.counts(token) or tokens.counts(token))
        box.bearers.known = [PEOPLE, tokens]
        end_with_rights(box.machines, tokens, live, hub.shells)
        tcp = socket.create_server(("127.0.0.1", 0))
        long_answers = queue()

        def bearer(text: str) -> Caller | None:
            return PEOPLE.bearer(text) or tokens.bearer(text)

        await _serve(stack, routes, [bearer_only(bearer, RefusedTokens())], tcp, long_answers, live, box.audit)
        local = socket.socket(socket.AF_UNIX)
        local.bind(str(folder / "operator.sock"))
        await _serve(stack, routes, [], local, long_answers, live, box.audit)
        connector = aiohttp.UnixConnector(str(folder / "operator.sock"))
        session = await stack.enter_async_context(aiohttp.ClientSession(connector=connector))
        url = f"http://127.0.0.1:{tcp.getsockname()[1]}"
        yield Door(
            box=box,
            breakpoints=breakpoints,
            shells=hub.shells,
            routes=routes,
            streams=limits.of(STREAMS),
            examinations=limits.of(EXAMINATIONS),
            found=found,
            rounds=rounds,
            images=images,
            answers=answers,
            tls=tls,
            lent=lent,
            tokens=tokens,
            url=url,
            path=str(folder / "operator.sock"),
            local=session,
            described=_described(),
        )


def _logins(box: Appliance) -> Logins:
    """Log-in by an issuer that nobody asks."""
    issuer = "https://login.example.com"
    terms = Terms(
        issuer=issuer, client_id="tinkbox", scopes=["openid"], groups={}, claim="groups", name="sub", lifetime=timedelta(hours=1)
    )  # fmt: skip
    return Logins(terms, IssuerKeys(issuer, "", time.monotonic), NoTokens(), box.clock, time.monotonic)


class NoTokens:
    """Nobody gets one."""

    async def issue(self, *_: object, **__: object) -> str:
        raise AssertionError("nobody proved anything")


@cache
def authority() -> str:
    """The certificate of a box's authority, in PEM."""
    made = self_signed(new_key())
    return made.certificate.public_bytes(Encoding.PEM).decode()


@cache
def _described() -> Described:
    return Described(description(table()))


async def _serve(
    stack: AsyncExitStack,
    routes: Sequence[web.RouteDef],
    guards: Sequence[Middleware],
    listening: socket.socket,
    long_answers: Queue,
    live: LiveRequests,
    audit: Audit,
) -> None:
    guarded = [refusals_become_problems, refused_attempts, *guards, record_changes]
    application = web.Application(middlewares=guarded, client_max_size=0)
    keep_audit(application, audit)
    add_routes(application, routes)
    take_turns(application, long_answers)
    end_with_token(application, live)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.05)
    await runner.setup()
    stack.push_async_callback(runner.cleanup)
    await web.SockSite(runner, listening).start()


def image_archive(name: str = "hello-world:v1") -> bytes:
    """What `docker save` writes for an image of one small layer."""
    layer = b"a layer"
    diff_ids = [f"sha256:{hashlib.sha256(layer).hexdigest()}"]
    rootfs = {"type": "layers", "diff_ids": diff_ids}
    config = json.dumps({"architecture": "amd64", "os": "linux", "rootfs": rootfs}).encode()
    config_name = f"{hashlib.sha256(config).hexdigest()}.json"
    manifest = json.dumps([{"Config": config_name, "RepoTags": [name], "Layers": ["1/layer.tar"]}]).encode()
    archive = io.BytesIO()
    with tarfile.open(fileobj=archive, mode="w") as tar:
        for path, content in ((config_name, config), ("1/layer.tar", layer), ("manifest.json", manifest)):
            entry = tarfile.TarInfo(path)
            entry.size = len(content)
            tar.addfile(entry, io.BytesIO(content))
    return archive.getvalue()
