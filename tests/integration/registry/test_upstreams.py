"""What is fetched from a mirror: once for all who ask, checked, kept, and asked for again."""

import asyncio
import base64
import errno
import json
import os
from collections import Counter
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from aiohttp import ClientResponse, web

from tests.integration.registry.serving import (
    LOOKER,
    Clock,
    Registry,
    configuration,
    descriptor,
    digest_of,
    free_port,
    layer,
    manifest,
    serving,
    until,
)
from tinkbox.model.images.mirrors import Mirror
from tinkbox.model.limits import DECLARED, Limits
from tinkbox.registry.blobs.room import Room
from tinkbox.registry.manifests.manifests import DOCKER_MANIFEST, OCI_INDEX
from tinkbox.registry.mirrors.via import MAX_HOPS, new_hop, via_header
from tinkbox.registry.storage import ImageStore

MACHINES = 100
REPOSITORY = "quay.io/tools/wipe"
LAYER = layer({"wipe": b"w" * 300_000})
CONFIG = configuration([LAYER])
Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@dataclass
class Site:
    """A registry that others have, `here` the appliance's, which has it as the mirror of quay.io.

    `asked` counts what the other one was asked for.  `instead` answers in its place; `gate` holds all answers back.
    """

    upstream: Registry
    clock: Clock
    asked: Counter[str] = field(default_factory=Counter)
    instead: Handler | None = None
    gate: asyncio.Event = field(default_factory=asyncio.Event)
    authorizations: list[str] = field(default_factory=list)
    here: Registry | None = None
    repository: str = REPOSITORY  # that machines ask for

    async def get(self, path: str, method: str = "GET") -> ClientResponse:
        assert self.here is not None
        answer = await self.here.http.request(method, f"/v2/{self.repository}/{path}")
        await answer.read()
        return answer

    async def pull(self, tag: str = "v1") -> str:
        """All of an image, as a machine does it; returns the manifest's digest."""
        answer = await self.get(f"manifests/{tag}")
        assert answer.status == 200, await answer.text()
        document = json.loads(await answer.read())
        for each in [document["config"], *document["layers"]]:
            blob = await self.get(f"blobs/{each['digest']}")
            assert blob.status == 200, await blob.text()
            assert digest_of(await blob.read()) == each["digest"]
        return digest_of(await answer.read())

    async def nothing_half(self) -> bool:
        """Whether nothing of what was begun is left, once all of it has ended."""
        assert self.here is not None
        here = self.here
        await until(lambda: here.leftovers() == [])
        return digest_of(LAYER) not in here.blobs()

    async def kept(self, tag: str = "v1") -> str:
        """The digest of what is kept of a tag, once it is kept."""
        assert self.here is not None
        store = self.here.store
        await until(lambda: store.digest(REPOSITORY, tag) != "")
        return store.digest(REPOSITORY, tag)


@asynccontextmanager
async def site(
    tmp_path: Path,
    *,
    mirrored: bool = True,
    host: str = "quay.io",
    path: str = "",
    username: str = "",
    password: str = "",
    room: Room | None = None,
) -> AsyncIterator[Site]:
    """Both on loopback; the mirror of `host` has tools/wipe:v1."""
    clock = Clock()
    found: list[Site] = []

    @web.middleware
    async def counted(request: web.Request, handler: Handler) -> web.StreamResponse:
        if request.method in ("GET", "HEAD") and found:
            if "Authorization" in request.headers:
                found[0].authorizations.append(request.headers["Authorization"])
            await found[0].gate.wait()
            found[0].asked[request.path.removeprefix("/v2/")] += 1
            if found[0].instead is not None:
                return await found[0].instead(request)
        return await handler(request)

    async with serving(tmp_path / "upstream", clock, middlewares=[counted]) as upstream:
        await upstream.push_blob(LAYER)
        await upstream.push_blob(CONFIG)
        await upstream.put_manifest(f"{path}tools/wipe", "v1", manifest(CONFIG, [LAYER]))
        made = Site(upstream, clock)
        made.gate.set()
        found.append(made)
        file = tmp_path / "password"
        file.write_text(f"{password}\n")
        mirror = Mirror(
            url=f"http://{upstream.host}/{path}".rstrip("/"),
            username=username,
            password_file=str(file) if username else "",
        )
        async with serving(tmp_path / "here", clock, {host: mirror} if mirrored else {}, room=room) as here:
            made.here = here
            yield made


