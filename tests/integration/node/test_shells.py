"""The worker's end of shells, over real sockets, with the worker's own client."""

import asyncio
from collections.abc import AsyncIterator
from pathlib import Path

import aiohttp
import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.integration.engine.appliance import Appliance
from tests.integration.engine.held import SHELL, Hub, hold, out, shown, typed
from tests.workers import door_of
from tinkbox.client.node import NodeDoor
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.access import operator
from tinkbox.model.errors import Denied, NotFound, Unavailable
from tinkbox.model.shells import Mode, ShellEnd
from tinkbox.node.sessions import routes as session_routes
from tinkbox.node.shells import routes
from tinkbox.wire.messages.shell import control, status
from tinkbox.wire.messages.worker import Credential, Offer


@pytest.fixture
async def hub(box: Appliance, tmp_path: Path) -> AsyncIterator[Hub]:
    made = Hub(box, tmp_path)
    yield made
    await made.stop()


@pytest.fixture
async def url(hub: Hub) -> AsyncIterator[str]:
    app = web.Application(middlewares=[refusals_become_problems])
    app.add_routes(routes(hub.shells, hub.box.machines.authenticate))
    app.add_routes(session_routes(hub.box.machines.sessions))
    async with TestServer(app) as server:
        yield str(server.make_url("")).rstrip("/")


@pytest.fixture
async def offer(box: Appliance) -> Offer:
    return await hold(box, await box.machine(1))


async def node(box: Appliance, url: str, number: int = 1) -> NodeDoor:
    credential = await box.machines.credential(await box.machine(number), "s", "r", "ann")
    return door_of(Credential(server=url, registry="", worker="", token=credential.token))


async def test_frames_pass_between_a_worker_and_a_client(hub: Hub, url: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        await node(hub.box, url) as door,
        door.shell(offer.attempt, opened.id, tty=True) as worker,
        asyncio.timeout(60),
    ):
        await worker.send_frame(out(b"/ # "))
        await shown(anna, b"/ # ")
        await anna.deliver(typed(b"exit\r"))
        assert await worker.receive_frame() == typed(b"exit\r")
        await worker.send_frame(status(ShellEnd(0)))
        await shown(anna, ShellEnd(0))
        assert await worker.receive_frame() == control({"end": True})
        assert await worker.receive_frame() is None


async def test_a_worker_that_dials_again_takes_its_shell_over(hub: Hub, url: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        hub.shells.attached(opened.id, opened.ticket, Mode.DRIVE) as anna,
        await node(hub.box, url) as door,
        asyncio.timeout(60),
        door.shell(offer.attempt, opened.id, tty=True) as first,
        door.shell(offer.attempt, opened.id, tty=True) as second,
    ):
        with pytest.raises(Unavailable):
            await first.receive_frame()
        await second.send_frame(out(b"again"))
        await shown(anna, b"again")


async def test_a_session_is_served_by_its_own_machine_only(hub: Hub, url: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with await node(hub.box, url, 2) as stranger:
        with pytest.raises(NotFound):
            async with stranger.shell(offer.attempt, opened.id, tty=True):
                pass
    async with await node(hub.box, url) as door:
        with pytest.raises(NotFound):
            async with door.shell(offer.attempt, "nonsense", tty=True):
                pass
    async with door_of(Credential(server=url, registry="", worker="", token="wrong")) as door:
        with pytest.raises(Denied):
            async with door.shell(offer.attempt, opened.id, tty=True):
                pass


async def test_a_request_for_no_websocket_is_refused(hub: Hub, url: str, offer: Offer) -> None:
    headers = {"Authorization": f"Bearer {await hub.box.session(await hub.box.machine(1))}"}
    path = f"{url}/worker/attempts/{offer.attempt}/shells/x"
    async with aiohttp.ClientSession(headers=headers) as session, session.get(path) as response:
        assert response.status == 422


async def test_a_worker_is_hung_up_on_when_the_appliance_stops(hub: Hub, url: str, offer: Offer) -> None:
    opened = await hub.shells.open(offer.workflow_id, SHELL, operator("anna"))
    async with (
        await node(hub.box, url) as door,
        door.shell(offer.attempt, opened.id, tty=True) as worker,
        asyncio.timeout(60),
    ):
        await hub.stop()
        with pytest.raises(Unavailable):
            await worker.receive_frame()
