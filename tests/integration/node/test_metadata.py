"""Metadata over HTTP, with the real engine behind it."""

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest
from aiohttp import web
from aiohttp.test_utils import TestClient, TestServer

from tests.integration.engine.appliance import Appliance, mac
from tests.integration.engine.metadata.installing import Installed, going
from tinkbox.door.problems import refusals_become_problems
from tinkbox.model.boot import Stage
from tinkbox.model.workflow import State
from tinkbox.node.metadata import compatible_routes, routes

Client = TestClient[web.Request, web.Application]
SERVER = "http://172.30.0.1"


@asynccontextmanager
async def door(box: Appliance, address: str = "172.30.0.11") -> AsyncIterator[Client]:
    """The node door as a host with an address sees it."""

    @web.middleware
    async def from_there(request: web.Request, handler: object) -> web.StreamResponse:
        assert callable(handler)
        answer: web.StreamResponse = await handler(request.clone(remote=address))
        return answer

    app = web.Application(middlewares=[refusals_become_problems, from_there], client_max_size=0)
    app.add_routes([*routes(box.installed_systems, box.write_back, SERVER), *compatible_routes(box.installed_systems)])
    async with TestClient(TestServer(app)) as client:
        yield client


@pytest.fixture
async def system(box: Appliance) -> Installed:
    return await going(box)


async def noted(box: Appliance) -> list[str]:
    return [each.detail for each in await box.machines.timeline.of(mac(1)) if each.stage is Stage.METADATA]


@pytest.mark.parametrize(
    "path", ["/user-data", "/user-data/", "user-data", "/latest/user-data", "/openstack/latest/user_data"]
)
async def test_user_data_is_found_however_clients_write_the_path(box: Appliance, system: Installed, path: str) -> None:
    async with door(box) as client:
        answer = await client.get(f"{system.offer.metadata}{path}")
        assert (answer.status, await answer.text()) == (200, "#cloud-config\npackages: [curl]\n")


async def test_head_and_conditional_requests_are_answered(box: Appliance, system: Installed) -> None:
    async with door(box) as client:
        path = f"{system.offer.metadata}/meta-data"
        whole = await client.get(path)
        head = await client.head(path)
        assert (head.status, head.headers["Content-Length"]) == (200, str(len(await whole.read())))
        again = await client.get(path, headers={"If-None-Match": whole.headers["ETag"]})
        assert again.status == 304
        other = await client.get(path, headers={"If-None-Match": '"other"'})
        assert other.status == 200


async def test_a_read_is_noted_with_the_clients_name_and_the_installers_is_not(
    box: Appliance, system: Installed
) -> None:
    async with door(box) as client:
        for agent in ("Cloud-Init/25.1.4", "tinkbox-install-image", "Cloud-Init/25.1.4"):
            await client.get(f"{system.offer.metadata}/user-data", headers={"User-Agent": agent})
        for leaf in ("instance-id", "hostname"):
            await client.get(
                f"{system.offer.metadata}/2009-04-04/meta-data/{leaf}", headers={"User-Agent": "Cloud-Init/22.4.2"}
            )
    assert await noted(box) == ["user-data, cloud-init 25.1.4", "meta-data (EC2), cloud-init 22.4.2"]


@pytest.mark.parametrize("path", ["/nothing", "/2009-04-04/meta-data/nothing", "/%2e%2e/x"])
async def test_what_is_not_there_is_a_404_and_not_noted(box: Appliance, system: Installed, path: str) -> None:
    async with door(box) as client:
        assert (await client.get(f"{system.offer.metadata}{path}")).status == 404
    assert await noted(box) == []


async def test_a_wrong_token_is_a_404_for_every_verb(box: Appliance, system: Installed) -> None:
    wrong = f"/metadata/{'A' * 64}"
    async with door(box) as client:
        answers = [
            await client.get(f"{wrong}/user-data"), await client.get(wrong), await client.post(f"{wrong}/phone-home"),
            await client.post(f"{wrong}/report"), await client.put(f"{wrong}/latest/api/token"), await client.get("/metadata/x/y"),
        ]  # fmt: skip
    assert [each.status for each in answers] == [404] * 6
    assert (await system.states())[-1] == State.LEAVING