async def test_the_first_machine_fetches_and_ninety_nine_wait_for_it(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        lab.gate.clear()
        async with asyncio.TaskGroup() as group:
            pulls = [group.create_task(lab.pull()) for _ in range(MACHINES)]
            await asyncio.sleep(0)
            lab.gate.set()
        digest = digest_of(manifest(CONFIG, [LAYER]))
        assert {each.result() for each in pulls} == {digest}
        assert lab.asked == {
            "tools/wipe/manifests/v1": 1,
            f"tools/wipe/blobs/{digest_of(CONFIG)}": 1,
            f"tools/wipe/blobs/{digest_of(LAYER)}": 1,
        }
        assert await lab.kept() == digest


async def test_what_was_fetched_is_kept_like_a_push_and_not_asked_for_again(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        digest = await lab.pull()
        await lab.kept()
        before = lab.asked.copy()
        assert await lab.pull() == await lab.pull(digest) == digest
        assert lab.asked == before
        (line,) = await lab.here.store.images()
        assert (line["name"], line["tag"], line["digest"], line["problem"]) == (REPOSITORY, "v1", digest, "")
        assert await lab.here.left() == {digest, digest_of(CONFIG), digest_of(LAYER)}


async def test_all_of_an_image_is_fetched_though_the_machine_has_its_layers_already(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        await lab.get("manifests/v1")
        await lab.kept()
        assert digest_of(LAYER) in lab.here.blobs()


async def test_only_what_a_manifest_lists_is_fetched_and_only_from_hosts_with_a_mirror(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        assert (await lab.get(f"blobs/{digest_of(LAYER)}")).status == 404
        for name in ("docker.io/tools/wipe", "tools/wipe", "quay.io", "quay.io_80/tools/wipe"):
            async with lab.here.http.get(f"/v2/{name}/manifests/v1") as answer:
                assert answer.status == 404
        assert lab.asked == {}


async def test_without_a_mirror_nothing_is_fetched(tmp_path: Path) -> None:
    async with site(tmp_path, mirrored=False) as lab:
        assert (await lab.get("manifests/v1")).status == 404
        assert lab.asked == {}


async def test_a_tag_that_moved_is_seen_after_some_minutes(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        first = await lab.pull()
        await lab.kept()
        other = configuration([LAYER]) + b"\n"
        await lab.upstream.push_blob(other)
        await lab.upstream.put_manifest("tools/wipe", "v1", manifest(other, [LAYER]))
        assert await lab.pull() == first
        lab.clock.advance(minutes=6)
        assert await lab.pull() == digest_of(manifest(other, [LAYER]))
        assert lab.here is not None
        store = lab.here.store
        await until(lambda: store.digest(REPOSITORY, "v1") != first)
        assert await lab.pull(first) == first
        assert lab.asked[f"tools/wipe/blobs/{digest_of(LAYER)}"] == 1


async def test_what_a_person_pushed_under_a_mirrored_tag_stays_until_it_is_deleted(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        theirs = await lab.pull()
        await lab.kept()
        digest = await lab.here.push_image(REPOSITORY, "v1")
        lab.clock.advance(minutes=6)
        assert await lab.pull() == digest != theirs
        assert lab.asked["tools/wipe/manifests/v1"] == 1
        await lab.here.store.delete(f"{REPOSITORY}:v1", who="anna")
        assert await lab.pull() == theirs


async def test_what_a_person_put_and_what_a_mirror_brought_are_told_apart_over_a_restart(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        await lab.pull()
        await lab.kept()
        digest = await lab.here.push_image(REPOSITORY, "v2")
        here = ImageStore(lab.here.root, lab.clock, Limits(DECLARED, lambda: 0.0))
        assert (here.by_hand(REPOSITORY, "v1"), here.by_hand(REPOSITORY, "v2")) == ("", digest)


async def test_an_image_that_comes_after_a_person_pushed_its_tag_leaves_the_tag(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        slow = asyncio.Event()

        async def late(request: web.Request) -> web.StreamResponse:
            await slow.wait()
            return web.Response(body=LAYER)

        await _only_blobs(lab, late)
        assert (await lab.get("manifests/v1")).status == 200
        digest = await lab.here.push_image(REPOSITORY, "v1")
        slow.set()
        theirs, store = digest_of(manifest(CONFIG, [LAYER])), lab.here.store
        await until(lambda: store.digest(REPOSITORY, theirs) != "")
        assert store.digest(REPOSITORY, "v1") == digest
        assert await lab.pull() == digest


async def test_a_mirror_fills_what_is_lacking_of_an_image_that_a_person_pushed(tmp_path: Path) -> None:
    body = manifest(CONFIG, [LAYER])
    async with serving(tmp_path / "here") as here:
        for each in (LAYER, CONFIG):
            await here.push_blob(each)
        await here.put_manifest(REPOSITORY, "v1", body)
        here.blob_path(digest_of(LAYER)).unlink()
    async with site(tmp_path) as lab:
        other = configuration([]) + b"\n"
        await lab.upstream.push_blob(other)
        await lab.upstream.put_manifest("tools/wipe", "v1", manifest(other, []))
        assert await lab.pull() == digest_of(body)


async def test_a_mirror_does_not_stand_in_for_what_cannot_be_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with serving(tmp_path / "here") as here:
        pushed = await here.push_image(REPOSITORY, "v1")
    folder, scandir = tmp_path / "here" / "repositories" / REPOSITORY / "_tags", os.scandir

    def scanned(path: Any) -> Any:
        if path == folder:
            raise OSError(errno.EACCES, os.strerror(errno.EACCES), str(path))
        return scandir(path)

    monkeypatch.setattr(os, "scandir", scanned)
    async with site(tmp_path) as lab:
        assert (await lab.get("manifests/v1")).status == 503
        assert lab.asked == {}
        monkeypatch.setattr(os, "scandir", scandir)
        assert await lab.pull() == pushed


async def test_the_digest_of_a_tag_is_known_where_no_mirror_has_to_be_asked(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        upstreams = lab.here.upstreams
        assert upstreams.digest(REPOSITORY, "v1") == ""
        own = await lab.here.push_image(REPOSITORY, "v2")
        assert upstreams.digest(REPOSITORY, "v2") == own
        theirs = await lab.pull()
        await lab.kept()
        assert upstreams.digest(REPOSITORY, "v1") == theirs
        lab.clock.advance(minutes=6)
        assert (upstreams.digest(REPOSITORY, "v1"), upstreams.digest(REPOSITORY, "v2")) == ("", own)


async def test_the_digest_of_a_tag_that_moved_is_the_new_one_while_its_image_comes(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        first = await lab.pull()
        await lab.kept()
        newer = layer({"newer": b"1"})
        content = manifest(configuration([newer]), [newer])
        hold = asyncio.Event()

        async def answer(request: web.Request) -> web.StreamResponse:
            if "manifests" in request.path:
                return web.Response(body=content, content_type=DOCKER_MANIFEST)
            await hold.wait()
            return web.Response(status=404)

        lab.instead = answer
        lab.clock.advance(minutes=6)
        assert (await lab.get("manifests/v1")).status == 200
        assert lab.here.upstreams.digest(REPOSITORY, "v1") == digest_of(content) != first
        hold.set()


async def test_appliances_that_name_one_another_as_mirrors_answer_at_once(tmp_path: Path) -> None:
    ports = free_port(), free_port()
    first, second = ({"quay.io": Mirror(url=f"http://127.0.0.1:{port}/quay.io")} for port in ports)
    async with (
        serving(tmp_path / "first", mirrors=second, port=ports[0]) as one,
        serving(tmp_path / "second", mirrors=first, port=ports[1]) as other,
        asyncio.timeout(20),  # less than a mirror may be silent
        asyncio.TaskGroup() as group,
    ):
        pulls = [
            group.create_task(_status_of(each, f"/v2/{REPOSITORY}/manifests/v1")) for each in (one, other, one, other)
        ]
    assert {each.result() for each in pulls} == {404}


async def test_an_appliance_that_is_its_own_mirror_answers_at_once_what_it_has(tmp_path: Path) -> None:
    port = free_port()
    mirrors = {"quay.io": Mirror(url=f"http://127.0.0.1:{port}/quay.io")}
    async with serving(tmp_path, mirrors=mirrors, port=port) as here, asyncio.timeout(20):
        assert await _status_of(here, f"/v2/{REPOSITORY}/manifests/v1") == 404
        digest = await here.push_image(REPOSITORY, "v1")
        assert await _status_of(here, f"/v2/{REPOSITORY}/manifests/v1") == 200
        assert await _status_of(here, f"/v2/{REPOSITORY}/manifests/{digest}") == 200


async def test_an_appliance_is_the_mirror_of_another_and_has_one_itself(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        mirrors = {"quay.io": Mirror(url=f"http://{lab.here.host}/quay.io")}
        async with serving(tmp_path / "branch", mirrors=mirrors) as branch:
            assert await _status_of(branch, f"/v2/{REPOSITORY}/manifests/v1") == 200
            assert await _status_of(branch, f"/v2/{REPOSITORY}/blobs/{digest_of(LAYER)}") == 200
        assert lab.asked["tools/wipe/manifests/v1"] == 1


async def test_what_came_through_too_many_appliances_is_not_fetched(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        via = via_header(tuple(new_hop(f"{number:016x}") for number in range(MAX_HOPS)))
        async with lab.here.http.get(f"/v2/{REPOSITORY}/manifests/v1", headers=via) as answer:
            assert answer.status == 404
        assert lab.asked == {}
        assert (await lab.get("manifests/v1")).status == 200


async def test_an_image_that_comes_late_does_not_take_a_tag_back_that_moved(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        slow = asyncio.Event()
        small = layer({"small": b"1"})
        newer = configuration([small])
        bodies = {digest_of(each): each for each in (LAYER, CONFIG, small, newer)}
        current = [manifest(CONFIG, [LAYER])]

        async def answer(request: web.Request) -> web.StreamResponse:
            if "manifests" in request.path:
                return web.Response(body=current[-1], content_type=DOCKER_MANIFEST)
            digest = request.path.rpartition("/")[2]
            if digest == digest_of(LAYER):
                await slow.wait()
            return web.Response(body=bodies[digest])

        lab.instead = answer
        assert (await lab.get("manifests/v1")).status == 200
        current.append(manifest(newer, [small]))
        lab.clock.advance(minutes=6)
        second = await lab.pull()
        assert await lab.kept() == second == digest_of(current[-1])
        slow.set()
        first, store = digest_of(current[0]), lab.here.store
        await until(lambda: store.digest(REPOSITORY, first) != "")
        assert store.digest(REPOSITORY, "v1") == second


async def test_the_kept_one_is_served_while_the_mirror_is_away(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    async with site(tmp_path) as lab:
        digest = await lab.pull()
        await lab.kept()
        lab.instead = _status(503, "out for lunch")
        lab.clock.advance(minutes=6)
        assert await lab.pull() == await lab.pull() == digest
        assert lab.asked["tools/wipe/manifests/v1"] == 2
        assert "served as it is kept" in caplog.text
        assert "out for lunch" in caplog.text


async def test_what_the_mirror_said_is_told_to_the_machine(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        answer = await lab.get("manifests/v2")
        assert answer.status == 404
        assert f"{lab.upstream.host} has not got tools/wipe, manifests/v2" in await answer.text()
        lab.instead = _status(429, "you have reached your pull rate limit")
        answer = await lab.get("manifests/v1")
        assert (answer.status, (await answer.json())["errors"][0]["code"]) == (424, "UNKNOWN")
        assert "429" in await answer.text()
        assert "you have reached your pull rate limit" in await answer.text()
        assert (await lab.get("manifests/v1", "HEAD")).status == 424


OFFICIAL = "docker.io/library/alpine"


@asynccontextmanager
async def hub(tmp_path: Path, *, mirrored: bool = True) -> AsyncIterator[Site]:
    """The same for Docker Hub, which has alpine:v1 and tools/wipe:v1; machines ask for alpine."""
    async with site(tmp_path, mirrored=mirrored, host="docker.io") as lab:
        await lab.upstream.put_manifest("library/alpine", "v1", manifest(CONFIG, [LAYER]))
        lab.asked.clear()
        lab.repository = "alpine"
        yield lab


async def test_an_official_image_is_fetched_by_its_short_name(tmp_path: Path) -> None:
    async with hub(tmp_path) as lab:
        assert lab.here is not None
        here = lab.here
        digest = await lab.pull()
        await until(lambda: here.store.digest(OFFICIAL, "v1") == digest)
        assert await lab.pull(digest) == digest
        assert await here.store.repositories() == [OFFICIAL]
        assert lab.asked["library/alpine/manifests/v1"] == 1


async def test_what_the_appliance_has_under_a_short_name_comes_before_docker_hub(tmp_path: Path) -> None:
    async with hub(tmp_path) as lab:
        assert lab.here is not None
        own = layer({"own": b"own"})
        configured = configuration([own])
        await lab.here.push_blob(own)
        await lab.here.push_blob(configured)
        await lab.here.put_manifest("alpine", "v1", manifest(configured, [own]))
        assert await lab.pull() == digest_of(manifest(configured, [own]))
        assert lab.asked == {}


async def test_without_a_mirror_a_short_name_is_the_appliances_own_or_what_is_kept_of_docker_hub(
    tmp_path: Path,
) -> None:
    async with hub(tmp_path, mirrored=False) as lab:
        assert lab.here is not None
        answer = await lab.get("manifests/v1")
        assert answer.status == 404
        assert "docker.io" not in await answer.text()
        await lab.here.push_blob(LAYER)
        await lab.here.push_blob(CONFIG)
        await lab.here.put_manifest(OFFICIAL, "v1", manifest(CONFIG, [LAYER]))
        assert await lab.pull() == digest_of(manifest(CONFIG, [LAYER]))
        assert lab.asked == {}


async def test_a_short_name_of_several_parts_never_comes_from_docker_hub(tmp_path: Path) -> None:
    async with hub(tmp_path) as lab:
        lab.repository = "tools/wipe"
        assert (await lab.get("manifests/v1")).status == 404
        assert lab.asked == {}


async def test_a_short_name_that_docker_hub_lacks_is_told_by_both_names(tmp_path: Path) -> None:
    async with hub(tmp_path) as lab:
        answer = await lab.get("manifests/v2")
        assert answer.status == 404
        assert "no image alpine:v2 here, and none for it at Docker Hub: " in await answer.text()
        assert "has not got library/alpine, manifests/v2" in await answer.text()
        lab.instead = _status(401, "who are you")
        answer = await lab.get("manifests/v2")
        assert answer.status == 424
        assert "no image alpine:v2 here, and none for it at Docker Hub: " in await answer.text()


async def test_a_push_of_a_short_name_is_not_told_of_docker_hubs_image(tmp_path: Path) -> None:
    async with hub(tmp_path) as lab:
        assert lab.here is not None
        await lab.pull()
        assert (await lab.get("manifests/v1", "HEAD")).status == 200
        async with lab.here.operator.head("/v2/alpine/manifests/v1") as answer:
            assert answer.status == 404
        async with lab.here.http.head("/v2/alpine/manifests/v1", headers=LOOKER) as answer:
            assert answer.status == 200


async def test_an_unreachable_mirror_is_told_with_its_name(tmp_path: Path) -> None:
    mirrors = {"quay.io": Mirror(url="http://127.0.0.1:9")}
    async with (
        serving(tmp_path, mirrors=mirrors) as here,
        here.http.get(f"/v2/{REPOSITORY}/manifests/v1") as answer,
    ):
        assert answer.status == 424
        assert "127.0.0.1:9 cannot be asked for manifest tools/wipe, v1" in await answer.text()


async def test_a_blob_that_breaks_off_leaves_nothing_and_the_next_asker_has_it_whole(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None

        async def broken(request: web.Request) -> web.StreamResponse:
            answer = web.StreamResponse(headers={"Content-Length": str(len(LAYER))})
            await answer.prepare(request)
            await answer.write(LAYER[:1000])
            assert request.transport is not None
            request.transport.abort()
            return answer

        await _only_blobs(lab, broken)
        assert (await lab.get("manifests/v1")).status == 200
        answer = await lab.get(f"blobs/{digest_of(LAYER)}")
        assert answer.status == 424
        assert lab.upstream.host in await answer.text()
        assert digest_of(LAYER) not in lab.here.blobs()
        assert await lab.nothing_half()
        assert lab.here.store.digest(REPOSITORY, "v1") == ""
        lab.instead = None
        await lab.pull()
        assert await lab.kept() == digest_of(manifest(CONFIG, [LAYER]))


@pytest.mark.parametrize("wrong", [b"x" * len(LAYER), LAYER + b"more", LAYER[:-1]])
async def test_a_blob_with_other_bytes_than_its_digest_says_is_not_kept(tmp_path: Path, wrong: bytes) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None

        async def other(request: web.Request) -> web.StreamResponse:
            return web.Response(body=wrong)

        await _only_blobs(lab, other)
        assert (await lab.get("manifests/v1")).status == 200
        answer = await lab.get(f"blobs/{digest_of(LAYER)}")
        assert answer.status == 424
        assert "sent another blob" in await answer.text()
        assert not lab.here.blobs() & {digest_of(LAYER), digest_of(wrong)}
        assert await lab.nothing_half()


async def test_a_manifest_with_another_digest_than_was_asked_for_is_refused(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        other = manifest(CONFIG, [])

        async def swapped(request: web.Request) -> web.StreamResponse:
            headers = {"Docker-Content-Digest": digest_of(manifest(CONFIG, [LAYER]))}
            return web.Response(body=other, content_type=DOCKER_MANIFEST, headers=headers)

        lab.instead = swapped
        for selector in (digest_of(manifest(CONFIG, [LAYER])), "v1"):
            answer = await lab.get(f"manifests/{selector}")
            assert answer.status == 424
            assert "sent another manifest" in await answer.text()


async def test_of_an_index_only_the_image_that_a_machine_takes_is_fetched(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        other_layer = layer({"arm": b"64"})
        other_config = configuration([other_layer])
        for each in (other_layer, other_config):
            await lab.upstream.push_blob(each)
        images = [manifest(CONFIG, [LAYER]), manifest(other_config, [other_layer])]
        await lab.upstream.put_manifest("tools/wipe", digest_of(images[1]), images[1])
        index = {
            "schemaVersion": 2,
            "mediaType": OCI_INDEX,
            "manifests": [descriptor(each, DOCKER_MANIFEST) for each in images],
        }
        content = json.dumps(index).encode()
        assert (await lab.upstream.put_manifest("tools/wipe", "multi", content, OCI_INDEX)).status == 201
        answer = await lab.get("manifests/multi")
        assert (await answer.read(), answer.headers["Content-Type"]) == (content, OCI_INDEX)
        await lab.pull(digest_of(images[0]))
        store = lab.here.store
        await until(lambda: store.digest(REPOSITORY, digest_of(images[0])) != "")
        assert store.digest(REPOSITORY, "multi") == digest_of(content)
        assert digest_of(other_layer) not in lab.here.blobs()


async def test_a_path_in_the_url_is_the_beginning_of_names(tmp_path: Path) -> None:
    async with site(tmp_path, path="proxy/quay/") as lab:
        await lab.pull()
        assert lab.asked["proxy/quay/tools/wipe/manifests/v1"] == 1


async def test_a_token_is_fetched_once_with_the_password_and_shown_to_the_mirror_alone(tmp_path: Path) -> None:
    async with site(tmp_path, username="lab", password="secret") as lab:
        tokens: list[tuple[str, str, str]] = []

        async def guarded(request: web.Request) -> web.StreamResponse:
            if request.path == "/v2/auth":
                query = request.query
                tokens.append((request.headers.get("Authorization", ""), query["service"], query["scope"]))
                return web.json_response({"token": f"t{len(tokens)}", "expires_in": 600})
            if request.path == "/elsewhere":
                assert "Authorization" not in request.headers
                return web.Response(body=LAYER)
            if request.headers.get("Authorization") != f"Bearer t{len(tokens)}":
                realm = f'Bearer realm="http://{lab.upstream.host}/v2/auth",service="the registry"'
                return web.Response(status=401, headers={"WWW-Authenticate": realm})
            if "manifests" in request.path:
                return web.Response(body=manifest(CONFIG, [LAYER]), content_type=DOCKER_MANIFEST)
            if request.path.endswith(digest_of(CONFIG)):
                return web.Response(body=CONFIG)
            return web.Response(status=307, headers={"Location": "/elsewhere"})

        lab.instead = guarded
        await lab.pull()
        basic = f"Basic {base64.b64encode(b'lab:secret').decode()}"
        assert tokens == [(basic, "the registry", "repository:tools/wipe:pull")]
        assert set(lab.authorizations) == {basic, "Bearer t1"}
        assert lab.authorizations.count(basic) == 1
        lab.clock.advance(minutes=20)
        await lab.pull()
        assert len(tokens) == 2


async def test_a_mirror_that_wants_the_password_itself_has_it(tmp_path: Path) -> None:
    async with site(tmp_path, username="lab", password="secret") as lab:
        basic = f"Basic {base64.b64encode(b'lab:secret').decode()}"

        async def guarded(request: web.Request) -> web.StreamResponse:
            if request.headers.get("Authorization") != basic:
                return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="lab"'})
            return web.Response(body=manifest(CONFIG, []), content_type=DOCKER_MANIFEST)

        lab.instead = guarded
        assert (await lab.get("manifests/v1")).status == 200


@pytest.mark.parametrize(
    ("username", "told"),
    [("lab", "it does not take that of registry.mirrors"), ("", "give registry.mirrors a username")],
)
async def test_a_login_that_is_not_taken_is_told(tmp_path: Path, username: str, told: str) -> None:
    async with site(tmp_path, username=username, password="wrong") as lab:

        async def guarded(request: web.Request) -> web.StreamResponse:
            return web.Response(status=401, headers={"WWW-Authenticate": 'Basic realm="lab"'})

        lab.instead = guarded
        answer = await lab.get("manifests/v1")
        assert answer.status == 424
        text = await answer.text()
        assert told in text or "does not give" in text
        assert "wrong" not in text


async def test_a_full_registry_takes_nothing_from_a_mirror_and_says_so(tmp_path: Path) -> None:
    async with site(tmp_path, room=Room(most=len(LAYER))) as lab:
        assert (await lab.get("manifests/v1")).status == 200
        answer = await lab.get(f"blobs/{digest_of(LAYER)}")
        assert answer.status in (404, 424)
        answer = await lab.get(f"blobs/{digest_of(LAYER)}")
        assert answer.status == 424
        assert "images.most" in await answer.text()
        assert await lab.nothing_half()


async def test_redirects_have_an_end(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:

        async def around(request: web.Request) -> web.StreamResponse:
            return web.Response(status=302, headers={"Location": request.path})

        lab.instead = around
        answer = await lab.get("manifests/v1")
        assert "redirects more than 5 times" in await answer.text()
        assert lab.asked["tools/wipe/manifests/v1"] == 6


async def test_a_machine_that_goes_away_does_not_end_what_others_wait_for(tmp_path: Path) -> None:
    async with site(tmp_path) as lab:
        assert lab.here is not None
        lab.gate.clear()
        async with asyncio.TaskGroup() as group:
            first = group.create_task(lab.get("manifests/v1"))
            second = group.create_task(lab.get("manifests/v1"))
            await asyncio.sleep(0.05)
            first.cancel()
            lab.gate.set()
        assert second.result().status == 200
        assert lab.asked["tools/wipe/manifests/v1"] == 1


async def _status_of(registry: Registry, path: str) -> int:
    async with registry.http.get(path) as answer:
        await answer.read()
        return answer.status


def _status(status: int, message: str) -> Handler:
    async def answer(request: web.Request) -> web.StreamResponse:
        return web.json_response({"errors": [{"code": "X", "message": message}]}, status=status)

    return answer


async def _only_blobs(lab: Site, handler: Handler) -> None:
    """Have the layer answered so."""

    async def answer(request: web.Request) -> web.StreamResponse:
        if request.path.endswith(digest_of(LAYER)):
            return await handler(request)
        if "manifests" in request.path:
            return web.Response(body=manifest(CONFIG, [LAYER]), content_type=DOCKER_MANIFEST)
        return web.Response(body=CONFIG)

    lab.instead = answer
