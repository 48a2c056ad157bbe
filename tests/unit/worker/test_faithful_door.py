"""An appliance that does not know what it is told of an attempt."""

import pytest
from aiohttp import web
from aiohttp.test_utils import TestServer

from tests.workers import opening
from tinkbox.client.node import NodeDoor
from tinkbox.model.actions.progress import Told
from tinkbox.model.errors import NotFound
from tinkbox.wire.messages.journal import Answer
from tinkbox.wire.messages.progress import Telling
from tinkbox.wire.messages.session import Challenge, Opened, Opening, encode
from tinkbox.wire.messages.worker import Credential
from tinkbox.worker.faithful_door import FaithfulDoor
from tinkbox.worker.files.worker_folder import WorkerFolder

TELLING = Telling(workflow_id="w1", boot_id="boot-1", progress=Told(done=1, total=2))


class Earlier(FaithfulDoor):
    """The door to an appliance of before there was progress: to settle with it would never end."""

    async def settled(self) -> Answer:
        raise AssertionError("nobody is to settle what is missing for progress")


async def unproven(opening: Opening, _: Challenge) -> Opening:
    return opening


async def exchanged(_: web.Request) -> web.Response:
    return web.Response(text=encode(Opened(worker="m1")))


@pytest.mark.parametrize("kind", [NodeDoor, Earlier])
async def test_an_appliance_of_before_there_was_progress_says_so_and_no_more_is_asked(tmp_path, kind) -> None:
    application = web.Application()
    application.router.add_post("/worker/session", exchanged)
    async with TestServer(application) as server:
        server_url = str(server.make_url("")).rstrip("/")
        credential = Credential(server=server_url, registry="r", worker="m1", token="t")
        told = (WorkerFolder(tmp_path).journal,) if kind is Earlier else ()
        async with kind(credential, opening("t"), unproven, *told) as door:
            with pytest.raises(NotFound):
                await door.progress("a1", TELLING)
