"""Pushes and deletions over the registry are lines of the audit, and so is who tries without the right."""

import io
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from aiohttp import web

from tests.integration.engine.appliance import Appliance, appliance
from tests.integration.registry.serving import LOOKER, Registry, serving
from tinkbox.door.requests.auditing import keep_audit, refused_attempts


@dataclass
class Audited:
    registry: Registry
    box: Appliance

    async def lines(self) -> list[dict[str, object]]:
        await self.box.audit.save()
        return [each.document() for each in await self.box.audit.after(0, 1000)]


@pytest.fixture
async def audited(tmp_path: Path) -> AsyncIterator[Audited]:
    async with appliance(tmp_path / "tinkbox.sqlite") as box:

        def keep(app: web.Application) -> None:
            keep_audit(app, box.audit)

        async with serving(tmp_path / "registry", middlewares=[refused_attempts], prepare=keep) as registry:
            yield Audited(registry, box)


async def test_push_and_deletion_of_an_image_are_told_with_its_digests(audited: Audited) -> None:
    first = await audited.registry.push_image()
    second = await audited.registry.push_image(text="other")
    async with audited.registry.operator.delete("/v2/hello/manifests/v1") as answer:
        assert answer.status == 202
    done = [each for each in await audited.lines() if each["kind"] == "done"]
    assert [each["changed"] for each in done] == [
        [{"kind": "image", "key": "hello:v1", "before": before, "after": after}]
        for before, after in (("", first), (first, second), (second, ""))
    ]
    assert {(each["who"], each["how"]) for each in done} == {("operator", "token")}
    assert [each["what"] for each in done] == ["PUT /v2/{name}/manifests/{selector}"] * 2 + [
        "DELETE /v2/{name}/manifests/{selector}"
    ]
    assert [each["status"] for each in done] == [201, 201, 202]


async def test_image_that_is_refused_is_told_with_the_reason(audited: Audited) -> None:
    answer = await audited.registry.put_manifest("hello", "v1", b"{}")
    assert answer.status == 400
    asked, done = await audited.lines()
    assert (asked["kind"], done["kind"]) == ("asked", "done")
    assert done["status"] in (400, 422)
    assert done["why"]


async def test_pulling_and_being_told_where_to_log_in_have_no_line(audited: Audited) -> None:
    digest = await audited.registry.push_image()
    before = len(await audited.lines())
    for path in ("/v2/", f"/v2/hello/manifests/{digest}", "/v2/hello/tags/list", "/v2/token"):
        async with audited.registry.http.get(path) as answer:
            assert answer.status in (200, 401)
    assert len(await audited.lines()) == before


async def test_who_may_not_push_is_told_as_refused(audited: Audited) -> None:
    for token in ("wrong", "anonymous"):
        async with audited.registry.http.put(
            "/v2/hello/manifests/v1", data=io.BytesIO(b"{}"), headers={"Authorization": f"Bearer {token}"}
        ) as answer:
            assert answer.status in (401, 403)
    refused = await audited.lines()
    assert {(each["kind"], each["status"], each["object"]) for each in refused} == {
        ("refused", 401, "hello/v1"),
        ("refused", 403, "hello/v1"),
    }


async def test_who_is_known_and_may_not_push_is_told_by_name(audited: Audited) -> None:
    for method, path in (("PUT", "/v2/hello/manifests/v1"), ("GET", "/v2/"), ("GET", "/v2/token")):
        async with audited.registry.http.request(method, path, headers=LOOKER) as answer:
            assert answer.status == 403
    refused = await audited.lines()
    assert {(each["who"], each["how"], each["status"]) for each in refused} == {("somebody", "token", 403)}