async def test_another_machine_is_refused(box: Appliance, system: Installed) -> None:
    await box.machine(2)
    async with door(box, "172.30.0.12") as client:
        assert (await client.get(f"{system.offer.metadata}/user-data")).status == 403
        assert (await client.post(f"{system.offer.metadata}/phone-home")).status == 403


async def test_a_phone_home_is_stored_before_it_is_answered(box: Appliance, system: Installed) -> None:
    async with door(box) as client:
        for wrong in ("", "[]", '{"hostname"'):
            told = {"Content-Type": "application/json; charset=utf-8"}
            broken = await client.post(f"{system.offer.metadata}/phone-home", data=wrong, headers=told)
            assert broken.status == 422
        assert (await system.states())[0] != State.SUCCESS
        answer = await client.post(f"{system.offer.metadata}/phone-home", data={"hostname": "node7"})
        assert answer.status == 200
        assert (await system.states())[0] == State.SUCCESS
        assert (await client.post(f"{system.offer.metadata}/phone-home", data={})).status == 200


async def test_reports_are_taken_and_bounded(box: Appliance, system: Installed) -> None:
    async with door(box) as client:
        path = f"{system.offer.metadata}/report"
        assert (
            await client.post(path, data=json.dumps({"name": "modules-final", "event_type": "start"}))
        ).status == 200
        assert (await client.post(path, data="x")).status == 422
        assert (await client.post(path, data=b"x" * 70_000)).status == 413


async def test_a_report_that_comes_too_late_is_no_failure_of_the_system(box: Appliance, system: Installed) -> None:
    await system.phone_home()
    box.clock.forward(100_000)
    async with door(box) as client:
        event = json.dumps({"name": "modules-final", "event_type": "finish", "result": "FAIL"})
        assert (await client.post(f"{system.offer.metadata}/report", data=event)).status == 200
        assert (await client.post(f"{system.offer.metadata}/phone-home")).status == 404
    (told,) = (await box.workflows.first_boots(system.offer.workflow_id)).values()
    assert told.failures == ()


async def test_by_its_address_a_machine_gets_what_is_no_secret(box: Appliance, system: Installed) -> None:
    async with door(box) as client:
        assert await (await client.get("/2009-04-04/meta-data/hostname")).text() == "node7"
        assert await (await client.get("/latest/")).text() == "meta-data/"
        refused = await client.get("/2009-04-04/user-data")
        assert refused.status == 404
        assert "metadata.by_address" in (await refused.json())["detail"]
        (told,) = [each for each in await noted(box) if each.startswith("user-data")]
        assert told.startswith("user-data (EC2), by its address, ")
        assert told.endswith("refused: metadata.by_address is public")
        assert (await (await client.get("/metadata")).json())["metadata"]["instance"]["hostname"] == "node7"
        token = await client.put("/latest/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": "60"})
        assert (token.status, token.headers["X-aws-ec2-metadata-token-ttl-seconds"]) == (200, "60")
        for ttl in (f"000001{'0' * 5000}", "0000019999999", "21601", "0", "-1", "a day"):
            token = await client.put("/latest/api/token", headers={"X-aws-ec2-metadata-token-ttl-seconds": ttl})
            assert (token.status, token.headers["X-aws-ec2-metadata-token-ttl-seconds"]) == (200, "21600")
    box.installed_systems.policy = replace(box.installed_systems.policy, secrets=True)
    async with door(box) as client:
        assert (await client.get("/2009-04-04/user-data")).status == 200
    async with door(box, "172.30.0.99") as client:
        assert (await client.get("/2009-04-04/meta-data/hostname")).status == 404
        assert (await client.get("/metadata")).status == 404
